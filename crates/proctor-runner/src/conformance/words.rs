//! Foreign words on their way into a report.

use proctor_sandbox::Room;

use super::run::Settings;

/// `text` as a report may hold it: without secrets, and with [names](rename) for the room's own
/// paths.
pub(super) fn reportable(settings: &Settings<'_>, room: &Room, text: &str) -> String {
    let text = settings.redactor.text(text);
    rename(&text, room.workspace().as_str(), room.root().as_str())
}

/// Names what differs from run to run, and leads nowhere once the room is gone: the same run gives
/// the same report.
fn rename(text: &str, workspace: &str, room: &str) -> String {
    text.replace(workspace, "<workspace>").replace(room, "<room>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_room_have_names() {
        let text = "/t/run-7/0-trial/workspace/a.txt: see /t/run-7/0-trial/tmp/log and /t/run-71";
        assert_eq!(
            rename(text, "/t/run-7/0-trial/workspace", "/t/run-7/0-trial"),
            "<workspace>/a.txt: see <room>/tmp/log and /t/run-71"
        );
    }
}
