//! A fake model for people: answers every request with the words given as arguments, until
//! standard input ends, and then prints what was asked.

use std::env;
use std::io::{self, Read};

use proctor_testkit::fake_model::OnExhausted;
use proctor_testkit::{FakeModel, Script};

#[expect(clippy::print_stdout, reason = "a program for a terminal")]
fn main() -> io::Result<()> {
    let words = env::args().skip(1).collect::<Vec<_>>().join(" ");
    let script = Script::default().on_exhausted(OnExhausted::Say(words));
    let model = FakeModel::start(script);
    println!("listening on {}; end standard input to stop", model.url());
    println!("ANTHROPIC_BASE_URL={} ANTHROPIC_API_KEY=fake claude -p hello", model.url());
    io::stdin().read_to_end(&mut Vec::new())?;
    for request in model.requests() {
        println!("{} {:?} {:?}", request.target, request.outcome, request.asked.prompt);
    }
    Ok(())
}
