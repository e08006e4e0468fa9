//! The grammar, as .NET's "Regular Expression Language" reference documents it and its parser
//! settles what the reference leaves open.

use std::collections::{BTreeMap, BTreeSet};

use super::PatternError;
use super::ast::{Node, Place, UNBOUNDED};
use super::class::Set;
use super::escape::is_digit;
use super::unicode;

/// Code units of a pattern.
const LONGEST: usize = 32 * 1024;

/// Groups inside groups. Parser, compiler and matcher recurse along them.
const DEEPEST: usize = 200;

type Result<T> = std::result::Result<T, PatternError>;

/// A pattern that was read.
pub(super) struct Parsed {
    pub(super) node: Node,
    /// The numbers of all groups.
    pub(super) groups: BTreeSet<u32>,
}

/// Reads `pattern` twice: a reference may stand before its group, and names get the numbers that
/// the unnamed groups leave over, so the first reading only collects the groups.
pub(super) fn parse(pattern: &[u16]) -> Result<Parsed> {
    if pattern.len() > LONGEST {
        return Err(PatternError::TooLarge { what: "code units", limit: LONGEST });
    }
    let mut first = Parser::new(pattern, None);
    first.pattern()?;
    let groups = first.found.numbered();
    let mut second = Parser::new(pattern, Some(groups));
    let node = second.pattern()?;
    let groups = second.groups.map(|groups| groups.numbers).unwrap_or_default();
    Ok(Parsed { node, groups })
}

/// The inline options; none is on at the start.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent switches of the dialect")]
pub(super) struct Options {
    pub(super) ignore_case: bool,
    multiline: bool,
    singleline: bool,
    spaced: bool,
}

/// The groups of a pattern.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) numbers: BTreeSet<u32>,
    pub(super) names: BTreeMap<Vec<u16>, u32>,
    /// Names in the order of their first appearance.
    order: Vec<Vec<u16>>,
}

impl Groups {
    fn numbered(mut self) -> Self {
        let mut next = 1;
        for name in self.order.drain(..) {
            while self.numbers.contains(&next) {
                next += 1;
            }
            self.numbers.insert(next);
            self.names.insert(name, next);
        }
        self
    }
}

pub(super) struct Parser<'a> {
    pub(super) pattern: &'a [u16],
    pub(super) at: usize,
    pub(super) options: Options,
    /// Known on the second reading.
    pub(super) groups: Option<Groups>,
    found: Groups,
    unnamed: u32,
    depth: usize,
    /// Sets of `\p{..}` by name and folding: building one walks all of Unicode.
    pub(super) properties: BTreeMap<(String, bool), Option<Set>>,
}

pub(super) fn invalid<T>(reason: impl Into<String>, at: usize) -> Result<T> {
    Err(PatternError::Invalid { reason: reason.into(), at })
}

impl<'a> Parser<'a> {
    fn new(pattern: &'a [u16], groups: Option<Groups>) -> Self {
        Self {
            pattern,
            at: 0,
            options: Options::default(),
            groups,
            found: Groups::default(),
            unnamed: 0,
            depth: 0,
            properties: BTreeMap::new(),
        }
    }

    /// The unit at `ahead` places from here, as a character; units beyond ASCII read as U+FFFD,
    /// which means nothing in the grammar.
    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        let unit = self.pattern.get(self.at + ahead)?;
        Some(u8::try_from(*unit).ok().filter(u8::is_ascii).map_or('\u{FFFD}', char::from))
    }

    pub(super) fn eat(&mut self, expected: &str) -> bool {
        let found = expected.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c));
        if found {
            self.at += expected.len();
        }
        found
    }

    fn pattern(&mut self) -> Result<Node> {
        let node = self.alternatives()?;
        if self.at < self.pattern.len() {
            return invalid("a `)` without its `(`", self.at);
        }
        Ok(node)
    }

    /// Alternatives up to a `)` or the end.
    fn alternatives(&mut self) -> Result<Node> {
        let mut alternatives = Vec::new();
        let mut sequence = Vec::new();
        loop {
            self.skip_blank()?;
            match self.peek(0) {
                None | Some(')') => break,
                Some('|') => {
                    self.at += 1;
                    alternatives.push(Node::Concat(std::mem::take(&mut sequence)));
                }
                Some(_) => {
                    if let Some(atom) = self.atom()? {
                        sequence.push(self.quantified(atom)?);
                    }
                }
            }
        }
        let last = Node::Concat(sequence);
        if alternatives.is_empty() {
            return Ok(last);
        }
        alternatives.push(last);
        Ok(Node::Alternate(alternatives))
    }

    /// White space and comments of `(?x)`, and `(?#...)`.
    fn skip_blank(&mut self) -> Result<()> {
        loop {
            while self.options.spaced
                && matches!(self.peek(0), Some('\t' | '\n' | '\x0C' | '\r' | ' '))
            {
                self.at += 1;
            }
            if self.options.spaced && self.peek(0) == Some('#') {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if self.peek(0) == Some('(')
                && self.peek(1) == Some('?')
                && self.peek(2) == Some('#')
            {
                let start = self.at;
                while self.peek(0).is_some_and(|c| c != ')') {
                    self.at += 1;
                }
                if !self.eat(")") {
                    return invalid("a comment without its `)`", start);
                }
            } else {
                return Ok(());
            }
        }
    }

    /// One atom; `None` for a group that only sets options.
    fn atom(&mut self) -> Result<Option<Node>> {
        let start = self.at;
        let Some(character) = self.peek(0) else { return Ok(None) };
        if self.at_quantifier() {
            return invalid(format!("quantifier `{character}` after nothing"), start);
        }
        self.at += 1;
        Ok(Some(match character {
            '(' => return self.group(start),
            '[' => Node::Set(self.class(start)?),
            '\\' => self.escape(start)?,
            '^' if self.options.multiline => Node::Assert(Place::LineStart),
            '^' => Node::Assert(Place::Start),
            '$' if self.options.multiline => Node::Assert(Place::LineEnd),
            '$' => Node::Assert(Place::EndOrLastLine),
            '.' if self.options.singleline => Node::Set(Set::except([])),
            '.' => Node::Set(Set::except([(0x0A, 0x0A)])),
            _ => self.literal(self.pattern.get(start).copied().unwrap_or_default()),
        }))
    }

    pub(super) fn literal(&self, unit: u16) -> Node {
        let folded = if self.options.ignore_case { unicode::folded(unit) } else { None };
        folded.map_or(Node::Unit(unit), Node::Set)
    }

    /// Whether a quantifier starts here: a `{` that is none stands for itself.
    fn at_quantifier(&self) -> bool {
        match self.peek(0) {
            Some('*' | '+' | '?') => true,
            Some('{') => {
                let min = self.count_digits(1);
                let mut ahead = 1 + min;
                if min > 0 && self.peek(ahead) == Some(',') {
                    ahead += 1 + self.count_digits(ahead + 1);
                }
                min > 0 && self.peek(ahead) == Some('}')
            }
            _ => false,
        }
    }

    fn count_digits(&self, from: usize) -> usize {
        let rest = self.pattern.get(self.at + from..).unwrap_or_default();
        rest.iter().take_while(|unit| (0x30..=0x39).contains(*unit)).count()
    }

    /// `atom` with the quantifier after it, if there is one.
    fn quantified(&mut self, atom: Node) -> Result<Node> {
        self.skip_blank()?;
        if !self.at_quantifier() {
            return Ok(atom);
        }
        let start = self.at;
        self.at += 1;
        let (min, max) =
            match self.pattern.get(start).copied().map(u32::from).and_then(char::from_u32) {
                Some('*') => (0, UNBOUNDED),
                Some('+') => (1, UNBOUNDED),
                Some('?') => (0, 1),
                _ => self.bounds()?,
            };
        self.skip_blank()?;
        let lazy = self.eat("?");
        if min > max {
            return invalid("a quantifier whose bounds are reversed", start);
        }
        self.skip_blank()?;
        if self.at_quantifier() {
            let quantifier = self.peek(0).unwrap_or_default();
            return invalid(format!("nested quantifier `{quantifier}`"), self.at);
        }
        Ok(match (min, max) {
            (_, 0) => Node::Empty,
            (1, 1) => atom,
            _ => Node::Repeat { node: Box::new(atom), min, max, lazy },
        })
    }

    /// The inside of `{n}`, `{n,}` or `{n,m}`, which [`at_quantifier`](Self::at_quantifier) saw.
    fn bounds(&mut self) -> Result<(u32, u32)> {
        let min = self.number()?;
        let max = match (self.eat(","), self.peek(0)) {
            (false, _) => min,
            (true, Some('}')) => UNBOUNDED,
            (true, _) => self.number()?,
        };
        self.at += 1;
        Ok((min, max))
    }

    /// A decimal number up to 2,147,483,647.
    pub(super) fn number(&mut self) -> Result<u32> {
        let start = self.at;
        let mut number: u32 = 0;
        while let Some(digit) = self.peek(0).and_then(|c| c.to_digit(10)) {
            let next = number.checked_mul(10).and_then(|tens| tens.checked_add(digit));
            match next.filter(|next| i32::try_from(*next).is_ok()) {
                Some(next) => number = next,
                None => return invalid("a number above 2147483647", start),
            }
            self.at += 1;
        }
        Ok(number)
    }

    /// What follows a `(` at `start`.
    fn group(&mut self, start: usize) -> Result<Option<Node>> {
        let outer = self.options;
        // `(?)` is a group whose content starts with a quantifier, which is an error of its own.
        if self.peek(0) != Some('?') || self.peek(1) == Some(')') {
            self.unnamed += 1;
            let number = self.unnamed;
            self.found.numbers.insert(number);
            let node = self.inside(start, outer)?;
            return Ok(Some(Node::Capture(number, Box::new(node))));
        }
        self.at += 1;
        for (opening, behind, negate) in
            [("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true)]
        {
            if self.eat(opening) {
                let node = Box::new(self.inside(start, outer)?);
                return Ok(Some(Node::Look { behind, negate, node }));
            }
        }
        if self.eat(">") {
            return Ok(Some(Node::Atomic(Box::new(self.inside(start, outer)?))));
        }
        if self.eat("<") {
            return self.named(start, '>').map(Some);
        }
        if self.eat("'") {
            return self.named(start, '\'').map(Some);
        }
        if self.peek(0) == Some('(') {
            return Err(PatternError::Unsupported { construct: "conditional group", at: start });
        }
        self.read_options(start)?;
        if self.eat(")") {
            return Ok(None);
        }
        if self.eat(":") {
            return self.inside(start, outer).map(Some);
        }
        invalid("an unknown kind of group", start)
    }

    /// The inside of a group up to its `)`; afterwards the options are those of `outer`.
    fn inside(&mut self, start: usize, outer: Options) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(PatternError::TooLarge { what: "groups inside groups", limit: DEEPEST });
        }
        let node = self.alternatives()?;
        if !self.eat(")") {
            return invalid("a `(` without its `)`", start);
        }
        self.depth -= 1;
        self.options = outer;
        Ok(node)
    }

    /// `(?<name>...)`, after the opening.
    fn named(&mut self, start: usize, close: char) -> Result<Node> {
        let outer = self.options;
        let name_at = self.at;
        let number = if self.peek(0).is_some_and(is_digit) {
            let number = self.number()?;
            if number == 0 {
                return invalid("a group numbered 0", name_at);
            }
            self.found.numbers.insert(number);
            Some(number)
        } else {
            let name = self.name().to_vec();
            if !name.is_empty() && !self.found.order.contains(&name) {
                self.found.order.push(name.clone());
            }
            let known = self.groups.as_ref().and_then(|groups| groups.names.get(&name).copied());
            (!name.is_empty()).then(|| known.unwrap_or_default())
        };
        if self.peek(0) == Some('-') {
            return Err(PatternError::Unsupported { construct: "balancing group", at: start });
        }
        let (Some(number), true) = (number, self.peek(0) == Some(close)) else {
            return invalid("a group name that is not made of word characters", name_at);
        };
        self.at += 1;
        Ok(Node::Capture(number, Box::new(self.inside(start, outer)?)))
    }

    /// Word characters from here on.
    pub(super) fn name(&mut self) -> &'a [u16] {
        let rest = self.pattern.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|unit| unicode::is_boundary_word(**unit)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// `imsx-imsx`, up to anything else.
    fn read_options(&mut self, start: usize) -> Result<()> {
        let unsupported = |construct| Err(PatternError::Unsupported { construct, at: start });
        let mut on = true;
        while let Some(character) = self.peek(0) {
            let options = &mut self.options;
            match character.to_ascii_lowercase() {
                '-' => on = false,
                '+' => on = true,
                'i' => options.ignore_case = on,
                'm' => options.multiline = on,
                's' => options.singleline = on,
                'x' => options.spaced = on,
                'n' => return unsupported("explicit capture option"),
                'r' => return unsupported("right-to-left option"),
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Whether a number is that of a group; on the first reading any may be.
    pub(super) fn is_group(&self, number: u32) -> bool {
        self.groups.as_ref().is_none_or(|groups| number == 0 || groups.numbers.contains(&number))
    }
}
