//! The managed marker: one line that tells a reader who owns an installed file.

use std::borrow::Cow;

use crate::json::{Dialect, Json};

/// The member that marks a JSON object.
const JSON_MEMBER: &str = "$cratisAiManaged";

/// How a file type takes its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `<!-- -->`, after front matter when the flag says that the type has it.
    Html { front_matter: bool },
    /// `//`, after a shebang.
    Slashes,
    /// `/* */`.
    Block,
    /// A last member.
    Json,
    /// `#`, after a shebang.
    Hash,
}

impl Style {
    fn of(source: &str) -> Self {
        let name = source.rsplit('/').next().unwrap_or(source);
        let extension = name.rfind('.').map_or("", |dot| &name[dot..]).to_lowercase();
        match extension.as_str() {
            ".md" | ".mdc" => Self::Html { front_matter: true },
            ".html" | ".htm" => Self::Html { front_matter: false },
            ".ts" | ".tsx" | ".js" | ".mjs" | ".cjs" | ".cs" => Self::Slashes,
            ".css" | ".scss" => Self::Block,
            ".json" => Self::Json,
            _ => Self::Hash,
        }
    }
}

/// The bytes to install for the corpus file `source` with the given content.
///
/// Text gets its marker; a byte order mark or invalid UTF-8 makes a file binary, and binary files,
/// JSON that is not an object and JSON that cannot be read stay as they are.
pub(crate) fn mark<'a>(source: &str, content: &'a [u8]) -> Cow<'a, [u8]> {
    match std::str::from_utf8(content) {
        Ok(text) if !text.starts_with('\u{feff}') => match mark_text(source, text) {
            Some(marked) => Cow::Owned(marked.into_bytes()),
            None => Cow::Borrowed(content),
        },
        _ => Cow::Borrowed(content),
    }
}

fn mark_text(source: &str, text: &str) -> Option<String> {
    let marker = format!("cratis-ai-managed: {source}");
    Some(match Style::of(source) {
        Style::Html { front_matter } => {
            let at = if front_matter { front_matter_end(text).unwrap_or(0) } else { 0 };
            insert(text, at, &format!("<!-- {marker} -->\n"))
        }
        Style::Slashes => after_shebang(text, &format!("// {marker}")),
        Style::Block => insert(text, 0, &format!("/* {marker} */\n")),
        Style::Hash => after_shebang(text, &format!("# {marker}")),
        Style::Json => return mark_json(source, text),
    })
}

/// Where the text after a front matter starts. Only `\n` fences count: with `\r\n` the installed
/// hash would differ from what other installers wrote for the same file.
fn front_matter_end(text: &str) -> Option<usize> {
    front_matter(text).map(|inner| "---\n".len() + inner.len() + "\n---\n".len())
}

/// The lines between the fences of a front matter, without the last newline.
pub(crate) fn front_matter(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("---\n")?;
    inner.find("\n---\n").map(|end| &inner[..end])
}

fn after_shebang(text: &str, marker: &str) -> String {
    if !text.starts_with("#!") {
        return insert(text, 0, &format!("{marker}\n"));
    }
    match text.find('\n') {
        Some(end) => {
            let newline = if text[..end].ends_with('\r') { "\r\n" } else { "\n" };
            insert(text, end + 1, &format!("{marker}{newline}"))
        }
        None => format!("{text}\n{marker}\n"),
    }
}

fn mark_json(source: &str, text: &str) -> Option<String> {
    let Ok(Json::Object(mut members)) = Json::parse(text, Dialect::Strict) else { return None };
    let value = Json::String(source.to_owned());
    match members.iter_mut().find(|(name, _)| name == JSON_MEMBER) {
        Some((_, old)) => *old = value,
        None => members.push((JSON_MEMBER.to_owned(), value)),
    }
    Some(Json::Object(members).to_indented())
}

/// `at` is a character boundary: the callers put it after ASCII.
fn insert(text: &str, at: usize, line: &str) -> String {
    let (before, after) = text.split_at(at);
    [before, line, after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Digest;

    fn marked(source: &str, content: &str) -> String {
        String::from_utf8(mark(source, content.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn every_kind_of_file_takes_its_own_marker() {
        // source, content, installed
        let table = [
            ("rules/tea.md", "# Tea\n", "<!-- cratis-ai-managed: rules/tea.md -->\n# Tea\n"),
            ("rules/tea.md", "", "<!-- cratis-ai-managed: rules/tea.md -->\n"),
            (
                "rules/tea.md",
                "---\nkind: green\n---\nbrew\n",
                "---\nkind: green\n---\n<!-- cratis-ai-managed: rules/tea.md -->\nbrew\n",
            ),
            (
                "rules/tea.md",
                "---\nkind: green\nbrew\n",
                "<!-- cratis-ai-managed: rules/tea.md -->\n---\nkind: green\nbrew\n",
            ),
            (
                "rules/tea.md",
                "---\n---\nbrew\n",
                "<!-- cratis-ai-managed: rules/tea.md -->\n---\n---\nbrew\n",
            ),
            (
                "rules/tea.md",
                "---\r\nkind: green\r\n---\r\nbrew\r\n",
                "<!-- cratis-ai-managed: rules/tea.md -->\n---\r\nkind: green\r\n---\r\nbrew\r\n",
            ),
            (
                "harnesses/cursor/rules/t.MDC",
                "---\na: b\n---\nc\n",
                "---\na: b\n---\n<!-- cratis-ai-managed: harnesses/cursor/rules/t.MDC -->\nc\n",
            ),
            ("a/p.html", "<b>\n", "<!-- cratis-ai-managed: a/p.html -->\n<b>\n"),
            (
                "a/p.htm",
                "---\na: b\n---\n",
                "<!-- cratis-ai-managed: a/p.htm -->\n---\na: b\n---\n",
            ),
            ("h/x.ts", "f();\n", "// cratis-ai-managed: h/x.ts\nf();\n"),
            ("h/x.cs", "f();\n", "// cratis-ai-managed: h/x.cs\nf();\n"),
            (
                "h/x.mjs",
                "#!/usr/bin/node\nf();\n",
                "#!/usr/bin/node\n// cratis-ai-managed: h/x.mjs\nf();\n",
            ),
            ("h/s.scss", "b{}\n", "/* cratis-ai-managed: h/s.scss */\nb{}\n"),
            ("h/r.sh", "#!/bin/sh\nls\n", "#!/bin/sh\n# cratis-ai-managed: h/r.sh\nls\n"),
            ("h/r.sh", "#!/bin/sh\r\nls\r\n", "#!/bin/sh\r\n# cratis-ai-managed: h/r.sh\r\nls\r\n"),
            ("h/r.sh", "#!/bin/sh", "#!/bin/sh\n# cratis-ai-managed: h/r.sh\n"),
            ("h/r.py", "print()\n", "# cratis-ai-managed: h/r.py\nprint()\n"),
            ("h/LICENSE", "free\n", "# cratis-ai-managed: h/LICENSE\nfree\n"),
            ("h.d/name", "x\n", "# cratis-ai-managed: h.d/name\nx\n"),
            (
                "h/o.json",
                "{\"b\":[1,2]}",
                "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"$cratisAiManaged\": \"h/o.json\"\n}",
            ),
            (
                "h/o.json",
                "{\"$cratisAiManaged\": 1, \"b\": 2}",
                "{\n  \"$cratisAiManaged\": \"h/o.json\",\n  \"b\": 2\n}",
            ),
            ("h/l.json", "[1, 2]", "[1, 2]"),
            ("h/l.json", "\"text\"\n", "\"text\"\n"),
            ("h/l.json", "// not strict\n{}", "// not strict\n{}"),
        ];
        for (source, content, installed) in table {
            assert_eq!(marked(source, content), installed, "{source} {content:?}");
        }
    }

    #[test]
    fn installed_hashes_are_those_of_other_installers() {
        // Both halves are facts that anyone can recompute with `sha256sum`.
        let hash =
            |source, content: &str| Digest::of(&mark(source, content.as_bytes())).upper_hex();
        assert_eq!(
            hash("rules/a.md", "# Rule\n"),
            "9CB337399AF76D4264BDD57D95DAA7A5B5A2131E85D13C04F93F6053863B5F98"
        );
        assert_eq!(
            hash("hooks/settings.template.json", "{\"a\":1}"),
            "187CB0F8401F1F3BCC953E83D68D88BF40AE7E63926BC06AD020722C6C49510C"
        );
        assert_eq!(
            hash("hooks/scripts/b.sh", "#!/bin/sh\r\necho ok\r\n"),
            "55A4A8704C65FA43A0D37BBE06AA418B585C0720018FE4EF3343E61193C44AB9"
        );
    }

    #[test]
    fn binary_files_stay_as_they_are() {
        for content in [&b"\xff\xfe"[..], b"\xef\xbb\xbf# Tea\n", b"ok\x80"] {
            assert_eq!(*mark("rules/tea.md", content), *content);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_marker_only_adds_a_line(text in "(---\n|#!|[a-z\r\n\"{é])*", name in "[a-z]{1,3}\\.(md|ts|sh|css|html)") {
            let with = marked(&name, &text);
            let line = with.split_inclusive('\n').find(|line| line.contains("cratis-ai-managed")).unwrap();
            let rest = with.replacen(line, "", 1);
            let with_end = text.clone() + "\n";
            proptest::prop_assert!(rest == text || rest == with_end);
        }
    }
}
