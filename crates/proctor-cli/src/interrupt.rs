//! Interrupts: the first ends the run cleanly, the second at once.

use proctor_model::ExitCode;
use proctor_sandbox::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::CommandError;
use crate::printer::Printer;

/// A cancellation that SIGINT, SIGTERM and the end of the terminal set; the last only when nobody
/// asked to outlive it (`nohup`). A second signal ends the program: the launchers see that and kill
/// what they stand over.
pub(crate) fn cancel_on_signal(printer: Printer) -> Result<Cancel, CommandError> {
    let cancel = Cancel::new()?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !proctor_sandbox::is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    let flag = cancel.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if flag.is_cancelled() {
                #[expect(clippy::exit, reason = "asked for twice, and no other thread may answer")]
                std::process::exit(ExitCode::INTERRUPTED.0.into());
            }
            flag.cancel();
            printer.note("interrupted: ending what runs; a second interrupt stops at once");
        }
    });
    Ok(cancel)
}
