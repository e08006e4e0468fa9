//! The `proctor` program. Everything it can do is in the library beside it.

fn main() -> std::process::ExitCode {
    proctor_cli::main()
}
