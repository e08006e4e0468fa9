//! What is measured of trials.

use std::fmt;
use std::str::FromStr;

use proctor_model::measure::MetricUnit;
use proctor_model::nearest;
use proctor_model::run::{GradedStatus, PhaseName, TestStatus, TrialRecord, TrialStatus};

use super::key::{did_you_mean, plain};

/// A figure of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Tests that passed, of all tests with a result.
    TestPassRate,
    /// Trials that passed, of those that passed or failed.
    PassRate,
    /// US dollars a trial.
    Cost,
    /// Seconds from the beginning of a trial to its end.
    WallClock,
    /// Seconds in which the agent worked.
    AgentTime,
    /// All tokens: input, output, and those read from and written to a cache.
    Tokens,
    /// Input tokens that were not read from a cache.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Calls of tools.
    ToolCalls,
    /// Calls of tools that failed.
    ToolFailures,
    /// Tests that failed, a trial.
    TestsFailed,
    /// Turns as the agent counts them, which agents do differently.
    Turns,
    /// How likely at least one of so many tries passes.
    PassAt(u64),
    /// How likely all of so many tries pass.
    PassHat(u64),
}

/// What a trial says about a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    /// The sum of its observations.
    pub(super) sum: f64,
    /// How many they are.
    pub(super) count: u64,
    /// How many should be there and are not.
    pub(super) missing: u64,
}

impl Seen {
    fn one(value: Option<f64>) -> Self {
        match value {
            Some(sum) => Self { sum, count: 1, missing: 0 },
            None => Self { sum: 0.0, count: 0, missing: 1 },
        }
    }
}

impl Metric {
    const NAMED: [Self; 12] = [
        Self::TestPassRate,
        Self::PassRate,
        Self::Cost,
        Self::WallClock,
        Self::AgentTime,
        Self::Tokens,
        Self::InputTokens,
        Self::OutputTokens,
        Self::ToolCalls,
        Self::ToolFailures,
        Self::TestsFailed,
        Self::Turns,
    ];

    /// What comparisons say beside pass and fail.
    pub(super) const COMPARED: [Self; 5] =
        [Self::Cost, Self::WallClock, Self::AgentTime, Self::Tokens, Self::ToolCalls];

    fn word(self) -> &'static str {
        match self {
            Self::TestPassRate => "test-pass-rate",
            Self::PassRate => "pass-rate",
            Self::Cost => "cost",
            Self::WallClock => "wall-clock",
            Self::AgentTime => "agent-time",
            Self::Tokens => "tokens",
            Self::InputTokens => "input-tokens",
            Self::OutputTokens => "output-tokens",
            Self::ToolCalls => "tool-calls",
            Self::ToolFailures => "tool-failures",
            Self::TestsFailed => "tests-failed",
            Self::Turns => "turns",
            Self::PassAt(_) => "pass@",
            Self::PassHat(_) => "pass^",
        }
    }

    /// What it is measured in.
    pub fn unit(self) -> MetricUnit {
        match self {
            Self::TestPassRate | Self::PassRate | Self::PassAt(_) | Self::PassHat(_) => {
                MetricUnit::Share
            }
            Self::Cost => MetricUnit::Usd,
            Self::WallClock | Self::AgentTime => MetricUnit::Seconds,
            Self::Tokens
            | Self::InputTokens
            | Self::OutputTokens
            | Self::ToolCalls
            | Self::ToolFailures
            | Self::TestsFailed
            | Self::Turns => MetricUnit::Count,
        }
    }

    /// What a trial that passed or failed says about it.
    pub(super) fn of(self, record: &TrialRecord) -> Seen {
        let usage = record.usage.unwrap_or_default();
        Seen::one(match self {
            Self::TestPassRate => return tests(record),
            Self::PassRate | Self::PassAt(_) | Self::PassHat(_) => {
                Some(f64::from(u8::from(record.status == TrialStatus::Pass)))
            }
            Self::Cost => usage.cost_usd.filter(|usd| usd.is_finite()),
            Self::WallClock => Some(seconds(record.ended_at.saturating_sub(record.started_at))),
            Self::AgentTime => {
                let agent = record.phases.iter().find(|phase| phase.phase == PhaseName::Agent);
                agent.map(|phase| seconds(phase.duration_ms))
            }
            Self::Tokens => {
                let known = [
                    usage.input_tokens,
                    usage.output_tokens,
                    usage.cache_read_tokens,
                    usage.cache_write_tokens,
                ];
                let sum = known.into_iter().flatten().fold(0, u64::saturating_add);
                (usage.input_tokens.is_some() && usage.output_tokens.is_some()).then(|| number(sum))
            }
            Self::InputTokens => usage.input_tokens.map(number),
            Self::OutputTokens => usage.output_tokens.map(number),
            Self::ToolCalls => Some(number(record.tool_calls)),
            Self::ToolFailures => Some(number(record.tool_calls_failed)),
            Self::TestsFailed => {
                let seen = tests(record);
                Some(number(seen.count) - seen.sum)
            }
            Self::Turns => usage.turns.map(number),
        })
    }
}

/// Scripts and other checks that passed, of those that passed or failed.
fn tests(record: &TrialRecord) -> Seen {
    let scripts = record.tests.iter().map(|test| match test.status {
        TestStatus::Passed => Some(true),
        TestStatus::Failed => Some(false),
        TestStatus::EvidenceError | TestStatus::Error | TestStatus::Skipped => None,
    });
    let required = record.graded.iter().filter(|check| !check.optional);
    let checks = required.map(|check| match check.status {
        GradedStatus::Passed => Some(true),
        GradedStatus::Failed => Some(false),
        GradedStatus::Error | GradedStatus::Skipped | GradedStatus::Unknown => None,
    });
    let mut seen = Seen { sum: 0.0, count: 0, missing: 0 };
    for answer in scripts.chain(checks) {
        match answer {
            None => seen.missing += 1,
            Some(passed) => {
                seen.count += 1;
                seen.sum += f64::from(u8::from(passed));
            }
        }
    }
    seen
}

fn seconds(milliseconds: u64) -> f64 {
    number(milliseconds) / 1000.0
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PassAt(k) | Self::PassHat(k) => f.pad(&format!("{}{k}", self.word())),
            _ => f.pad(self.word()),
        }
    }
}

/// A word that names no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMetric {
    /// It is no word for one.
    #[error("`{word}` is no metric{}; the metrics are {}, pass@K and pass^K", did_you_mean(.near.as_ref()), Metric::NAMED.map(Metric::word).join(", "))]
    Word {
        /// As written.
        word: String,
        /// A metric that is called alike.
        near: Option<String>,
    },
    /// It lacks the number of tries.
    #[error("`{word}` needs a number of tries above 0 in place of K, such as `{}3`", .word.get(..5).unwrap_or("pass@"))]
    Tries {
        /// As written.
        word: String,
    },
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(word: &str) -> Result<Self, UnknownMetric> {
        for (start, of) in [("pass@", Self::PassAt as fn(u64) -> Self), ("pass^", Self::PassHat)] {
            if let Some(k) = word.strip_prefix(start) {
                let k = k.parse().ok().filter(|k| *k > 0);
                return k.map(of).ok_or_else(|| UnknownMetric::Tries { word: word.to_owned() });
            }
        }
        let wanted = plain(word);
        let found = Self::NAMED.into_iter().find(|metric| plain(metric.word()) == wanted);
        found.ok_or_else(|| UnknownMetric::Word {
            word: word.to_owned(),
            near: nearest(word, Self::NAMED.map(Self::word)).map(str::to_owned),
        })
    }
}
