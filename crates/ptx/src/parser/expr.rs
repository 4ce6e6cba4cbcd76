// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constant expressions, evaluated as they are read (PTX ISA, "Constants": 64-bit integers with C's operators, doubles, and
//! the exact hexadecimal forms `0f…` and `0d…`).

use warpwatt_base::Span;

use super::{Parse, Parser, Reported, shorten};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value {
    Int {
        bits: u64,
        unsigned: bool,
    },
    /// Bits of `0f…`.
    F32(u32),
    F64(f64),
}

/// How tightly `*`, `/` and `%` bind: the terms of an address offset.
const MULTIPLICATIVE: u8 = 10;

const fn signed(value: i64) -> Value {
    Value::Int { bits: value as u64, unsigned: false }
}

fn truth(value: bool) -> Value {
    signed(i64::from(value))
}

fn precedence(kind: TokenKind) -> Option<u8> {
    Some(match kind {
        TokenKind::OrOr => 1,
        TokenKind::AndAnd => 2,
        TokenKind::Or => 3,
        TokenKind::Xor => 4,
        TokenKind::And => 5,
        TokenKind::EqualEqual | TokenKind::NotEqual => 6,
        TokenKind::Less | TokenKind::LessEqual | TokenKind::Greater | TokenKind::GreaterEqual => 7,
        TokenKind::ShiftLeft | TokenKind::ShiftRight => 8,
        TokenKind::Plus | TokenKind::Minus => 9,
        TokenKind::Star | TokenKind::Slash | TokenKind::Percent => MULTIPLICATIVE,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Whether a constant starts here. A sign or `!` counts only before one.
    pub(super) fn at_constant(&self) -> bool {
        let starts = |kind: TokenKind, word: &str| match kind {
            TokenKind::Number | TokenKind::Decimal | TokenKind::LParen | TokenKind::Tilde => true,
            TokenKind::Ident => word == "WARP_SZ",
            _ => false,
        };
        let mut at = self.at;
        while matches!(self.tokens[at].kind, TokenKind::Plus | TokenKind::Minus | TokenKind::Bang) {
            at += 1;
        }
        let token = self.tokens[at];
        starts(token.kind, self.text_of(token.span))
    }

    pub(super) fn constant(&mut self) -> Parse<Value> {
        let condition = self.binary(1)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let span = self.last_span();
        let Value::Int { bits, .. } = condition else {
            return Err(self.error("ptx-syntax", span, "the condition of `?:` must be an integer"));
        };
        let then = self.nested(Self::constant)?;
        self.expect(TokenKind::Colon, "`:`")?;
        let otherwise = self.nested(Self::constant)?;
        Ok(if bits != 0 { then } else { otherwise })
    }

    /// A constant that must be an integer.
    pub(super) fn integer(&mut self, what: &str) -> Parse<u64> {
        let start = self.span();
        if !self.at_constant() {
            return Err(self.unexpected(what));
        }
        match self.constant()? {
            Value::Int { bits, .. } => Ok(bits),
            _ => {
                let span = self.since(start);
                Err(self.error("ptx-syntax", span, format!("expected {what}, found a floating-point number")))
            }
        }
    }

    /// A constant that must fit 32 bits, such as a count or a line number.
    pub(super) fn small_integer(&mut self, what: &str) -> Parse<u32> {
        let start = self.span();
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| {
            let span = self.since(start);
            self.error("ptx-limit", span, format!("{value} is too large for {what}"))
        })
    }

    /// One number and no expression: in lists without separators a sign or bracket after it means something else.
    pub(super) fn plain_integer(&mut self, what: &str) -> Parse<u32> {
        if self.peek() != TokenKind::Number {
            return Err(self.unexpected(what));
        }
        let span = self.span();
        match self.literal()? {
            Value::Int { bits, .. } if u32::try_from(bits).is_ok() => Ok(bits as u32),
            _ => Err(self.error("ptx-limit", span, format!("expected {what}, an integer below 2^32"))),
        }
    }

    /// `+ 4`, `- 4`, `+-4`, `+ 2*8 - 4`: the constant after a name; 0 when there is none.
    pub(super) fn offset(&mut self) -> Parse<i64> {
        let mut sum = 0i64;
        while matches!(self.peek(), TokenKind::Plus | TokenKind::Minus) {
            let sign = self.bump();
            if self.peek() == TokenKind::Ident && self.word() != "WARP_SZ" {
                let span = self.span();
                let error = Diagnostic::error("ptx-syntax", span, "an offset must be a constant")
                    .with_help("add the register to the address with `add` first");
                return Err(self.report(error));
            }
            let Value::Int { bits, .. } = self.binary(MULTIPLICATIVE)? else {
                let span = self.since(sign.span);
                return Err(self.error("ptx-syntax", span, "an offset must be an integer"));
            };
            let term = bits as i64;
            sum = if sign.kind == TokenKind::Plus { sum.wrapping_add(term) } else { sum.wrapping_sub(term) };
        }
        Ok(sum)
    }

    fn binary(&mut self, least: u8) -> Parse<Value> {
        let mut left = self.unary()?;
        while let Some(level) = precedence(self.peek()).filter(|&level| level >= least) {
            let operator = self.bump();
            let right = self.nested(|parser| parser.binary(level + 1))?;
            left = apply(operator.kind, left, right)
                .map_err(|why| self.error("ptx-syntax", operator.span, why))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Value> {
        let operator = self.span();
        match self.peek() {
            TokenKind::Plus => {
                self.bump();
                self.nested(Self::unary)
            }
            TokenKind::Minus => {
                self.bump();
                Ok(match self.nested(Self::unary)? {
                    Value::Int { bits, unsigned } => Value::Int { bits: bits.wrapping_neg(), unsigned },
                    Value::F32(bits) => Value::F32(bits ^ 0x8000_0000),
                    Value::F64(value) => Value::F64(-value),
                })
            }
            kind @ (TokenKind::Tilde | TokenKind::Bang) => {
                self.bump();
                match self.nested(Self::unary)? {
                    Value::Int { bits, .. } if kind == TokenKind::Bang => Ok(truth(bits == 0)),
                    Value::Int { bits, unsigned } => Ok(Value::Int { bits: !bits, unsigned }),
                    _ => Err(self.error("ptx-syntax", operator, "this operator needs an integer operand")),
                }
            }
            TokenKind::LParen => {
                self.bump();
                self.parenthesised()
            }
            TokenKind::Number | TokenKind::Decimal => self.literal(),
            TokenKind::Ident if self.word() == "WARP_SZ" => {
                self.bump();
                Ok(signed(32))
            }
            _ => Err(self.unexpected("a constant")),
        }
    }

    /// After `(`: a cast `.s64)` or `.u64)` of what follows, or an expression in parentheses.
    fn parenthesised(&mut self) -> Parse<Value> {
        for (cast, unsigned) in [(".s64", false), (".u64", true)] {
            if self.eat_dotted(cast) {
                self.expect(TokenKind::RParen, "`)`")?;
                return Ok(match self.nested(Self::unary)? {
                    Value::Int { bits, .. } => Value::Int { bits, unsigned },
                    Value::F64(value) if unsigned => Value::Int { bits: value as u64, unsigned },
                    Value::F64(value) => signed(value as i64),
                    exact @ Value::F32(_) => exact,
                });
            }
        }
        let value = self.nested(Self::constant)?;
        self.expect(TokenKind::RParen, "`)`")?;
        Ok(value)
    }

    pub(super) fn literal(&mut self) -> Parse<Value> {
        let token = self.bump();
        let text = self.text_of(token.span);
        if token.kind == TokenKind::Decimal {
            return text.parse().map(Value::F64).map_err(|_| self.malformed(token.span, "a decimal number"));
        }
        let prefix =
            text.strip_prefix('0').and_then(|rest| rest.bytes().next()).map(|byte| byte.to_ascii_lowercase());
        let rest = text.get(2..).unwrap_or_default();
        match prefix {
            Some(b'f') => match u32::from_str_radix(rest, 16) {
                Ok(bits) if rest.len() == 8 => Ok(Value::F32(bits)),
                _ => Err(self.malformed(token.span, "`0f` and 8 hexadecimal digits")),
            },
            Some(b'd') => match u64::from_str_radix(rest, 16) {
                Ok(bits) if rest.len() == 16 => Ok(Value::F64(f64::from_bits(bits))),
                _ => Err(self.malformed(token.span, "`0d` and 16 hexadecimal digits")),
            },
            Some(b'x') => self.radix(token.span, rest, 16),
            Some(b'b') => self.radix(token.span, rest, 2),
            _ if text.contains(['e', 'E']) => {
                text.parse().map(Value::F64).map_err(|_| self.malformed(token.span, "a number"))
            }
            Some(b'0'..=b'9') => self.radix(token.span, &text[1..], 8),
            _ => self.radix(token.span, text, 10),
        }
    }

    fn radix(&mut self, span: Span, digits: &str, radix: u32) -> Parse<Value> {
        let (digits, suffix) = match digits.strip_suffix(['U', 'u']) {
            Some(digits) => (digits, true),
            None => (digits, false),
        };
        match u64::from_str_radix(digits, radix) {
            // A literal that does not fit the signed type is unsigned.
            Ok(bits) => Ok(Value::Int { bits, unsigned: suffix || i64::try_from(bits).is_err() }),
            Err(why) if *why.kind() == std::num::IntErrorKind::PosOverflow => {
                Err(self.error("ptx-limit", span, "this number does not fit into 64 bits"))
            }
            Err(_) => Err(self.malformed(span, "a number")),
        }
    }

    fn malformed(&mut self, span: Span, form: &str) -> Reported {
        let text = shorten(self.text_of(span));
        self.error("ptx-syntax", span, format!("malformed constant `{text}`: expected {form}"))
    }
}

fn apply(operator: TokenKind, left: Value, right: Value) -> Result<Value, &'static str> {
    match (left, right) {
        (Value::Int { bits: a, unsigned: x }, Value::Int { bits: b, unsigned: y }) => {
            apply_integers(operator, a, b, x, x || y)
        }
        (Value::F32(_), _) | (_, Value::F32(_)) => {
            Err("a `0f…` constant cannot be part of an expression: write `0d…` or a decimal number")
        }
        (a, b) => apply_doubles(operator, as_double(a), as_double(b)),
    }
}

fn as_double(value: Value) -> f64 {
    match value {
        Value::Int { bits, unsigned: true } => bits as f64,
        Value::Int { bits, unsigned: false } => bits as i64 as f64,
        Value::F32(bits) => f64::from(f32::from_bits(bits)),
        Value::F64(value) => value,
    }
}

/// `left_unsigned` decides which bits a right shift inserts; for the rest one unsigned side makes both unsigned, as in C.
fn apply_integers(
    operator: TokenKind,
    a: u64,
    b: u64,
    left_unsigned: bool,
    unsigned: bool,
) -> Result<Value, &'static str> {
    let (sa, sb) = (a as i64, b as i64);
    let less = |a: u64, b: u64| if unsigned { a < b } else { (a as i64) < (b as i64) };
    let bits = match operator {
        TokenKind::Plus => a.wrapping_add(b),
        TokenKind::Minus => a.wrapping_sub(b),
        TokenKind::Star => a.wrapping_mul(b),
        TokenKind::Slash | TokenKind::Percent if b == 0 => return Err("division by zero"),
        TokenKind::Slash if unsigned => a / b,
        TokenKind::Slash => sa.wrapping_div(sb) as u64,
        TokenKind::Percent if unsigned => a % b,
        TokenKind::Percent => sa.wrapping_rem(sb) as u64,
        TokenKind::And => a & b,
        TokenKind::Or => a | b,
        TokenKind::Xor => a ^ b,
        TokenKind::ShiftLeft | TokenKind::ShiftRight => {
            let by = b.min(64) as u32;
            let bits = match operator {
                TokenKind::ShiftLeft => a.checked_shl(by).unwrap_or(0),
                _ if left_unsigned => a.checked_shr(by).unwrap_or(0),
                _ => (sa >> by.min(63)) as u64,
            };
            return Ok(Value::Int { bits, unsigned: left_unsigned });
        }
        TokenKind::EqualEqual => return Ok(truth(a == b)),
        TokenKind::NotEqual => return Ok(truth(a != b)),
        TokenKind::Less => return Ok(truth(less(a, b))),
        TokenKind::GreaterEqual => return Ok(truth(!less(a, b))),
        TokenKind::Greater => return Ok(truth(less(b, a))),
        TokenKind::LessEqual => return Ok(truth(!less(b, a))),
        TokenKind::AndAnd => return Ok(truth(a != 0 && b != 0)),
        TokenKind::OrOr => return Ok(truth(a != 0 || b != 0)),
        _ => return Err("this operator cannot be applied to integers"),
    };
    Ok(Value::Int { bits, unsigned })
}

fn apply_doubles(operator: TokenKind, a: f64, b: f64) -> Result<Value, &'static str> {
    Ok(match operator {
        TokenKind::Plus => Value::F64(a + b),
        TokenKind::Minus => Value::F64(a - b),
        TokenKind::Star => Value::F64(a * b),
        TokenKind::Slash => Value::F64(a / b),
        TokenKind::EqualEqual => truth(a == b),
        TokenKind::NotEqual => truth(a != b),
        TokenKind::Less => truth(a < b),
        TokenKind::LessEqual => truth(a <= b),
        TokenKind::Greater => truth(a > b),
        TokenKind::GreaterEqual => truth(a >= b),
        _ => return Err("this operator needs integer operands"),
    })
}
