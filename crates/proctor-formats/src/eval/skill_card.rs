//! What a skill says of itself to whoever has to choose between skills.

use std::fs;

use proctor_model::Diagnostic;

use super::front_matter::FrontMatter;
use super::layout::Skill;
use super::paths::read_bounded;

/// The fields of a skill in which a prompt is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCard {
    /// The name in the front matter; without one, the id.
    pub name: String,
    /// The description; without one, the name.
    pub description: String,
    /// Phrases that should lead to the skill.
    pub triggers: Vec<String>,
    /// Words that it goes by.
    pub keywords: Vec<String>,
    /// What could not be read as it stands, with places in `SKILL.md` and without its name.
    pub warnings: Vec<Diagnostic>,
}

impl SkillCard {
    /// Reads the `SKILL.md` of a skill: a regular file of at most 1 MiB, and no link. The error has
    /// no file name yet.
    ///
    /// Front matter that is no YAML is read line by line, with a warning.
    pub fn load(skill: &Skill) -> Result<Self, Diagnostic> {
        let file = skill.file();
        if fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_symlink()) {
            let hint = "put the file itself into the folder of the skill";
            return Err(Diagnostic::error("is a link").hint(hint));
        }
        let bytes = read_bounded(file.as_std_path())?;
        Ok(Self::parse(&skill.id, &String::from_utf8_lossy(&bytes)))
    }

    /// Reads the text of a `SKILL.md`.
    pub fn parse(id: &str, text: &str) -> Self {
        let FrontMatter { name, description, triggers, keywords, warnings, .. } =
            FrontMatter::parse(text);
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let name = said(name).unwrap_or_else(|| id.to_owned());
        let description = said(description).unwrap_or_else(|| name.clone());
        Self { name, description, triggers, keywords, warnings }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use camino::Utf8PathBuf;

    use super::*;

    #[test]
    fn what_is_not_said_is_taken_from_what_is() {
        let card = SkillCard::parse("deploy", "# Deploy\n");
        assert_eq!((card.name.as_str(), card.description.as_str()), ("deploy", "deploy"));
        let card = SkillCard::parse("deploy", "---\nname: Ship\ndescription: \" \"\n---\n");
        assert_eq!((card.name.as_str(), card.description.as_str()), ("Ship", "Ship"));
    }

    #[test]
    fn only_a_regular_file_of_a_bearable_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        let skill = |id: &str| {
            let folder = folder.join(id);
            fs::create_dir_all(&folder).unwrap();
            Skill {
                id: id.to_owned(),
                domain: None,
                folder,
                eval_folders: Vec::new(),
                escaped: Vec::new(),
            }
        };
        let (plain, link, huge, none) = (skill("plain"), skill("link"), skill("huge"), skill("no"));
        fs::write(plain.file(), "---\nname: Plain\nkeywords: a, b\n---\n\u{e9}").unwrap();
        symlink(plain.file(), link.file()).unwrap();
        fs::write(huge.file(), vec![b'x'; (1 << 20) + 1]).unwrap();
        assert_eq!(SkillCard::load(&plain).unwrap().keywords, ["a", "b"]);
        let faults = [&link, &huge, &none].map(|skill| SkillCard::load(skill).unwrap_err().message);
        insta::assert_snapshot!(faults.join("\n"), @r"
        is a link
        is 1048577 bytes long; the limit is 1048576 bytes (1 MiB)
        does not exist
        ");
    }
}
