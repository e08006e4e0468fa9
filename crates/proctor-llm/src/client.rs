//! A model behind HTTP: repeats what may pass, keeps the limits, and knows what it was told.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use proctor_model::Digest;
use proctor_model::llm::LlmSettings;
use proctor_redact::{MARK, Redactor};
use serde_json::Value;

use crate::dialect::{self, End, Without};
use crate::guard::{Guard, Hold, Limits};
use crate::pace::Pace;
use crate::target::{Secret, Target};
use crate::wire::{Lost, Reply, Wire};
use crate::{Ask, AskError, Model, NoClient, Price, Said, Tokens};

/// The most of a provider's message that is shown, in bytes.
const MAX_MESSAGE: usize = 300;

/// The most of a reply in which a message is looked for, in bytes.
const MAX_COMPLAINT: usize = 16 * 1024;

/// How often a pause looks whether it is called off.
const LOOK: Duration = Duration::from_millis(20);

/// Answers, by the digest of their questions.
type Known = BTreeMap<Digest, (String, Option<Tokens>)>;

/// A model behind HTTP. It may be asked by several threads at once.
#[derive(Debug)]
pub struct Client {
    target: Target,
    wire: Wire,
    guard: Guard,
    redactor: Redactor,
    timeout: Duration,
    max_retries: u32,
    pub(crate) pace: Pace,
    /// What was answered to which question; `None` when nothing is to be remembered.
    known: Option<Mutex<Known>>,
    /// What the model turned out not to know.
    without: Mutex<Without>,
}

/// Makes a client, if the settings allow it; nothing is sent yet.
///
/// `price` is that of the settings' model, `None` when it is unknown: then a limit in dollars is a
/// mistake. `env` reads the environment, where the key is.
pub fn connect(
    settings: &LlmSettings,
    price: Option<Price>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Client, NoClient> {
    let target = Target::of(settings, env)?;
    if settings.max_cost_usd.is_some() && price.is_none() {
        return Err(NoClient::UnknownPrice { model: target.id });
    }
    let limits = Limits {
        cost_usd: settings.max_cost_usd,
        tokens: settings.max_tokens,
        calls: settings.max_calls,
    };
    let key = target.key.as_ref().map(|key| key.0.clone());
    let own = target.dialect.fixed_header().map(|(name, value)| (name, value.to_owned()));
    let headers = key.as_deref().map(|key| target.dialect.key_header(key)).into_iter().chain(own);
    let headers = headers.map(|(name, value)| (name, Secret(value))).collect();
    let url = target.url.clone();
    let wire = if target.tls {
        Wire::through_tls(url, headers).ok_or(NoClient::NoCertificates)?
    } else {
        Wire::plain(url, headers)
    };
    Ok(Client {
        wire,
        guard: Guard::new(limits, price),
        redactor: Redactor::new(key),
        timeout: settings.timeout,
        max_retries: settings.max_retries,
        pace: Pace::default(),
        known: settings.cache.then(Mutex::default),
        without: Mutex::default(),
        target,
    })
}

/// Where one question stands.
struct Course<'a> {
    end: Instant,
    attempts: u32,
    cost_usd: f64,
    without: Without,
    cancel: &'a dyn Fn() -> bool,
}

/// What follows an attempt.
enum Next {
    Done(Said),
    /// The same again, after a pause.
    Again {
        asked: Option<Duration>,
        why: String,
    },
    /// The same at once, without what the model does not know.
    Less(Without),
}

impl Model for Client {
    fn id(&self) -> &str {
        &self.target.id
    }

    fn ask(&self, ask: &Ask<'_>, cancel: &dyn Fn() -> bool) -> Result<Said, AskError> {
        let known = self.known.as_ref().filter(|_| !ask.fresh);
        let question = Digest::of(self.body(ask, Without::default()).as_bytes());
        if let Some(known) = known {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((text, usage)) = known.get(&question).cloned() {
                return Ok(Said { text, usage, cost_usd: 0.0, cached: true });
            }
        }
        let said = self.ask_anew(ask, cancel)?;
        if let Some(known) = known {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(question, (said.text.clone(), said.usage));
        }
        Ok(said)
    }

    fn spent_usd(&self) -> f64 {
        self.guard.spent_usd()
    }
}

impl Client {
    fn body(&self, ask: &Ask<'_>, without: Without) -> String {
        self.target.dialect.request(&self.target.model, ask, without).to_string()
    }

    fn ask_anew(&self, ask: &Ask<'_>, cancel: &dyn Fn() -> bool) -> Result<Said, AskError> {
        let without = *self.without.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + self.timeout;
        let mut course = Course { end, attempts: 0, cost_usd: 0.0, without, cancel };
        loop {
            if cancel() {
                return Err(AskError::Interrupted);
            }
            match self.attempt(ask, &mut course)? {
                Next::Done(said) => {
                    *self.without.lock().unwrap_or_else(PoisonError::into_inner) = course.without;
                    return Ok(said);
                }
                Next::Less(without) => course.without = without,
                Next::Again { asked, why } => {
                    course.attempts += 1;
                    let pause = self.pace.pause(course.attempts, asked);
                    let in_time = pause < course.end.saturating_duration_since(Instant::now());
                    if course.attempts > self.max_retries || !in_time {
                        let (attempts, message) = (course.attempts, why);
                        return Err(AskError::Failed { attempts, message });
                    }
                    rest(pause, cancel)?;
                }
            }
        }
    }

    /// Sends the question once.
    fn attempt(&self, ask: &Ask<'_>, course: &mut Course<'_>) -> Result<Next, AskError> {
        let hold = self.guard.reserve(ask.worst_case())?;
        let left = course.end.saturating_duration_since(Instant::now());
        let reply = self.wire.post(self.body(ask, course.without), left, course.cancel);
        match reply {
            Ok(reply) if (200..300).contains(&reply.status) => {
                self.accept(ask, &reply, hold, course)
            }
            Ok(reply) => self.refused(&reply, hold, course),
            Err(Lost::Unsent(why)) => {
                hold.free();
                Ok(Next::Again { asked: None, why: self.message(&why) })
            }
            Err(Lost::Broken(why)) => {
                course.cost_usd += hold.settle(None);
                Ok(Next::Again { asked: None, why: self.message(&why) })
            }
            // What was set aside is spent with the hold.
            Err(Lost::TimedOut) => Err(AskError::TimedOut { seconds: self.timeout.as_secs() }),
            Err(Lost::Interrupted) => Err(AskError::Interrupted),
            Err(Lost::TooLarge) => {
                Err(AskError::Unreadable { message: "it is larger than 4 MiB".to_owned() })
            }
        }
    }

    /// Reads a reply with a status of success.
    fn accept(
        &self,
        ask: &Ask<'_>,
        reply: &Reply,
        hold: Hold<'_>,
        course: &mut Course<'_>,
    ) -> Result<Next, AskError> {
        let Ok(body) = serde_json::from_slice::<Value>(&reply.body) else {
            return Err(AskError::Unreadable { message: "it is no JSON".to_owned() });
        };
        let reading = self.target.dialect.read(&body);
        course.cost_usd += hold.settle(reading.usage);
        match reading.end {
            End::Whole(text) if text.trim().is_empty() => Err(AskError::Empty),
            End::Whole(text) => Ok(Next::Done(Said {
                text,
                usage: reading.usage,
                cost_usd: course.cost_usd,
                cached: false,
            })),
            End::Cut => Err(AskError::Truncated { limit: ask.output_cap() }),
            End::Withheld(reason) => Err(AskError::Withheld { reason: self.message(&reason) }),
            End::Strange(what) => Err(AskError::Unreadable { message: self.message(&what) }),
        }
    }

    /// Reads a reply with any other status.
    fn refused(
        &self,
        reply: &Reply,
        hold: Hold<'_>,
        course: &mut Course<'_>,
    ) -> Result<Next, AskError> {
        let status = reply.status;
        let body = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        let complaint = dialect::complaint(&body).unwrap_or_else(|| start_of(&reply.body));
        let passes = matches!(status, 408 | 409 | 425 | 429 | 500..);
        if passes && !dialect::is_out_of_quota(&body) {
            // A gateway may give up on what its provider still answers, and is billed for.
            course.cost_usd += hold.settle(None);
            let why = format!("status {status}: {}", self.message(&complaint));
            return Ok(Next::Again { asked: reply.retry_after, why });
        }
        hold.free();
        if matches!(status, 400 | 422)
            && let Some(without) = course.without.and_what(&complaint)
        {
            return Ok(Next::Less(without));
        }
        let message = match status {
            300..400 => "it points somewhere else, and the key is not for there".to_owned(),
            _ => self.message(&complaint),
        };
        Err(AskError::Refused { status, message })
    }

    /// A text of the provider, fit to be shown: without secrets, in one line, and short.
    fn message(&self, text: &str) -> String {
        // The redactor leaves short values and plain words alone, which a gateway's key may be.
        let without_key = match &self.target.key {
            Some(Secret(key)) => Cow::Owned(text.replace(key, MARK)),
            None => Cow::Borrowed(text),
        };
        let redacted = self.redactor.text(&without_key);
        let words: Vec<&str> = redacted
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        let mut line = words.join(" ");
        if line.len() > MAX_MESSAGE {
            line.truncate(line.floor_char_boundary(MAX_MESSAGE));
            line.push_str(" ...");
        }
        line
    }
}

/// The beginning of a body that is no error of the API, such as a page of a proxy.
fn start_of(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..MAX_COMPLAINT).unwrap_or(body)).into_owned()
}

fn rest(pause: Duration, cancel: &dyn Fn() -> bool) -> Result<(), AskError> {
    let end = Instant::now() + pause;
    loop {
        if cancel() {
            return Err(AskError::Interrupted);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(LOOK));
    }
}
