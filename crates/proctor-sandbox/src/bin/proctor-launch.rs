//! The launcher alone, for this crate's tests and benches; the product's binary has it built in.

use std::ffi::OsString;
use std::process::ExitCode;

use proctor_sandbox::launcher;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first() {
        Some((first, rest)) if first == launcher::ARGUMENT => {
            ExitCode::from(u8::try_from(launcher::main(rest)).unwrap_or(1))
        }
        _ => ExitCode::from(2),
    }
}
