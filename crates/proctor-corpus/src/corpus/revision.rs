//! Which version of a corpus this is.

use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use proctor_model::moment::civil;

/// The commit that is checked out, or the directory's modification time when that cannot be told.
///
/// Git itself is asked, because only git knows all the places where a commit may be recorded
/// (packed refs, worktrees, reftables, an enclosing checkout). It gets no environment but `PATH`, so
/// that neither settings nor variables of the caller can point it elsewhere; `rev-parse` runs no
/// hooks, so a checkout of somebody else's is safe to ask about.
pub(super) fn of(dir: &Utf8Path) -> String {
    commit(dir).unwrap_or_else(|| {
        std::fs::metadata(dir)
            .and_then(|metadata| metadata.modified())
            .map_or_else(|_| "unknown".to_owned(), round_trip)
    })
}

fn commit(dir: &Utf8Path) -> Option<String> {
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "rev-parse", "--verify", "HEAD^{commit}"])
        .current_dir(dir)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    let commit = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    (output.status.success() && commit).then(|| text.to_owned())
}

/// A time in UTC as .NET's round-trip format writes it, seven digits of a second:
/// `2026-10-25T06:07:08.1234567Z`.
fn round_trip(time: SystemTime) -> String {
    let (seconds, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        // Before 1970: only a damaged file system says so.
        Err(_) => (0, 0),
    };
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let ticks = nanos / 100;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ticks:07}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn git(dir: &Utf8Path, args: &[&str]) -> bool {
        Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .is_ok_and(|output| output.status.success())
    }

    #[test]
    fn times_are_written_as_dotnet_does() {
        let at = |seconds, nanos| round_trip(UNIX_EPOCH + Duration::new(seconds, nanos));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.0000000Z");
        assert_eq!(at(951_782_399, 999_999_999), "2000-02-28T23:59:59.9999999Z");
        assert_eq!(at(951_782_400, 1_234_567), "2000-02-29T00:00:00.0012345Z");
        assert_eq!(at(1_761_350_828, 0), "2025-10-25T00:07:08.0000000Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.0000000Z");
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn a_checkout_is_known_by_its_commit() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(temp.path()).unwrap();
        if !git(dir, &["init", "-q"]) {
            eprintln!("skipped: git is not available");
            return;
        }
        assert!(of(dir).ends_with('Z'), "a repository without a commit has a time");
        assert!(git(dir, &["commit", "-q", "--allow-empty", "-m", "first"]));
        let revision = of(dir);
        assert_eq!(revision.len(), 40, "{revision}");
        std::fs::create_dir(dir.join("below")).unwrap();
        assert_eq!(of(&dir.join("below")), revision);
    }

    #[test]
    fn another_directory_is_known_by_its_time() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(temp.path()).unwrap();
        let time = UNIX_EPOCH + Duration::from_hours(24);
        std::fs::File::open(dir).unwrap().set_modified(time).unwrap();
        assert_eq!(of(dir), "1970-01-02T00:00:00.0000000Z");
        assert_eq!(of(&dir.join("missing")), "unknown");
    }
}
