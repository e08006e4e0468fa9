//! A program that can start no other.

use std::process::Command;

use proctor_sandbox::become_alone;

const TURN: &str = "PROCTOR_TEST_ALONE";

#[test]
fn it_does_its_work_and_starts_nothing() {
    if std::env::var_os(TURN).is_some() {
        let mut command = Command::new("bash");
        // The shell would wait and try again.
        command.args(["-c", "echo works; trap 'exit 0' EXIT; (echo BAD); /bin/echo BAD"]);
        panic!("{}", become_alone(command));
    }
    let run = |alone: bool| {
        let mut command = if alone {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "it_does_its_work_and_starts_nothing", "--nocapture"]);
            command.env(TURN, "1");
            command
        } else {
            let mut command = Command::new("bash");
            command.args(["-c", "echo works; (echo BAD); /bin/echo BAD"]);
            command
        };
        let output = command.output().unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output)
    };
    let (out, output) = run(true);
    assert!(out.contains("works") && !out.contains("BAD"), "{output:?}");
    let (out, _) = run(false);
    assert_eq!(out, "works\nBAD\nBAD\n");
}
