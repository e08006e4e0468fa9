//! A pattern as instructions for the matcher.

use super::ast::{Node, Place, UNBOUNDED};
use super::class::Set;
use super::parse::Parsed;

/// An address in a program.
pub(super) type Address = u32;

/// A register: a position in the text or a count.
pub(super) type Register = u32;

/// One step of the matcher. `back` steps match the unit before the position and move left, as
/// everything inside a look-behind does.
#[derive(Debug)]
pub(super) enum Step {
    /// One unit.
    Unit {
        unit: u16,
        back: bool,
    },
    /// One unit of a set.
    Set {
        set: Set,
        back: bool,
    },
    /// Units of a set, as many or as few as the rest allows.
    Run {
        set: Set,
        min: u32,
        max: u32,
        lazy: bool,
        back: bool,
    },
    Assert(Place),
    /// What a capture holds.
    Backref {
        start: Register,
        fold: bool,
        back: bool,
    },
    /// Goes on at the first address; at the second when that fails.
    Fork(Address, Address),
    Jump(Address),
    /// Puts the position into a register.
    Mark(Register),
    /// Puts zero into a register.
    Zero(Register),
    /// Ends a capture that began at the position in `mark`.
    Capture {
        mark: Register,
        start: Register,
    },
    /// Ends one round of a loop whose body starts at `body`.
    Again(Box<Again>),
    /// What follows, up to its [`Step::Accept`], must match (or not) from here; goes on at `then`.
    Look {
        negate: bool,
        then: Address,
    },
    /// What follows, up to its [`Step::Accept`], matches once; goes on at `then`.
    Atomic {
        then: Address,
    },
    /// Never matches.
    Fail,
    /// The end of the pattern or of a part of it.
    Accept,
}

/// The end of a round of a loop.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) body: Address,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) lazy: bool,
    /// Counts the rounds, where the bounds need it.
    pub(super) count: Option<Register>,
    /// Where the round began, where a round can be empty: an empty round is the last one.
    pub(super) mark: Option<Register>,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) registers: usize,
    /// A match starts at the start of the text or nowhere.
    pub(super) anchored: bool,
    /// The units that a match can start with; `None` when it may be empty or start with any.
    pub(super) first: Option<Set>,
    /// A match starts with units of a set, in any number: starting inside a stretch of them that
    /// was tried from its beginning leads nowhere new.
    pub(super) leading_run: bool,
}

/// Compiles a pattern.
pub(super) fn compile(parsed: &Parsed) -> Program {
    let mut compiler = Compiler { steps: Vec::new(), registers: 0, captures: Vec::new() };
    for group in &parsed.groups {
        let start = compiler.register();
        // The end of the capture, always the next register.
        compiler.register();
        compiler.captures.push((*group, start));
    }
    compiler.node(&parsed.node, false);
    compiler.steps.push(Step::Accept);
    Program {
        steps: compiler.steps,
        registers: compiler.registers as usize,
        anchored: anchored(&parsed.node),
        first: first(&parsed.node).map(Set::new),
        leading_run: leading_run(&parsed.node),
    }
}

struct Compiler {
    steps: Vec<Step>,
    registers: u32,
    /// Group numbers, sorted, with their start registers.
    captures: Vec<(u32, Register)>,
}

impl Compiler {
    fn register(&mut self) -> Register {
        self.registers += 1;
        self.registers - 1
    }

    fn here(&self) -> Address {
        // A step comes from at least one unit of the pattern, and those are limited.
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Leaves room for a step whose target is not known yet.
    fn later(&mut self) -> usize {
        self.steps.push(Step::Fail);
        self.steps.len() - 1
    }

    fn fill(&mut self, at: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(at) {
            *place = step;
        }
    }

    fn capture(&self, group: u32) -> Option<Register> {
        let at = self.captures.binary_search_by_key(&group, |capture| capture.0).ok()?;
        self.captures.get(at).map(|capture| capture.1)
    }

    fn node(&mut self, node: &Node, back: bool) {
        match node {
            Node::Empty => {}
            Node::Unit(unit) => self.steps.push(Step::Unit { unit: *unit, back }),
            Node::Set(set) => self.steps.push(Step::Set { set: set.clone(), back }),
            Node::Assert(place) => self.steps.push(Step::Assert(*place)),
            Node::Concat(nodes) if back => {
                nodes.iter().rev().for_each(|node| self.node(node, back));
            }
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.node(node, back)),
            Node::Alternate(nodes) => self.alternate(nodes, back),
            Node::Capture(group, node) => {
                let mark = self.register();
                self.steps.push(Step::Mark(mark));
                self.node(node, back);
                if let Some(start) = self.capture(*group) {
                    self.steps.push(Step::Capture { mark, start });
                }
            }
            Node::Backref { group, fold } => self.steps.push(match self.capture(*group) {
                Some(start) => Step::Backref { start, fold: *fold, back },
                // Group 0 is the whole match, which is never complete here.
                None => Step::Fail,
            }),
            Node::Repeat { node, min, max, lazy } => self.repeat(node, *min, *max, *lazy, back),
            Node::Look { behind, negate, node } => {
                let at = self.later();
                self.node(node, *behind);
                self.steps.push(Step::Accept);
                let then = self.here();
                self.fill(at, Step::Look { negate: *negate, then });
            }
            Node::Atomic(node) => {
                let at = self.later();
                self.node(node, back);
                self.steps.push(Step::Accept);
                let then = self.here();
                self.fill(at, Step::Atomic { then });
            }
        }
    }

    fn alternate(&mut self, nodes: &[Node], back: bool) {
        if let Some(set) = single_units(nodes) {
            self.steps.push(Step::Set { set, back });
            return;
        }
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.node(node, back);
                break;
            }
            let fork = self.later();
            self.node(node, back);
            jumps.push(self.later());
            let next = self.here();
            let first = u32::try_from(fork + 1).unwrap_or(u32::MAX);
            self.fill(fork, Step::Fork(first, next));
        }
        let end = self.here();
        for jump in jumps {
            self.fill(jump, Step::Jump(end));
        }
    }

    fn repeat(&mut self, node: &Node, min: u32, max: u32, lazy: bool, back: bool) {
        if let Some(set) = single_unit(node) {
            self.steps.push(Step::Run { set, min, max, lazy, back });
            return;
        }
        let counted = min > 1 || (max != UNBOUNDED && max > 1);
        let count = counted.then(|| self.register());
        if let Some(count) = count {
            self.steps.push(Step::Zero(count));
        }
        let fork = (min == 0).then(|| self.later());
        let body = self.here();
        let mark = node.may_be_empty().then(|| self.register());
        if let Some(mark) = mark {
            self.steps.push(Step::Mark(mark));
        }
        self.node(node, back);
        if max > 1 {
            self.steps.push(Step::Again(Box::new(Again { body, min, max, lazy, count, mark })));
        }
        let end = self.here();
        if let Some(fork) = fork {
            self.fill(fork, if lazy { Step::Fork(end, body) } else { Step::Fork(body, end) });
        }
    }
}

/// The set of a node that is one unit; loops and alternatives of those need no bookkeeping.
fn single_unit(node: &Node) -> Option<Set> {
    match node {
        Node::Unit(unit) => Some(Set::new([(*unit, *unit)])),
        Node::Set(set) => Some(set.clone()),
        Node::Concat(nodes) => match nodes.as_slice() {
            [node] => single_unit(node),
            _ => None,
        },
        Node::Alternate(nodes) => single_units(nodes),
        _ => None,
    }
}

fn single_units(nodes: &[Node]) -> Option<Set> {
    let sets = nodes.iter().map(single_unit).collect::<Option<Vec<Set>>>()?;
    Some(Set::new(sets.iter().flat_map(|set| set.ranges().iter().copied())))
}

fn anchored(node: &Node) -> bool {
    match node {
        Node::Assert(Place::Start) => true,
        Node::Concat(nodes) => {
            nodes.iter().find(|node| !matches!(node, Node::Empty)).is_some_and(anchored)
        }
        Node::Alternate(nodes) => nodes.iter().all(anchored),
        Node::Capture(_, node) | Node::Atomic(node) => anchored(node),
        Node::Repeat { node, min, .. } => *min > 0 && anchored(node),
        _ => false,
    }
}

/// The units that a match of `node` starts with; `None` when that is not known.
fn first(node: &Node) -> Option<Vec<(u16, u16)>> {
    match node {
        Node::Unit(unit) => Some(vec![(*unit, *unit)]),
        Node::Set(set) => Some(set.ranges().to_vec()),
        Node::Concat(nodes) => {
            let mut ranges = Vec::new();
            for node in nodes {
                // What takes no room does not change what the next unit may be.
                if matches!(node, Node::Empty | Node::Assert(_) | Node::Look { .. }) {
                    continue;
                }
                ranges.extend(match node {
                    Node::Repeat { node, .. } => first(node)?,
                    node => first(node)?,
                });
                if !node.may_be_empty() {
                    return Some(ranges);
                }
            }
            None
        }
        Node::Alternate(nodes) => {
            let firsts = nodes.iter().map(first).collect::<Option<Vec<_>>>()?;
            Some(firsts.into_iter().flatten().collect())
        }
        Node::Capture(_, node) | Node::Atomic(node) => first(node),
        Node::Repeat { node, min, .. } => {
            if *min > 0 {
                first(node)
            } else {
                None
            }
        }
        Node::Empty | Node::Assert(_) | Node::Backref { .. } | Node::Look { .. } => None,
    }
}

fn leading_run(node: &Node) -> bool {
    match node {
        Node::Repeat { node, max, .. } => *max == UNBOUNDED && single_unit(node).is_some(),
        Node::Concat(nodes) => nodes.first().is_some_and(leading_run),
        _ => false,
    }
}
