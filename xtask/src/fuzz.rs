//! Fuzzing on the stable toolchain: `fuzz/` holds the targets, this builds and runs them.

use crate::Result;
use crate::sh::{Run, cargo, program, root, say};

/// What `cargo fuzz` passes, less the address sanitizer, which only a nightly compiler has: the
/// coverage passes of LLVM are in every compiler.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions -Coverflow-checks --cfg fuzzing";

/// Runs the target that `args` name.
pub(crate) fn run(args: &[String]) -> Result {
    let (target, seconds) = parse(args)?;
    // With an explicit target the flags leave build scripts and macros alone.
    let triple = host()?;
    cargo(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--bin", target, "--target", &triple])
        .env("RUSTFLAGS", FLAGS)
        .env("CARGO_TARGET_DIR", "fuzz/target")
        .run()?;
    let fuzz = root().join("fuzz");
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    fs_err::create_dir_all(&corpus)?;
    fs_err::create_dir_all(&artifacts)?;
    say(&format!("{target} for {seconds} s; what it finds comes to {}", artifacts.display()));
    let mut seeds = Vec::new();
    let committed = fuzz.join("seeds").join(target);
    if committed.is_dir() {
        seeds.push(committed);
    }
    program(fuzz.join("target").join(&triple).join("release").join(target))
        .arg(&corpus)
        .args(seeds)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .run()
}

fn parse(args: &[String]) -> Result<(&str, u32)> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [target] => Ok((target, 60)),
        [target, "--seconds", seconds] | ["--seconds", seconds, target] => {
            let seconds = seconds.parse().map_err(|_| format!("{seconds:?} are no seconds"))?;
            Ok((target, seconds))
        }
        _ => Err("usage: cargo xtask fuzz TARGET [--seconds N]".into()),
    }
}

/// The triple of this machine.
fn host() -> Result<String> {
    let about = program("rustc").arg("-vV").read()?;
    let line = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.ok_or("rustc does not say what its host is")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            parse(&words).map(|(target, seconds)| format!("{target} {seconds}")).ok()
        };
        assert_eq!(parse("a").as_deref(), Some("a 60"));
        assert_eq!(parse("a --seconds 5").as_deref(), Some("a 5"));
        assert_eq!(parse("--seconds 5 a").as_deref(), Some("a 5"));
        assert_eq!(parse("a --seconds x"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn the_host_is_known() {
        assert!(host().unwrap().contains("linux"));
    }
}
