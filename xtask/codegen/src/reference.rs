//! The command line as a page of Markdown.

use clap::{Arg, Command};

/// The reference of `command` and every visible command below it.
pub(crate) fn markdown(mut command: Command) -> String {
    command.build();
    let mut page = String::from(
        "<!-- Written by `cargo xtask codegen`: change the command's help instead. -->\n\n\
         # Command line\n",
    );
    section(&command, &mut page);
    page
}

fn section(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    page.push_str(&format_section(name, command));
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            section(inner, page);
        }
    }
}

fn format_section(name: &str, command: &Command) -> String {
    let mut parts = vec![format!("\n## `{name}`")];
    let about = command.get_long_about().or(command.get_about());
    parts.extend(about.map(|text| text.to_string().trim().to_owned()));
    let aliases: Vec<String> =
        command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        parts.push(format!("Also: {}.", aliases.join(", ")));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).trim();
    parts.push(format!("```text\n{usage}\n```"));
    // `--help` and `--version` say the same everywhere, and what holds for all is said at the top.
    let below = name.contains(' ');
    let shown = command.get_arguments().filter(|arg| {
        let known = matches!(arg.get_id().as_str(), "help" | "version");
        let elsewhere = known || (below && arg.is_global_set());
        !arg.is_hide_set() && !elsewhere
    });
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) = shown.partition(|arg| arg.is_positional());
    for (title, args) in [("Arguments", positional), ("Options", options)] {
        let items: Vec<String> = args.into_iter().map(argument).collect();
        if !items.is_empty() {
            parts.push(format!("{title}:"));
            parts.push(items.join("\n"));
        }
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    // Laid out for a terminal: examples and line ends must stay.
    parts.extend(after.map(|text| format!("```text\n{}\n```", text.to_string().trim())));
    parts.join("\n\n") + "\n"
}

/// One argument as an item of a list.
fn argument(arg: &Arg) -> String {
    let mut item = format!("- `{}`", spelling(arg));
    let help = arg.get_long_help().or(arg.get_help());
    if let Some(help) = help.map(ToString::to_string) {
        // Later paragraphs stay inside the item.
        let paragraphs: Vec<&str> = help.split("\n\n").map(str::trim).collect();
        item.push_str(": ");
        item.push_str(&paragraphs.join("\n\n  "));
    }
    let takes_value = arg.get_action().takes_values();
    let mut notes = Vec::new();
    let values = arg.get_possible_values();
    let values: Vec<&str> = values
        .iter()
        .filter(|value| takes_value && !value.is_hide_set())
        .map(clap::builder::PossibleValue::get_name)
        .collect();
    if !values.is_empty() {
        notes.push(format!("one of `{}`", values.join("`, `")));
    }
    let defaults: Vec<_> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() {
        notes.push(format!("default `{}`", defaults.join(" ")));
    }
    if let Some(variable) = arg.get_env() {
        notes.push(format!("environment `{}`", variable.to_string_lossy()));
    }
    if !notes.is_empty() {
        item.extend([" (", &notes.join("; "), ")"]);
    }
    item
}

/// `-o, --output <FORMAT>` or `<PATH>...`.
fn spelling(arg: &Arg) -> String {
    // Only the styled form of an argument has its names and its value together.
    let shown = arg.to_string();
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(_)) => format!("-{short}, {shown}"),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use clap::{ArgAction, builder::PossibleValuesParser};

    use super::*;

    #[test]
    fn a_page() {
        let format = Arg::new("format")
            .short('f')
            .long("format")
            .value_name("FORMAT")
            .env("FORMAT")
            .value_parser(PossibleValuesParser::new(["text", "json"]))
            .default_value("text")
            .help("How to print.\n\nIn full.");
        let quiet = Arg::new("quiet").long("quiet").action(ArgAction::SetTrue).help("Say less.");
        let secret = Arg::new("secret").long("secret").hide(true);
        let path = Arg::new("path").value_name("PATH").required(true).help("What to read.");
        let color = Arg::new("color").long("color").global(true).help("Colours.");
        let command =
            Command::new("tool").about("Does things.").version("1").arg(color).subcommand(
                Command::new("show")
                    .visible_alias("cat")
                    .about("Shows a file.")
                    .after_help("Example: tool show x")
                    .args([format, quiet, secret, path]),
            );
        let page = markdown(command);
        let (_, page) = page.split_once("# Command line\n").unwrap();
        assert_eq!(
            page,
            "
## `tool`

Does things.

```text
tool [OPTIONS] [COMMAND]
```

Options:

- `--color <color>`: Colours.

## `tool show`

Shows a file.

Also: `cat`.

```text
tool show [OPTIONS] <PATH>
```

Arguments:

- `<PATH>`: What to read.

Options:

- `-f, --format <FORMAT>`: How to print.

  In full. (one of `text`, `json`; default `text`; environment `FORMAT`)
- `--quiet`: Say less.

```text
Example: tool show x
```
"
        );
    }
}
