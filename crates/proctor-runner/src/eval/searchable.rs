//! Skills as the ranker sees them.

use std::collections::BTreeMap;

use proctor_formats::eval::{Project, Skill, SkillCard};
use proctor_model::{Diagnostic, Diagnostics};
use proctor_retrieval::Document;

/// What can be ranked of a set of skills. One that cannot be read stops none of the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Searchable {
    /// A document for each skill that could be read, in the order of the skills; its id is theirs.
    pub documents: Vec<Document>,
    /// Why the others could not be read, by the id of the skill.
    pub unreadable: BTreeMap<String, Diagnostic>,
    /// What could not be read as it stands.
    pub warnings: Diagnostics,
}

impl Searchable {
    /// Reads the `SKILL.md` of each of these skills.
    pub fn read<'a>(project: &Project, skills: impl IntoIterator<Item = &'a Skill>) -> Self {
        let mut searchable = Self::default();
        for skill in skills {
            let shown = project.shown(&skill.file());
            match SkillCard::load(skill) {
                Ok(card) => {
                    let warnings = card.warnings.iter().cloned();
                    searchable.warnings.0.extend(warnings.map(|warning| warning.in_file(&shown)));
                    searchable.documents.push(document(&skill.id, card));
                }
                Err(fault) => {
                    searchable.unreadable.insert(skill.id.clone(), fault.in_file(shown));
                }
            }
        }
        searchable
    }
}

fn document(id: &str, card: SkillCard) -> Document {
    let SkillCard { name, description, triggers, keywords, .. } = card;
    Document { id: id.to_owned(), name, description, triggers, keywords }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use camino::Utf8Path;
    use proctor_formats::eval::find;
    use proctor_retrieval::Index;

    use super::*;

    #[test]
    fn a_skill_that_cannot_be_read_stops_none_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        for (id, text) in [
            ("broken", "---\nname: broken\ndescription: Use it: always\n---\n"),
            ("plain", "---\nname: Plain\nkeywords: a1, b2\n---\n"),
            ("silent", "# Nothing\n"),
        ] {
            fs::create_dir_all(root.join("skills").join(id)).unwrap();
            fs::write(root.join("skills").join(id).join("SKILL.md"), text).unwrap();
        }
        fs::create_dir(root.join("skills/linked")).unwrap();
        symlink("../plain/SKILL.md", root.join("skills/linked/SKILL.md")).unwrap();

        let project = find(root, None).unwrap();
        let found = Searchable::read(&project, &project.skills);
        let ids: Vec<_> = found.documents.iter().map(|document| document.id.as_str()).collect();
        assert_eq!(ids, ["broken", "plain", "silent"]);
        assert_eq!(found.documents[0].description, "Use it: always");
        assert_eq!(found.unreadable["linked"].to_string().lines().count(), 1);
        assert_eq!(found.warnings.0.len(), 1);
        assert_eq!(found.warnings.0[0].file.as_deref(), Some("skills/broken/SKILL.md".into()));
    }

    /// The labelled queries of a real set, which are not part of this repository.
    #[test]
    #[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
    fn a_real_set_is_ranked_as_it_is_elsewhere() {
        let data = Utf8Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/data/skill-evals/routing-buildkite");
        let Ok(queries) = fs::read_to_string(data.join("trigger_dataset.yaml")) else {
            eprintln!("skipped: {data} is not there");
            return;
        };
        let project = find(&data, None).unwrap();
        let found = Searchable::read(&project, &project.skills);
        assert_eq!((found.documents.len(), found.warnings.0.len()), (8, 0));
        let index = Index::new(found.documents);

        let (mut asked, mut right, mut near_misses, mut forbidden) = (0, 0, 0, 0);
        for entry in queries.split("\n  - id: ").skip(1) {
            // The values of this file stand on one line each, in quotation marks.
            let value = |key: &str| {
                let rest = entry.split_once(key)?.1;
                rest.split('"').nth(1).map(str::to_owned)
            };
            let winner = index.top(&value("\n    query:").unwrap(), 1);
            let winner = winner.hits.first().map(|hit| hit.document.id.clone());
            asked += 1;
            right += u32::from(winner == value("\n    expected_skill:"));
            if let Some(list) = entry.split_once("expected_not_skills:").map(|(_, rest)| rest) {
                let list = list.lines().next().unwrap_or_default();
                near_misses += 1;
                let is_in = |winner: String| list.contains(&format!("\"{winner}\""));
                forbidden += u32::from(winner.is_some_and(is_in));
            }
        }
        assert_eq!((asked, right, near_misses, forbidden), (121, 97, 53, 6));
    }
}
