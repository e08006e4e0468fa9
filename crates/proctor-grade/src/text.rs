//! Comparing the text of an answer with the text an author wrote down.
//!
//! One rule serves every check that compares text, whatever way of testing it belongs to:
//!
//! 1. a scalar becomes text, numbers in ECMAScript form ([`proctor_model::json::number_text`]);
//! 2. normal form C, full default case folding (no Turkic rule), normal form C again, because
//!    folding can leave it;
//! 3. each run of white space (Unicode `White_Space` and U+FEFF) becomes one space, none at the ends;
//! 4. nothing else: no compatibility folding, no punctuation, quotes or dashes folded, no dates or
//!    numbers read.
//!
//! No locale has a say. The Unicode tables are those of ICU4X; [`Prepared`] holds a text with its
//! normalised form, finds others in it and shows where.

mod edge;
mod excerpt;
mod find;
mod normal;

pub use excerpt::{EXCERPT_CONTEXT, EXCERPT_HIT};
pub use find::{Boundary, Find, Prepared};
pub use normal::normalise;
