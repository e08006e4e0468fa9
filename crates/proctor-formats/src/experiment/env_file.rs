//! Files that hold values: env files in the syntax of dotenv, and the user's secrets file.
//!
//! An env file has a variable a line, `NAME=value`, with these rules:
//!
//! - Blank lines and lines that begin with `#` are skipped; `export ` before a name is allowed.
//! - An unquoted value ends at ` #` or at the end of the line, and is trimmed.
//! - A value in single quotes is taken as it stands, one in double quotes with the escapes `\n`,
//!   `\r`, `\t`, `\"`, `\\` and `\$`; both may go on over several lines.
//! - Nothing is expanded: `$HOME` is five characters.
//! - Of equal names the last one stands.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use camino::Utf8Path;
use proctor_model::experiment::{SecretSlug, SecretText, VariableName};
use proctor_model::{Diagnostic, Diagnostics, Location};

use crate::read_file::{open, read_file};
use crate::tree::{Field, Kind, MAX_BYTES, Object, Problems, toml, too_long};

/// Reads an env file. Messages never hold a value.
pub fn env_file(
    file: &Utf8Path,
    bytes: &[u8],
) -> Result<BTreeMap<String, SecretText>, Diagnostics> {
    let mut problems = Problems::new(file);
    let mut values = BTreeMap::new();
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            Reader { rest: text, line: 1 }.read(&mut values, &mut problems);
        }
        Err(_) => problems.push(Diagnostic::error("the file is not UTF-8")),
    }
    if problems.has_errors() { Err(problems.finish()) } else { Ok(values) }
}

struct Reader<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Reader<'a> {
    fn read(mut self, values: &mut BTreeMap<String, SecretText>, problems: &mut Problems) {
        while !self.rest.is_empty() {
            let line = self.line;
            let mut push = |message: &str| {
                let at = Location { line, column: 1 };
                problems.push(Diagnostic::error(message).at(at));
            };
            let (first, _) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            let trimmed = first.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                self.next_line();
                continue;
            }
            let Some((name, _)) = first.split_once('=') else {
                push("expected NAME=value");
                self.next_line();
                continue;
            };
            self.rest = self.rest.get(name.len() + 1..).unwrap_or_default();
            let name = name.trim();
            let name = name.strip_prefix("export ").unwrap_or(name).trim();
            let is_name =
                name.parse::<VariableName>().is_ok() || name.parse::<SecretSlug>().is_ok();
            if !is_name {
                push("expected a variable's name before `=`");
            }
            match self.value() {
                Ok(value) if is_name => {
                    drop(values.insert(name.to_owned(), SecretText::new(value)));
                }
                Ok(_) => {}
                Err(message) => push(message),
            }
        }
    }

    fn next_line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line = self.line.saturating_add(1);
        line
    }

    fn value(&mut self) -> Result<String, &'static str> {
        let start = self.rest.trim_start_matches([' ', '\t']);
        if let Some(quote @ ('\'' | '"')) = start.chars().next() {
            self.rest = start.get(1..).unwrap_or_default();
            return self.quoted(quote);
        }
        let line = self.next_line();
        let end = line.find(" #").or_else(|| line.find("\t#")).unwrap_or(line.len());
        Ok(line.get(..end).unwrap_or(line).trim().to_owned())
    }

    /// What follows the opening quotation mark, and the rest of its last line, which must be blank.
    fn quoted(&mut self, quote: char) -> Result<String, &'static str> {
        let mut value = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                _ if c == quote => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    let after = self.next_line().trim();
                    let is_clear = after.is_empty() || after.starts_with('#');
                    return if is_clear {
                        Ok(value)
                    } else {
                        Err("expected the end of the line after the closing quotation mark")
                    };
                }
                '\\' if quote == '"' => match characters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, escaped @ ('"' | '\\' | '$'))) => value.push(escaped),
                    Some((_, other)) => {
                        if other == '\n' {
                            self.line = self.line.saturating_add(1);
                        }
                        value.push('\\');
                        value.push(other);
                    }
                    None => break,
                },
                _ => {
                    if c == '\n' {
                        self.line = self.line.saturating_add(1);
                    }
                    value.push(c);
                }
            }
        }
        self.rest = "";
        Err("the quotation mark is never closed")
    }
}

/// Reads a secrets file: TOML, a table `[secrets]` of `slug = "value"`.
pub fn secrets_file(
    file: &Utf8Path,
    bytes: &[u8],
) -> Result<BTreeMap<String, SecretText>, Diagnostics> {
    let mut problems = Problems::new(file);
    let values = toml(bytes, &mut problems).and_then(|root| {
        let field = Field::root(&root);
        let object = Object::at(&field, "a table", &mut problems)?;
        object.deny_unknown(&["secrets"], &mut problems);
        object.or("secrets", BTreeMap::new(), &mut problems, table)
    });
    match values {
        Some(values) if !problems.has_errors() => Ok(values),
        _ => Err(problems.finish()),
    }
}

fn table(field: &Field<'_>, problems: &mut Problems) -> Option<BTreeMap<String, SecretText>> {
    let Kind::Object(members) = &field.node().kind else {
        problems.push(field.error("expected a table of `slug = \"value\"`"));
        return None;
    };
    let mut values = BTreeMap::new();
    for member in members {
        let own = field.member(&member.key, &member.value);
        if member.key.parse::<SecretSlug>().is_err() {
            problems.push(own.error("the key is no name of a secret"));
        }
        // Not the usual reader: its message would show a value.
        let Kind::String(value) = &member.value.kind else {
            problems.push(own.error("expected a string"));
            continue;
        };
        values.insert(member.key.clone(), SecretText::new(value.clone()));
    }
    Some(values)
}

/// Reads the secrets file at `path`, which nobody but its owner may read; `None` when there is none.
pub fn read_secrets_file(
    path: &Utf8Path,
) -> Result<Option<BTreeMap<String, SecretText>>, Diagnostics> {
    let failed = |diagnostic: Diagnostic| Diagnostics(vec![diagnostic.in_file(path)]);
    if !path.exists() && !path.is_symlink() {
        return Ok(None);
    }
    let (file, length) = open(path.as_std_path()).map_err(failed)?;
    let unreadable =
        |error: std::io::Error| failed(Diagnostic::error(format!("cannot be read: {error}")));
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        let error = Diagnostic::error("others may read or change the file, so it is not used");
        return Err(failed(error.hint(format!("chmod 600 {path}"))));
    }
    if length > MAX_BYTES {
        return Err(failed(too_long(length)));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    secrets_file(path, &bytes).map(Some)
}

/// Reads the env file at `path`, and names it as given.
pub fn read_env_file(
    file: &Utf8Path,
    path: &Utf8Path,
) -> Result<BTreeMap<String, SecretText>, Diagnostics> {
    let bytes = read_file(path.as_std_path())
        .map_err(|diagnostic| Diagnostics(vec![diagnostic.in_file(file)]))?;
    env_file(file, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let values = env_file("a.env".into(), text.as_bytes()).map_err(|all| all.to_string())?;
        Ok(values.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect())
    }

    #[test]
    fn the_syntax_of_dotenv() {
        let text = "# comment\n\nA=1\nexport B = two words  # comment\nC='a # $b\\n'\n\
                    D=\"x\\n\\\"y\\\" \\q\"\nE=\nF=\"1\n2\"\nA=last\nG=a#b\nteam-key=v";
        let expected = [
            ("A", "last"),
            ("B", "two words"),
            ("C", "a # $b\\n"),
            ("D", "x\n\"y\" \\q"),
            ("E", ""),
            ("F", "1\n2"),
            ("G", "a#b"),
            ("team-key", "v"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(read(text), Ok(expected.clone()));
        assert_eq!(
            read(&text.replace('\n', "\r\n").replace("F=\"1\r\n2\"", "F=\"1\n2\"")),
            Ok(expected)
        );
    }

    #[test]
    fn mistakes_have_lines_and_no_values() {
        let text = "OK=1\njust-text-hunter2\n1 2=hunter2\nX=\"a\nb\" hunter2\nY='hunter2\n\n";
        assert_eq!(
            read(text).unwrap_err(),
            "a.env:2:1: expected NAME=value\n\
             a.env:3:1: expected a variable's name before `=`\n\
             a.env:4:1: expected the end of the line after the closing quotation mark\n\
             a.env:6:1: the quotation mark is never closed"
        );
    }

    #[test]
    fn a_secrets_file_is_a_table_of_strings() {
        let read = |text: &str| {
            let values = secrets_file("s.toml".into(), text.as_bytes());
            values.map(|values| values.len()).map_err(|all| all.to_string())
        };
        assert_eq!(read("[secrets]\na-b = \"x\"\nC = \"y\"\n"), Ok(2));
        assert_eq!(read(""), Ok(0));
        assert_eq!(
            read("[secrets]\na = 12345\n\"b/c\" = \"x\"\n[other]\n").unwrap_err(),
            "s.toml:2:5: secrets.a: expected a string\n\
             s.toml:3:9: secrets[\"b/c\"]: the key is no name of a secret\n\
             s.toml:4:2: other: unknown key (hint: known here: `secrets`)"
        );
    }
}
