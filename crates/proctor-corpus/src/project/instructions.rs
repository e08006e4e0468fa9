//! The project's own instructions: found, and split once into one file a concern.

use std::collections::{BTreeMap, BTreeSet};

use super::steps::Step;
use super::{io_error, read_error};
use crate::error::{Conflict, ConflictKind, InstallError};
use crate::slice::Slice;
use crate::tree::{Entry, Tree};
use crate::{MANAGED_DIRECTORY, PROJECT_INSTRUCTIONS};

/// Where a project may keep instructions that have not been taken over yet.
const SOURCES: [&str; 3] = [".cratis/PROJECT.md", ".ai/PROJECT.md", ".agents/PROJECT.md"];
/// Where the concerns go, relative to the managed directory.
const CONCERNS: &str = "rules/project";
/// Concerns of one project; with more, the instructions stay in one file.
const SECTION_LIMIT: usize = 1000;
/// Bytes of the instructions.
const LIMIT: u64 = 4 << 20;

/// What happens to a project's own instructions. The files stay the project's: they are in no
/// record, and no later installation touches them.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// Whether the project has instructions, so that links lead to them.
    pub(super) found: bool,
    pub(super) steps: Vec<Step>,
    pub(super) actions: Vec<String>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) notes: Vec<String>,
}

impl Takeover {
    pub(super) fn plan(tree: &Tree, slice: &Slice) -> Result<Self, InstallError> {
        let mut plan = Self::default();
        let index = format!("{MANAGED_DIRECTORY}/{PROJECT_INSTRUCTIONS}");
        let look =
            |path: &str| tree.entry(path).map_err(|source| io_error("read", tree.at(path), source));
        // An index that a corpus brings is no instruction of the project's.
        let own_index = !slice.has_file(PROJECT_INSTRUCTIONS);
        let mut source = None;
        for path in own_index.then_some(index.as_str()).into_iter().chain(SOURCES) {
            match look(path)? {
                Entry::File { .. } => {
                    source = Some(path);
                    break;
                }
                Entry::Link { .. } => {
                    plan.notes.push(format!("`{path}` is a link and was left alone"));
                }
                _ => {}
            }
        }
        let Some(source) = source else { return Ok(plan) };
        plan.found = true;
        if look(&format!("{MANAGED_DIRECTORY}/{CONCERNS}"))? != Entry::Absent {
            return Ok(plan);
        }
        let bytes = tree.read(source, LIMIT).map_err(|error| read_error(tree, source, error))?;
        let bytes = bytes.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        match split(text.strip_prefix('\u{feff}').unwrap_or(&text)) {
            Some(files) => plan.take(files, source, slice),
            None if source != index => plan.copy(&index, source, bytes, slice),
            None => {}
        }
        Ok(plan)
    }

    fn take(&mut self, files: Vec<(String, String)>, source: &str, slice: &Slice) {
        for (path, text) in files {
            self.write(path, text.into_bytes(), slice);
        }
        let index = format!("{MANAGED_DIRECTORY}/{PROJECT_INSTRUCTIONS}");
        self.actions
            .push(format!("Split {source} into {index} and {MANAGED_DIRECTORY}/{CONCERNS}/"));
    }

    fn copy(&mut self, index: &str, source: &str, bytes: Vec<u8>, slice: &Slice) {
        self.write(PROJECT_INSTRUCTIONS.to_owned(), bytes, slice);
        self.actions.push(format!("Copied {source} to {index}"));
    }

    /// `path` is relative to the managed directory.
    fn write(&mut self, path: String, bytes: Vec<u8>, slice: &Slice) {
        if slice.has_file(&path) {
            self.conflicts.push(Conflict { path, kind: ConflictKind::NotOurs });
            return;
        }
        self.steps.push(Step::Write {
            path: format!("{MANAGED_DIRECTORY}/{path}"),
            bytes: bytes.into(),
            executable: None,
        });
    }
}

/// The files that instructions with `## ` headings become, relative to the managed directory; `None`
/// without such a heading. Headings inside code fences do not count.
fn split(text: &str) -> Option<Vec<(String, String)>> {
    let mut preamble = Vec::new();
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut fenced = false;
    for line in text.split('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        match line.strip_prefix("## ") {
            Some(title) if !fenced => sections.push((title.trim(), vec![line])),
            _ => match sections.last_mut() {
                Some((_, lines)) => lines.push(line),
                None => preamble.push(line),
            },
        }
    }
    if sections.is_empty() || sections.len() > SECTION_LIMIT {
        return None;
    }
    let mut names = Names::default();
    let mut files = Vec::with_capacity(sections.len() + 1);
    let mut links = Vec::with_capacity(sections.len());
    for (title, lines) in sections {
        let name = names.unique(&slug(title));
        let path = format!("{CONCERNS}/{name}.md");
        let body = lines.join("\n");
        links.push(format!("- [{title}]({MANAGED_DIRECTORY}/{path})\n"));
        files.push((path, format!("---\napplyTo: \"**/*\"\n---\n\n{}\n", body.trim_end())));
    }
    let preamble = preamble.join("\n");
    let index = format!(
        "{}\n\n## Project concerns\n\nThese files are this project's own instructions. Read all of \
         them before you work here; where they differ from shared guidance, they win.\n\n{}",
        preamble.trim_end(),
        links.concat()
    );
    files.push((PROJECT_INSTRUCTIONS.to_owned(), index));
    Some(files)
}

/// Names that were given out.
#[derive(Default)]
struct Names {
    used: BTreeSet<String>,
    /// The next suffix to try by base, so that many equal headings take linear time.
    next: BTreeMap<String, usize>,
}

impl Names {
    fn unique(&mut self, base: &str) -> String {
        let next = self.next.entry(base.to_owned()).or_insert(2);
        let mut name = base.to_owned();
        while !self.used.insert(name.clone()) {
            name = format!("{base}-{next}");
            *next += 1;
        }
        name
    }
}

/// A file name for a heading: letters and digits in lower case, anything else as one `-`.
fn slug(title: &str) -> String {
    /// Bytes; names are limited to 255, and a suffix and extension follow.
    const LIMIT: usize = 200;
    let mut slug = String::new();
    for char in title.to_lowercase().chars() {
        if slug.len() > LIMIT {
            break;
        }
        if char.is_alphanumeric() {
            slug.push(char);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    match slug.trim_matches('-') {
        "" => "instructions".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::lines;

    #[test]
    fn headings_become_files() {
        let text = "# Tea\n\nIntro.\n\n## Brewing & more\n\nHot.\n\n```\n## not a heading\n```\n\n\
                    ## Brewing -- more!\nAgain.\n## ???\n";
        let files = split(text).unwrap();
        let shown = lines(files.iter().map(|(path, text)| {
            format!(
                "=== {path}
{text}"
            )
        }));
        insta::assert_snapshot!(shown, @r#"
        === rules/project/brewing-more.md
        ---
        applyTo: "**/*"
        ---

        ## Brewing & more

        Hot.

        ```
        ## not a heading
        ```

        === rules/project/brewing-more-2.md
        ---
        applyTo: "**/*"
        ---

        ## Brewing -- more!
        Again.

        === rules/project/instructions.md
        ---
        applyTo: "**/*"
        ---

        ## ???

        === rules/project.md
        # Tea

        Intro.

        ## Project concerns

        These files are this project's own instructions. Read all of them before you work here; where they differ from shared guidance, they win.

        - [Brewing & more](.cratis/ai/rules/project/brewing-more.md)
        - [Brewing -- more!](.cratis/ai/rules/project/brewing-more-2.md)
        - [???](.cratis/ai/rules/project/instructions.md)
        "#);
    }

    #[test]
    fn text_without_headings_is_not_split() {
        assert_eq!(split("# Tea\n\n### Small\n"), None);
        assert_eq!(split("```\n## inside\n```\n"), None);
        assert_eq!(split(""), None);
        assert_eq!(split(&"## many\n".repeat(SECTION_LIMIT + 1)), None);
    }

    #[test]
    fn slugs_are_file_names() {
        assert_eq!(slug("Ärger / Öl"), "ärger-öl");
        assert_eq!(slug("../../etc"), "etc");
        assert!(slug(&"é".repeat(500)).len() < 210);
    }

    #[test]
    fn many_equal_headings_get_names_of_their_own() {
        let files = split(&"## same\n".repeat(300)).unwrap();
        let names: BTreeSet<_> = files.iter().map(|(path, _)| path).collect();
        assert_eq!(names.len(), 301);
    }
}
