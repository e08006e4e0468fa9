//! A candidate for the description of a skill, and a copy of the skill that has it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Location;

use super::front_matter::FrontMatter;
use super::import::hidden;
use super::layout::Skill;
use super::paths::read_bounded;
use super::skill_card::SkillCard;
use super::walk::{is_junk, walk};
use super::{EVALS_NAME, SKILL_FILE};

/// The longest description that is measured: 16 KiB.
pub const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;

const FENCE: &str = "---\n";

/// Why a description is not measured.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The bytes are no text.
    #[error("the description is no UTF-8: byte {at} begins no character")]
    NotText {
        /// How many bytes stand before.
        at: usize,
    },
    /// Nothing is left without the space around it.
    #[error("the description is empty")]
    Empty,
    /// It is too long.
    #[error("the description has {bytes} bytes; the limit is {MAX_DESCRIPTION_BYTES}")]
    TooLong {
        /// Its length without the space around it.
        bytes: usize,
    },
    /// It holds what nobody sees.
    #[error(
        "the description has the hidden character U+{code:04X} in line {line}, column {column}"
    )]
    Hidden {
        /// The character.
        code: u32,
        /// Where it stands, from 1.
        line: u32,
        /// Where it stands in its line in characters, from 1.
        column: u32,
    },
    /// The front matter of the skill cannot take another description.
    #[error("{file}: the front matter does not take another description: {reason}")]
    FrontMatter {
        /// The `SKILL.md`.
        file: Utf8PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The skill cannot be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The `SKILL.md`.
        file: Utf8PathBuf,
        /// Why.
        reason: String,
    },
    /// The copy cannot be made.
    #[error("`{}` cannot be copied: {source}", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Reads a candidate: UTF-8 without hidden characters, at most [`MAX_DESCRIPTION_BYTES`] long and not
/// empty without the space around it, which is taken off.
pub fn candidate(bytes: &[u8]) -> Result<String, DescriptionError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| DescriptionError::NotText { at: error.valid_up_to() })?;
    let unseen = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    let control = text.char_indices().find(|(_, c)| unseen(*c));
    let first = [control, hidden(text)].into_iter().flatten().min_by_key(|(at, _)| *at);
    if let Some((at, character)) = first {
        let Location { line, column } = location(text, at);
        return Err(DescriptionError::Hidden { code: u32::from(character), line, column });
    }
    // A byte order mark is no part of a description.
    let description = text.trim_start_matches('\u{feff}').trim();
    match description.len() {
        0 => Err(DescriptionError::Empty),
        1..=MAX_DESCRIPTION_BYTES => Ok(description.to_owned()),
        bytes => Err(DescriptionError::TooLong { bytes }),
    }
}

fn location(text: &str, at: usize) -> Location {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Location {
        line: number(before.matches('\n').count()).saturating_add(1),
        column: number(line.chars().count()).saturating_add(1),
    }
}

/// Copies a skill without its evals to the new folder `folder`, with another description: the skill
/// there, whose cases are those of the original. The front matter keeps its other keys; a `SKILL.md`
/// without front matter gets one.
pub fn copy_with_description(
    skill: &Skill,
    description: &str,
    folder: &Utf8Path,
) -> Result<Skill, DescriptionError> {
    let file = skill.file();
    // What could not be measured as it is cannot be measured with another description either.
    let readable = SkillCard::load(skill).and_then(|_| read_bounded(file.as_std_path()));
    let bytes = readable.map_err(|problem| DescriptionError::Unreadable {
        file: file.clone(),
        reason: problem.message,
    })?;
    let text = replace_description(&String::from_utf8_lossy(&bytes), description);
    let text = text.map_err(|reason| DescriptionError::FrontMatter { file, reason })?;
    copy(skill.folder.as_std_path(), folder.as_std_path())?;
    let target = folder.join(SKILL_FILE).into_std_path_buf();
    // Not through a link that was copied.
    let written = remove_if_there(&target).and_then(|()| fs::write(&target, text));
    written.map_err(|source| DescriptionError::Copy { path: target, source })?;
    Ok(Skill { folder: folder.to_owned(), ..skill.clone() })
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies files, and links as links.
fn copy(from: &Path, to: &Path) -> Result<(), DescriptionError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| DescriptionError::Copy { path, source }
    };
    let entries = walk(from, |candidate| {
        is_junk(candidate.name)
            || (candidate.is_top
                && candidate.is_directory
                && candidate.name == EVALS_NAME.as_bytes())
    });
    fs::create_dir_all(to).map_err(failed(to))?;
    for entry in entries.map_err(failed(from))? {
        let (source, target) = (entry.path(from), entry.path(to));
        let copied = || {
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            if entry.is_link {
                symlink(fs::read_link(&source)?, &target)
            } else {
                fs::copy(&source, &target).map(|_| ())
            }
        };
        copied().map_err(failed(&source))?;
    }
    Ok(())
}

/// The text of a `SKILL.md` with another description, and whatever else it says.
fn replace_description(text: &str, description: &str) -> Result<String, &'static str> {
    let text = text.replace("\r\n", "\n");
    // JSON is YAML.
    let line = format!("description: {}\n", serde_json::Value::from(description));
    let replaced = match text.strip_prefix(FENCE) {
        None => format!("{FENCE}{line}{FENCE}{text}"),
        Some(rest) => {
            let end = if rest.starts_with("---") {
                0
            } else {
                rest.find("\n---").ok_or("it does not end")? + 1
            };
            let (front, body) = rest.split_at(end);
            format!("{FENCE}{}{line}{body}", without_description(front))
        }
    };
    let (before, after) = (FrontMatter::parse(&text), FrontMatter::parse(&replaced));
    // Front matter can be written in ways that lines do not show.
    let keeps = before.name == after.name
        && before.never_fires == after.never_fires
        && before.triggers == after.triggers
        && before.keywords == after.keywords;
    if after.description.as_deref() != Some(description) {
        Err("it is no YAML, or no list of `key: value` lines")
    } else if !keeps {
        Err("its other keys would read differently")
    } else {
        Ok(replaced)
    }
}

/// The lines of a front matter but those of the key `description`: its own, and those below it that
/// belong to it, which are indented or empty.
fn without_description(front: &str) -> String {
    let mut kept = String::with_capacity(front.len());
    let mut inside = false;
    for line in front.split_inclusive('\n') {
        let continues = line.starts_with([' ', '\t']) || line.trim().is_empty();
        inside = if continues { inside } else { is_description(line) };
        if !inside {
            kept.push_str(line);
        }
    }
    kept
}

fn is_description(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        matches!(key.trim_end(), "description" | "\"description\"" | "'description'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8]) -> String {
        candidate(bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_candidate_is_visible_text_of_a_bearable_length() {
        assert_eq!(
            candidate("\u{feff}  Deploys \u{1f469}\u{200d}\u{1f4bb}\n".as_bytes()).unwrap(),
            "Deploys \u{1f469}\u{200d}\u{1f4bb}"
        );
        assert_eq!(candidate(&[b'x'; MAX_DESCRIPTION_BYTES]).unwrap().len(), MAX_DESCRIPTION_BYTES);
        let padded = format!("\n{}\n", "x".repeat(MAX_DESCRIPTION_BYTES));
        assert_eq!(candidate(padded.as_bytes()).unwrap().len(), MAX_DESCRIPTION_BYTES);
        let faults = [
            fault(b""),
            fault(b" \n\t"),
            fault("\u{feff}".as_bytes()),
            fault(&vec![b'x'; 17 * 1024]),
            fault(b"ab\xff"),
            fault("a\nb\u{200b}c".as_bytes()),
            fault("\u{202e}a".as_bytes()),
            fault(b"a\x1b[2Jb"),
            fault(b"a\0"),
        ];
        insta::assert_snapshot!(faults.join("\n"), @r"
        the description is empty
        the description is empty
        the description is empty
        the description has 17408 bytes; the limit is 16384
        the description is no UTF-8: byte 2 begins no character
        the description has the hidden character U+200B in line 2, column 2
        the description has the hidden character U+202E in line 1, column 1
        the description has the hidden character U+001B in line 1, column 2
        the description has the hidden character U+0000 in line 1, column 2
        ");
    }

    #[test]
    fn only_the_description_is_replaced() {
        let replaced = |text: &str| replace_description(text, "New: \"it\"\nwell").unwrap();
        insta::assert_snapshot!(replaced("---\r\nname: deploy\r\ndescription: >-\r\n  Old\r\n\r\n  text\r\nlicense: MIT\r\n---\r\n# Deploy\r\n"), @r#"
        ---
        name: deploy
        license: MIT
        description: "New: \"it\"\nwell"
        ---
        # Deploy
        "#);
        insta::assert_snapshot!(replaced("# Deploy\n"), @r#"
        ---
        description: "New: \"it\"\nwell"
        ---
        # Deploy
        "#);
        insta::assert_snapshot!(replaced("---\n---\nbody"), @r#"
        ---
        description: "New: \"it\"\nwell"
        ---
        body
        "#);
        insta::assert_snapshot!(replaced("---\n# why\n\"description\" : old\n  more\nkeywords:\n- a\nmetadata:\n  description: stays\n---\n"), @r#"
        ---
        # why
        keywords:
        - a
        metadata:
          description: stays
        description: "New: \"it\"\nwell"
        ---
        "#);
        // A line that is no YAML is no matter when it is the one that goes.
        insta::assert_snapshot!(replaced("---\nname: a\ndescription: Use when: deploying\n---\n"), @r#"
        ---
        name: a
        description: "New: \"it\"\nwell"
        ---
        "#);
    }

    #[test]
    fn what_cannot_be_replaced_is_refused() {
        let fault = |text: &str| replace_description(text, "new").unwrap_err();
        let faults = [
            fault("---\nname: a\n"),
            fault("---\n{name: a, description: b}\n---\n"),
            fault("---\n- a\n---\n"),
            fault("---\nname: a: b\n---\n"),
        ];
        insta::assert_snapshot!(faults.join("\n"), @r"
        it does not end
        it is no YAML, or no list of `key: value` lines
        it is no YAML, or no list of `key: value` lines
        it is no YAML, or no list of `key: value` lines
        ");
    }

    #[test]
    fn the_copy_has_everything_but_evals() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(temp.path().to_owned()).unwrap();
        let folder = root.join("a");
        fs::create_dir_all(folder.join("references")).unwrap();
        fs::create_dir_all(folder.join("evals")).unwrap();
        fs::write(folder.join(SKILL_FILE), "---\nname: a\n---\n").unwrap();
        fs::write(folder.join("references/x.md"), "x").unwrap();
        fs::write(folder.join("evals/a.eval.yaml"), "cases: []").unwrap();
        symlink("references/x.md", folder.join("link")).unwrap();
        let evals = vec![folder.join("evals")];
        let skill = Skill {
            id: "a".to_owned(),
            domain: None,
            folder,
            eval_folders: evals.clone(),
            escaped: Vec::new(),
        };
        let copy = copy_with_description(&skill, "New", &root.join("copy")).unwrap();
        assert_eq!((copy.id.as_str(), &copy.eval_folders), ("a", &evals));
        let text = fs::read_to_string(copy.file()).unwrap();
        assert_eq!(text, "---\nname: a\ndescription: \"New\"\n---\n");
        assert!(copy.folder.join("link").is_symlink() && !copy.folder.join("evals").exists());
        assert_eq!(fs::read_to_string(copy.folder.join("references/x.md")).unwrap(), "x");
        fs::create_dir(root.join("linked")).unwrap();
        symlink("../a/SKILL.md", root.join("linked/SKILL.md")).unwrap();
        let linked = Skill { folder: root.join("linked"), ..skill.clone() };
        let error = copy_with_description(&linked, "New", &root.join("three")).unwrap_err();
        assert!(error.to_string().ends_with("SKILL.md: is a link"), "{error}");
        let none = Skill { folder: root.join("none"), ..skill };
        let error = copy_with_description(&none, "New", &root.join("two")).unwrap_err();
        assert!(error.to_string().ends_with("SKILL.md: does not exist"), "{error}");
    }
}
