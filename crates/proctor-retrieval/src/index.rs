//! The index and its ranking.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::Document;
use crate::token::{stem, tokens, words};

/// How soon further mentions of a term stop to count.
const K1: f64 = 1.2;
/// How much a long document is held back.
const B: f64 = 0.75;

const NAME_WEIGHT: f64 = 3.0;
const TRIGGERS_WEIGHT: f64 = 2.5;
const KEYWORDS_WEIGHT: f64 = 2.0;
const DESCRIPTION_WEIGHT: f64 = 1.0;

/// Documents, ready to be ranked for many queries.
///
/// Everything in a score but the choice of the terms is known beforehand, so that a query costs one
/// addition for each document in which each of its terms stands.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// By name, and as they were given where names are equal: the order of equal scores.
    documents: Vec<Document>,
    /// Term to place in `postings`.
    vocabulary: HashMap<String, usize>,
    postings: Vec<Vec<Posting>>,
}

/// That a term stands in a document.
#[derive(Debug, Clone, Copy)]
struct Posting {
    /// Place in [`Index::documents`].
    document: usize,
    /// The mentions, each counted with the weight of its field; what the term adds to the score
    /// once the index stands.
    value: f64,
}

/// A document that has at least one term of the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit<'a> {
    /// The document.
    pub document: &'a Document,
    /// Its score, above 0, with 6 decimals. It can only be compared with scores of the same query.
    pub score: f64,
    place: usize,
}

/// The best hits of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Top<'a> {
    /// The hits, the best first.
    pub hits: Vec<Hit<'a>>,
    /// How many there are, those beyond the limit included.
    pub found: usize,
}

/// A term of the query that stands in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The first word of the query with this term, lower-cased.
    pub word: String,
    /// The stem that was searched for.
    pub term: String,
    /// What it adds to the score of the document, not rounded.
    pub score: f64,
}

impl Index {
    /// Indexes a set of documents. How often a term stands in the set, and how long documents are,
    /// is counted over these and nothing else.
    pub fn new(documents: impl IntoIterator<Item = Document>) -> Self {
        let mut documents: Vec<Document> = documents.into_iter().collect();
        documents.sort_by(|a, b| a.name.cmp(&b.name));
        let mut index = Self { documents, ..Self::default() };
        let mut lengths = Vec::with_capacity(index.documents.len());
        for (place, document) in index.documents.iter().enumerate() {
            let mut adding = Adding {
                place,
                length: 0.0,
                vocabulary: &mut index.vocabulary,
                postings: &mut index.postings,
            };
            adding.field(&document.name, NAME_WEIGHT);
            document.triggers.iter().for_each(|text| adding.field(text, TRIGGERS_WEIGHT));
            document.keywords.iter().for_each(|text| adding.field(text, KEYWORDS_WEIGHT));
            adding.field(&document.description, DESCRIPTION_WEIGHT);
            lengths.push(adding.length);
        }
        index.weigh(&lengths);
        index
    }

    /// Turns mentions into parts of scores.
    fn weigh(&mut self, lengths: &[f64]) {
        let count = float(self.documents.len());
        // Multiples of one half: these sums are exact in any order.
        let average = lengths.iter().sum::<f64>() / count;
        for postings in &mut self.postings {
            let with_term = float(postings.len());
            let rarity = (1.0 + (count - with_term + 0.5) / (with_term + 0.5)).ln();
            for Posting { document, value } in postings {
                // A document with a term has a length, and so has the average.
                let length = lengths.get(*document).copied().unwrap_or_default();
                let saturation = *value + K1 * (1.0 - B + B * length / average);
                *value = rarity * *value * (K1 + 1.0) / saturation;
            }
        }
    }

    /// Every document that has a term of the query: by score, the highest first, and by name
    /// (bytewise) where scores are equal. A query without terms finds nothing.
    pub fn search(&self, query: &str) -> Vec<Hit<'_>> {
        let mut hits = self.scored(query);
        hits.sort_unstable_by(order);
        hits
    }

    /// The first `limit` of what [`Self::search`] finds, without sorting the rest.
    pub fn top(&self, query: &str, limit: usize) -> Top<'_> {
        let mut hits = self.scored(query);
        let found = hits.len();
        if limit < found {
            hits.select_nth_unstable_by(limit, order);
            hits.truncate(limit);
        }
        hits.sort_unstable_by(order);
        Top { hits, found }
    }

    /// The terms of the query that stand in the document of each hit, in the order of the query.
    pub fn matches(&self, query: &str, hits: &[Hit<'_>]) -> Vec<Vec<Match>> {
        let mut seen = HashSet::new();
        let terms = words(query).filter_map(|word| {
            let term = stem(word.clone());
            let number = *self.vocabulary.get(&term)?;
            Some((word, term, self.postings.get(number).filter(|_| seen.insert(number))?))
        });
        let terms: Vec<(String, String, &Vec<Posting>)> = terms.collect();
        let matches = |hit: &Hit<'_>| {
            let found = terms.iter().filter_map(|(word, term, postings)| {
                let at = postings.binary_search_by_key(&hit.place, |posting| posting.document);
                let score = postings.get(at.ok()?)?.value;
                Some(Match { word: word.clone(), term: term.clone(), score })
            });
            found.collect()
        };
        hits.iter().map(matches).collect()
    }

    /// The hits in no order. A score is the sum over the terms in the order of their first mention
    /// in the query: another order may differ in the last bit.
    fn scored(&self, query: &str) -> Vec<Hit<'_>> {
        let mut scores = vec![0.0; self.documents.len()];
        let mut touched = Vec::new();
        let mut seen = HashSet::new();
        for term in tokens(query) {
            let Some(number) = self.vocabulary.get(&term) else { continue };
            if !seen.insert(*number) {
                continue;
            }
            for posting in self.postings.get(*number).into_iter().flatten() {
                let Some(score) = scores.get_mut(posting.document) else { continue };
                if *score == 0.0 {
                    touched.push(posting.document);
                }
                *score += posting.value;
            }
        }
        let hits = touched.into_iter().filter_map(|place| {
            let score = round(*scores.get(place)?);
            (score > 0.0).then_some(Hit { document: self.documents.get(place)?, score, place })
        });
        hits.collect()
    }
}

/// Counts the words of one document.
struct Adding<'a> {
    place: usize,
    length: f64,
    vocabulary: &'a mut HashMap<String, usize>,
    postings: &'a mut Vec<Vec<Posting>>,
}

impl Adding<'_> {
    fn field(&mut self, text: &str, weight: f64) {
        for term in tokens(text) {
            self.length += weight;
            let number = *self.vocabulary.entry(term).or_insert_with(|| {
                self.postings.push(Vec::new());
                self.postings.len() - 1
            });
            let Some(postings) = self.postings.get_mut(number) else { continue };
            match postings.last_mut() {
                Some(last) if last.document == self.place => last.value += weight,
                _ => postings.push(Posting { document: self.place, value: weight }),
            }
        }
    }
}

fn order(a: &Hit<'_>, b: &Hit<'_>) -> Ordering {
    // The place of a document follows its name.
    b.score.total_cmp(&a.score).then(a.place.cmp(&b.place))
}

/// To 6 decimals, halves away from zero.
fn round(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 skills")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
