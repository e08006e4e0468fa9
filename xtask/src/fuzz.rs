//! Fuzzing on the stable toolchain: `fuzz/` holds the targets and the compiler's flags.

use crate::Result;
use crate::sh::{Run, cargo, root, say};

/// Builds the target that `args` name and runs it.
pub(crate) fn run(args: &[String]) -> Result {
    let (target, seconds, rest) = parse(args)?;
    let fuzz = root().join("fuzz");
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    fs_err::create_dir_all(&corpus)?;
    fs_err::create_dir_all(&artifacts)?;
    say(&format!("{target} for {seconds} s; what fails comes to {}", artifacts.display()));
    // Cargo looks for the flags from where it runs.
    cargo(["run", "--release", "--bin", target, "--"])
        .current_dir(&fuzz)
        .arg(&corpus)
        .args(rest)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=10", "-print_final_stats=1"])
        .run()
}

/// The target, how many seconds it runs, and what goes on to libFuzzer.
fn parse(args: &[String]) -> Result<(&str, u32, &[String])> {
    match args {
        [target, option, seconds, rest @ ..] if option == "--seconds" => {
            let seconds = seconds.parse().map_err(|_| format!("{seconds:?} are no seconds"))?;
            Ok((target, seconds, rest))
        }
        [target, rest @ ..] if !target.starts_with('-') => Ok((target, 60, rest)),
        _ => {
            Err("usage: cargo xtask fuzz TARGET [--seconds N] [SEEDS AND OPTIONS OF LIBFUZZER]"
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            parse(&words).map(|(target, time, rest)| format!("{target} {time} {rest:?}")).ok()
        };
        assert_eq!(parse("a").as_deref(), Some("a 60 []"));
        assert_eq!(parse("a --seconds 5 seeds -x").as_deref(), Some(r#"a 5 ["seeds", "-x"]"#));
        assert_eq!(parse("a seeds").as_deref(), Some(r#"a 60 ["seeds"]"#));
        assert_eq!(parse("a --seconds x"), None);
        assert_eq!(parse("--seconds 5"), None);
        assert_eq!(parse(""), None);
    }
}
