//! Licences and banned crates, from the lists of `deny.toml`.

use super::Policy;
use super::metadata::Metadata;

pub(super) fn check(metadata: &Metadata, policy: &Policy, breaches: &mut Vec<String>) {
    for package in &metadata.packages {
        let name = format!("{} {}", package.name, package.version);
        match &package.license {
            Some(expression) if allows(expression, &policy.licenses.allow) => {}
            Some(expression) => breaches.push(format!("{name}: licence {expression}")),
            None => breaches.push(format!("{name}: states no licence")),
        }
        if let Some(ban) = policy.bans.deny.iter().find(|ban| ban.name == package.name) {
            breaches.push(format!("{name} is banned: {}", ban.reason));
        }
    }
}

/// Whether an SPDX expression can be met with licences of `allowed` alone.
fn allows(expression: &str, allowed: &[String]) -> bool {
    // Old manifests separate alternatives by a slash.
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    parser.alternatives() && parser.words.is_empty()
}

struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Parser<'_> {
    fn eat(&mut self, word: &str) -> bool {
        let here = self.words.first() == Some(&word);
        if here {
            self.words = &self.words[1..];
        }
        here
    }

    fn alternatives(&mut self) -> bool {
        let mut met = self.all();
        while self.eat("OR") {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.eat("AND") {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.eat("(") {
            let met = self.alternatives();
            return self.eat(")") && met;
        }
        let Some((name, rest)) = self.words.split_first() else { return false };
        self.words = rest;
        let mut name = (*name).to_owned();
        if self.eat("WITH")
            && let Some((exception, rest)) = self.words.split_first()
        {
            self.words = rest;
            name = format!("{name} WITH {exception}");
        }
        self.allowed.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for (expression, met) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND Zlib", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND Zlib", true),
            ("GPL-3.0 OR MIT AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("MIT WITH something", false),
            ("(MIT", false),
            ("MIT)", false),
            ("", false),
        ] {
            assert_eq!(allows(expression, &allowed), met, "{expression}");
        }
    }
}
