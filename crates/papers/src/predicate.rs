// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be true of measurements, as text: comparisons of names, numbers and their sums, joined by `and` and `or`.
//!
//! ```text
//! any   = all { "or" all }          sum  = term { ("+" | "-") term }
//! all   = chain { "and" chain }     term = name | number | "-" term
//! chain = sum cmp sum { cmp sum }   cmp  = "<" | "<=" | ">" | ">=" | "="
//! ```
//!
//! `a <= b <= c` compares neighbours. Values are equal when they differ by less than a billionth of the larger one.

use serde::{Deserialize, Deserializer};

/// A predicate, and the text that it was read from.
#[derive(Clone, PartialEq, Debug)]
pub struct Predicate {
    text: String,
    /// One of these has all its chains true.
    any: Vec<Vec<Chain>>,
}

/// A first sum, and each next one with how it must compare to the one before.
#[derive(Clone, PartialEq, Debug)]
struct Chain {
    first: Sum,
    rest: Vec<(Comparison, Sum)>,
}

/// Terms with their signs.
type Sum = Vec<(f64, Term)>;

#[derive(Clone, PartialEq, Debug)]
enum Term {
    Number(f64),
    Name(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

/// Why a text is no predicate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PredicateError {
    #[error("`{text}` ends without a value: give a name or a number")]
    NoValue { text: String },
    #[error("unexpected `{found}` in `{text}`: give a name or a number")]
    BadValue { text: String, found: String },
    #[error("`{text}` compares nothing: use <, <=, >, >= or =")]
    NoComparison { text: String },
    #[error("unexpected `{found}` in `{text}`: join comparisons by `and` or `or`")]
    TrailingText { text: String, found: String },
}

impl Predicate {
    pub fn parse(text: &str) -> Result<Predicate, PredicateError> {
        let words = words(text);
        let mut parser = Parser { text, words: &words };
        let mut any = vec![parser.all()?];
        while parser.eat("or") {
            any.push(parser.all()?);
        }
        match parser.words.first() {
            None => Ok(Predicate { text: text.to_owned(), any }),
            Some(found) => {
                Err(PredicateError::TrailingText { text: text.to_owned(), found: (*found).to_owned() })
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, in order of appearance.
    pub fn names(&self) -> Vec<&str> {
        let chains = self.any.iter().flatten();
        let sums = chains
            .flat_map(|chain| std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, sum)| sum)));
        sums.flatten()
            .filter_map(|(_, term)| match term {
                Term::Name(name) => Some(name.as_str()),
                Term::Number(_) => None,
            })
            .collect()
    }

    /// Whether it is true; none if a value is missing.
    pub fn is_true(&self, value: &dyn Fn(&str) -> Option<f64>) -> Option<bool> {
        let mut result = false;
        for all in &self.any {
            let mut whole = true;
            for chain in all {
                whole &= chain.is_true(value)?;
            }
            result |= whole;
        }
        Some(result)
    }
}

impl<'de> Deserialize<'de> for Predicate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Predicate, D::Error> {
        let text = String::deserialize(deserializer)?;
        Predicate::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl Chain {
    fn is_true(&self, value: &dyn Fn(&str) -> Option<f64>) -> Option<bool> {
        let sum = |sum: &Sum| -> Option<f64> {
            let mut total = 0.0;
            for (sign, term) in sum {
                total += sign
                    * match term {
                        Term::Number(number) => *number,
                        Term::Name(name) => value(name)?,
                    };
            }
            Some(total)
        };
        let mut left = sum(&self.first)?;
        let mut result = true;
        for (comparison, next) in &self.rest {
            let right = sum(next)?;
            result &= comparison.holds(left, right);
            left = right;
        }
        Some(result)
    }
}

impl Comparison {
    fn of(word: &str) -> Option<Comparison> {
        Some(match word {
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            "=" => Comparison::Equal,
            _ => return None,
        })
    }

    fn holds(self, left: f64, right: f64) -> bool {
        let equal = (left - right).abs() <= 1e-9 * left.abs().max(right.abs());
        match self {
            Comparison::Less => left < right && !equal,
            Comparison::LessOrEqual => left < right || equal,
            Comparison::Greater => left > right && !equal,
            Comparison::GreaterOrEqual => left > right || equal,
            Comparison::Equal => equal,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    words: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.next();
        }
        found
    }

    fn all(&mut self) -> Result<Vec<Chain>, PredicateError> {
        let mut all = vec![self.chain()?];
        while self.eat("and") {
            all.push(self.chain()?);
        }
        Ok(all)
    }

    fn chain(&mut self) -> Result<Chain, PredicateError> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(comparison) = self.words.first().and_then(|word| Comparison::of(word)) {
            self.next();
            rest.push((comparison, self.sum()?));
        }
        if rest.is_empty() {
            return Err(PredicateError::NoComparison { text: self.text.to_owned() });
        }
        Ok(Chain { first, rest })
    }

    fn sum(&mut self) -> Result<Sum, PredicateError> {
        let mut sum = vec![self.term(1.0)?];
        loop {
            let sign = match self.words.first() {
                Some(&"+") => 1.0,
                Some(&"-") => -1.0,
                _ => return Ok(sum),
            };
            self.next();
            sum.push(self.term(sign)?);
        }
    }

    fn term(&mut self, mut sign: f64) -> Result<(f64, Term), PredicateError> {
        while self.eat("-") {
            sign = -sign;
        }
        let text = || self.text.to_owned();
        let Some(&word) = self.words.first() else { return Err(PredicateError::NoValue { text: text() }) };
        let term = match word.chars().next() {
            Some('0'..='9') => word.parse().ok().map(Term::Number),
            Some(first) if first.is_ascii_alphabetic() && !matches!(word, "and" | "or") => {
                Some(Term::Name(word.to_owned()))
            }
            _ => None,
        };
        let term = term.ok_or_else(|| PredicateError::BadValue { text: text(), found: word.to_owned() })?;
        self.next();
        Ok((sign, term))
    }
}

/// Names and numbers with their dots, comparisons, and everything else character by character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let of_name =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | ':');
        let length = if of_name(first) {
            rest.find(|character| !of_name(character)).unwrap_or(rest.len())
        } else if rest.starts_with("<=") || rest.starts_with(">=") {
            2
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<f64> {
        match name {
            "a" => Some(1.0),
            "b.c" => Some(2.0),
            "d_8" => Some(-3.0),
            _ => None,
        }
    }

    fn is_true(text: &str) -> Option<bool> {
        Predicate::parse(text).unwrap_or_else(|error| panic!("{error}")).is_true(&value)
    }

    #[test]
    fn comparisons_chain_and_join() {
        for (text, truth) in [
            ("a < b.c", true),
            ("a > b.c", false),
            ("a <= 1 and a >= 1 and a = 1", true),
            ("a<1 or a>1", false),
            ("d_8 < 0 < a < b.c <= 2", true),
            ("d_8 < a = b.c", false),
            ("a + 1 = b.c", true),
            ("b.c - 0.5 < a + 1 - 0.25", true),
            ("-d_8 = 3", true),
            ("a - -1 = 2", true),
            // `and` binds more tightly.
            ("a = 1 or a = 2 and a = 3", true),
            ("a = 2 and a = 3 or a = 1", true),
        ] {
            assert_eq!(is_true(text), Some(truth), "{text}");
        }
    }

    #[test]
    fn equal_is_but_for_rounding() {
        let third = |text: &str| Predicate::parse(text).expect("a predicate").is_true(&|_| Some(0.1 + 0.2));
        assert_eq!(third("x = 0.3"), Some(true));
        assert_eq!(third("x > 0.3"), Some(false));
        assert_eq!(third("x <= 0.3"), Some(true));
        assert_eq!(third("x = 0.30001"), Some(false));
    }

    #[test]
    fn what_is_not_measured_makes_nothing_true_or_false() {
        assert_eq!(is_true("a = 1 or missing > 2"), None);
        let predicate = Predicate::parse("a + x > 1 and y < 2 or a = 1").expect("a predicate");
        assert_eq!(predicate.names(), ["a", "x", "y", "a"]);
    }

    #[test]
    fn texts_that_are_no_predicates_are_refused() {
        let said = |text: &str| Predicate::parse(text).expect_err(text).to_string();
        assert!(said("").contains("ends without a value"));
        assert!(said("a >").contains("ends without a value"));
        assert!(said("a > and").contains("unexpected `and`"));
        assert!(said("a > %").contains("unexpected `%`"));
        assert!(said("a > 1.2.3").contains("unexpected `1.2.3`"));
        assert!(said("a").contains("compares nothing"));
        assert!(said("a < 1 and b.c").contains("compares nothing"));
        assert!(said("a < 1 b.c < 2").contains("unexpected `b.c`"));
        assert!(said("a < 1 é").contains("unexpected `é`"));
    }
}
