//! The three files that describe a corpus: what it offers, how profiles compose, which MCP servers
//! it brings.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use proctor_model::{Diagnostic, Diagnostics, nearest};

use crate::error::{CorpusError, SelectionMistake, SelectionReason};
use crate::json::{Dialect, Json};
use crate::selection::{Selection, contains_ignoring_case};

/// What an installer may offer, from `.cratis/ai/manifest.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorpusManifest {
    /// Harness ids.
    pub harnesses: Vec<String>,
    /// Profile ids.
    pub profiles: Vec<String>,
    /// Languages.
    pub languages: Vec<String>,
}

impl CorpusManifest {
    /// A list that is missing or no array reads as empty; `{}` is a legal manifest.
    pub(super) fn parse(file: &Utf8Path, text: &str) -> Result<Self, CorpusError> {
        let json = parse(file, text)?;
        let mut mistakes = Diagnostics::default();
        let mut list = |name| offered(&json, name, file, &mut mistakes);
        let manifest = Self {
            harnesses: list("harnesses"),
            profiles: list("profiles"),
            languages: list("languages"),
        };
        settle(manifest, mistakes)
    }

    /// Everything in `selection` that is not offered.
    pub(super) fn mistakes(&self, selection: &Selection) -> Vec<SelectionMistake> {
        let dimensions = [
            ("harness", &selection.harnesses, &self.harnesses),
            ("profile", &selection.profiles, &self.profiles),
            ("language", &selection.languages, &self.languages),
        ];
        let mut mistakes = Vec::new();
        for (dimension, selected, known) in dimensions {
            for value in selected.iter().filter(|value| !contains_ignoring_case(known, value)) {
                mistakes.push(SelectionMistake {
                    dimension,
                    value: value.clone(),
                    reason: SelectionReason::NotOffered,
                    nearest: nearest(value, known.iter().map(String::as_str)).map(str::to_owned),
                });
            }
        }
        mistakes
    }
}

/// One profile. `languages` that is absent differs from empty: see [`Catalog::closure`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Profile {
    composes: Vec<String>,
    targets: Vec<String>,
    languages: Option<Vec<String>>,
}

/// The profiles by id, from `.cratis/ai/profile-catalog.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Catalog(BTreeMap<String, Profile>);

impl Catalog {
    pub(super) fn parse(file: &Utf8Path, text: &str) -> Result<Self, CorpusError> {
        let json = parse(file, text)?;
        let mut mistakes = Diagnostics::default();
        let mut profiles = BTreeMap::new();
        for (list, value) in json.members().unwrap_or_default() {
            if !matches!(list.as_str(), "publicProfiles" | "engineeringProfiles") {
                continue;
            }
            for (index, item) in value.items().unwrap_or_default().iter().enumerate() {
                let reader = Reader { file, at: format!("{list}[{index}]"), json: item };
                if let Some((id, profile)) = read_profile(&reader, &mut mistakes) {
                    // The first of several counts, as in other readers of the format.
                    profiles.entry(id).or_insert(profile);
                }
            }
        }
        settle(Self(profiles), mistakes)
    }

    /// The selected profiles and all that they compose.
    ///
    /// A selected profile always belongs; a composed one when it names no languages, when no
    /// languages are selected, when it is `language-agnostic`, or when it shares a language with
    /// the selection. Cycles end; the order of `profiles` does not matter.
    pub(super) fn closure(
        &self,
        profiles: &[String],
        languages: &[String],
    ) -> Result<BTreeSet<String>, CorpusError> {
        let mut closure = BTreeSet::new();
        let mut mistakes = Vec::new();
        let mut queue: Vec<(&str, bool)> = profiles.iter().map(|id| (id.as_str(), true)).collect();
        let mut unknown = BTreeSet::new();
        while let Some((id, selected)) = queue.pop() {
            let Some(profile) = self.0.get(id) else {
                if unknown.insert(id) {
                    mistakes.push(self.unknown(id, selected));
                }
                continue;
            };
            if (selected || profile.suits(languages)) && closure.insert(id.to_owned()) {
                queue.extend(profile.composes.iter().map(|child| (child.as_str(), false)));
            }
        }
        mistakes.sort_by(|a, b| a.value.cmp(&b.value));
        if mistakes.is_empty() { Ok(closure) } else { Err(CorpusError::Selection(mistakes)) }
    }

    fn unknown(&self, id: &str, selected: bool) -> SelectionMistake {
        SelectionMistake {
            dimension: "profile",
            value: id.to_owned(),
            reason: if selected {
                SelectionReason::NotInCatalog
            } else {
                SelectionReason::ComposedButUnknown
            },
            nearest: nearest(id, self.0.keys().map(String::as_str)).map(str::to_owned),
        }
    }

    /// The names of the skills that the profiles of a closure bring.
    pub(super) fn skills(&self, closure: &BTreeSet<String>) -> BTreeSet<&str> {
        closure
            .iter()
            .filter_map(|id| self.0.get(id))
            .flat_map(|profile| profile.targets.iter().map(String::as_str))
            .collect()
    }
}

impl Profile {
    fn suits(&self, languages: &[String]) -> bool {
        let Some(own) = &self.languages else { return true };
        languages.is_empty()
            || contains_ignoring_case(own, "language-agnostic")
            || languages.iter().any(|language| contains_ignoring_case(own, language))
    }
}

/// An MCP server that a corpus brings, from `.cratis/ai/mcp-servers.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpServer {
    pub(crate) id: String,
    /// It is registered when the closure holds one of these.
    pub(crate) profiles: Vec<String>,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// Reads the MCP servers of a corpus; only schema version 1.0 and the stdio transport are known.
pub(super) fn parse_mcp_servers(
    file: &Utf8Path,
    text: &str,
) -> Result<Vec<McpServer>, CorpusError> {
    let json = parse(file, text)?;
    let mut mistakes = Diagnostics::default();
    let top = Reader { file, at: String::new(), json: &json };
    match top.string("schemaVersion", &mut mistakes).as_deref() {
        Some("1.0") | None => {}
        Some(other) => mistakes.push(
            Diagnostic::error(format!("version `{other}` is not known, expected `1.0`"))
                .in_file(file)
                .field("schemaVersion"),
        ),
    }
    let mut servers = Vec::new();
    let mut ids = BTreeSet::new();
    match json.get("servers").and_then(Json::items) {
        Some(items) => {
            for (index, item) in items.iter().enumerate() {
                let reader = Reader { file, at: format!("servers[{index}]"), json: item };
                if let Some(server) = read_server(&reader, &mut ids, &mut mistakes) {
                    servers.push(server);
                }
            }
        }
        None => {
            mistakes.push(Diagnostic::error("missing or no array").in_file(file).field("servers"));
        }
    }
    settle(servers, mistakes)
}

fn read_server(
    reader: &Reader<'_>,
    ids: &mut BTreeSet<String>,
    mistakes: &mut Diagnostics,
) -> Option<McpServer> {
    let id = reader.string("id", mistakes);
    let transport = reader.string("transport", mistakes);
    let command = reader.string("command", mistakes);
    let args = reader.strings("args", Need::Required, mistakes);
    let profiles = reader.strings("profiles", Need::Required, mistakes);
    let server = McpServer { id: id?, profiles: profiles?, command: command?, args: args? };
    let mut wrong = |field: &str, message: String| {
        mistakes.push(reader.mistake(field, message));
    };
    if server.id.trim().is_empty() || server.id.contains(|char: char| char.is_control()) {
        wrong("id", "empty or not printable".to_owned());
    } else if !ids.insert(server.id.clone()) {
        wrong("id", format!("`{}` stands twice", server.id));
    }
    if let Some(transport) = transport.filter(|transport| transport != "stdio") {
        wrong("transport", format!("`{transport}` is not known, expected `stdio`"));
    }
    if server.command.trim().is_empty() {
        wrong("command", "empty".to_owned());
    }
    if server.profiles.is_empty() {
        wrong("profiles", "empty, so nothing would select the server".to_owned());
    }
    Some(server)
}

fn read_profile(reader: &Reader<'_>, mistakes: &mut Diagnostics) -> Option<(String, Profile)> {
    let id = reader.string("id", mistakes);
    let composes = reader.strings("composes", Need::Optional, mistakes).unwrap_or_default();
    let targets = reader.strings("availableTargets", Need::Optional, mistakes).unwrap_or_default();
    let languages = reader.strings("languages", Need::Optional, mistakes);
    Some((id?, Profile { composes, targets, languages }))
}

/// Reads members of one object and notes what is wrong with them.
struct Reader<'a> {
    file: &'a Utf8Path,
    at: String,
    json: &'a Json,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

impl Reader<'_> {
    fn mistake(&self, name: &str, message: impl Into<String>) -> Diagnostic {
        let field =
            if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) };
        Diagnostic::error(message).in_file(self.file).field(field)
    }

    fn string(&self, name: &str, mistakes: &mut Diagnostics) -> Option<String> {
        match self.json.get(name) {
            Some(Json::String(text)) => return Some(text.clone()),
            Some(other) => {
                mistakes.push(self.mistake(name, format!("{}, expected a string", other.kind())));
            }
            None => mistakes.push(self.mistake(name, "missing")),
        }
        None
    }

    fn strings(&self, name: &str, need: Need, mistakes: &mut Diagnostics) -> Option<Vec<String>> {
        let Some(value) = self.json.get(name) else {
            if need == Need::Required {
                mistakes.push(self.mistake(name, "missing"));
            }
            return None;
        };
        let texts = value.items().and_then(|items| {
            items.iter().map(|item| item.text().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        if texts.is_none() {
            mistakes.push(self.mistake(name, "not an array of strings"));
        }
        texts
    }
}

fn parse(file: &Utf8Path, text: &str) -> Result<Json, CorpusError> {
    let wrong =
        |diagnostic: Diagnostic| CorpusError::Invalid(Diagnostics(vec![diagnostic.in_file(file)]));
    let json = Json::parse(text, Dialect::Strict).map_err(wrong)?;
    match json {
        Json::Object(_) => Ok(json),
        other => Err(wrong(Diagnostic::error(format!("{}, expected an object", other.kind())))),
    }
}

fn offered(json: &Json, name: &str, file: &Utf8Path, mistakes: &mut Diagnostics) -> Vec<String> {
    let items = json.get(name).and_then(Json::items).unwrap_or_default();
    let mut values = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item.text() {
            Some(text) => values.push(text.to_owned()),
            None => mistakes.push(
                Diagnostic::error(format!("{}, expected a string", item.kind()))
                    .in_file(file)
                    .field(format!("{name}[{index}]")),
            ),
        }
    }
    values
}

fn settle<T>(value: T, mistakes: Diagnostics) -> Result<T, CorpusError> {
    if mistakes.0.is_empty() { Ok(value) } else { Err(CorpusError::Invalid(mistakes)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(text: &str) -> Catalog {
        Catalog::parse(Utf8Path::new("catalog.json"), text).unwrap()
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn closure(catalog: &Catalog, profiles: &str, languages: &str) -> String {
        let closure = catalog.closure(&words(profiles), &words(languages)).unwrap();
        closure.into_iter().collect::<Vec<_>>().join(" ")
    }

    const TEA: &str = r#"{
        "publicProfiles": [
            {"id": "all", "composes": ["green", "black", "mute", "any", "all"]},
            {"id": "green", "languages": ["csharp"], "availableTargets": ["steep", "pour"]},
            {"id": "black", "languages": ["TypeScript"], "composes": ["milk"]},
            {"id": "mute", "languages": []},
            {"id": "any", "languages": ["Language-Agnostic"], "availableTargets": ["pour"]},
            {"id": "green", "composes": ["nowhere"]}
        ],
        "engineeringProfiles": [{"id": "milk"}, {"id": "loop", "composes": ["pool"]}, {"id": "pool", "composes": ["loop"]}],
        "otherProfiles": [{"no": "id"}]
    }"#;

    #[test]
    fn closures_follow_languages() {
        let tea = catalog(TEA);
        assert_eq!(closure(&tea, "all", ""), "all any black green milk mute");
        assert_eq!(closure(&tea, "all", "CSHARP"), "all any green");
        assert_eq!(closure(&tea, "all", "typescript"), "all any black milk");
        assert_eq!(closure(&tea, "all", "kotlin"), "all any");
        assert_eq!(closure(&tea, "mute", "csharp"), "mute");
        assert_eq!(closure(&tea, "loop", ""), "loop pool");
        assert_eq!(closure(&tea, "", ""), "");
    }

    #[test]
    fn a_profile_left_out_as_a_child_still_counts_when_selected() {
        let tea = catalog(TEA);
        for order in ["all mute", "mute all"] {
            assert_eq!(closure(&tea, order, "csharp"), "all any green mute");
        }
    }

    #[test]
    fn skills_are_the_union() {
        let tea = catalog(TEA);
        let closure = tea.closure(&words("all"), &[]).unwrap();
        assert_eq!(tea.skills(&closure).into_iter().collect::<Vec<_>>(), ["pour", "steep"]);
    }

    #[test]
    fn unknown_profiles_are_all_named() {
        let text =
            r#"{"publicProfiles": [{"id": "cratis/arc", "composes": ["cratis/acr", "zz"]}]}"#;
        let error = catalog(text).closure(&words("cratis/arc Cratis/Arc"), &[]).unwrap_err();
        insta::assert_snapshot!(error, @r"
        unknown profile `Cratis/Arc`: the corpus offers it without describing it (did you mean `cratis/arc`?)
        unknown profile `cratis/acr`: a selected profile composes it (did you mean `cratis/arc`?)
        unknown profile `zz`: a selected profile composes it
        ");
    }

    #[test]
    fn a_long_chain_of_profiles_is_no_stack_overflow() {
        let chain: Vec<String> = (0..50_000)
            .map(|n| format!(r#"{{"id":"p{n}","composes":["p{}"]}}"#, (n + 1) % 50_000))
            .collect();
        let text = format!(r#"{{"publicProfiles":[{}]}}"#, chain.join(","));
        assert_eq!(catalog(&text).closure(&words("p0"), &[]).unwrap().len(), 50_000);
    }

    #[test]
    fn selections_are_held_against_the_manifest() {
        let text = r#"{"harnesses": ["claude", "codex"], "profiles": ["p"], "languages": "none"}"#;
        let manifest = CorpusManifest::parse(Utf8Path::new("manifest.json"), text).unwrap();
        let selection = Selection {
            harnesses: words("Claude cloude"),
            profiles: words("P q"),
            languages: words("csharp"),
        };
        let error = CorpusError::Selection(manifest.mistakes(&selection));
        insta::assert_snapshot!(error, @r"
        the corpus offers no harness `cloude` (did you mean `claude`?)
        the corpus offers no profile `q`
        the corpus offers no language `csharp`
        ");
        let empty = CorpusManifest::parse(Utf8Path::new("manifest.json"), "{}").unwrap();
        assert_eq!(empty, CorpusManifest::default());
    }

    #[test]
    fn every_mistake_of_a_catalog_is_reported() {
        let text = r#"{"publicProfiles": [{"composes": "x"}, 7, {"id": 1, "languages": [2]}]}"#;
        let error = Catalog::parse(Utf8Path::new("c.json"), text).unwrap_err();
        insta::assert_snapshot!(error, @r"
        c.json: publicProfiles[0].id: missing
        c.json: publicProfiles[0].composes: not an array of strings
        c.json: publicProfiles[1].id: missing
        c.json: publicProfiles[2].id: a number, expected a string
        c.json: publicProfiles[2].languages: not an array of strings
        ");
        let error = Catalog::parse(Utf8Path::new("c.json"), "{\"publicProfiles\": [}").unwrap_err();
        insta::assert_snapshot!(error, @"c.json:1:21: not JSON: unexpected close brace");
    }

    #[test]
    fn mcp_servers_are_read_strictly() {
        let parse = |text| parse_mcp_servers(Utf8Path::new("m.json"), text);
        let good = r#"{"schemaVersion": "1.0", "servers": [{"id": "tea", "profiles": ["p"],
            "transport": "stdio", "command": "kettle", "args": ["boil"], "description": "x"}]}"#;
        let server = McpServer {
            id: "tea".into(),
            profiles: words("p"),
            command: "kettle".into(),
            args: words("boil"),
        };
        assert_eq!(parse(good).unwrap(), [server]);
        let bad = r#"{"schemaVersion": "2.0", "servers": [
            {"id": "a", "profiles": [], "transport": "http", "command": " ", "args": []},
            {"id": "a", "profiles": ["p"], "transport": "stdio", "command": "c", "args": []},
            {"id": "b", "profiles": ["p"], "transport": "stdio", "command": 3}]}"#;
        insta::assert_snapshot!(parse(bad).unwrap_err(), @r"
        m.json: schemaVersion: version `2.0` is not known, expected `1.0`
        m.json: servers[0].transport: `http` is not known, expected `stdio`
        m.json: servers[0].command: empty
        m.json: servers[0].profiles: empty, so nothing would select the server
        m.json: servers[1].id: `a` stands twice
        m.json: servers[2].command: a number, expected a string
        m.json: servers[2].args: missing
        ");
        insta::assert_snapshot!(parse("{}").unwrap_err(), @r"
        m.json: schemaVersion: missing
        m.json: servers: missing or no array
        ");
    }
}
