// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a buffer holds: element types, numbers as written, and the bytes they become.

use std::path::PathBuf;

use half::{bf16, f16};
use warpwatt_base::SplitMix64;

/// A number as written in the file: whole numbers keep all their digits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Int(value) => value.fmt(f),
            Number::Float(value) => write!(f, "{value:?}"),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    Zero,
    Fill(Number),
    Values(Vec<Number>),
    File(PathBuf),
    Random { seed: u64, lo: f64, hi: f64 },
    Iota { start: Number, step: Number },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    pub const ALL: [(&'static str, Element); 12] = [
        ("u8", Element::U8),
        ("i8", Element::I8),
        ("u16", Element::U16),
        ("i16", Element::I16),
        ("u32", Element::U32),
        ("i32", Element::I32),
        ("u64", Element::U64),
        ("i64", Element::I64),
        ("f16", Element::F16),
        ("bf16", Element::Bf16),
        ("f32", Element::F32),
        ("f64", Element::F64),
    ];

    pub fn from_name(name: &str) -> Option<Element> {
        Element::ALL.iter().find(|(known, _)| *known == name).map(|(_, element)| *element)
    }

    pub fn name(self) -> &'static str {
        Element::ALL.iter().find(|(_, element)| *element == self).map_or("", |(name, _)| name)
    }

    pub fn bytes(self) -> u64 {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::U16 | Element::I16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    /// The whole numbers that an integer type can hold. Hexadecimal is often meant as bits, so a signed type also takes the
    /// values of its unsigned twin.
    fn range(self) -> std::ops::RangeInclusive<i128> {
        let bits = 8 * self.bytes() as u32;
        let unsigned = (1_i128 << bits) - 1;
        match self {
            Element::I8 | Element::I16 | Element::I32 | Element::I64 => -(1_i128 << (bits - 1))..=unsigned,
            _ => 0..=unsigned,
        }
    }

    /// Whether a number is one of the unsigned twin of a signed type, and too large for itself.
    pub fn is_negative_as_bits(self, number: Number) -> bool {
        let signed = matches!(self, Element::I8 | Element::I16 | Element::I32 | Element::I64);
        signed && matches!(number, Number::Int(value) if value >= 1 << (8 * self.bytes() - 1))
    }

    /// Whether this type can hold the number as it is written.
    pub fn holds(self, number: Number) -> bool {
        match number {
            _ if self.is_float() => true,
            Number::Int(value) => self.range().contains(&value),
            Number::Float(value) => value.fract() == 0.0 && self.range().contains(&(value as i128)),
        }
    }

    /// Appends the bytes of a number; one that the type does not hold is taken modulo its size.
    pub fn put(self, number: Number, out: &mut Vec<u8>) {
        let real = number.as_f64();
        match self {
            Element::F16 => out.extend(f16::from_f64(real).to_le_bytes()),
            Element::Bf16 => out.extend(bf16::from_f64(real).to_le_bytes()),
            Element::F32 => out.extend((real as f32).to_le_bytes()),
            Element::F64 => out.extend(real.to_le_bytes()),
            _ => {
                let whole = match number {
                    Number::Int(value) => value,
                    Number::Float(value) => value as i128,
                };
                out.extend(&whole.to_le_bytes()[..self.bytes() as usize]);
            }
        }
    }

    /// The element at the start of `bytes`, which has to be long enough.
    pub fn get(self, bytes: &[u8]) -> Number {
        let mut raw = [0; 8];
        raw[..self.bytes() as usize].copy_from_slice(&bytes[..self.bytes() as usize]);
        let bits = u64::from_le_bytes(raw);
        match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => Number::Int(bits.into()),
            Element::I8 => Number::Int((bits as i8).into()),
            Element::I16 => Number::Int((bits as i16).into()),
            Element::I32 => Number::Int((bits as i32).into()),
            Element::I64 => Number::Int((bits as i64).into()),
            Element::F16 => Number::Float(f16::from_bits(bits as u16).to_f64()),
            Element::Bf16 => Number::Float(bf16::from_bits(bits as u16).to_f64()),
            Element::F32 => Number::Float(f32::from_bits(bits as u32).into()),
            Element::F64 => Number::Float(f64::from_bits(bits)),
        }
    }
}

impl Content {
    /// The bytes of `count` elements. `file` are the bytes of the file, for a content that names one.
    pub fn bytes(&self, element: Element, count: u64, file: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity((count * element.bytes()) as usize);
        match self {
            Content::Zero => {}
            Content::Fill(value) => (0..count).for_each(|_| element.put(*value, &mut out)),
            Content::Values(values) => {
                values.iter().take(count as usize).for_each(|value| element.put(*value, &mut out));
            }
            Content::File(_) => out.extend_from_slice(file),
            Content::Random { seed, lo, hi } => {
                let mut random = SplitMix64::new(*seed);
                for _ in 0..count {
                    // 53 random bits give every double of the unit interval's grid.
                    let unit = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                    let value = lo + (hi - lo) * unit;
                    let value = if element.is_float() { value } else { value.floor() };
                    element.put(Number::Float(value), &mut out);
                }
            }
            Content::Iota { start, step } => {
                for index in 0..count {
                    let value = match (start, step) {
                        (Number::Int(start), Number::Int(step)) => {
                            Number::Int(start.wrapping_add(step.wrapping_mul(index.into())))
                        }
                        _ => Number::Float(start.as_f64() + step.as_f64() * index as f64),
                    };
                    element.put(value, &mut out);
                }
            }
        }
        out.resize((count * element.bytes()) as usize, 0);
        out
    }

    /// Elements that the content itself gives.
    pub fn own_count(&self) -> Option<u64> {
        match self {
            Content::Values(values) => Some(values.len() as u64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_way_to_bytes_and_back() {
        for (element, number) in [
            (Element::U64, Number::Int(u64::MAX.into())),
            (Element::I8, Number::Int(-128)),
            (Element::I32, Number::Int(-7)),
            (Element::F16, Number::Float(1.5)),
            (Element::Bf16, Number::Float(-2.0)),
            (Element::F32, Number::Float(0.25)),
            (Element::F64, Number::Float(0.1)),
        ] {
            let mut bytes = Vec::new();
            element.put(number, &mut bytes);
            assert_eq!(bytes.len() as u64, element.bytes());
            assert_eq!(element.get(&bytes), number, "{}", element.name());
        }
    }

    #[test]
    fn contents_have_the_size_asked_for() {
        let iota = Content::Iota { start: Number::Int(3), step: Number::Int(-2) };
        assert_eq!(iota.bytes(Element::I8, 3, &[]), [3, 1, 255]);
        assert_eq!(Content::Values(vec![Number::Int(9)]).bytes(Element::U16, 2, &[]), [9, 0, 0, 0]);
        assert_eq!(Content::Zero.bytes(Element::F64, 1, &[]), [0; 8]);
        assert_eq!(Content::Fill(Number::Float(1.0)).bytes(Element::F32, 1, &[]), 1.0_f32.to_le_bytes());
    }

    #[test]
    fn random_contents_stay_in_their_range_and_follow_the_seed() {
        let random = |seed| Content::Random { seed, lo: -5.0, hi: 5.0 }.bytes(Element::I32, 1000, &[]);
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
        for value in random(1).chunks(4) {
            let value = Element::I32.get(value).as_f64();
            assert!((-5.0..5.0).contains(&value), "{value}");
        }
    }

    #[test]
    fn only_numbers_that_fit_are_held() {
        assert!(Element::U8.holds(Number::Int(255)) && !Element::U8.holds(Number::Int(256)));
        assert!(!Element::U32.holds(Number::Int(-1)) && Element::I32.holds(Number::Int(-1)));
        assert!(!Element::I32.holds(Number::Float(0.5)) && Element::F32.holds(Number::Float(0.5)));
    }
}
