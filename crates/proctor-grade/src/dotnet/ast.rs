//! What a pattern says.

use super::class::Set;

/// No upper bound of a quantifier.
pub(super) const UNBOUNDED: u32 = u32::MAX;

/// A node of a pattern.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Matches without looking.
    Empty,
    /// One code unit.
    Unit(u16),
    /// One code unit out of a set.
    Set(Set),
    /// A place.
    Assert(Place),
    /// All of them in order.
    Concat(Vec<Node>),
    /// The first of them that leads to a match.
    Alternate(Vec<Node>),
    /// A group that is remembered.
    Capture(u32, Box<Node>),
    /// What a group last matched.
    Backref {
        /// The group.
        group: u32,
        /// Whether case is ignored.
        fold: bool,
    },
    /// A quantifier.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// At least so often.
        min: u32,
        /// At most so often, or [`UNBOUNDED`].
        max: u32,
        /// Whether fewer are tried first.
        lazy: bool,
    },
    /// Look-around.
    Look {
        /// Whether it looks back, matching from right to left.
        behind: bool,
        /// Whether it must not match.
        negate: bool,
        /// What is looked for.
        node: Box<Node>,
    },
    /// A group that is never entered again once left.
    Atomic(Box<Node>),
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `^`, `\A`, and `\G`, because there is only ever one search in a text.
    Start,
    /// `\z`.
    End,
    /// `$`, `\Z`: the end, or before a line feed at the end.
    EndOrLastLine,
    /// `(?m)^`.
    LineStart,
    /// `(?m)$`.
    LineEnd,
    /// `\b`.
    Boundary,
    /// `\B`.
    NoBoundary,
}

impl Node {
    /// Whether it can match without consuming anything. May say yes too often, never no.
    pub(super) fn may_be_empty(&self) -> bool {
        match self {
            Self::Unit(_) | Self::Set(_) => false,
            Self::Empty | Self::Assert(_) | Self::Backref { .. } | Self::Look { .. } => true,
            Self::Concat(nodes) => nodes.iter().all(Self::may_be_empty),
            Self::Alternate(nodes) => nodes.iter().any(Self::may_be_empty),
            Self::Capture(_, node) | Self::Atomic(node) => node.may_be_empty(),
            Self::Repeat { node, min, .. } => *min == 0 || node.may_be_empty(),
        }
    }
}
