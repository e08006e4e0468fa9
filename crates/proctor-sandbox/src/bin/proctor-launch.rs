//! The launcher alone, for this crate's tests and benches; the product's binary has it built in.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if proctor_sandbox::launcher::is_launch(&args) {
        return proctor_sandbox::launcher::run(&args);
    }
    ExitCode::from(2)
}
