//! Ranks prompts against documents with tantivy, as `run.py` asks: DOCUMENTS PROMPTS LIMIT.
//!
//! A document is a JSON line with an id and its words, those of weighted fields repeated; prompts
//! are lines of words. Prints a line of ids for each prompt, the best first.

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::schema::{STORED, STRING};
use tantivy::{Index, TantivyDocument, Term, doc};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, documents, prompts, limit] = arguments.as_slice() else {
        return Err("usage: search-peer DOCUMENTS PROMPTS LIMIT".into());
    };
    let limit: usize = limit.parse()?;

    let mut schema = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words));
    let id = schema.add_text_field("id", STRING | STORED);
    let index = Index::create_in_ram(schema.build());
    let mut writer = index.writer_with_num_threads(1, 50_000_000)?;
    for line in fs::read_to_string(documents)?.lines() {
        let document: serde_json::Value = serde_json::from_str(line)?;
        let value = |key: &str| document[key].as_str().unwrap_or_default();
        writer.add_document(doc!(id => value("id"), text => value("text")))?;
    }
    writer.commit()?;
    let searcher = index.reader()?.searcher();

    let mut out = BufWriter::new(std::io::stdout().lock());
    for prompt in fs::read_to_string(prompts)?.lines() {
        let mut terms: Vec<&str> = prompt.split_whitespace().collect();
        terms.sort_unstable();
        terms.dedup();
        let terms = terms.into_iter().map(|word| {
            let term = Term::from_field_text(text, word);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>
        });
        let query = BooleanQuery::union(terms.collect());
        let hits = searcher.search(&query, &TopDocs::with_limit(limit).order_by_score())?;
        let mut line = Vec::new();
        for (_, address) in hits {
            let document: TantivyDocument = searcher.doc(address)?;
            let found = document.get_first(id).and_then(|value| value.as_str().map(str::to_owned));
            line.extend(found);
        }
        writeln!(out, "{}", line.join(" "))?;
    }
    Ok(())
}
