// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random flow graphs: every lane of a warp must take the way it would take alone, whatever the others do, and lanes must
//! meet again where every way leads.

use proptest::prelude::*;
use warpwatt_isa::*;

use crate::common::*;

/// Micro-ops of one block of the graph.
const SIZE: u32 = 8;
const START: u32 = 4;

/// Two successors of each block; the last block leads to the end or back.
#[derive(Clone, Debug)]
struct Graph(Vec<[usize; 2]>);

impl Graph {
    fn end(&self) -> usize {
        self.0.len()
    }

    /// Every block must be able to reach the end, or lanes would run for ever.
    fn is_sound(&self) -> bool {
        let mut reaches = vec![false; self.end() + 1];
        reaches[self.end()] = true;
        for _ in 0..self.end() {
            for (block, next) in self.0.iter().enumerate() {
                reaches[block] |= next.iter().any(|&n| reaches[n]);
            }
        }
        reaches.iter().all(|&r| r)
    }

    /// Nearest block that all ways from each block lead through.
    fn post_dominators(&self) -> Vec<usize> {
        let (n, all) = (self.end() + 1, (1u32 << (self.end() + 1)) - 1);
        let mut sets = vec![all; n];
        sets[self.end()] = 1 << self.end();
        for _ in 0..n * n {
            for (block, next) in self.0.iter().enumerate() {
                sets[block] = sets[next[0]] & sets[next[1]] | 1 << block;
            }
        }
        let nearest = |block: usize| {
            let strict = sets[block] & !(1 << block);
            // The nearest is the one that all the others post-dominate.
            (0..n).find(|&c| strict >> c & 1 == 1 && sets[c] == strict).expect("the end is among them")
        };
        (0..self.end()).map(nearest).collect()
    }

    /// Which way a thread turns at its `count`th block.
    fn turn(thread: u32, count: u32) -> usize {
        let mixed = thread.wrapping_mul(0x9e37_79b9).wrapping_add(count.wrapping_mul(0x85eb_ca6b));
        (mixed.wrapping_mul(mixed) >> 20 & 1) as usize
    }

    fn program(&self, sm: u32) -> Asm {
        let mut a = Asm::new(sm);
        let at = |block: usize| START + SIZE * block as u32;
        let meet = self.post_dominators();
        a.s2r(0, SReg::TidX).address(4, 0, r(0), 8).mov(2, imm(1)).mov(3, imm(0));
        for (block, next) in self.0.iter().enumerate() {
            // hash of the path, count, direction
            a.mad(2, r(2), imm(31), imm(block as i32 + 1)).add(3, r(3), imm(1));
            a.mad(6, r(3), imm(0x85eb_ca6bu32 as i32), RZ).mad(6, r(0), imm(0x9e37_79b9u32 as i32), r(6));
            a.mad(6, r(6), r(6), RZ);
            let mut bit = Uop::new(Op::Lop3, Ty::U32);
            (bit.dst, bit.sub) = (Reg(6), Sub::Lut(0xc0));
            bit.src = [r(6), imm(1 << 20), RZ, Src::None];
            a.put(bit).setp(0, r(6), Cmp::Ne, imm(0));
            // One branch to the second successor; blocks that lead to the next one need no other.
            let mut branch = Uop::new(Op::Bra, Ty::U32);
            (branch.target, branch.reconv) = (at(next[1]), at(meet[block]));
            a.when(0).put(branch);
            assert_eq!(next[0], block + 1, "the first successor follows");
        }
        a.stv(Space::Global, Ty::U32, 2, r(4), 0, r(2)).exit();
        a
    }

    fn alone(&self, thread: u32) -> [u32; 2] {
        let (mut hash, mut count, mut block) = (1u32, 0, 0);
        while block != self.end() {
            hash = hash.wrapping_mul(31).wrapping_add(block as u32 + 1);
            count += 1;
            block = self.0[block][Graph::turn(thread, count)];
        }
        [hash, count]
    }
}

fn graph() -> impl Strategy<Value = Graph> {
    (2usize..9)
        .prop_flat_map(|n| prop::collection::vec(0..=n, n))
        .prop_map(|jumps| Graph(jumps.into_iter().enumerate().map(|(block, to)| [block + 1, to]).collect()))
        .prop_filter("the end is reachable", Graph::is_sound)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lanes_go_the_ways_they_would_go_alone(graph in graph()) {
        for sm in [50, 75] {
            let asm = graph.program(sm);
            let mut bench = Bench::new(128);
            bench.block = [64, 1, 1];
            let stats = bench.run(&asm).unwrap();
            for (thread, got) in bench.words().chunks(2).enumerate() {
                prop_assert_eq!(got, graph.alone(thread as u32), "thread {} at sm_{}", thread, sm);
            }
            // The end is where all lanes meet: both warps come there once, with all their lanes.
            let last = stats.per_pc.last().unwrap();
            prop_assert_eq!((last.issues, last.lanes), (2, 64));
        }
    }
}
