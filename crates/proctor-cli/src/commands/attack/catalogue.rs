//! The list of attacks: a file each below `attacks`, a line each here.

use super::file::{Attack, parse};

macro_rules! attacks {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../attacks/", $name, ".sh")))),+]
    };
}

const FILES: &[(&str, &str)] = attacks![
    "verdict-files",
    "background-writer",
    "watch-tests",
    "shell-startup",
    "tools-on-path",
    "python-hooks",
    "python-shadow",
    "git-config",
    "test-destination",
    "edit-tests",
    "read-answers",
    "forged-evidence",
    "forged-events",
    "forged-acp",
    "odd-files",
    "many-files",
    "disk-flood",
    "big-file",
    "fork-bomb",
    "memory-flood",
    "phone-home",
    "phone-socket",
    "kill-all",
    "escape-proc",
    "escape-namespaces",
    "overlay-marks",
];

/// All attacks. A file that cannot be read is a bug of ours.
pub(super) fn read() -> Result<Vec<Attack>, String> {
    FILES.iter().map(|(name, text)| parse(name, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed_and_can_be_read() {
        let attacks = read().unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/attacks");
        assert_eq!(fs_err::read_dir(folder).unwrap().count(), attacks.len());
    }
}
