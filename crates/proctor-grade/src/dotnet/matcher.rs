//! Running a program over a text: depth first, with a way back and a deadline.

use std::time::{Duration, Instant};

use super::Unfinished;
use super::ast::{Place, UNBOUNDED};
use super::class::Set;
use super::program::{Address, Again, Program, Register, Step};
use super::unicode::{is_boundary_word, lower};

/// Frames on the way back; at 16 bytes each, 256 MiB.
const MOST_FRAMES: usize = 16 * 1024 * 1024;

/// Work between two looks at the clock, in steps or code units: well below a millisecond.
const BETWEEN_LOOKS: u32 = 20_000;

/// A register without a value. Texts are far shorter than this.
const UNSET: u32 = u32::MAX;

/// The start of the first match of `program` in `text`.
pub(super) fn find(
    program: &Program,
    text: &[u16],
    limit: Duration,
    started: Instant,
) -> Result<Option<usize>, Unfinished> {
    let mut matcher = Matcher {
        program,
        text,
        registers: vec![UNSET; program.registers],
        frames: Vec::new(),
        fuel: BETWEEN_LOOKS,
        limit,
        started,
        leading_end: 0,
    };
    let mut start = 0;
    loop {
        if let Some(first) = &program.first {
            let rest = text.get(start..).unwrap_or_default();
            match rest.iter().position(|unit| first.contains(*unit)) {
                Some(ahead) => start += ahead,
                None => return Ok(None),
            }
        }
        matcher.leading_end = start;
        if matcher.run(0, start)?.is_some() {
            return Ok(Some(start));
        }
        matcher.registers.fill(UNSET);
        start = if program.leading_run { matcher.leading_end.max(start + 1) } else { start + 1 };
        if program.anchored || start > text.len() {
            return Ok(None);
        }
    }
}

/// What to do when the way ahead leads nowhere.
#[derive(Clone, Copy)]
enum Frame {
    /// Go on from here.
    Choice { to: Address, at: u32 },
    /// Give one unit back, down to `least`.
    Shorter { run: Address, least: u32, at: u32 },
    /// Take one unit more, up to `most` of them.
    Longer { run: Address, most: u32, at: u32 },
    /// Put an old value back and look further.
    Undo { register: Register, old: u32 },
}

struct Matcher<'a> {
    program: &'a Program,
    text: &'a [u16],
    registers: Vec<u32>,
    frames: Vec<Frame>,
    fuel: u32,
    limit: Duration,
    started: Instant,
    /// How far the run at the very beginning reached.
    leading_end: usize,
}

impl Matcher<'_> {
    /// Runs from `to` at text position `at` up to an [`Step::Accept`]. On success the frames that
    /// could still change the outcome stay; on failure all that were pushed here are gone.
    fn run(&mut self, to: Address, at: usize) -> Result<Option<usize>, Unfinished> {
        let base = self.frames.len();
        let mut next = to as usize;
        let mut at = at;
        let program = self.program;
        loop {
            self.spend(1)?;
            let Some(step) = program.steps.get(next) else { return Ok(Some(at)) };
            if matches!(step, Step::Accept) {
                return Ok(Some(at));
            }
            let forward = match self.step(step, next, at)? {
                Some(forward) => Some(forward),
                None => self.backtrack(base)?,
            };
            match forward {
                Some(forward) => (next, at) = forward,
                None => return Ok(None),
            }
        }
    }

    /// Takes the step at `here`; `None` when it fails.
    fn step(
        &mut self,
        step: &Step,
        here: usize,
        at: usize,
    ) -> Result<Option<(usize, usize)>, Unfinished> {
        let next = here + 1;
        Ok(match step {
            Step::Unit { unit, back } => {
                self.unit(at, *back).filter(|found| found.0 == *unit).map(|f| (next, f.1))
            }
            Step::Set { set, back } => {
                self.unit(at, *back).filter(|found| set.contains(found.0)).map(|f| (next, f.1))
            }
            Step::Run { set, min, max, lazy, back } => {
                let bounds = if *lazy { (*min, *min) } else { (*min, *max) };
                let Some((least, end)) = self.take(set, bounds, at, *back)? else {
                    return Ok(None);
                };
                if here == 0 {
                    // A lazy run reaches its end in steps: see `longer`.
                    self.leading_end = end;
                }
                if *lazy && max > min {
                    let most = if *max == UNBOUNDED { UNBOUNDED } else { max - min };
                    self.push(Frame::Longer { run: short(here), most, at: short(end) })?;
                } else if least != end {
                    self.push(Frame::Shorter {
                        run: short(here),
                        least: short(least),
                        at: short(end),
                    })?;
                }
                Some((next, end))
            }
            Step::Assert(place) => self.is_at(*place, at).then_some((next, at)),
            Step::Backref { start, fold, back } => {
                self.backref(*start, *fold, *back, at)?.map(|at| (next, at))
            }
            Step::Fork(first, second) => {
                self.push(Frame::Choice { to: *second, at: short(at) })?;
                Some((*first as usize, at))
            }
            Step::Jump(to) => Some((*to as usize, at)),
            Step::Mark(register) => {
                self.set(*register, short(at))?;
                Some((next, at))
            }
            Step::Zero(register) => {
                self.set(*register, 0)?;
                Some((next, at))
            }
            Step::Capture { mark, start } => {
                let (from, to) = (self.get(*mark), short(at));
                self.set(*start, from.min(to))?;
                self.set(*start + 1, from.max(to))?;
                Some((next, at))
            }
            Step::Again(again) => Some(self.again(again, next, at)?),
            Step::Look { negate, then } => {
                self.look(*negate, next, at)?.then_some((*then as usize, at))
            }
            Step::Atomic { then } => {
                let base = self.frames.len();
                let end = self.run(short(next), at)?;
                self.commit(base)?;
                end.map(|end| (*then as usize, end))
            }
            Step::Fail | Step::Accept => None,
        })
    }

    /// Goes back to the last place with another way on, but not beyond frame `base`.
    fn backtrack(&mut self, base: usize) -> Result<Option<(usize, usize)>, Unfinished> {
        while self.frames.len() > base {
            self.spend(1)?;
            match self.frames.pop() {
                None => break,
                Some(Frame::Choice { to, at }) => return Ok(Some((to as usize, at as usize))),
                Some(Frame::Undo { register, old }) => self.put(register, old),
                Some(Frame::Shorter { run, least, at }) => {
                    if let Some(at) = self.shorter(run, least, at)? {
                        return Ok(Some((run as usize + 1, at)));
                    }
                }
                Some(Frame::Longer { run, most, at }) => {
                    if let Some(end) = self.longer(run, most, at)? {
                        return Ok(Some((run as usize + 1, end)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Gives units of a run back: one, or as many as bring the unit that must follow within reach.
    fn shorter(&mut self, run: Address, least: u32, at: u32) -> Result<Option<usize>, Unfinished> {
        // A run to the right gives back to the left, and the other way round.
        let mut at = if at > least { at - 1 } else { at + 1 };
        if let Some(Step::Unit { unit, back: false }) = self.program.steps.get(run as usize + 1)
            && at >= least
        {
            let given = self.text.get(least as usize..=at as usize).unwrap_or_default();
            let Some(ahead) = given.iter().rposition(|given| given == unit) else {
                self.spend(given.len())?;
                return Ok(None);
            };
            self.spend(given.len() - ahead)?;
            at = least + short(ahead);
        }
        if at != least {
            self.push(Frame::Shorter { run, least, at })?;
        }
        Ok(Some(at as usize))
    }

    fn longer(&mut self, run: Address, most: u32, at: u32) -> Result<Option<usize>, Unfinished> {
        let Some(Step::Run { set, back, .. }) = self.program.steps.get(run as usize) else {
            return Ok(None);
        };
        let Some((unit, end)) = self.unit(at as usize, *back) else { return Ok(None) };
        if !set.contains(unit) {
            return Ok(None);
        }
        if run == 0 {
            self.leading_end = end;
        }
        let most = if most == UNBOUNDED { most } else { most - 1 };
        if most > 0 {
            self.push(Frame::Longer { run, most, at: short(end) })?;
        }
        Ok(Some(end))
    }

    /// Takes units of `set`, up to the upper bound: the position after the lower bound, and the
    /// end. `None` when there are fewer than the lower bound.
    fn take(
        &mut self,
        set: &Set,
        (min, max): (u32, u32),
        at: usize,
        back: bool,
    ) -> Result<Option<(usize, usize)>, Unfinished> {
        let most = usize::try_from(max).unwrap_or(usize::MAX);
        let taken = if back {
            let before = self.text.get(..at).unwrap_or_default();
            before.iter().rev().take(most).take_while(|unit| set.contains(**unit)).count()
        } else {
            let after = self.text.get(at..).unwrap_or_default();
            after.iter().take(most).take_while(|unit| set.contains(**unit)).count()
        };
        self.spend(taken)?;
        let min = min as usize;
        if taken < min {
            return Ok(None);
        }
        Ok(Some(if back { (at - min, at - taken) } else { (at + min, at + taken) }))
    }

    /// The end of a round of a loop.
    fn again(
        &mut self,
        again: &Again,
        next: usize,
        at: usize,
    ) -> Result<(usize, usize), Unfinished> {
        let rounds = match again.count {
            Some(count) => {
                let rounds = self.get(count) + 1;
                self.set(count, rounds)?;
                rounds
            }
            None => 1,
        };
        let body = again.body as usize;
        if rounds < again.min {
            return Ok((body, at));
        }
        let empty = again.mark.is_some_and(|mark| self.get(mark) == short(at));
        if empty || (again.max != UNBOUNDED && rounds >= again.max) {
            return Ok((next, at));
        }
        let (first, second) = if again.lazy { (next, body) } else { (body, next) };
        self.push(Frame::Choice { to: short(second), at: short(at) })?;
        Ok((first, at))
    }

    /// Whether what starts at `from` matches at `at`, or not if `negate`.
    fn look(&mut self, negate: bool, from: usize, at: usize) -> Result<bool, Unfinished> {
        let base = self.frames.len();
        let found = self.run(short(from), at)?.is_some();
        if negate {
            // Nothing that was captured on the way stays.
            while self.frames.len() > base {
                if let Some(Frame::Undo { register, old }) = self.frames.pop() {
                    self.put(register, old);
                }
            }
        } else {
            self.commit(base)?;
        }
        Ok(found != negate)
    }

    /// Forgets the other ways on since frame `base`, and keeps what must be undone.
    fn commit(&mut self, base: usize) -> Result<(), Unfinished> {
        let since = self.frames.len().saturating_sub(base);
        self.spend(since)?;
        let mut kept = base;
        for at in base..self.frames.len() {
            if let Some(frame @ Frame::Undo { .. }) = self.frames.get(at).copied()
                && let Some(place) = self.frames.get_mut(kept)
            {
                *place = frame;
                kept += 1;
            }
        }
        self.frames.truncate(kept);
        Ok(())
    }

    fn backref(
        &mut self,
        start: Register,
        fold: bool,
        back: bool,
        at: usize,
    ) -> Result<Option<usize>, Unfinished> {
        let (from, to) = (self.get(start) as usize, self.get(start + 1) as usize);
        let Some(captured) = self.text.get(from..to) else { return Ok(None) };
        self.spend(captured.len())?;
        let (here, end) = if back {
            let Some(from) = at.checked_sub(captured.len()) else { return Ok(None) };
            (self.text.get(from..at), from)
        } else {
            (self.text.get(at..at + captured.len()), at + captured.len())
        };
        let same = here.is_some_and(|here| {
            let equal = |(left, right): (&u16, &u16)| {
                left == right || (fold && lower(*left) == lower(*right))
            };
            here.iter().zip(captured).all(equal)
        });
        Ok(same.then_some(end))
    }

    /// The unit that a step looks at, and the position after it.
    fn unit(&self, at: usize, back: bool) -> Option<(u16, usize)> {
        if back {
            let before = at.checked_sub(1)?;
            Some((*self.text.get(before)?, before))
        } else {
            Some((*self.text.get(at)?, at + 1))
        }
    }

    fn is_at(&self, place: Place, at: usize) -> bool {
        const LINE_FEED: u16 = 0x0A;
        let before = at.checked_sub(1).and_then(|before| self.text.get(before)).copied();
        let after = self.text.get(at).copied();
        let word = |unit: Option<u16>| unit.is_some_and(is_boundary_word);
        match place {
            Place::Start => at == 0,
            Place::End => after.is_none(),
            Place::EndOrLastLine => {
                after.is_none() || (after == Some(LINE_FEED) && at + 1 == self.text.len())
            }
            Place::LineStart => before.is_none_or(|unit| unit == LINE_FEED),
            Place::LineEnd => after.is_none_or(|unit| unit == LINE_FEED),
            Place::Boundary => word(before) != word(after),
            Place::NoBoundary => word(before) == word(after),
        }
    }

    fn get(&self, register: Register) -> u32 {
        self.registers.get(register as usize).copied().unwrap_or(UNSET)
    }

    fn put(&mut self, register: Register, value: u32) {
        if let Some(place) = self.registers.get_mut(register as usize) {
            *place = value;
        }
    }

    /// Sets a register so that going back restores it.
    fn set(&mut self, register: Register, value: u32) -> Result<(), Unfinished> {
        let old = self.get(register);
        self.push(Frame::Undo { register, old })?;
        self.put(register, value);
        Ok(())
    }

    fn push(&mut self, frame: Frame) -> Result<(), Unfinished> {
        if self.frames.len() >= MOST_FRAMES {
            return Err(Unfinished::OutOfMemory(MOST_FRAMES));
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Counts work, and looks at the clock now and then.
    fn spend(&mut self, work: usize) -> Result<(), Unfinished> {
        let work = u32::try_from(work).unwrap_or(u32::MAX);
        if let Some(left) = self.fuel.checked_sub(work) {
            self.fuel = left;
            return Ok(());
        }
        self.fuel = BETWEEN_LOOKS;
        if self.started.elapsed() >= self.limit {
            return Err(Unfinished::TimedOut(self.limit));
        }
        Ok(())
    }
}

/// Positions and addresses fit: a text has at most 2^31 units, a pattern far fewer.
fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(UNSET)
}
