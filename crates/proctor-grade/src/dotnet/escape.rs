//! Backslashes and character classes.

use super::PatternError;
use super::ast::{Node, Place};
use super::class::{Builder, Set};
use super::parse::{Parser, invalid};
use super::unicode;

type Result<T> = std::result::Result<T, PatternError>;

pub(super) fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

impl Parser<'_> {
    /// What follows a `\` at `start`, outside a class.
    pub(super) fn escape(&mut self, start: usize) -> Result<Node> {
        let Some(character) = self.peek(0) else {
            return invalid("a `\\` at the end", start);
        };
        let place = match character {
            'A' | 'G' => Some(Place::Start),
            'Z' => Some(Place::EndOrLastLine),
            'z' => Some(Place::End),
            'b' => Some(Place::Boundary),
            'B' => Some(Place::NoBoundary),
            _ => None,
        };
        if let Some(place) = place {
            self.at += 1;
            return Ok(Node::Assert(place));
        }
        if let Some(set) = self.shorthand()? {
            return Ok(Node::Set(set));
        }
        if let Some(reference) = self.reference(start)? {
            return Ok(reference);
        }
        let unit = self.unit_escape(start)?;
        Ok(self.literal(unit))
    }

    /// `\d`, `\s`, `\w`, `\p{..}` and their opposites, after the backslash.
    fn shorthand(&mut self) -> Result<Option<Set>> {
        let Some(character) = self.peek(0) else { return Ok(None) };
        let others = character.is_ascii_uppercase();
        let set = match character {
            'd' | 'D' => unicode::DIGITS.get(others).clone(),
            's' | 'S' => unicode::SPACES.get(others).clone(),
            'w' | 'W' => unicode::WORDS.get(others).clone(),
            'p' | 'P' => {
                self.at += 1;
                let set = self.property()?;
                return Ok(Some(if others {
                    Set::except(set.ranges().iter().copied())
                } else {
                    set
                }));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(set))
    }

    /// `{name}` of `\p{name}`.
    fn property(&mut self) -> Result<Set> {
        let start = self.at;
        if !self.eat("{") {
            return invalid("`\\p` without `{name}`", start);
        }
        let name_at = self.at;
        loop {
            let before = self.at;
            self.name();
            if !self.eat("-") && self.at == before {
                break;
            }
        }
        let name = String::from_utf16_lossy(self.pattern.get(name_at..self.at).unwrap_or_default());
        if !self.eat("}") {
            return invalid("`\\p{` without its `}`", start);
        }
        let fold = self.options.ignore_case;
        let known = self.properties.entry((name.clone(), fold));
        match known.or_insert_with(|| unicode::property(&name, fold)) {
            Some(set) => Ok(set.clone()),
            None => invalid(format!("unknown Unicode category or block `{name}`"), name_at),
        }
    }

    /// A back-reference after the backslash at `start`: `\1`, `\k<name>`, and the old `\<name>`.
    fn reference(&mut self, start: usize) -> Result<Option<Node>> {
        let back = self.at;
        let keyed = self.eat("k");
        let close = if self.eat("<") {
            '>'
        } else if self.eat("'") {
            '\''
        } else if keyed {
            return invalid("`\\k` without `<name>`", start);
        } else {
            return self.numbered_reference(start);
        };
        let number = if self.peek(0).is_some_and(is_digit) {
            let number = self.number()?;
            self.is_group(number).then_some(number)
        } else {
            let name = self.name();
            match &self.groups {
                None => Some(0),
                Some(groups) => groups.names.get(name).copied(),
            }
        };
        let closed = self.at > back + usize::from(keyed) + 1 && self.peek(0) == Some(close);
        match (closed, number) {
            (true, Some(group)) => {
                self.at += 1;
                Ok(Some(Node::Backref { group, fold: self.options.ignore_case }))
            }
            (true, None) => invalid("a reference to a group that does not exist", start),
            (false, _) if keyed => invalid("`\\k` without `<name>`", start),
            (false, _) => {
                // Not the old form of a reference: an escaped `<` or `'`.
                self.at = back;
                Ok(None)
            }
        }
    }

    fn numbered_reference(&mut self, start: usize) -> Result<Option<Node>> {
        if !matches!(self.peek(0), Some('1'..='9')) {
            return Ok(None);
        }
        let back = self.at;
        let group = self.number()?;
        if self.is_group(group) {
            return Ok(Some(Node::Backref { group, fold: self.options.ignore_case }));
        }
        if group <= 9 {
            return invalid(format!("a reference to group {group}, which does not exist"), start);
        }
        // Two digits and more may be octal.
        self.at = back;
        Ok(None)
    }

    /// An escape that stands for one code unit, after the backslash at `start`.
    fn unit_escape(&mut self, start: usize) -> Result<u16> {
        let Some(unit) = self.pattern.get(self.at).copied() else {
            return invalid("a `\\` at the end", start);
        };
        let character = self.peek(0).unwrap_or_default();
        if let '0'..='7' = character {
            return Ok(self.octal());
        }
        self.at += 1;
        Ok(match character {
            'x' => self.hexadecimal(2, start)?,
            'u' => self.hexadecimal(4, start)?,
            'c' => self.control(start)?,
            'a' => 0x07,
            'b' => 0x08,
            't' => 0x09,
            'n' => 0x0A,
            'v' => 0x0B,
            'f' => 0x0C,
            'r' => 0x0D,
            'e' => 0x1B,
            _ if unicode::is_boundary_word(unit) => {
                let unit = String::from_utf16_lossy(&[unit]);
                return invalid(format!("unknown escape `\\{unit}`"), start);
            }
            _ => unit,
        })
    }

    /// Up to three octal digits; of a value above 255 the low eight bits count.
    fn octal(&mut self) -> u16 {
        let mut value = 0;
        for _ in 0..3 {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(8)) else { break };
            value = value * 8 + u16::try_from(digit).unwrap_or_default();
            self.at += 1;
        }
        value & 0xFF
    }

    fn hexadecimal(&mut self, digits: usize, start: usize) -> Result<u16> {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(16)) else {
                return invalid(
                    format!("an escape with fewer than {digits} hexadecimal digits"),
                    start,
                );
            };
            value = value * 16 + u16::try_from(digit).unwrap_or_default();
            self.at += 1;
        }
        Ok(value)
    }

    /// `\cA` to `\cZ`, and the five control characters around them.
    fn control(&mut self, start: usize) -> Result<u16> {
        let control = self.peek(0).and_then(|c| u8::try_from(c.to_ascii_uppercase()).ok());
        match control.and_then(|c| c.checked_sub(b'@')).filter(|c| *c < b' ') {
            Some(control) => {
                self.at += 1;
                Ok(u16::from(control))
            }
            None => invalid("`\\c` without a control character", start),
        }
    }

    /// What follows a `[` at `start`.
    pub(super) fn class(&mut self, start: usize) -> Result<Set> {
        let mut class = Builder::default();
        let negate = self.eat("^");
        let mut first = true;
        // The start of a range whose end is still to come.
        let mut from: Option<u16> = None;
        loop {
            let at = self.at;
            let Some(unit) = self.pattern.get(at).copied() else {
                return invalid("a `[` without its `]`", start);
            };
            let character = self.peek(0).unwrap_or_default();
            self.at += 1;
            if character == ']' && !first {
                return Ok(class.build(self.options.ignore_case, negate));
            }
            let mut unit = unit;
            let mut escaped = false;
            if character == '\\' && self.peek(0).is_some() {
                if let Some(set) = self.shorthand()? {
                    if from.is_some() {
                        return invalid("a class as the end of a range", at);
                    }
                    class.set(&set);
                    first = false;
                    continue;
                }
                escaped = true;
                unit = if self.eat("-") { u16::from(b'-') } else { self.unit_escape(at)? };
            }
            let subtracts = |at| {
                Err(PatternError::Unsupported { construct: "character class subtraction", at })
            };
            if let Some(low) = from.take() {
                if character == '[' && !escaped && !first {
                    return subtracts(at - 1);
                }
                if low > unit {
                    return invalid("a range whose ends are reversed", at);
                }
                class.range(low, unit);
            } else if self.peek(0) == Some('-') && self.peek(1).is_some_and(|next| next != ']')
                // An escaped hyphen never starts a range.
                && !(escaped && unit == u16::from(b'-'))
            {
                from = Some(unit);
                self.at += 1;
            } else if character == '-' && self.peek(0) == Some('[') && !first {
                return subtracts(at);
            } else {
                class.range(unit, unit);
            }
            first = false;
        }
    }
}
