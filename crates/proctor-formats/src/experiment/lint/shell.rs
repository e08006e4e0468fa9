//! As much of bash as the rules need: statements, without comments and without the bodies of here
//! documents.

/// A script taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    /// Statements: what stands between line breaks and `;` outside quotation marks.
    pub(super) statements: Vec<String>,
    /// The bodies of here documents: programs in other languages, mostly.
    pub(super) documents: Vec<String>,
}

/// How many characters behind `<<` are looked at.
const LONGEST_TAG: usize = 100;

/// How many here documents may begin on one line.
const MOST_TAGS: usize = 16;

/// Takes a script apart, in one pass.
pub(super) fn pieces(script: &str) -> Pieces {
    let mut pieces = Pieces::default();
    let mut statement = String::new();
    let mut quote: Option<char> = None;
    let mut tags: Vec<String> = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        let mut characters = line.chars().peekable();
        let mut before = ' ';
        let mut continued = false;
        while let Some(c) = characters.next() {
            match (quote, c) {
                (Some('"') | None, '\\') => {
                    statement.push(c);
                    match characters.next() {
                        Some(escaped) => statement.push(escaped),
                        None => continued = true,
                    }
                }
                (Some(open), _) => {
                    statement.push(c);
                    if c == open {
                        quote = None;
                    }
                }
                (None, '\'' | '"') => {
                    quote = Some(c);
                    statement.push(c);
                }
                (None, '#') if before.is_whitespace() || before == ';' => break,
                (None, ';') => end(&mut statement, &mut pieces.statements),
                (None, '<') if characters.peek() == Some(&'<') => {
                    characters.next();
                    statement.push_str("<<");
                    // More here documents than this on one line are not looked for.
                    if tags.len() >= MOST_TAGS {
                        continue;
                    }
                    let rest: String = characters.clone().take(LONGEST_TAG).collect();
                    tags.extend(tag(&rest));
                }
                (None, _) => statement.push(c),
            }
            before = c;
        }
        if continued {
            // The backslash at the end of the line goes.
            statement.pop();
        } else if quote.is_some() {
            statement.push('\n');
        } else {
            end(&mut statement, &mut pieces.statements);
            for tag in tags.drain(..) {
                let body: Vec<&str> =
                    lines.by_ref().take_while(|line| line.trim() != tag).collect();
                pieces.documents.push(body.join("\n"));
            }
        }
    }
    end(&mut statement, &mut pieces.statements);
    pieces
}

fn end(statement: &mut String, statements: &mut Vec<String>) {
    let whole = statement.trim();
    if !whole.is_empty() {
        statements.push(whole.to_owned());
    }
    statement.clear();
}

/// The word that ends a here document; `rest` follows `<<`. None for `<<<`.
fn tag(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let rest = rest.strip_prefix(['\'', '"', '\\']).unwrap_or(rest);
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_documents() {
        let script = "set -e; a 'x;y # no' \"z\n  w\" # yes\npython3 - <<'PY'\nimport x # kept\nPY\nb \\\n  c || true\n";
        let found = pieces(script);
        assert_eq!(
            found.statements,
            ["set -e", "a 'x;y # no' \"z\n  w\"", "python3 - <<'PY'", "b   c || true"]
        );
        assert_eq!(found.documents, ["import x # kept"]);
    }

    #[test]
    fn whatever_it_is_it_ends() {
        for script in ["'", "\\", "<<", "<<EOF", "a <<<b", "\"\\", ";;;", "#"] {
            let _ = pieces(script);
        }
    }
}
