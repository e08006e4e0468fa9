//! The client alone, for tests; the product's binary has it built in.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.split_first() {
        Some((first, rest)) if first == proctor_acp::ARGUMENT => {
            ExitCode::from(u8::try_from(proctor_acp::main(rest)).unwrap_or(1))
        }
        _ => ExitCode::from(2),
    }
}
