// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a kernel at every level of this host, with full and partial masks and overlapping registers, and compares all lanes with a model.

use warpwatt_exec::lanes::{Args, Level, Operand, Row, select};
use warpwatt_isa::{Op, Pred, Reg, Src, Ty, Uop, dst_words, src_words};

/// The operands of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub src: [u64; 4],
    pub x: [bool; 3],
}

/// What one lane must get; `None` where the operation has no such result.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Expect {
    pub dst: Option<u64>,
    pub p: Option<bool>,
    pub q: Option<bool>,
}

pub fn value(dst: u64) -> Expect {
    Expect { dst: Some(dst), ..Expect::default() }
}

pub fn predicates(p: bool, q: bool) -> Expect {
    Expect { dst: None, p: Some(p), q: Some(q) }
}

/// splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn pick(&mut self, values: &[u64]) -> u64 {
        values[self.next() as usize % values.len()]
    }
}

/// A micro-op with registers in all places.
pub fn uop(op: Op, ty: Ty) -> Uop {
    let mut uop = Uop::new(op, ty);
    uop.src = [Src::Reg(Reg(0)); 4];
    uop.dst = Reg(0);
    uop
}

/// With predicate results wanted.
pub fn with_predicates(mut uop: Uop) -> Uop {
    uop.pdst = [Pred(0), Pred(1)];
    uop
}

fn source_words(uop: &Uop, i: usize) -> usize {
    src_words(uop.op, uop.ty, uop.ty2, uop.sub, &uop.mem, i) as usize
}

/// Where the destination lies relative to the sources; source i starts at row 1 + 4 * i.
const PLACES: [usize; 6] = [20, 1, 5, 0, 2, 9];

/// One warp of cases at one level: rows before and after, and the predicate results.
pub fn execute(
    level: Level,
    uop: &Uop,
    cases: &[Case],
    mask: u32,
    place: usize,
) -> (Vec<Row>, Vec<Row>, [u32; 2]) {
    let kernel = select(level, uop).unwrap_or_else(|| panic!("no kernel for {uop} at {}", level.name()));
    let mut rows: Vec<Row> =
        (0..24).map(|i| Row(std::array::from_fn(|lane| 0xabcd_0000 + i * 64 + lane as u32))).collect();
    let mut psrc = [0; 3];
    for (lane, case) in cases.iter().enumerate() {
        for i in 0..4 {
            rows[1 + 4 * i].0[lane] = case.src[i] as u32;
            if source_words(uop, i) > 1 {
                rows[2 + 4 * i].0[lane] = (case.src[i] >> 32) as u32;
            }
        }
        for (mask, x) in psrc.iter_mut().zip(case.x) {
            *mask |= u32::from(x) << lane;
        }
    }
    let before = rows.clone();
    let base = rows.as_mut_ptr();
    // From both bases.
    let src = [Operand::register(1), Operand::pooled(5), Operand::register(9), Operand::pooled(13)];
    // SAFETY: all operands lie inside of the 24 rows, and the level is available.
    let pdst = unsafe {
        let mut args = Args {
            dst: base.add(place),
            bases: Operand::bases(base, base),
            src: &src,
            psrc,
            pdst: [0; 2],
            mask,
        };
        kernel(&mut args, uop);
        args.pdst
    };
    (before, rows, pdst)
}

/// Compares a micro-op with a model of one lane, over all cases.
pub fn check(uop: &Uop, cases: impl IntoIterator<Item = Case>, model: impl Fn(&Case) -> Expect) {
    let mut random = Random(uop.op as u64 * 31 + uop.ty as u64);
    let mut cases = cases.into_iter();
    let words = dst_words(uop.op, uop.ty, uop.sub, &uop.mem) as usize;
    let (mut turn, mut count) = (0, 0);
    loop {
        let mut warp: Vec<Case> = cases.by_ref().take(32).collect();
        let Some(last) = warp.last().copied() else { break };
        warp.resize(32, last);
        count += 1;
        let place = PLACES[turn % PLACES.len()];
        let mask = if turn % 3 == 0 { u32::MAX } else { random.next() as u32 };
        turn += 1;
        let wanted: Vec<Expect> = warp.iter().map(&model).collect();
        for level in Level::available() {
            let (before, after, pdst) = execute(level, uop, &warp, mask, place);
            for lane in 0..32 {
                let at = || format!("{uop} at {}, lane {lane}, {:x?}", level.name(), warp[lane]);
                if mask >> lane & 1 == 0 {
                    for row in 0..24 {
                        assert_eq!(
                            before[row].0[lane],
                            after[row].0[lane],
                            "inactive lane changed: {}",
                            at()
                        );
                    }
                    continue;
                }
                let got = Expect {
                    dst: wanted[lane].dst.map(|_| match words {
                        1 => u64::from(after[place].0[lane]),
                        _ => u64::from(after[place].0[lane]) | u64::from(after[place + 1].0[lane]) << 32,
                    }),
                    p: wanted[lane].p.map(|_| pdst[0] >> lane & 1 == 1),
                    q: wanted[lane].q.map(|_| pdst[1] >> lane & 1 == 1),
                };
                assert!(got == wanted[lane], "{}: got {got:x?}, want {:x?}", at(), wanted[lane]);
                for row in (0..24).filter(|row| !(place..place + words).contains(row)) {
                    assert_eq!(before[row].0[lane], after[row].0[lane], "row {row} changed: {}", at());
                }
            }
        }
    }
    assert!(count > 0, "no cases for {uop}");
}

/// All pairs of edge values with some third and fourth, then random ones mixed with edges.
pub fn cases(edges: &[u64], random_count: usize) -> Vec<Case> {
    let mut random = Random(edges.len() as u64);
    let mut cases = Vec::new();
    for &a in edges {
        for &b in edges {
            let (c, d) = (random.pick(edges), random.pick(edges));
            cases.push([a, b, c, d]);
        }
    }
    for _ in 0..random_count {
        let src = std::array::from_fn(|_| match random.next() % 3 {
            0 => random.pick(edges),
            _ => random.next(),
        });
        cases.push(src);
    }
    let mut bits = Random(99);
    let x = |bits: &mut Random| std::array::from_fn(|_| bits.next() & 1 == 1);
    cases.into_iter().map(|src| Case { src, x: x(&mut bits) }).collect()
}

/// Integers at which something changes.
pub fn integers(bits: u32) -> Vec<u64> {
    let mut values: Vec<u64> = (0..=9).collect();
    for k in [7, 8, 15, 16, 23, 24, 31, 32, 33, 47, 63] {
        let power = 1u64 << k;
        values.extend([power - 1, power, power.wrapping_add(1), power.wrapping_neg()]);
    }
    values.extend([
        u64::MAX,
        u64::MAX - 1,
        0x5555_5555_5555_5555,
        0x1234_5678_9abc_def0,
        0xfedc_ba98,
        0x8000_0001,
    ]);
    let mask = u64::MAX >> (64 - bits);
    values.iter_mut().for_each(|v| *v &= mask);
    values.sort_unstable();
    values.dedup();
    values
}
