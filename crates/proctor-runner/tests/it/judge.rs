//! A judge that replies what it is told to, and the grading of answers with it.

use std::collections::VecDeque;
use std::sync::Mutex;

use proctor_llm::{Ask, AskError, Model, Said};

/// US dollars that each question costs.
pub(crate) const PRICE: f64 = 0.01;

/// A model without a network: its replies in order, and what it was asked.
#[derive(Default)]
pub(crate) struct Judge {
    replies: Mutex<VecDeque<Result<String, AskError>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Judge {
    /// A judge with these replies.
    pub(crate) fn new(replies: impl IntoIterator<Item = Result<String, AskError>>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// A judge that gives these scores.
    pub(crate) fn scores(scores: &[f64]) -> Self {
        Self::new(scores.iter().map(|score| Ok(grade(*score))))
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// A reply with this score.
pub(crate) fn grade(score: f64) -> String {
    format!(r#"{{"score": {score}, "rationale": "it scores {score}"}}"#)
}

impl Model for Judge {
    fn id(&self) -> &'static str {
        "judge"
    }

    fn ask(&self, ask: &Ask<'_>, cancel: &dyn Fn() -> bool) -> Result<Said, AskError> {
        if cancel() {
            return Err(AskError::Interrupted);
        }
        self.asked.lock().unwrap().push(ask.user.to_owned());
        let text = self.replies.lock().unwrap().pop_front().expect("one more reply")?;
        Ok(Said { text, usage: None, cost_usd: PRICE, cached: false })
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    fn spent_usd(&self) -> f64 {
        self.times_asked() as f64 * PRICE
    }
}
