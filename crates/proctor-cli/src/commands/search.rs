//! `proctor search`.

use std::io::{self, BufRead, Read, Write};
use std::num::NonZeroUsize;

use camino::Utf8PathBuf;
use proctor_formats::eval::find;
use proctor_model::ExitCode;
use proctor_report::{Styles, eval as report};
use proctor_runner::eval::Searcher;

use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// The longest query of standard input: 1 MiB.
const MAX_QUERY_BYTES: u64 = 1024 * 1024;

/// Arguments of `proctor search`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor search how do I roll back a release
  proctor search --root .claude/skills --limit 3 --format json 'rotate the signing keys'
  proctor search - --format json < queries.txt

Ranks by the words of the query alone, as `proctor eval run --mode activation` does: by name,
triggers, keywords and description of each SKILL.md, with BM25. No model is asked.

With `-` each line of standard input is a query; JSON is then one line for each, in their order.

Exit codes: 0 a skill has a word of the query; 1 none has; 2 wrong usage.")]
pub(crate) struct Args {
    /// What to look for; `-` reads queries from standard input, one a line.
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Skills folder or configuration folder [default: the first of .ai-rulez, .claude/skills,
    /// .agents/skills and skills that is there].
    #[arg(long, value_name = "DIR")]
    root: Option<Utf8PathBuf>,
    /// List at most so many skills.
    #[arg(short, long, value_name = "N", default_value = "10")]
    limit: NonZeroUsize,
    /// How to print what was found.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let project = find(&context.cwd, args.root.as_deref()).map_err(CommandError::usage)?;
    let (searcher, warnings) = Searcher::new(&project);
    for warning in project.warnings.0.iter().chain(&warnings.0) {
        context.printer.warning(&warning.to_string());
    }
    let found = if args.query == ["-"] {
        let styles = context.printer.styles();
        let mut found = Ok(false);
        context.printer.bytes(|out| {
            found = lines(args, &searcher, &styles, &mut io::stdin().lock(), out)?;
            Ok(())
        })?;
        found?
    } else {
        let search = searcher.search(&args.query.join(" "), args.limit.get());
        let text = match args.format {
            Output::Text => report::search_text(&search, &context.printer.styles()),
            Output::Json => report::search_json(&search),
        };
        context.printer.data(&text)?;
        search.found > 0
    };
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Answers each line of `input` before the next is read; whether any of them found something. An
/// error inside is one of the input.
fn lines(
    args: &Args,
    searcher: &Searcher,
    styles: &Styles,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> io::Result<Result<bool, CommandError>> {
    let mut found = false;
    for number in 1_u64.. {
        let query = match query(input) {
            Ok(Some(query)) => query,
            Ok(None) => break,
            Err(why) => {
                let message = format!("line {number} of standard input {why}");
                return Ok(Err(CommandError::usage(message)));
            }
        };
        let search = searcher.search(&query, args.limit.get());
        found |= search.found > 0;
        let text = match args.format {
            Output::Text => report::search_block(&search, styles),
            Output::Json => report::search_json_line(&search),
        };
        out.write_all(text.as_bytes())?;
    }
    Ok(Ok(found))
}

/// The next line without its end, or what is wrong with it.
fn query(input: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MAX_QUERY_BYTES + 1).read_until(b'\n', &mut line);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if line.len() as u64 > MAX_QUERY_BYTES {
        return Err("is longer than 1 MiB".to_owned());
    }
    let text = String::from_utf8(line).map_err(|_| "is not UTF-8".to_owned())?;
    let query = text.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    Ok(query.or(Some(&*text).filter(|text| !text.is_empty())).map(str::to_owned))
}
