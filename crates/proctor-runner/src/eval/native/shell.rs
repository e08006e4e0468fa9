//! Shell commands as far as paths go: words with their wildcards, without running anything.

/// How deep commands in quotation marks inside commands are followed.
const DEPTH: usize = 3;
/// The longest word that is looked at; longer ones are no paths.
const MAX_WORD: usize = 4096;
/// The longest group in brackets that is looked for.
const MAX_GROUP: usize = 64;

/// One character of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Itself.
    Char(char),
    /// Exactly one character: `?` or `[...]`.
    One,
    /// Any characters: `*` or `{a,b}`.
    Any,
    /// The value of a variable; without a name, what a command prints.
    Variable(String),
}

/// A word of a command.
pub(super) type Word = Vec<Piece>;

/// The simple commands in a command line, in their order: each a list of words.
pub(super) fn commands(text: &str) -> Vec<Vec<Word>> {
    let mut lexer = Lexer::default();
    lexer.read(text, DEPTH);
    lexer.end_command();
    lexer.commands
}

/// The text of a word that has no wildcard and no variable.
pub(super) fn literal(word: &[Piece]) -> Option<String> {
    let characters = word.iter().map(|piece| match piece {
        Piece::Char(c) => Some(*c),
        _ => None,
    });
    characters.collect()
}

#[derive(Default)]
struct Lexer {
    commands: Vec<Vec<Word>>,
    words: Vec<Word>,
    word: Word,
    /// Whether a word has begun, if only by quotation marks.
    begun: bool,
}

impl Lexer {
    fn read(&mut self, text: &str, depth: usize) {
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\'' => {
                    let quoted: String = characters.by_ref().take_while(|c| *c != '\'').collect();
                    self.quoted(&quoted, depth, false);
                }
                '"' => {
                    let quoted = until_quote(&mut characters);
                    self.quoted(&quoted, depth, true);
                }
                '\\' => match characters.next() {
                    Some('\n') | None => {}
                    Some(c) => self.push(Piece::Char(c)),
                },
                '$' => match characters.peek() {
                    Some('(') => self.push(Piece::Variable(String::new())),
                    Some('\'' | '"') => {}
                    _ => {
                        let name = variable(&mut characters);
                        self.push(Piece::Variable(name));
                    }
                },
                // What follows a command in a word is joined to what it prints.
                '`' | ')' => {
                    self.end_command();
                    self.push(Piece::Variable(String::new()));
                }
                '(' | ';' | '&' | '|' | '\n' => self.end_command(),
                // With `=`, an assignment or an option ends and its value begins.
                ' ' | '\t' | '\r' | '<' | '>' | ',' | '=' => self.end_word(),
                '*' => self.push(Piece::Any),
                '?' => self.push(Piece::One),
                '[' if skip_to(&mut characters, ']') => self.push(Piece::One),
                '{' if skip_to(&mut characters, '}') => self.push(Piece::Any),
                c => self.push(Piece::Char(c)),
            }
        }
    }

    fn push(&mut self, piece: Piece) {
        self.begun = true;
        if self.word.len() < MAX_WORD && (piece != Piece::Any || self.word.last() != Some(&piece)) {
            self.word.push(piece);
        }
    }

    /// Characters in quotation marks are themselves; what may be a command there, as after `sh -c`,
    /// is looked at as one, too.
    fn quoted(&mut self, text: &str, depth: usize, expands: bool) {
        let may_be_command = text.contains(|c: char| c.is_whitespace() || "('\"".contains(c));
        if may_be_command && depth > 0 {
            let outer = (std::mem::take(&mut self.words), std::mem::take(&mut self.word));
            self.read(text, depth - 1);
            self.end_command();
            (self.words, self.word) = outer;
        }
        self.begun = true;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '$' if expands => {
                    let name = variable(&mut characters);
                    self.push(Piece::Variable(name));
                }
                c => self.push(Piece::Char(c)),
            }
        }
    }

    fn end_word(&mut self) {
        if std::mem::take(&mut self.begun) {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn until_quote(characters: &mut Characters<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = characters.next() {
        match c {
            '"' => break,
            '\\' => text.extend(characters.next()),
            c => text.push(c),
        }
    }
    text
}

/// The name of a variable after its `$`.
fn variable(characters: &mut Characters<'_>) -> String {
    let mut name = String::new();
    if characters.peek() == Some(&'{') {
        characters.next();
        let inner: String = characters.by_ref().take_while(|c| *c != '}').collect();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.extend(inner.chars().take_while(|c| is_name(*c)));
        return name;
    }
    while let Some(c) = characters.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
        name.push(c);
    }
    name
}

/// Skips a group in brackets; when it does not end in this word, it is none.
fn skip_to(characters: &mut Characters<'_>, end: char) -> bool {
    let mut ahead = characters.clone().take(MAX_GROUP).take_while(|c| !c.is_whitespace());
    let Some(length) = ahead.position(|c| c == end) else { return false };
    characters.by_ref().take(length + 1).for_each(drop);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Char(c) => c.to_string(),
            Piece::One => "?".to_owned(),
            Piece::Any => "*".to_owned(),
            Piece::Variable(name) => format!("<{name}>"),
        };
        let word = |word: &Word| word.iter().map(piece).collect::<String>();
        let command = |words: &Vec<Word>| words.iter().map(word).collect::<Vec<_>>().join(" ");
        commands(text).iter().map(command).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn words_have_their_wildcards() {
        for (text, expected) in [
            ("", ""),
            ("cd /p/.ai-r*; base64 sk*/al*/SK*", "cd /p/.ai-r*; base64 sk*/al*/SK*"),
            ("cat 'a b'/c", "a b; cat a b/c"),
            ("cat '/a*b' \"/c?d\" /e\\*f", "cat /a*b /c?d /e*f"),
            ("cat /p[ab]/{x,y}/z", "cat /p?/*/z"),
            ("cat $HOME/x ${P:-q}/y \"$A/b\"", "cat <HOME>/x <P>/y <A>/b"),
            ("cat $(find / -name x)/y", "cat <>; find / -name x; <>/y"),
            ("cat `ls /`/x", "cat; <>ls /; <>/x"),
            ("sh -c 'cd /p && cat \"x\"'", "cd /p; cat x; sh -c cd /p && cat \"x\""),
            (
                "python -c \"print(open('/p/x').read())\"",
                "print; open; /p/x; <>.read; <>; <>; python -c print(open('/p/x').read())",
            ),
            ("x=/p; git -C$x log --git-dir=/p/.git", "x /p; git -C<x> log --git-dir /p/.git"),
            ("cat </p/a >/q", "cat /p/a /q"),
            ("a 'unfinished", "a unfinished"),
            ("[ -f x ] && {", "[ -f x ]; {"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_ends(text: String) {
            commands(&text);
        }
    }
}
