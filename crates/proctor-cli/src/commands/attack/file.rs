//! The files of attacks: shell scripts with marks.
//!
//! ```text
//! # tries: what the agent does
//! # held-by: what stops it
//! # needs: python3            programs without which it cannot be tried
//! # levels: bubblewrap        where it is tried; everywhere when it is not said
//! # network: none             without a network; with `control: host` once more with one
//! # heard: control            a word that must reach this machine, as `agent` must not
//! # limits: disk=1048576      lower limits than the usual ones
//! # requires: max_memory      a guard of the sandbox without which it cannot be tried
//! # ends: error               the agent does not get to the end of its turn; `any`: or it does
//! #: agent                    the script of the agent
//! #: control NAME             a test that passes when the attack would have been seen
//! #: guard NAME [key=PATH]    a test that passes when the attack was stopped; with its answer at PATH
//! #: wrong NAME               a test that fails, whatever the agent does
//! ```
//!
//! Scripts run in the workspace. In the environment are `ATTACK_PLACE` (the folder of the experiment),
//! `ATTACK_PORT` (a port of this machine that is listened on), `ATTACK_SOCKET` (the same as an abstract
//! socket) and `ATTACK_PID` (the process of Proctor).

use proctor_model::attack::AttackPurpose;

/// One attack.
#[derive(Debug, Default)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) tries: String,
    pub(super) held_by: String,
    /// Programs that must be there.
    pub(super) needs: Vec<String>,
    /// The isolations under which it is tried; all when empty.
    pub(super) levels: Vec<String>,
    /// Whether there is no network.
    pub(super) is_offline: bool,
    /// Whether it is run once more with a network, where its word must be heard.
    pub(super) has_networked_control: bool,
    /// A word that must have been heard.
    pub(super) heard: Option<String>,
    /// A guard of the sandbox that must hold.
    pub(super) requires: Option<String>,
    /// Whether the agent gets to the end of its turn; `None` when it may or may not.
    pub(super) ends_turn: Option<bool>,
    /// Lower limits than the usual ones.
    pub(super) limits: Vec<(String, u64)>,
    /// Whether the agent speaks the Agent Client Protocol by itself.
    pub(super) is_acp: bool,
    pub(super) agent: String,
    pub(super) tests: Vec<Test>,
}

/// One test of an attack.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) purpose: AttackPurpose,
    /// Where the file with the answer goes.
    pub(super) key: Option<String>,
    /// Whether it runs while what the agent has started still runs.
    pub(super) is_live: bool,
    pub(super) script: String,
}

/// To what a line of a script belongs.
#[derive(Debug, Clone, Copy)]
enum Section {
    Agent,
    /// The last test.
    Test,
}

/// Reads the file of an attack.
pub(super) fn parse(name: &'static str, text: &str) -> Result<Attack, String> {
    let mut attack = Attack { name, ends_turn: Some(true), ..Attack::default() };
    let mut section = None;
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |what: String| format!("attack {name}, line {number}: {what}");
        if let Some(mark) = line.strip_prefix("#: ") {
            section = Some(attack.section(mark).map_err(wrong)?);
        } else if let Some(section) = section {
            attack.add(section, line);
        } else if let Some(header) = line.strip_prefix("# ") {
            attack.header(header).map_err(wrong)?;
        } else if !line.is_empty() {
            return Err(wrong("a script needs a mark before it".to_owned()));
        }
    }
    attack.complete().map_err(|what| format!("attack {name}: {what}"))?;
    Ok(attack)
}

impl Attack {
    fn header(&mut self, header: &str) -> Result<(), String> {
        let (key, value) = header.split_once(": ").ok_or("a header is `# key: value`")?;
        let words = || value.split_whitespace().map(str::to_owned).collect();
        match (key, value) {
            ("tries", _) => value.clone_into(&mut self.tries),
            ("held-by", _) => value.clone_into(&mut self.held_by),
            ("needs", _) => self.needs = words(),
            ("levels", _) => self.levels = words(),
            ("network", "none") => self.is_offline = true,
            ("control", "host") => self.has_networked_control = true,
            ("heard", _) => self.heard = Some(value.to_owned()),
            ("requires", _) => self.requires = Some(value.to_owned()),
            ("ends", "error") => self.ends_turn = Some(false),
            ("ends", "any") => self.ends_turn = None,
            ("agent", "acp") => self.is_acp = true,
            ("limits", _) => {
                let limit = |word: &str| {
                    let (name, number) = word.split_once('=')?;
                    Some((name.to_owned(), number.parse().ok()?))
                };
                let limits = value.split_whitespace().map(limit).collect::<Option<_>>();
                self.limits = limits.ok_or("a limit is `name=number`")?;
            }
            _ => return Err(format!("there is no header `{key}: {value}`")),
        }
        Ok(())
    }

    fn section(&mut self, mark: &str) -> Result<Section, String> {
        let mut words = mark.split_whitespace();
        let purpose = match words.next() {
            Some("agent") => return Ok(Section::Agent),
            Some("control") => AttackPurpose::Control,
            Some("guard") => AttackPurpose::Guard,
            Some("wrong") => AttackPurpose::Wrong,
            other => return Err(format!("there is no mark `{}`", other.unwrap_or_default())),
        };
        let name = words.next().ok_or("a test needs a name")?.to_owned();
        let (mut key, mut is_live) = (None, false);
        for word in words {
            match word.strip_prefix("key=") {
                Some(path) => key = Some(path.to_owned()),
                None if word == "live" => is_live = true,
                None => return Err(format!("there is no word `{word}`")),
            }
        }
        self.tests.push(Test { name, purpose, key, is_live, script: String::new() });
        Ok(Section::Test)
    }

    fn add(&mut self, section: Section, line: &str) {
        let script = match (section, self.tests.last_mut()) {
            (Section::Test, Some(test)) => &mut test.script,
            _ => &mut self.agent,
        };
        script.push_str(line);
        script.push('\n');
    }

    fn complete(&self) -> Result<(), String> {
        let has = |purpose| self.tests.iter().any(|test| test.purpose == purpose);
        if self.tries.is_empty() || self.held_by.is_empty() || self.agent.trim().is_empty() {
            return Err("it needs `tries`, `held-by` and an agent".to_owned());
        }
        if !has(AttackPurpose::Control) {
            return Err("nothing shows that it would have been seen".to_owned());
        }
        if !has(AttackPurpose::Guard) && !has(AttackPurpose::Wrong) {
            return Err("nothing would fail if it got through".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "# tries: things\n# held-by: a wall\n# limits: disk=5\n\n#: agent\nrm x\n\n\
                         #: control seen live\ntrue\n#: guard kept key=a/b\ntest -e x\n";

    #[test]
    fn a_file_is_read() {
        let attack = parse("a", WHOLE).unwrap();
        assert_eq!((attack.tries.as_str(), attack.held_by.as_str()), ("things", "a wall"));
        assert_eq!((attack.agent.as_str(), &attack.limits[0].1), ("rm x\n\n", &5));
        let [control, guard] = &attack.tests[..] else { panic!("{attack:?}") };
        assert!(control.is_live && control.purpose == AttackPurpose::Control);
        assert_eq!((guard.key.as_deref(), guard.script.as_str()), (Some("a/b"), "test -e x\n"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, what) in [
            (WHOLE.replace("#: control seen live\ntrue\n", ""), "nothing shows"),
            (WHOLE.replace("#: guard kept key=a/b\ntest -e x\n", ""), "nothing would fail"),
            (WHOLE.replace("tries", "tires"), "line 1: there is no header"),
            (WHOLE.replace("guard", "gard"), "line 10: there is no mark `gard`"),
            (WHOLE.replace("# tries: things", "rm x"), "line 1: a script needs"),
            (WHOLE.replace("disk=5", "disk"), "line 3: a limit is"),
        ] {
            let error = parse("a", &text).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
