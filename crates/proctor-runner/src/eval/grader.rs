//! The built-in grader at work: one answer after the other is shown to a model.

use std::sync::LazyLock;

use proctor_grade::eval::grader::{BadReply, Exam, REPLY_TOKENS, Unfit, reply_schema};
use proctor_grade::eval::{ArmResult, Budget, Grade, Handed};
use proctor_llm::{Ask, AskError, Model, ReplySchema};
use proctor_model::eval::protocol::Arm;
use proctor_model::eval::{ExpandedCase, Rubric};
use proctor_redact::Redactor;
use proctor_sandbox::Cancel;

use super::flow::Stopped;

static SCHEMA: LazyLock<ReplySchema> =
    LazyLock::new(|| ReplySchema { name: "grade".to_owned(), schema: reply_schema() });

/// A model that grades answers.
#[derive(Clone, Copy)]
pub struct Grader<'a> {
    /// The model.
    pub model: &'a dyn Model,
}

/// Why an answer has no grade.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoGrade {
    /// It was not shown to the model.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The model could not be asked, or did not answer.
    #[error("the judge failed: {0}")]
    Ask(#[from] AskError),
    /// What it said is no grade.
    #[error(transparent)]
    Reply(#[from] BadReply),
    /// The budget of the whole run is spent.
    #[error("the budget of the run (`--max-cost`) is spent")]
    OverBudget,
}

impl NoGrade {
    /// Whether this says something about the answer and not about the judge: it would be so again.
    fn is_settled(&self) -> bool {
        matches!(self, Self::Unfit(Unfit::Blank))
    }

    /// Whether no other answer would fare better.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Ask(AskError::Refused { status, .. }) => matches!(status, 401 | 403 | 404),
            Self::Ask(AskError::Interrupted) => true,
            _ => false,
        }
    }

    /// Whether a limit of what may be used is reached.
    pub fn is_broke(&self) -> bool {
        matches!(
            self,
            Self::OverBudget
                | Self::Ask(
                    AskError::OverBudget { .. }
                        | AskError::TooManyTokens { .. }
                        | AskError::TooManyCalls { .. }
                )
        )
    }
}

/// What came of grading one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Graded {
    /// The grade.
    pub grade: Result<Grade, NoGrade>,
    /// What in the answer seems to be meant for the grader, as phrases for people.
    pub suspicions: Vec<&'static str>,
}

impl Grader<'_> {
    /// Grades an answer by a rubric. With `fresh` the model is asked even if it was asked the same
    /// before.
    pub fn grade(
        &self,
        rubric: &str,
        answer: &str,
        fresh: bool,
        redactor: &Redactor,
        cancel: &Cancel,
    ) -> Graded {
        match Exam::new(rubric, answer, redactor) {
            Err(unfit) => Graded { grade: Err(unfit.into()), suspicions: Vec::new() },
            Ok(exam) => Graded {
                grade: self.ask(&exam, fresh, cancel),
                suspicions: exam.suspicions().to_vec(),
            },
        }
    }

    fn ask(&self, exam: &Exam, fresh: bool, cancel: &Cancel) -> Result<Grade, NoGrade> {
        let ask = Ask {
            system: exam.system(),
            user: exam.user(),
            max_output_tokens: REPLY_TOKENS,
            schema: &SCHEMA,
            fresh,
        };
        let said = self.model.ask(&ask, &|| cancel.is_cancelled())?;
        Ok(exam.grade(&said.text)?)
    }
}

/// The grading of one skill's answers.
pub(super) struct Grading<'a> {
    grader: Grader<'a>,
    redactor: &'a Redactor,
    cancel: &'a Cancel,
    /// What was spent before, in US dollars, of the grader's own.
    spent_before: f64,
    /// The account of the whole run, as it stood before.
    budget: Budget,
    /// What a reader should know.
    pub(super) warnings: Vec<String>,
    /// Answers without a grade that another run could have one for.
    pub(super) missing: u64,
    /// Why nothing more can be graded.
    pub(super) stopped: Option<Stopped>,
}

impl<'a> Grading<'a> {
    pub(super) fn new(
        grader: Grader<'a>,
        budget: Budget,
        redactor: &'a Redactor,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            grader,
            redactor,
            cancel,
            spent_before: grader.model.spent_usd(),
            budget,
            warnings: Vec::new(),
            missing: 0,
            stopped: None,
        }
    }

    /// What the grader spent on this skill, in US dollars.
    pub(super) fn spent_usd(&self) -> f64 {
        (self.grader.model.spent_usd() - self.spent_before).max(0.0)
    }

    /// Grades what a run of a case answered, when there is something to grade and a rubric for it.
    pub(super) fn settle(
        &mut self,
        case: &ExpandedCase,
        arm: Arm,
        mut judged: ArmResult,
        answer: Option<&str>,
    ) -> ArmResult {
        if let (ArmResult::Graded { outcome, .. }, Some(rubric)) = (&mut judged, &case.rubric)
            && self.stopped.is_none()
        {
            let label = format!("{} ({} the skill)", case.id, arm.as_str());
            let grade = self.grade(&label, rubric, answer.unwrap_or_default());
            outcome.grade_rubric(rubric, grade);
        }
        judged
    }

    fn grade(&mut self, label: &str, rubric: &Rubric, answer: &str) -> Result<Grade, String> {
        let Graded { grade, suspicions } = if self.is_broke() {
            Graded { grade: Err(NoGrade::OverBudget), suspicions: Vec::new() }
        } else {
            self.grader.grade(&rubric.text(), answer, false, self.redactor, self.cancel)
        };
        if !suspicions.is_empty() {
            self.warnings.push(format!(
                "{label}: the answer has {}; look at it before you trust its grade",
                suspicions.join(" and ")
            ));
        }
        grade.map_err(|why| {
            if why.is_final() {
                self.stopped = Some(match why {
                    NoGrade::Ask(AskError::Interrupted) => Stopped::Interrupted,
                    _ => Stopped::CannotRun(why.to_string()),
                });
            }
            self.missing += u64::from(!why.is_settled());
            self.warnings.push(format!("{label}: not graded: {why}"));
            why.to_string()
        })
    }

    /// Whether the whole run may spend nothing more.
    fn is_broke(&self) -> bool {
        let mut budget = self.budget;
        budget.charge_grader(self.spent_usd());
        budget.handed() == Handed::Nothing
    }
}
