// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table by its behaviour, at the site: what lies where, what comes together, when it is released.

use warpwatt_codecs::packing::Mapping;
use warpwatt_config::{Config, GpuFile};
use warpwatt_exec::lanes::Row;
use warpwatt_exec::stepping::NextLanes;
use warpwatt_isa::{Hints, Op, Program, Reg, Src, Ty, Uop};

use super::engine::Engine;
use super::{Counters, TECHNIQUE};
use crate::register_file::{
    Columns, Map, NONE, Next, ReadPlan, ReadPort, RegisterFileSite, Started, WriteAccess, Written,
};
use crate::sm::{Decoded, Timing};
use crate::techniques::{Build, Techniques, corf, corf_plus, packing, virtualization};

const FULL: u32 = u32::MAX;

/// A register file with one warp in slot 0, and the values that the warp has.
struct Bench {
    config: Config,
    engine: Engine,
    rows: Vec<Row>,
    port: Columns,
    now: u64,
}

/// What an access gives: registers, bank, and the cycles that it is held up.
type Access = (u8, u8, u8, u16);

impl Bench {
    fn new(with: &[&str], hints: Option<Hints>) -> Bench {
        let config = GpuFile::preset("gtx480-corf").expect("a preset").config;
        let mut techniques = Techniques { verify: true, ..Techniques::default() };
        with.iter().for_each(|text| techniques.with(text).expect("it is legal"));
        let (.., settings) = techniques
            .settings()
            .find(|(_, technique, _)| technique.name == TECHNIQUE.name)
            .expect("it is on");
        let techniques = &techniques;
        let instance = 0;
        let build = Build { config: &config, settings, techniques, instance, verify: true, inject: None };
        let mut engine = Engine::new(&build);
        let program = &Program { hints: hints.into_iter().collect(), ..Program::default() };
        engine.start(0, &Started { slot: 0, registers: 16, program, kept_out: 0 });
        Bench { config, engine, rows: vec![Row([0; 32]); 16], port: Columns::default(), now: 100 }
    }

    /// A micro-op that reads some registers and writes one, as the machine sees it.
    fn timing(&self, sources: &[u8], dst: Option<u8>, last: u8) -> Timing {
        let mut uop = Uop::new(Op::Iadd3, Ty::U32);
        uop.dst = dst.map_or(Reg::ZERO, Reg);
        uop.last_use = last;
        for (source, register) in uop.src.iter_mut().zip(sources) {
            *source = Src::Reg(Reg(*register));
        }
        let program = Program { uops: vec![uop], ..Program::default() };
        Decoded::new(&program, &self.config).timing.remove(0)
    }

    fn lanes(mask: u32) -> NextLanes {
        NextLanes { all: FULL, live: FULL, active: mask, mask }
    }

    fn issue(&mut self, timing: &Timing, lanes: NextLanes, live: Option<&[u64; 4]>) {
        self.now += 10;
        let timing = &Timing { live: live.copied().unwrap_or(timing.live), ..timing.clone() };
        self.engine.issued(self.now, &Next { slot: 0, timing, lanes });
    }

    /// Writes some lanes; gives how often the register was read for that.
    fn write(&mut self, register: u8, value: u32, mask: u32) -> u64 {
        let timing = self.timing(&[], Some(register), 0);
        self.issue(&timing, Bench::lanes(mask), None);
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            self.rows[usize::from(register)].0[lane] = value;
        }
        self.finish(register)
    }

    fn finish(&mut self, register: u8) -> u64 {
        let before = self.engine.packed.growth_reads;
        let values = &self.rows[usize::from(register)];
        let written = Written { now: self.now, slot: 0, register, upper: false, values };
        let mut access = WriteAccess { bank: 0, arrays: 8, ready: self.now, awake: self.now };
        self.engine.write(&written, &mut access, &mut ReadPort::of(&mut self.port, self.now));
        assert_eq!(Some(access.bank), self.place(register).map(|place| place.bank));
        self.engine.packed.growth_reads - before
    }

    /// Reads registers in one instruction, for the last time where a bit says so. What is stored is compared with what was given.
    fn read(&mut self, sources: &[u8], last: u8, active: u32) -> Vec<Access> {
        for &register in sources {
            if let Some(place) = self.place(register) {
                let index = super::engine::index(0, register);
                let values = &self.rows[usize::from(register)].0;
                assert_eq!(self.engine.check(index, place, values, register), None, "R{register}");
            }
        }
        let timing = self.timing(sources, None, last);
        self.issue(&timing, Bench::lanes(active), None);
        let mut plan = ReadPlan::default();
        plan.make(&Map::new(&self.config), 0, &timing, 8);
        self.engine.plan(self.now, 0, &timing, &mut plan);
        for access in plan.accesses_mut() {
            access.at = self.now + 1;
        }
        self.engine.arrive(self.now, 0, &plan);
        let each = plan.accesses().iter();
        each.map(|access| (access.register, access.second, access.bank, access.delay)).collect()
    }

    fn place(&self, register: u8) -> Option<Mapping> {
        self.engine.allocator.get(0, register)
    }

    fn packed(&self) -> packing::Counters {
        self.of(packing::NAME)
    }

    fn of<T: warpwatt_base::counters::CounterSet + Clone>(&self, name: &str) -> T {
        let all = self.engine.counters_of_others();
        let (_, counters) = all.iter().find(|(other, _)| *other == name).expect("it is on");
        counters.of::<T>().expect("its own").clone()
    }
}

#[test]
fn a_register_grows_under_a_partial_mask_and_shrinks_under_a_whole_one() {
    let mut bench = Bench::new(&["packing"], None);
    assert_eq!(bench.write(1, 5, FULL), 0);
    assert_eq!(bench.write(5, 9, FULL), 0);
    let (one, five) = (bench.place(1).expect("a place"), bench.place(5).expect("a place"));
    assert!(one.same_entry(&five), "both have their home in bank 1");
    assert_eq!((one.mask, five.mask), (0b0001, 0b0010));
    // Half of the lanes need two bytes: the register moves, and the others are read to be moved with it.
    assert_eq!(bench.write(1, 300, 0xffff), 1);
    let grown = bench.place(1).expect("a place");
    assert_eq!((grown.mask, grown.same_entry(&five)), (0b1100, true), "first fit: behind R5");
    bench.read(&[1, 5], 0, FULL);
    // Fewer bytes for some lanes change nothing; for all, they free nothing either.
    assert_eq!(bench.write(1, 1, 0xff), 0);
    assert_eq!(bench.place(1), Some(grown));
    assert_eq!(bench.write(1, 2, FULL), 0);
    let shrunk = bench.place(1).expect("a place");
    assert_eq!((shrunk.mask, shrunk.owned), (0b0100, 0b1100));
    bench.read(&[1, 5], 0, FULL);
    // It grows again within what it has, which takes a read only if lanes are left out.
    assert_eq!(bench.write(1, 400, FULL), 0);
    assert_eq!(bench.place(1), Some(grown));
    assert_eq!(bench.write(1, 70_000, FULL), 0, "all lanes are written: nothing is read");
    bench.read(&[1, 5], 0, FULL);
    let counters = bench.packed();
    assert_eq!((counters.grown, counters.widened, counters.shrunk, counters.growth_reads), (2, 1, 1, 1));
    bench.engine.end(1000, 0);
    assert_eq!(bench.engine.allocator.used(), (0, 0));
    assert!(bench.engine.allocator.is_consistent());
}

#[test]
fn operands_of_one_entry_come_with_one_access_and_no_more_than_two() {
    let mut bench = Bench::new(&["packing:coalesce=on"], None);
    [1, 5, 9, 2].into_iter().for_each(|register| assert_eq!(bench.write(register, 3, FULL), 0));
    assert_eq!(bench.read(&[1, 5], 0, FULL), [(1, 5, 1, 0)]);
    assert_eq!(bench.read(&[1, 2], 0, FULL), [(1, NONE, 1, 0), (2, NONE, 2, 0)]);
    // Three of one entry take two accesses; the third lookup finds both ports of its bank taken.
    assert_eq!(bench.read(&[1, 5, 9], 0, FULL), [(1, 5, 1, 0), (9, NONE, 1, 1)]);
    assert_eq!((bench.packed().coalesced, bench.packed().coalesced_instructions), (2, 2));
    assert_eq!((bench.packed().multi_source, bench.packed().potential), (3, 3));
    let counters: Counters = bench.engine.counters().of::<Counters>().expect("its own").clone();
    assert_eq!((counters.port_waits, counters.lookups), (1, 7));
    let mut plain = Bench::new(&["packing"], None);
    [1, 5].into_iter().for_each(|register| assert_eq!(plain.write(register, 3, FULL), 0));
    assert_eq!(plain.read(&[1, 5], 0, FULL).len(), 2, "packing alone reads them one by one");
}

#[test]
fn a_pair_follows_its_partner_to_another_bank() {
    let pair = |one: u64, other: u64| one | other << 8;
    let hints = Hints { technique: corf::NAME, words: vec![1, 20, pair(1, 2)] };
    let mut bench = Bench::new(&["corf"], Some(hints));
    bench.write(1, 3, FULL);
    bench.write(5, 3, FULL);
    bench.write(2, 70_000, FULL);
    assert_eq!(bench.read(&[1, 2], 0, FULL), [(1, 2, 1, 0)], "R2 is in bank 1 with R1");
    assert_eq!(bench.read(&[5, 1], 0, FULL).len(), 2, "R5 had to go elsewhere: the rest was kept");
    let counters: corf::Counters = bench.of(corf::NAME);
    assert_eq!((counters.pairs, counters.metadata, counters.partners, counters.together), (1, 1, 1, 1));
}

#[test]
fn left_and_right_come_together_and_two_on_the_left_do_not() {
    let side = |register: u64, left: bool| register | u64::from(left) << 8;
    let sides = vec![1, 20, 0, side(1, true), side(2, false), side(3, true), side(4, false)];
    let mut bench = Bench::new(&["corf++"], Some(Hints { technique: corf_plus::NAME, words: sides }));
    bench.write(1, 300, FULL);
    bench.write(2, 300, FULL);
    bench.write(3, 300, FULL);
    bench.write(4, 70_000, FULL);
    assert!([1, 2, 3, 4].iter().all(|&register| bench.place(register).is_some_and(|place| place.bank == 0)));
    assert_eq!(bench.read(&[1, 2], 0, FULL), [(1, 2, 0, 0)]);
    assert_eq!(bench.read(&[3, 2], 0, FULL), [(3, 2, 0, 0)], "whatever their entries");
    assert_eq!(bench.read(&[1, 3], 0, FULL), [(1, NONE, 0, 0), (3, NONE, 0, 0)], "both on the left");
    assert_eq!(bench.read(&[1, 4], 0, FULL).len(), 2, "two and three bytes are too many");
    let counters: corf_plus::Counters = bench.of(corf_plus::NAME);
    assert_eq!((counters.left, counters.right, counters.warps), (2, 2, 1));
}

#[test]
fn registers_are_released_by_a_last_read_of_all_lanes_only() {
    let mut bench = Bench::new(&["virtualization"], None);
    [1, 2, 3].into_iter().for_each(|register| assert_eq!(bench.write(register, 3, FULL), 0));
    bench.read(&[1, 2], 0b01, FULL);
    assert!(bench.place(1).is_some(), "not before it is read");
    bench.read(&[3], 0b1, 0xffff);
    assert!(bench.place(1).is_none() && bench.place(2).is_some());
    bench.read(&[2], 0, FULL);
    assert!(bench.place(3).is_some(), "other lanes may need it");
    // Where all lanes are together again, what is not live is released: R2 is.
    let live = [1 << 2, 0, 0, 0];
    let timing = bench.timing(&[2], None, 0);
    bench.read(&[2], 0, 0xff);
    bench.issue(&timing, Bench::lanes(FULL), Some(&live));
    assert!(bench.place(3).is_none() && bench.place(2).is_some());
    let counters: virtualization::Counters = bench.of(virtualization::NAME);
    assert_eq!((counters.released, counters.released_at_joins), (1, 1));
}

#[test]
fn a_register_that_is_written_again_is_not_released_by_an_earlier_read() {
    let mut bench = Bench::new(&["virtualization"], None);
    bench.write(1, 3, FULL);
    bench.read(&[1], 0b1, FULL);
    // Its next value is there before the read is over.
    let timing = bench.timing(&[], Some(1), 0);
    bench.now -= 10;
    bench.issue(&timing, Bench::lanes(FULL), None);
    bench.finish(1);
    bench.read(&[1], 0, FULL);
    assert!(bench.place(1).is_some());
}

#[test]
fn time_is_added_up_by_what_is_taken() {
    let mut bench = Bench::new(&["packing", "virtualization"], None);
    bench.write(1, 3, FULL);
    bench.write(5, 3, FULL);
    let start = bench.now;
    bench.engine.settle(start);
    let told = |bench: &Bench| bench.engine.counters().of::<Counters>().expect("its own").clone();
    let before = told(&bench);
    bench.engine.settle(start + 100);
    let Counters { registers, entries, slices, gated, .. } = told(&bench);
    let all = 4 * 1024 * 100;
    assert_eq!(
        (registers - before.registers, entries - before.entries, slices - before.slices),
        (1600, 100, 200)
    );
    assert_eq!(gated - before.gated, all - 400);
}
