//! The most that a run may cost.
//!
//! Money is set aside before an agent begins, and what it cost is counted when it is done. A trial is
//! started only when what is counted, what is set aside for others, and what it may cost itself are
//! within the cap. What a trial may cost is
//!
//! 1. nothing, when its agent is played;
//! 2. the experiment's `max_cost_usd`, when the agent's program stops there;
//! 3. else that amount, or what the dearest trial of the same agent and model has cost so far,
//!    whichever is more;
//! 4. else, when there is neither, all that is left: such a trial works alone.
//!
//! So with agents that keep their limit the cap holds; with others a trial can pass it by what it
//! costs more than was set aside. Who does not say what it cost is counted with all of that.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use proctor_grade::eval::{PRICES, PriceOverrides};
use proctor_model::run::{Coordinates, TrialRecord};
use proctor_sandbox::Cancel;

use crate::money;

/// What is known beforehand of what one trial may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Nothing: its agent is played.
    Nothing,
    /// Its program stops at so many US dollars.
    Kept(f64),
    /// So many US dollars, if the experiment names an amount; nobody keeps it.
    Hoped(Option<f64>),
}

/// Agents that cost alike: the agent and its model.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Payee {
    agent: String,
    model: Option<String>,
}

impl Payee {
    /// The agent of a trial.
    pub fn of(coordinates: &Coordinates) -> Self {
        Self { agent: coordinates.agent.clone(), model: coordinates.model.clone() }
    }

    pub(super) fn new(agent: &str, model: Option<&str>) -> Self {
        Self { agent: agent.to_owned(), model: model.map(str::to_owned) }
    }
}

/// What is known of the money of a trial of which the run already holds something.
#[derive(Debug, Clone)]
pub struct Paid {
    /// By whom it was spent.
    pub payee: Payee,
    /// What it cost; `None` when nothing says it.
    pub cost_usd: Option<f64>,
    /// What was set aside for it; `None` when nothing was.
    pub set_aside_usd: Option<f64>,
    /// What was set aside for attempts that did not live to say what they cost.
    pub lost_usd: f64,
}

/// Nothing tells what earlier trials cost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{trials} earlier trials of the run do not say what they cost, so no cap can be kept; it can in a \
     new run"
)]
pub struct UnknownCost {
    /// How many.
    pub trials: usize,
}

/// Money in billionths of a dollar, so that sums are exact.
type Nanos = u64;

/// The most that a run may cost; threads share it.
#[derive(Debug)]
pub struct Cap {
    limit: Nanos,
    state: Mutex<State>,
    /// Some trial is done, or nothing more is started.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    counted: Nanos,
    aside: Nanos,
    /// Agents for which money is set aside.
    working: usize,
    /// What the dearest trial has cost so far.
    dearest: BTreeMap<Payee, Nanos>,
    /// Why nothing more is started.
    closed: Option<String>,
}

impl Cap {
    /// So many US dollars, of which nothing is spent.
    pub fn new(limit_usd: f64) -> Self {
        Self { limit: nanos(limit_usd), state: Mutex::default(), changed: Condvar::new() }
    }

    /// So many US dollars, of which these were spent. What a trial cost that does not say it is taken
    /// to be what was set aside for it, or else the most of what `bounds` and other trials tell.
    ///
    /// # Errors
    ///
    /// When none of them tells anything.
    pub fn after(
        limit_usd: f64,
        paid: &[Paid],
        bounds: impl Iterator<Item = Bound>,
    ) -> Result<Self, UnknownCost> {
        let cap = Self::new(limit_usd);
        let mut unknown = 0;
        for one in paid {
            cap.state().count(&one.payee, nanos(one.lost_usd), Dearest::Unknown);
            match (one.cost_usd, one.set_aside_usd) {
                (Some(usd), _) => cap.state().count(&one.payee, nanos(usd), Dearest::Known),
                (None, Some(usd)) => cap.state().count(&one.payee, nanos(usd), Dearest::Unknown),
                (None, None) => unknown += 1,
            }
        }
        if unknown == 0 {
            return Ok(cap);
        }
        let bound = bounds.filter_map(|bound| match bound {
            Bound::Nothing => None,
            Bound::Kept(usd) => Some(nanos(usd)),
            Bound::Hoped(usd) => usd.map(nanos),
        });
        let most = bound.chain(cap.state().dearest.values().copied()).max();
        let most = most.ok_or(UnknownCost { trials: unknown })?;
        cap.state().counted += most.saturating_mul(unknown as u64);
        Ok(cap)
    }

    /// Sets aside what a trial may cost, and waits for others where that may help. `None` when it
    /// must not be started.
    pub(super) fn set_aside(
        &self,
        payee: Payee,
        bound: Bound,
        cancel: &Cancel,
    ) -> Option<Aside<'_>> {
        let mut state = self.state();
        loop {
            if state.closed.is_some() || cancel.is_cancelled() {
                return None;
            }
            let left = self.limit.saturating_sub(state.counted.saturating_add(state.aside));
            let wanted = state.wanted(&payee, bound);
            let amount = match wanted {
                Some(amount) if amount <= left => Some(amount),
                // All that is left, when nobody else may still need some of it.
                None if state.working == 0 && left > 0 => Some(left),
                _ => None,
            };
            if let Some(amount) = amount {
                state.aside = state.aside.saturating_add(amount);
                state.working += 1;
                return Some(Aside { cap: self, payee, amount, stage: Cell::new(Stage::Idle) });
            }
            if state.working == 0 {
                state.closed = Some(self.why(&state, &payee, wanted));
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Why no more trials were started; `None` while they are.
    pub(super) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    fn why(&self, state: &State, payee: &Payee, wanted: Option<Nanos>) -> String {
        let (cap, counted) = (usd(self.limit), usd(state.counted));
        match wanted {
            Some(amount) => format!(
                "the cap of ${cap} could be passed: ${counted} are counted, and a trial of {} may cost \
                 ${}",
                payee.agent,
                usd(amount)
            ),
            None => format!("the cap of ${cap} is reached: ${counted} are counted"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the numbers whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dearest {
    /// The amount is what it cost.
    Known,
    /// It stands for what it cost.
    Unknown,
}

impl State {
    /// What a trial may cost; `None` when nothing tells it.
    fn wanted(&self, payee: &Payee, bound: Bound) -> Option<Nanos> {
        match bound {
            Bound::Nothing => Some(0),
            Bound::Kept(usd) => Some(nanos(usd)),
            Bound::Hoped(usd) => usd.map(nanos).max(self.dearest.get(payee).copied()),
        }
    }

    fn count(&mut self, payee: &Payee, amount: Nanos, dearest: Dearest) {
        self.counted = self.counted.saturating_add(amount);
        if dearest == Dearest::Known {
            let known = self.dearest.entry(payee.clone()).or_default();
            *known = (*known).max(amount);
        }
    }
}

/// Whether the agent has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Working,
}

/// Money that is set aside for one trial. Dropping it counts all of it if the agent has begun.
#[derive(Debug)]
pub(super) struct Aside<'a> {
    cap: &'a Cap,
    payee: Payee,
    amount: Nanos,
    stage: Cell<Stage>,
}

impl Aside<'_> {
    /// US dollars.
    pub(super) fn usd(&self) -> f64 {
        usd(self.amount)
    }

    /// The agent begins, and may spend from now on.
    pub(super) fn begin(&self) {
        self.stage.set(Stage::Working);
    }

    /// Counts what the trial cost.
    pub(super) fn settle(self, record: &TrialRecord) {
        if self.stage.get() == Stage::Idle {
            return;
        }
        if let Some(usd) = cost(record) {
            self.cap.state().count(&self.payee, nanos(usd), Dearest::Known);
            self.stage.set(Stage::Idle);
        }
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        let mut state = self.cap.state();
        if self.stage.get() == Stage::Working {
            state.count(&self.payee, self.amount, Dearest::Unknown);
        }
        state.aside = state.aside.saturating_sub(self.amount);
        state.working = state.working.saturating_sub(1);
        self.cap.changed.notify_all();
    }
}

/// What a trial cost, in US dollars: as its agent says, or else the price of its tokens where the
/// price of its model is known. `None` when that tells nothing.
pub fn cost(record: &TrialRecord) -> Option<f64> {
    let model = record.coordinates.model.as_deref();
    let price = model.map(|model| PRICES.price(model, PriceOverrides::default()));
    let rates = price.filter(|price| price.known).map(|price| price.rates);
    money::cost(&record.usage?, rates)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is below 0, or no number, is 0, and what is too much is the most there is"
)]
fn nanos(usd: f64) -> Nanos {
    (usd * 1e9).round() as Nanos
}

#[expect(clippy::cast_precision_loss, reason = "16 digits of money are enough")]
fn usd(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums are exact, of whole billionths")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn payee() -> Payee {
        Payee::new("a", None)
    }

    fn take(cap: &Cap, bound: Bound) -> Option<Aside<'_>> {
        cap.set_aside(payee(), bound, &Cancel::new().unwrap())
    }

    /// An agent that cost so much, or does not say what it cost.
    fn spend(cap: &Cap, bound: Bound, cost: Option<f64>) {
        let aside = take(cap, bound).unwrap();
        aside.begin();
        if let Some(usd) = cost {
            cap.state().count(&payee(), nanos(usd), Dearest::Known);
            aside.stage.set(Stage::Idle);
        }
    }

    fn counted(cap: &Cap) -> f64 {
        usd(cap.state().counted)
    }

    #[test]
    fn nothing_is_started_that_could_pass_the_cap() {
        let cap = Cap::new(0.3);
        for _ in 0..3 {
            spend(&cap, Bound::Kept(0.1), None);
        }
        assert_eq!(counted(&cap), 0.3);
        assert!(take(&cap, Bound::Nothing).is_some());
        assert!(take(&cap, Bound::Kept(0.1)).is_none());
        assert_eq!(
            cap.closed().unwrap(),
            "the cap of $0.3 could be passed: $0.3 are counted, and a trial of a may cost $0.1"
        );
        assert!(take(&cap, Bound::Nothing).is_none(), "what was stopped stays stopped");
    }

    #[test]
    fn what_is_set_aside_and_not_spent_is_free_again() {
        let cap = Cap::new(1.0);
        spend(&cap, Bound::Kept(1.0), Some(0.25));
        drop(take(&cap, Bound::Kept(0.75)));
        assert_eq!(counted(&cap), 0.25, "an agent that never began costs nothing");
        spend(&cap, Bound::Kept(0.75), Some(0.75));
        assert!(take(&cap, Bound::Kept(0.01)).is_none());
    }

    #[test]
    fn without_a_limit_the_first_one_takes_all_and_the_dearest_tells_of_the_next() {
        let cap = Cap::new(1.0);
        let first = take(&cap, Bound::Hoped(None)).unwrap();
        assert_eq!(first.usd(), 1.0);
        drop(first);
        spend(&cap, Bound::Hoped(None), Some(0.2));
        assert_eq!(take(&cap, Bound::Hoped(None)).unwrap().usd(), 0.2);
        assert_eq!(take(&cap, Bound::Hoped(Some(0.1))).unwrap().usd(), 0.2);
        assert_eq!(take(&cap, Bound::Hoped(Some(0.3))).unwrap().usd(), 0.3);
        let other = Payee::new("a", Some("m"));
        let aside = cap.set_aside(other, Bound::Hoped(None), &Cancel::new().unwrap());
        assert_eq!(aside.unwrap().usd(), 0.8);
    }

    #[test]
    fn who_says_nothing_is_counted_with_all_that_was_set_aside() {
        let cap = Cap::new(1.0);
        spend(&cap, Bound::Hoped(None), None);
        assert!(take(&cap, Bound::Hoped(None)).is_none());
        assert_eq!(cap.closed().unwrap(), "the cap of $1 is reached: $1 are counted");
    }

    #[test]
    fn many_at_once_never_have_more_than_the_cap() {
        let cap = Cap::new(1.0);
        let cancel = Cancel::new().unwrap();
        let ran = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while let Some(aside) = cap.set_aside(payee(), Bound::Kept(0.4), &cancel) {
                        let state = cap.state();
                        assert!(state.counted + state.aside <= cap.limit);
                        drop(state);
                        aside.begin();
                        cap.state().count(&payee(), nanos(0.1), Dearest::Known);
                        aside.stage.set(Stage::Idle);
                        drop(aside);
                        ran.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        // 0.6 are counted after six, and then 0.4 more still fit once.
        assert_eq!(ran.into_inner(), 7);
        assert_eq!(cap.state().aside, 0);
    }

    #[test]
    fn a_run_that_goes_on_has_spent_what_it_has() {
        let paid = |cost_usd, set_aside_usd, lost_usd| Paid {
            payee: payee(),
            cost_usd,
            set_aside_usd,
            lost_usd,
        };
        let after = |paid: &[Paid], bound| {
            Cap::after(9.0, paid, std::iter::once(bound)).map(|cap| counted(&cap))
        };
        let known = [paid(Some(0.5), Some(2.0), 2.0), paid(None, Some(1.0), 0.0)];
        assert_eq!(after(&known, Bound::Hoped(None)), Ok(3.5));
        let unknown = [paid(None, None, 0.0), paid(Some(0.5), None, 0.0)];
        assert_eq!(after(&unknown, Bound::Hoped(None)), Ok(1.0));
        assert_eq!(after(&unknown, Bound::Kept(2.0)), Ok(2.5));
        assert_eq!(after(&unknown[..1], Bound::Nothing), Err(UnknownCost { trials: 1 }));
    }

    #[test]
    fn who_waits_is_let_go_when_the_run_is_cancelled() {
        let cap = Cap::new(1.0);
        let cancel = Cancel::new().unwrap();
        let first = cap.set_aside(payee(), Bound::Kept(1.0), &cancel).unwrap();
        std::thread::scope(|scope| {
            let waiter =
                scope.spawn(|| cap.set_aside(payee(), Bound::Kept(1.0), &cancel).is_none());
            cancel.cancel();
            drop(first);
            assert!(waiter.join().unwrap());
        });
        assert_eq!(cap.closed(), None);
    }
}
