//! A judge at work on answers that people labelled.

use proctor_grade::eval::grader::{Exam, Gradings};
use proctor_grade::eval::{Grade, count_tokens};
use proctor_model::judge::LabelledAnswer;
use proctor_redact::Redactor;
use proctor_sandbox::Cancel;

use super::grader::{Grader, NoGrade};

/// How labelled answers are judged.
#[derive(Clone, Copy)]
pub struct Calibration<'a> {
    /// The judge.
    pub grader: Grader<'a>,
    /// How often each answer is judged. Above 1, no question is answered from memory.
    pub repeat: u32,
    /// Knows what must be neither sent nor shown.
    pub redactor: &'a Redactor,
    /// Ends it early.
    pub cancel: &'a Cancel,
}

/// What the judge said.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// An entry for each answer, in order.
    pub gradings: Gradings,
    /// Why answers were left out, when some were.
    pub stopped: Option<NoGrade>,
}

impl Calibration<'_> {
    /// What the judge cost so far, in US dollars.
    pub fn spent_usd(&self) -> f64 {
        self.grader.model.spent_usd()
    }

    /// Has every answer judged, all of them once, then again. `each` is told of every question that
    /// is done.
    pub fn run(&self, answers: &[LabelledAnswer], each: &mut dyn FnMut()) -> Calibrated {
        let mut gradings: Gradings = vec![Vec::new(); answers.len()];
        let mut stopped = None;
        'rounds: for _ in 0..self.repeat {
            for (answer, times) in answers.iter().zip(&mut gradings) {
                let fresh = self.repeat > 1;
                let (rubric, text) = (answer.rubric.text(), &answer.answer);
                let graded = self.grader.grade(&rubric, text, fresh, self.redactor, self.cancel);
                each();
                if let Err(why) = &graded.grade
                    && (why.is_final() || why.is_broke())
                {
                    stopped = graded.grade.err();
                    break 'rounds;
                }
                times.push(self.clean(graded.grade));
            }
        }
        Calibrated { gradings, stopped }
    }

    /// Takes secrets out of what the judge said.
    fn clean(&self, grade: Result<Grade, NoGrade>) -> Result<Grade, String> {
        let clean = |text: &str| self.redactor.text(text).into_owned();
        match grade {
            Ok(grade) => Ok(Grade { rationale: clean(&grade.rationale), ..grade }),
            Err(why) => Err(clean(&why.to_string())),
        }
    }
}

/// Tokens of all questions about these answers, each asked once, and how many questions there are:
/// what must not be sent makes none.
pub fn question_tokens(answers: &[LabelledAnswer], redactor: &Redactor) -> (u64, u64) {
    let exams = answers
        .iter()
        .filter_map(|answer| Exam::new(&answer.rubric.text(), &answer.answer, redactor).ok());
    exams.fold((0, 0), |(questions, tokens), exam| {
        (questions + 1, tokens + count_tokens(exam.system()) + count_tokens(exam.user()))
    })
}
