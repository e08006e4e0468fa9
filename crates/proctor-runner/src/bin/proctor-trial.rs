//! The launcher and the scripted agent, for this crate's tests; the product's binary has them built
//! in.

use std::ffi::OsString;
use std::process::ExitCode;

use proctor_sandbox::launcher;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match args.split_first() {
        Some((first, rest)) if first == launcher::ARGUMENT => launcher::main(rest),
        Some((first, rest)) if first == proctor_scripted::ARGUMENT => proctor_scripted::main(rest),
        _ => 2,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
