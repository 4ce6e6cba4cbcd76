// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moves, selection, byte permutation and three-input logic on registers and predicates.

use warpwatt_isa::{Op, PrmtMode, Src, Sub, Uop};

use super::maps::{map2, map3, row, store};
use super::shell::{Body, Isa, kernel, pick};
use super::{Args, Kernel, Level};

pub(super) fn select(level: Level, uop: &Uop) -> Option<Kernel> {
    let words = uop.ty.words();
    match (uop.op, uop.sub) {
        (Op::Mov, _) => match words {
            1 => pick::<Mov<1>>(level),
            2 => pick::<Mov<2>>(level),
            4 => pick::<Mov<4>>(level),
            _ => None,
        },
        (Op::Sel, _) => match words {
            1 => pick::<Sel<1>>(level),
            2 => pick::<Sel<2>>(level),
            _ => None,
        },
        (Op::Prmt, Sub::None) if matches!(uop.src[2], Src::Imm(_)) => pick::<PrmtImmediate>(level),
        (Op::Prmt, Sub::None) => pick::<Prmt>(level),
        (Op::Prmt, Sub::Prmt(_)) => pick::<PrmtNamed>(level),
        (Op::Lop3, Sub::Lut(lut)) => lop3(level, lut),
        (Op::Plop3, Sub::Lut(_)) => pick::<Plop3>(level),
        _ => None,
    }
}

kernel!(Mov<const WORDS: usize>, |L, args, _uop| {
    let mut out = [[0; 32]; WORDS];
    for (word, out) in out.iter_mut().enumerate() {
        *out = *row(args, 0, word);
    }
    for (word, out) in out.iter().enumerate() {
        store::<L>(args, word, out);
    }
});

kernel!(Sel<const WORDS: usize>, |L, args, _uop| {
    let x = args.psrc[0];
    let mut out = [[0; 32]; WORDS];
    for (word, out) in out.iter_mut().enumerate() {
        let (a, b) = (row(args, 0, word), row(args, 1, word));
        for lane in 0..32 {
            let other = (x >> lane & 1).wrapping_sub(1);
            out[lane] = a[lane] & !other | b[lane] & other;
        }
    }
    for (word, out) in out.iter().enumerate() {
        store::<L>(args, word, out);
    }
});

/// One byte of the result: nibble bits 0 to 2 choose a byte of (b:a), bit 3 replaces it by its sign.
#[inline(always)]
fn pick_byte(value: u64, nibble: u32) -> u32 {
    let byte = (value >> ((nibble & 7) * 8)) as u8;
    let sign = (byte as i8 >> 7) as u8;
    u32::from(if nibble & 8 != 0 { sign } else { byte })
}

#[inline(always)]
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let value = u64::from(a) | u64::from(b) << 32;
    (0..4).fold(0, |out, i| out | pick_byte(value, selector >> (4 * i) & 15) << (8 * i))
}

kernel!(Prmt, |L, args, _uop| { map3::<L>(args, permute) });

kernel!(
    /// The selector is the same in all lanes, so that every byte is a shift by the same amount.
    PrmtImmediate,
    |L, args, uop| {
        let Src::Imm(selector) = uop.src[2] else { return };
        let bytes = [0, 1, 2, 3].map(|i| {
            let nibble = selector >> (4 * i) & 15;
            // Shift the byte to the top, then down to bit 0, with its sign alone if bit 3 is set.
            let from_b = (nibble >> 2 & 1).wrapping_neg();
            let sign = (nibble >> 3 & 1).wrapping_neg();
            (from_b, sign, 24 - (nibble & 3) * 8, 8 * i)
        });
        map2::<L>(args, |a, b| {
            let mut out = 0;
            for (from_b, sign, up, place) in bytes {
                let top = (a ^ (a ^ b) & from_b) << up;
                let byte = (top >> 24) & !sign | (top as i32 >> 31) as u32 & sign;
                out |= (byte & 0xff) << place;
            }
            out
        });
    }
);

kernel!(
    /// The modes that PTX names: selectors by c[1:0] (PTX ISA, "prmt").
    PrmtNamed,
    |L, args, uop| {
        let Sub::Prmt(mode) = uop.sub else { return };
        let selectors: [u32; 4] = match mode {
            PrmtMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
            PrmtMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
            PrmtMode::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
            PrmtMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
            PrmtMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
            PrmtMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
        };
        map3::<L>(args, |a, b, c| permute(a, b, selectors[(c & 3) as usize]));
    }
);

/// The truth table as a tree of multiplexers: four functions of c, chosen between by b, then by a.
#[inline(always)]
fn table(lut: u32, a: u32, b: u32, c: u32) -> u32 {
    let of_c = |i: u32| {
        let (zero, one) = ((lut >> (2 * i) & 1).wrapping_neg(), (lut >> (2 * i + 1) & 1).wrapping_neg());
        zero ^ ((zero ^ one) & c)
    };
    let mux = |s: u32, one: u32, zero: u32| zero ^ ((zero ^ one) & s);
    mux(a, mux(b, of_c(3), of_c(2)), mux(b, of_c(1), of_c(0)))
}

kernel!(Lop3Table, |L, args, uop| {
    let Sub::Lut(lut) = uop.sub else { return };
    map3::<L>(args, |a, b, c| table(u32::from(lut), a, b, c));
});

/// Predicates are words of lanes, not rows of them: nothing here is unsafe.
struct Plop3;

impl Body for Plop3 {
    #[inline(always)]
    unsafe fn run<L: Isa>(args: &mut Args, uop: &Uop) {
        let Sub::Lut(lut) = uop.sub else { return };
        let [x, y, z] = args.psrc;
        let p = table(u32::from(lut), x, y, z);
        args.pdst = [p, !p];
    }
}

/// Kernels for the functions that compilers use most; the others share one.
macro_rules! functions {
    ($($name:ident $lut:literal $map:ident($($x:ident),*) $value:expr;)*) => {
        $(kernel!($name, |L, args, _uop| { $map::<L>(args, |$($x: u32),*| $value) });)*

        fn lop3(level: Level, lut: u8) -> Option<Kernel> {
            match lut {
                $($lut => pick::<$name>(level),)*
                _ => pick::<Lop3Table>(level),
            }
        }
    };
}

functions! {
    And 0xc0 map2(a, b) a & b;
    Or 0xfc map2(a, b) a | b;
    Xor 0x3c map2(a, b) a ^ b;
    NotA 0x0f map2(a, _b) !a;
    NotB 0x33 map2(_a, b) !b;
    AndNot 0x30 map2(a, b) a & !b;
    NotAnd 0x0c map2(a, b) !a & b;
    Xnor 0xc3 map2(a, b) !(a ^ b);
    OrNot 0xf3 map2(a, b) a | !b;
    AndAc 0xa0 map3(a, _b, c) a & c;
    OrAc 0xfa map3(a, _b, c) a | c;
    And3 0x80 map3(a, b, c) a & b & c;
    Or3 0xfe map3(a, b, c) a | b | c;
    Xor3 0x96 map3(a, b, c) a ^ b ^ c;
    AndOr 0xea map3(a, b, c) a & b | c;
    OrAnd 0xa8 map3(a, b, c) (a | b) & c;
    AOrBc 0xf8 map3(a, b, c) a | b & c;
    AAndBc 0xe0 map3(a, b, c) a & (b | c);
    AndXor 0x6a map3(a, b, c) a & b ^ c;
    XorAnd 0x28 map3(a, b, c) (a ^ b) & c;
    XorOr 0xbe map3(a, b, c) a ^ b | c;
    AXorBc 0x78 map3(a, b, c) a ^ b & c;
    Mux 0xca map3(a, b, c) c ^ (b ^ c) & a;
    MuxB 0xe2 map3(a, b, c) c ^ (a ^ c) & b;
    MuxC 0xe4 map3(a, b, c) b ^ (a ^ b) & c;
    Majority 0xe8 map3(a, b, c) a & b | c & (a | b);
}
