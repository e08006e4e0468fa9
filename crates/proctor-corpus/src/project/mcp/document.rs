//! A harness's configuration file, of which only single members are changed.

use std::fmt::Write as _;

use camino::Utf8Path;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use proctor_model::Diagnostic;

use crate::error::InstallError;
use crate::json::{Dialect, Json};
use crate::project::steps::Step;
use crate::project::{invalid, read_error};
use crate::tree::Tree;

/// Bytes of a configuration file.
const LIMIT: u64 = 4 << 20;
const BOM: char = '\u{feff}';

/// The text of a configuration file, with the changes that are planned.
#[derive(Debug)]
pub(super) struct Document {
    path: String,
    /// Without a byte order mark.
    text: String,
    bom: bool,
    changed: bool,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Toml,
}

impl Document {
    /// Reads the file; one that does not exist is empty.
    pub(super) fn read(tree: &Tree, path: &str) -> Result<Self, InstallError> {
        let bytes = tree.read(path, LIMIT).map_err(|error| read_error(tree, path, error))?;
        let toml = Utf8Path::new(path).extension() == Some("toml");
        let format = if toml { Format::Toml } else { Format::Json };
        let text = match bytes {
            Some(bytes) => String::from_utf8(bytes)
                .map_err(|_| invalid(Diagnostic::error("not UTF-8").in_file(path)))?,
            None if format == Format::Json => "{}\n".to_owned(),
            None => String::new(),
        };
        let (bom, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest.to_owned()),
            None => (false, text),
        };
        let document = Self { path: path.to_owned(), text, bom, changed: false, format };
        document.parse()?;
        Ok(document)
    }

    /// The member `id` of `collection`.
    pub(super) fn get(&self, collection: &str, id: &str) -> Result<Option<Json>, InstallError> {
        let json = self.parse()?;
        match json.get(collection) {
            None => Ok(None),
            Some(servers @ Json::Object(_)) => Ok(servers.get(id).cloned()),
            Some(other) => Err(self.wrong(
                Diagnostic::error(format!("{}, expected an object", other.kind()))
                    .field(collection),
            )),
        }
    }

    /// Adds or replaces the member; false when `old` cannot be cut out of the text as it stands.
    pub(super) fn set(
        &mut self,
        collection: &str,
        id: &str,
        old: Option<&Json>,
        value: &Json,
    ) -> Result<bool, InstallError> {
        match self.format {
            Format::Json => self.set_json(collection, id, value)?,
            Format::Toml => {
                if let Some(old) = old
                    && !self.cut_toml(collection, id, old)
                {
                    return Ok(false);
                }
                self.append_toml(collection, id, value);
            }
        }
        self.changed = true;
        // What was written must be read as what was meant: an inline table cannot be extended.
        match self.get(collection, id) {
            Ok(Some(read)) if read.same_as(value) => Ok(true),
            _ => Err(self.wrong(
                Diagnostic::error(format!(
                    "`{collection}` cannot take another member as it is written"
                ))
                .hint("write it as a table of its own"),
            )),
        }
    }

    /// Removes the member; false when it cannot be cut out of the text as it stands.
    pub(super) fn remove(
        &mut self,
        collection: &str,
        id: &str,
        old: &Json,
    ) -> Result<bool, InstallError> {
        match self.format {
            Format::Json => {
                let root = self.cst()?;
                let member = root
                    .object_value()
                    .and_then(|object| object.object_value(collection))
                    .and_then(|servers| servers.get(id));
                if let Some(member) = member {
                    member.remove();
                }
                self.text = root.to_string();
            }
            Format::Toml => {
                if !self.cut_toml(collection, id, old) {
                    return Ok(false);
                }
            }
        }
        self.changed = true;
        Ok(self.get(collection, id)?.is_none())
    }

    /// The step that writes the changes.
    pub(super) fn step(self, path: String) -> Option<Step> {
        let bom = if self.bom { BOM.to_string() } else { String::new() };
        self.changed.then(|| Step::text(path, bom + &self.text))
    }

    fn parse(&self) -> Result<Json, InstallError> {
        let json = match self.format {
            Format::Json => Json::parse(&self.text, Dialect::Commented),
            Format::Toml => toml::from_str::<toml::Table>(&self.text)
                .map(|table| from_toml(toml::Value::Table(table)))
                .map_err(|error| Diagnostic::error(format!("not TOML: {}", error.message()))),
        };
        match json {
            Ok(json @ Json::Object(_)) => Ok(json),
            Ok(other) => {
                let message = format!("{}, expected an object", other.kind());
                Err(self.wrong(Diagnostic::error(message)))
            }
            Err(diagnostic) => Err(self.wrong(diagnostic)),
        }
    }

    fn cst(&self) -> Result<CstRootNode, InstallError> {
        CstRootNode::parse(&self.text, &Dialect::Commented.options())
            .map_err(|error| self.wrong(Diagnostic::error(error.to_string())))
    }

    fn set_json(&mut self, collection: &str, id: &str, value: &Json) -> Result<(), InstallError> {
        let root = self.cst()?;
        let servers = root.object_value_or_set().object_value_or_set(collection);
        match servers.get(id) {
            Some(member) => member.set_value(to_cst(value)),
            None => {
                servers.append(id, to_cst(value));
            }
        }
        self.text = root.to_string();
        Ok(())
    }

    fn append_toml(&mut self, collection: &str, id: &str, value: &Json) {
        let newline = self.newline();
        // Always, so that a removal knows which empty line is not the user's.
        self.text.push_str(newline);
        self.text.push_str(&toml_table(collection, id, value, newline));
    }

    /// Cuts the table out exactly as [`Document::append_toml`] wrote it; a table that somebody
    /// laid out anew is left for them.
    fn cut_toml(&mut self, collection: &str, id: &str, old: &Json) -> bool {
        let table = toml_table(collection, id, old, self.newline());
        let Some(start) = self.text.find(&table) else { return false };
        let before = &self.text[..start];
        let after = &self.text[start + table.len()..];
        if !before.is_empty() && !before.ends_with('\n') {
            return false;
        }
        // The empty line that was put before the table goes with it when nothing follows.
        let before = match after {
            "" => strip_empty_line(before),
            _ => before,
        };
        self.text = [before, after].concat();
        true
    }

    fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    fn wrong(&self, diagnostic: Diagnostic) -> InstallError {
        invalid(diagnostic.in_file(self.path.as_str()))
    }
}

fn strip_empty_line(text: &str) -> &str {
    let Some(rest) = text.strip_suffix('\n') else { return text };
    let rest = rest.strip_suffix('\r').unwrap_or(rest);
    if rest.is_empty() || rest.ends_with('\n') { rest } else { text }
}

fn to_cst(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(value) => CstInputValue::Bool(*value),
        Json::Number(text) => CstInputValue::Number(text.clone()),
        Json::String(text) => CstInputValue::String(text.clone()),
        Json::Array(items) => CstInputValue::Array(items.iter().map(to_cst).collect()),
        Json::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, value)| (name.clone(), to_cst(value))).collect(),
        ),
    }
}

/// Only strings, arrays and tables of them are compared with what was installed.
fn from_toml(value: toml::Value) -> Json {
    match value {
        toml::Value::String(text) => Json::String(text),
        toml::Value::Boolean(value) => Json::Bool(value),
        toml::Value::Array(items) => Json::Array(items.into_iter().map(from_toml).collect()),
        toml::Value::Table(table) => {
            Json::Object(table.into_iter().map(|(name, value)| (name, from_toml(value))).collect())
        }
        toml::Value::Integer(number) => Json::Number(number.to_string()),
        toml::Value::Float(number) => Json::Number(number.to_string()),
        toml::Value::Datetime(time) => Json::Number(time.to_string()),
    }
}

fn toml_table(collection: &str, id: &str, value: &Json, newline: &str) -> String {
    let bare = |key: &str| {
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let key = |key: &str| if bare(key) { key.to_owned() } else { toml_string(key) };
    let mut text = format!("[{}.{}]{newline}", key(collection), key(id));
    for (name, value) in value.members().unwrap_or_default() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} = {}{newline}", key(name), toml_value(value));
    }
    text
}

fn toml_value(value: &Json) -> String {
    match value {
        Json::String(text) => toml_string(text),
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_indented(),
    }
}

fn toml_string(text: &str) -> String {
    let mut out = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            _ if char.is_control() => _ = write!(out, "\\u{:04X}", u32::from(char)),
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn document(path: &str, text: &str) -> Result<Document, InstallError> {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(path), text).unwrap();
        Document::read(&Tree::new(Utf8Path::from_path(temp.path()).unwrap()), path)
    }

    fn server(command: &str) -> Json {
        Json::Object(vec![
            ("command".to_owned(), Json::String(command.to_owned())),
            ("args".to_owned(), Json::strings(&["a \"b\"", "c\\d\n"])),
        ])
    }

    /// Adds, replaces and removes a member, and gives the three texts.
    fn round(path: &str, text: &str) -> Result<[String; 3], InstallError> {
        let mut document = document(path, text)?;
        if document.get("servers", "tea")?.is_some() {
            return Ok(std::array::from_fn(|_| text.to_owned()));
        }
        let mut texts = Vec::new();
        let (one, two) = (server("one"), server("two"));
        assert!(document.set("servers", "tea", None, &one)?);
        assert!(document.get("servers", "tea")?.unwrap().same_as(&one));
        texts.push(document.text.clone());
        assert!(document.set("servers", "tea", Some(&one), &two)?);
        assert!(document.get("servers", "tea")?.unwrap().same_as(&two));
        texts.push(document.text.clone());
        assert!(document.remove("servers", "tea", &two)?);
        assert_eq!(document.get("servers", "tea")?, None);
        texts.push(document.text);
        Ok(texts.try_into().unwrap())
    }

    #[test]
    fn members_come_and_go_and_the_rest_stays() {
        for text in [
            "{}",
            "{\"servers\": {\"milk\": 1}}",
            "{\n  \"servers\": {\n    \"milk\": 1, // cold\n  }\n}\n",
            "/* a */ {\"x\": [1, 2], /* b */ }",
        ] {
            let [_, _, last] = round("s.json", text).unwrap();
            let read = |text| Json::parse(text, Dialect::Commented).unwrap();
            let (before, mut after) = (read(text), read(last.as_str()));
            if before.get("servers").is_none()
                && let Json::Object(members) = &mut after
            {
                members.retain(|(name, _)| name != "servers");
            }
            assert!(before.same_as(&after), "{text:?} became {last:?}");
            for comment in ["// cold", "/* a */", "/* b */"] {
                assert_eq!(text.contains(comment), last.contains(comment), "{last:?}");
            }
        }
    }

    #[test]
    fn tables_come_and_go_and_every_other_byte_stays() {
        for text in
            ["", "a = 1\n", "a = 1\n\n", "# c\r\n[servers.milk]\r\nx = 'y'\r\n", "[servers]\n"]
        {
            assert_eq!(round("s.toml", text).unwrap()[2], text, "{text:?}");
        }
        let mut found = document("s.toml", "a = 1\n").unwrap();
        found.set("servers", "tea", None, &server("one")).unwrap();
        found.text.push_str("\n[other]\nb = 2\n");
        assert!(found.remove("servers", "tea", &server("one")).unwrap());
        assert_eq!(found.text, "a = 1\n\n\n[other]\nb = 2\n");
    }

    #[test]
    fn a_table_laid_out_anew_is_left_to_its_author() {
        let mut found = document("s.toml", "[servers]\ntea = {command = \"one\"}\n").unwrap();
        let one = Json::Object(vec![("command".to_owned(), Json::String("one".to_owned()))]);
        assert!(found.get("servers", "tea").unwrap().unwrap().same_as(&one));
        assert!(!found.remove("servers", "tea", &one).unwrap());
        assert!(!found.set("servers", "tea", Some(&one), &server("two")).unwrap());
        assert!(found.step("s.toml".to_owned()).is_none());
    }

    proptest! {
        #[test]
        fn no_text_makes_an_edit_panic(text in "([\\[\\]{}:,.=\"'/*#\\\\]|servers|tea|1| |\n)*") {
            for path in ["s.json", "s.toml"] {
                // Errors are fine: most of these texts are no documents.
                let _ = round(path, &text);
            }
        }
    }
}
