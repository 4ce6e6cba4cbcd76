// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped-Compression by its behaviour, at the hooks: what is stored where, when, and what comes back.

use proptest::prelude::*;
use warpwatt_config::{Config, GpuFile, Settings};
use warpwatt_isa::Program;

use super::*;
use crate::register_file::Columns;
use crate::sm::decode_move;
use crate::techniques::Techniques;

/// Lanes hold 100, 101, 102, ...: <4,1>.
fn counting() -> Row {
    Row(std::array::from_fn(|lane| 100 + lane as u32))
}

fn scattered() -> Row {
    Row(std::array::from_fn(|lane| (lane as u32).wrapping_mul(0x9e37_79b9)))
}

/// The technique with one warp in slot 0, and the values that the warp has.
struct Bench {
    config: Config,
    technique: WarpedCompression,
    rows: Vec<Row>,
    port: Columns,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Bench {
        let mut parameters = Parameters::default();
        for (name, value) in settings {
            parameters.set(name, value).expect("it is legal");
        }
        let config = GpuFile::preset("gtx480-wc").expect("a preset").config;
        let techniques = &Techniques::default();
        let build = Build {
            config: &config,
            settings: &parameters,
            techniques,
            instance: 0,
            verify: true,
            inject: None,
        };
        let mut technique = WarpedCompression::new(&build);
        let program = &Program::default();
        technique.start(0, &Started { slot: 0, registers: 16, program, kept_out: 0 });
        Bench { config, technique, rows: vec![Row([0; 32]); 16], port: Columns::default() }
    }

    fn lanes(mask: u32) -> NextLanes {
        NextLanes { all: FULL, live: FULL, active: mask, mask }
    }

    /// Writes some lanes of a register; gives the arrays that are activated, and when the data and the arrays are ready.
    fn write(&mut self, now: u64, register: u8, values: &Row, mask: u32) -> (u32, u64, u64) {
        let timing = self.timing(register);
        let lanes = Bench::lanes(mask);
        self.technique.issued(now, &Next { slot: 0, timing: &timing, lanes });
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            self.rows[usize::from(register)].0[lane] = values.0[lane];
        }
        self.finish(now, register)
    }

    fn finish(&mut self, now: u64, register: u8) -> (u32, u64, u64) {
        let mut port = ReadPort::of(&mut self.port, now);
        let values = &self.rows[usize::from(register)];
        let written = Written { now, slot: 0, register, upper: false, values };
        let mut access = WriteAccess { bank: 0, arrays: 8, ready: now, awake: now };
        self.technique.write(&written, &mut access, &mut port);
        (access.arrays, access.ready, access.awake)
    }

    /// The injected move, if a write of these lanes needs one: read at `now`, written five cycles later.
    fn uncompress(&mut self, now: u64, register: u8, mask: u32) -> bool {
        let timing = self.timing(register);
        let Some(found) = self.technique.compressed_destination(0, &timing, mask) else { return false };
        assert_eq!(found, register);
        self.technique.moving(0, register, Bench::lanes(mask));
        self.finish(now + 5, register);
        true
    }

    /// Reads a register that the banks give in cycle `at`: arrays, and when it is there. Checks what is stored.
    fn read(&mut self, at: u64, register: u8) -> (u8, u64) {
        let mut plan = ReadPlan::default();
        let timing = self.timing(register);
        plan.make(&Map::new(&self.config), 0, &timing, 8);
        self.technique.plan(at, 0, &timing, &mut plan);
        plan.accesses_mut()[0].at = at;
        let ready = self.technique.arrive(at, 0, &plan);
        self.verify(register);
        (plan.accesses()[0].arrays, ready.max(at + 1))
    }

    /// A move of a register to itself.
    fn timing(&self, register: u8) -> Timing {
        decode_move(register, &self.config, &Map::new(&self.config))
    }

    fn counters(&self) -> Counters {
        self.technique.counters().of::<Counters>().expect("its own").clone()
    }

    fn verify(&mut self, register: u8) {
        let index = index(0, register);
        let form = self.technique.form(index);
        let shadow = self.technique.shadow.as_mut().expect("it is verified");
        let found = shadow.check(index, form, &self.rows[usize::from(register)].0, register);
        assert_eq!(found, None, "R{register}, {form:?}");
    }
}

#[test]
fn a_diverged_update_of_a_compressed_register_step_by_step() {
    let mut bench = Bench::new(&[("wake_cycles", "0")]);
    assert_eq!(bench.write(100, 3, &counting(), FULL), (3, 102, 102), "<4,1>, through the compressor");
    assert_eq!(bench.read(110, 3), (3, 112), "three arrays, then the decompressor");
    // A branch: the lower half of the warp is to write.
    let half = 0xffff;
    assert!(bench.uncompress(200, 3, half), "it is compressed");
    assert_eq!(bench.technique.counters.moves, 1);
    assert_eq!(bench.read(210, 3), (8, 211), "uncompressed: all arrays, past the decompressor");
    assert_eq!(bench.write(220, 3, &scattered(), half), (8, 220, 220), "past the compressor");
    assert_eq!(bench.read(230, 3), (8, 231));
    assert!(!bench.uncompress(240, 3, half), "once for each register and phase");
    bench.write(250, 3, &counting(), half);
    assert_eq!(bench.read(260, 3), (8, 261), "though it would fit again");
    // The warp is whole again, and with the next write the register is compressed.
    assert_eq!(bench.write(300, 3, &counting(), FULL), (3, 302, 302));
    assert_eq!(bench.technique.counters.moves, 1);
    let Counters { compressions, decompressions, stored, writes, .. } = bench.counters();
    assert_eq!((compressions, decompressions), (2, 1));
    assert_eq!((stored, writes), ([2, 0, 2, 0, 0], [2, 0, 0, 0, 2]), "the move is not counted as a write");
}

#[test]
fn a_write_waits_until_its_arrays_are_awake() {
    let mut bench = Bench::new(&[]);
    assert_eq!(
        bench.write(100, 1, &Row([7; 32]), FULL),
        (1, 102, 112),
        "the first array wakes after compression"
    );
    assert_eq!(
        bench.write(120, 5, &Row([9; 32]), FULL),
        (1, 122, 122),
        "another register of bank 1: it is awake"
    );
    assert_eq!(bench.write(140, 9, &counting(), FULL), (3, 142, 152), "two more arrays are needed");
    assert_eq!(bench.write(145, 13, &counting(), FULL), (3, 147, 152), "they are on their way");
    assert_eq!(bench.write(160, 2, &scattered(), 1), (8, 160, 170), "bank 2, uncompressed");
    assert_eq!(bench.counters().wakeups, 1 + 2 + 8);
    // R9 shrinks, but R13 needs its arrays; when the warp ends all go off.
    bench.write(200, 9, &Row([1; 32]), FULL);
    assert!(bench.technique.gating.can_read(1, 0b111, 200));
    bench.technique.end(300, 0);
    assert!(!bench.technique.gating.can_read(1, 0b001, 300));
    bench.technique.settle(400);
    let off = bench.counters().gated_by_bank;
    assert_eq!(
        (off[8], off[9], off[10], off[11]),
        (102 + 100, 142 + 100, 142 + 100, 400),
        "bank 1, by array"
    );
}

#[test]
fn units_are_shared_and_pipelined() {
    let mut bench = Bench::new(&[("wake_cycles", "0"), ("compress_cycles", "4")]);
    let ready: Vec<_> = (1..6).map(|register| bench.write(100, register, &counting(), FULL).1).collect();
    assert_eq!(ready, [104, 104, 105, 105, 106], "two compressors");
    let ready: Vec<_> = (1..6).map(|register| bench.read(200, register).1).collect();
    assert_eq!(ready, [202, 202, 202, 202, 203], "four decompressors");
    let counters = bench.counters();
    assert_eq!((counters.compressor_waits, counters.decompressor_waits), (1 + 1 + 2, 1));
}

#[test]
fn merging_reads_the_register_and_compresses_it_again() {
    let mut bench = Bench::new(&[("wake_cycles", "0"), ("divergent", "merge")]);
    bench.write(100, 3, &counting(), FULL);
    assert!(!bench.uncompress(110, 3, 0xff), "no move");
    let (arrays, ready, _) = bench.write(120, 3, &Row([105; 32]), 0xff);
    assert_eq!((arrays, ready), (3, 120 + 1 + 1 + 2), "bank, decompressor, compressor");
    assert_eq!((bench.technique.counters.merges, bench.read(130, 3)), (1, (3, 132)));
    assert_eq!(bench.technique.counters.stored, [0, 0, 2, 0, 0]);
}

#[test]
fn threads_compressed_apart_are_written_one_by_one() {
    let mut bench = Bench::new(&[("wake_cycles", "0"), ("window", "thread")]);
    assert_eq!(bench.write(100, 3, &counting(), FULL).0, 3, "from 128 on, in one half, two bytes");
    assert!(!bench.uncompress(110, 3, 1), "no move");
    assert_eq!(bench.write(120, 3, &Row([1 << 20; 32]), 1).0, 4, "four bytes of the lower half");
    assert_eq!(bench.read(130, 3).0, 6, "the widest of each half");
    assert_eq!(bench.write(140, 3, &Row([0; 32]), FULL).0, 0, "zeros are not stored");
    assert_eq!(bench.read(150, 3).0, 0);
}

#[test]
fn phases_tell_why_lanes_are_left_out() {
    let phase = |all, live, active, mask| Phase::of(NextLanes { all, live, active, mask });
    let half = 0xffff;
    assert_eq!(phase(FULL, FULL, FULL, FULL), Phase::Full);
    assert_eq!(phase(FULL, FULL, FULL, 7), Phase::Guarded);
    assert_eq!(phase(half, half, half, half), Phase::Short);
    assert_eq!(phase(half, half, half, 7), Phase::Short, "its lanes are missing, guard or not");
    assert_eq!(phase(FULL, half, half, half), Phase::Ended);
    assert_eq!(phase(half, 0xff, 0xff, 0xff), Phase::Ended, "a short warp that lost threads");
    assert_eq!(phase(FULL, FULL, half, half), Phase::Split);
    assert_eq!(phase(half, half, 0xff, 0xff), Phase::Split);
    assert_eq!(phase(FULL, half, 0xff, 7), Phase::Split);
}

#[test]
fn observed_writes_are_counted_by_phase_and_by_largest_distance() {
    let mut bench = Bench::new(&[("wake_cycles", "0"), ("observe", "on")]);
    bench.write(100, 3, &counting(), FULL);
    bench.write(110, 3, &Row([1 << 20; 32]), 0xffff);
    let Counters { similar, written, distances, instructions, sources, sources_arrays, .. } =
        bench.counters();
    let split = Phase::Split as usize;
    assert_eq!((instructions[0], instructions[split]), (1, 1));
    // The first is within 128; the second has equal lanes where it was written, and one step of a million behind them.
    assert_eq!((similar[1], similar[4 * split + 3]), (1, 1), "of the whole register");
    assert_eq!((written[1], written[4 * split]), (1, 1), "of the lanes that were written");
    assert_eq!((distances[1], distances[4 * split..][..4].to_vec()), (31, vec![15, 15, 0, 1]));
    assert_eq!((sources, sources_arrays), ([0, 0, 0, 1], [0, 0, 0, 3]), "those of undiverged warps alone");
}

#[test]
fn a_guard_that_holds_for_no_lane_changes_nothing() {
    let mut bench = Bench::new(&[("wake_cycles", "0")]);
    bench.write(100, 3, &counting(), FULL);
    assert_eq!(
        bench.write(110, 3, &scattered(), 0),
        (8, 110, 110),
        "a guard that holds for no lane changes nothing"
    );
    assert_eq!(bench.read(120, 3), (3, 122));
}

/// A write in a random run.
#[derive(Clone, Debug)]
struct Write {
    register: u8,
    values: [u32; 32],
    mask: u32,
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let values = prop_oneof![
        any::<u32>().prop_map(|value| [value; 32]),
        (any::<u32>(), -300i32..300).prop_map(|(base, step)| {
            std::array::from_fn(|lane| base.wrapping_add_signed(step * lane as i32))
        }),
        prop::array::uniform32(any::<u32>()),
    ];
    let mask = prop_oneof![Just(FULL), any::<u32>(), Just(0xffff), Just(1 << 31), Just(0)];
    let write = (0u8..16, values, mask).prop_map(|(register, values, mask)| Write { register, values, mask });
    prop::collection::vec(write, 1..60)
}

/// The ways to store registers.
const WAYS: [&[(&str, &str)]; 6] = [
    &[],
    &[("encodings", "4-1")],
    &[("divergent", "merge")],
    &[("window", "thread")],
    &[("mov", "off"), ("valid_on", "launch")],
    &[("compression", "off")],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any writes under any masks come back exactly, and an array is on if and only if a register lies in it.
    #[test]
    fn what_was_written_is_read_back(writes in writes(), way in 0..WAYS.len()) {
        let mut bench = Bench::new(WAYS[way]);
        let mut now = 100;
        for Write { register, values, mask } in writes {
            bench.uncompress(now, register, mask);
            bench.write(now + 20, register, &Row(values), mask);
            now += 100;
            for register in 0..16 {
                bench.verify(register);
                if bench.technique.registers[index(0, register)].valid {
                    bench.read(now, register);
                }
            }
            for bank in 0..4 {
                let needed = (0..16u8).filter(|register| register % 4 == bank).fold(0, |arrays, register| {
                    let entry = bench.technique.registers[index(0, register)];
                    arrays | if entry.valid { entry.arrays } else { 0 }
                });
                for array in 0..8 {
                    let on = bench.technique.gating.can_read(usize::from(bank), 1 << array, u64::MAX);
                    prop_assert_eq!(on, needed >> array & 1 != 0, "array {} of bank {}", array, bank);
                }
            }
        }
        bench.technique.end(now, 0);
        for bank in 0..4 {
            for array in 0..8 {
                prop_assert!(!bench.technique.gating.can_read(bank, 1 << array, u64::MAX));
            }
        }
    }
}
