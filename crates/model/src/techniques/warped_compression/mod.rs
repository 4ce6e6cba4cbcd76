// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warped-Compression: Lee, Kim, Koo, Jeon, Ro, Annavaram, “Warped-Compression: Enabling Power Efficient GPUs through Register
//! Compression”, ISCA 2015.
//!
//! ```text
//!     units ─► compressors ─► bank arbiter (range indicators) ─► arrays ─► decompressors ─► collectors
//!          └──── partial ────┘            └ valid bits: gating          └─ uncompressed ─┘
//! ```
//!
//! A register of a warp that is written by all 32 lanes goes through a compressor, which stores it in 1, 3, 5 or all 8 arrays of its bank
//! (sections 4 and 5.1; `warpwatt_codecs::bdi`). Two bits a register in the arbiter say how many arrays a read activates, and whether its
//! data pass a decompressor. A write that leaves lanes out is stored uncompressed; if the register is compressed, an injected MOV
//! uncompresses it first (section 5.2). Arrays without a valid entry are off (section 5.3; `gating`). Compressed data start at the lowest array of
//! the bank, so two registers of a bank collide as before: compression gains no bandwidth.

mod counters;
mod observe;
mod parameters;
mod shadow;
#[cfg(test)]
mod tests;

use warpwatt_base::counters::CounterSet;
use warpwatt_codecs::bdi::{Choices, Range};
use warpwatt_codecs::narrow::Widths;
use warpwatt_exec::lanes::Row;
use warpwatt_exec::stepping::NextLanes;

use super::kit::gating::{ARRAYS, Gating};
use super::kit::pipeline::Pipeline;
use super::kit::queue::Queue;
use super::{Balance, Build, Fault, Law, Sites, Technique};
use crate::host::{has_bit_instructions, in_two_copies};
use crate::register_file::{
    Before, Coming, Looks, Map, Mismatch, NONE, Next, OperandPort, ReadPlan, ReadPort, Reads,
    RegisterFileSite, ResultPort, Started, Values, WriteAccess, Written,
};
use crate::sm::{SOURCES, Timing, Unit};
use observe::Observed;
use shadow::{Form, Shadow};

pub use counters::Counters;
pub use parameters::{Divergent, Encodings, Parameters, Valid, Window, check};

pub static TECHNIQUE: Technique = Technique {
    name: "warped-compression",
    doc: "Warp registers are compressed as base and delta; banks without data are power-gated.",
    paper: "Lee et al., Warped-Compression, ISCA 2015",
    parameters: Parameters::parameters,
    settings: || Box::<Parameters>::default(),
    counters: Counters::INFO,
    zero: || Box::<Counters>::default(),
    excludes: &["renaming", "packing", "virtualization", "corf", "corf++"],
    needs: &[],
    check: |settings, config, found| check(settings.of(), config, found),
    stores: &[Fault::Rf],
    sites: Sites { register_file: Some(|build| Box::new(WarpedCompression::new(build))), ..Sites::NONE },
    balance,
    laws: LAWS,
};

fn balance(counters: &dyn CounterSet, balance: &mut Balance) {
    if let Some(counters) = counters.of::<Counters>() {
        balance.register_reads += (counters.moves + counters.merges) as i64;
        balance.injected += counters.moves;
    }
    balance.fewer_arrays = true;
}

const LAWS: &[Law] = &[
    Law {
        text: "every register written is stored in one encoding",
        holds: |run| run.own.of::<Counters>().is_some_and(|own| sum(&own.stored) == sum(&own.writes)),
    },
    Law {
        text: "registers stored are written",
        holds: |run| {
            let writes = run.machine.sm.registers.writes;
            run.own.of::<Counters>().is_some_and(|own| sum(&own.stored) + own.moves <= writes)
        },
    },
    Law {
        text: "every instruction is counted by the divergence of its warp",
        holds: |run| {
            let issued = run.machine.sm.issue.issued;
            run.own.of::<Counters>().is_some_and(|own| sum(&own.instructions) == issued)
        },
    },
    Law {
        text: "gated arrays add up to the gated time, which is no longer than there is time",
        holds: |run| {
            let rf = &run.config.rf;
            let all = run.machine.sm.issue.cycles * u64::from(rf.banks) * u64::from(rf.sub_banks);
            let own = run.own.of::<Counters>();
            own.is_some_and(|own| sum(&own.gated_by_bank) == own.gated && own.gated <= all)
        },
    },
];

fn sum(histogram: &[u64]) -> u64 {
    histogram.iter().sum()
}

/// Warp slots, and registers of a warp, that there may be.
const SLOTS: usize = crate::sm::Slot::COUNT;
const REGISTERS: usize = 256;
/// All lanes of a warp.
const FULL: u32 = u32::MAX;
/// All arrays of a bank.
const EVERY: u8 = u8::MAX;

/// Which lanes execute an instruction, and why the others do not: the last of these that is true counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Phase {
    /// All 32 lanes.
    #[default]
    Full,
    /// All 32 lanes are active, and the guard leaves some out.
    Guarded,
    /// The warp was started with fewer lanes, all of which are active.
    Short,
    /// Lanes have exited; all others are active.
    Ended,
    /// Only some of the lanes that have not exited are active: the warp has split at a branch.
    Split,
}

impl Phase {
    fn of(lanes: NextLanes) -> Phase {
        if lanes.active != lanes.live {
            Phase::Split
        } else if lanes.active != lanes.all {
            Phase::Ended
        } else if lanes.active != FULL {
            Phase::Short
        } else if lanes.mask != FULL {
            Phase::Guarded
        } else {
            Phase::Full
        }
    }
}

/// What wrote a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Source {
    /// Loads, atomics, textures: the program's data.
    Memory,
    /// Arithmetic with a 64-bit result: mostly addresses.
    Wide,
    /// Special functions and double precision.
    Special,
    /// All other arithmetic.
    #[default]
    Other,
}

impl Source {
    fn of(timing: &Timing) -> Source {
        match timing.unit {
            Unit::Memory => Source::Memory,
            Unit::Sfu | Unit::Fp64 => Source::Special,
            Unit::Sp | Unit::Shuffle if timing.upper_words != 0 => Source::Wide,
            Unit::Sp | Unit::Shuffle => Source::Other,
        }
    }
}

/// What the bank arbiter keeps for a register of a warp, and which write is under way to it.
#[derive(Clone, Copy, Default)]
struct Register {
    /// Lanes that the write under way is for.
    lanes: u32,
    phase: Phase,
    source: Source,
    /// The write is that of an injected move.
    moves: bool,
    /// It has been written.
    valid: bool,
    /// The compression range indicator; with threads compressed apart, whether any is.
    range: Range,
    /// Arrays that hold it.
    arrays: u8,
}

/// A warp's registers.
#[derive(Clone, Copy, Default)]
struct Warp {
    allocated: u32,
    compressed: u32,
    /// Lanes that it was started with.
    lanes: u32,
}

pub struct WarpedCompression {
    parameters: Parameters,
    choices: Choices,
    map: Map,
    registers: Box<[Register; SLOTS * REGISTERS]>,
    warps: [Warp; SLOTS],
    compressors: Queue,
    /// Compressors if results may be read first: those that are not overtake others.
    compressors_behind_reads: Pipeline,
    decompressors: Pipeline,
    gating: Gating,
    /// With threads compressed apart, what each keeps.
    widths: Vec<Widths>,
    shadow: Option<Box<Shadow>>,
    counters: Counters,
    /// The host has the instructions for bits and vectors for which some methods have a second copy.
    bit_instructions: bool,
}

#[inline(always)]
fn index(slot: usize, register: u8) -> usize {
    slot % SLOTS * REGISTERS + usize::from(register)
}

impl WarpedCompression {
    pub fn new(build: &Build) -> WarpedCompression {
        let parameters: &Parameters = build.settings.of();
        let Parameters { gating, wake_cycles, .. } = *parameters;
        let all = SLOTS * REGISTERS;
        let shadow = || Box::new(Shadow::new(all, build.inject == Some(Fault::Rf)));
        WarpedCompression {
            choices: parameters.encodings.choices(),
            map: Map::new(build.config),
            registers: vec![Register::default(); all].try_into().unwrap_or_else(|_| unreachable!()),
            warps: [Warp::default(); SLOTS],
            compressors: Queue::default(),
            compressors_behind_reads: Pipeline::new(parameters.compressors, parameters.compress_cycles),
            decompressors: Pipeline::new(parameters.decompressors, parameters.decompress_cycles),
            gating: Gating::new(gating, wake_cycles, build.config.rf.banks),
            widths: vec![Widths::default(); if parameters.window == Window::Thread { all } else { 0 }],
            shadow: build.verify.then(shadow),
            counters: Counters::default(),
            bit_instructions: has_bit_instructions(),
            parameters: parameters.clone(),
        }
    }

    #[inline(always)]
    fn bank(&self, slot: usize, register: u8) -> usize {
        usize::from(self.map.bank(slot, register))
    }

    /// A compressed register that some lanes are about to write: it has to be uncompressed first, by an injected MOV (section 5.2). It stays
    /// uncompressed while the warp is diverged, so that there is one for each register and divergent phase.
    #[inline(always)]
    fn compressed_destination(&self, slot: usize, timing: &Timing, lanes: u32) -> Option<u8> {
        let Parameters { mov, divergent, window, .. } = self.parameters;
        if lanes == FULL || lanes == 0 || !mov || divergent == Divergent::Merge || window == Window::Thread {
            return None;
        }
        let mut written = timing.dst..timing.dst + timing.dst_words;
        written.find(|&register| self.registers[index(slot, register)].range.is_compressed())
    }

    #[inline(never)]
    fn verify(&mut self, slot: usize, timing: &Timing, values: Values) -> Option<Mismatch> {
        let sources = &timing.source[..usize::from(timing.sources)];
        sources.iter().find_map(|&register| {
            let form = self.form(index(slot, register));
            let shadow = self.shadow.as_mut()?;
            shadow.check(index(slot, register), form, &values.of(register).0, register)
        })
    }

    /// How a register is stored.
    fn form(&self, index: usize) -> Form {
        match self.widths.get(index) {
            Some(&widths) => Form::Threads(widths),
            None => Form::Warp(self.registers[index].range),
        }
    }

    /// Arrays that a read of a register activates.
    #[inline(always)]
    fn arrays(&mut self, slot: usize, register: u8) -> u8 {
        let entry = &self.registers[index(slot, register)];
        if entry.valid {
            return entry.arrays.count_ones() as u8;
        }
        self.counters.undefined_reads += 1;
        ARRAYS as u8
    }

    /// A write to a register is under way.
    #[inline(always)]
    fn expect(&mut self, index: usize, lanes: u32, phase: Phase, source: Source) {
        let entry = &mut self.registers[index];
        (entry.lanes, entry.phase, entry.source) = (lanes, phase, source);
    }

    /// When a register that its bank gives in a cycle is there.
    #[inline(always)]
    fn arrives(&mut self, now: u64, at: u64, slot: usize, register: u8) -> u64 {
        let entry = &self.registers[index(slot, register)];
        debug_assert!(
            self.gating.can_read(self.bank(slot, register), entry.arrays, at),
            "a gated bank is read"
        );
        if entry.range.is_compressed() { self.decompress(now, at + 1) } else { at + 1 }
    }

    #[inline(always)]
    fn decompress(&mut self, now: u64, at: u64) -> u64 {
        let (done, waited) = self.decompressors.pass(now, at);
        self.counters.decompressions += 1;
        self.counters.decompressor_waits += waited;
        done
    }

    #[inline(always)]
    fn compress(&mut self, now: u64, at: u64) -> u64 {
        let Parameters { compressors, compress_cycles, divergent, .. } = self.parameters;
        self.counters.compressions += 1;
        if divergent == Divergent::Merge || compress_cycles == 0 {
            let (done, waited) = self.compressors_behind_reads.pass(now, at);
            self.counters.compressor_waits += waited;
            return done;
        }
        let wait = self.compressors.wait(compressors, at);
        self.counters.compressor_waits += wait;
        at + wait + u64::from(compress_cycles)
    }

    /// How a result will be stored, and when it is ready for that.
    #[inline(always)]
    fn encode(
        &mut self,
        now: u64,
        old: Register,
        index: usize,
        values: &Row,
        read: impl FnOnce(u64, u32) -> u64,
    ) -> (Register, u64) {
        let mut ready = now;
        let mut range = Range::Uncompressed;
        let mut arrays = EVERY;
        if !self.parameters.compression || old.moves {
            // It is stored uncompressed.
        } else if let Some(widths) = self.widths.get_mut(index) {
            widths.update(&values.0, old.lanes);
            (range, arrays) = (threads(widths), widths.bank_set());
            ready = self.compress(now, now);
        } else if old.lanes == FULL || self.parameters.divergent == Divergent::Merge {
            if old.lanes != FULL && old.valid {
                ready = read(now, old.arrays.count_ones());
                self.counters.merges += 1;
                if old.range.is_compressed() {
                    ready = self.decompress(now, ready);
                }
            }
            ready = self.compress(now, ready);
            range = self.choices.classify(&values.0);
            arrays = prefix(range);
        }
        (Register { valid: true, range, arrays, ..Register::default() }, ready)
    }

    #[inline(always)]
    fn keep(&mut self, index: usize, slot: usize, old: Register, new: Register) {
        let warp = &mut self.warps[slot % SLOTS];
        warp.compressed -= u32::from(old.range.is_compressed());
        warp.compressed += u32::from(new.range.is_compressed());
        self.registers[index] = new;
    }
}

/// What is done for operands and results.
impl WarpedCompression {
    /// Notes that an instruction has issued.
    #[inline(always)]
    fn note(&mut self, &Next { slot, timing, lanes }: &Next) {
        let warp = &mut self.warps[slot % SLOTS];
        warp.lanes = lanes.all;
        let phase = Phase::of(lanes);
        self.counters.instructions[phase as usize] += 1;
        self.counters.allocated[phase as usize] += u64::from(warp.allocated);
        self.counters.compressed[phase as usize] += u64::from(warp.compressed);
        let source = Source::of(timing);
        if timing.dst_words != 0 {
            self.expect(index(slot, timing.dst), lanes.mask, phase, source);
        }
        for word in 1..timing.dst_words {
            self.expect(index(slot, timing.dst + word), lanes.mask, phase, source);
        }
    }

    /// Reads operands; gives the cycle in which all are there.
    #[inline(always)]
    fn read_operands(&mut self, now: u64, slot: usize, timing: &Timing, port: &mut OperandPort) -> u64 {
        let mut reads = Reads::new(now);
        let sources = &timing.source[..usize::from(timing.sources).min(SOURCES)];
        // Without a loop for few, so that nothing is kept for further ones.
        match *sources {
            [one] => self.read_operand(&mut reads, slot, one, port),
            [one, other] => {
                self.read_operand(&mut reads, slot, one, port);
                self.read_operand(&mut reads, slot, other, port);
            }
            [one, other, third] => {
                self.read_operand(&mut reads, slot, one, port);
                self.read_operand(&mut reads, slot, other, port);
                self.read_operand(&mut reads, slot, third, port);
            }
            _ => {
                for &register in sources {
                    self.read_operand(&mut reads, slot, register, port);
                }
            }
        }
        port.finish(reads, sources.len() as u64)
    }

    #[inline(always)]
    fn read_operand(&mut self, reads: &mut Reads, slot: usize, register: u8, port: &mut OperandPort) {
        port.spare((ARRAYS - usize::from(self.arrays(slot, register))) as u64);
        let at = port.read(reads, self.map.bank(slot, register), 0);
        reads.delay_until(self.arrives(reads.now, at, slot, register));
    }

    /// Writes all registers of a result but the first.
    #[inline(never)]
    fn write_rest(&mut self, result: &Coming, port: ResultPort) -> u64 {
        let site = self;
        in_two_copies!(site.bit_instructions, |site: &mut WarpedCompression,
                                               result: &Coming,
                                               port: ResultPort|
         -> u64 {
            let mut port = port;
            port.write_from(result, 1, |written, access, port| site.write_register(written, access, port))
        })
    }

    #[inline(always)]
    fn write_register(&mut self, written: &Written, access: &mut WriteAccess, port: &mut ReadPort) {
        let &Written { now, slot, register, upper, values } = written;
        let index = index(slot, register);
        let old = self.registers[index];
        if old.lanes == 0 {
            // The guard held for no lane, and nothing changes. It costs what it costs without compression, which saves nothing here.
            return;
        }
        if !old.moves {
            self.counters.writes[old.phase as usize] += 1;
            if self.parameters.observe {
                let observed = Observed {
                    values: &values.0,
                    written: old.lanes,
                    all: self.warps[slot % SLOTS].lanes,
                    phase: old.phase,
                    source: old.source,
                    upper,
                };
                observed.count(&mut self.counters);
            }
        }
        let bank = self.bank(slot, register);
        let (new, ready) =
            self.encode(now, old, index, values, |earliest, arrays| port.read(bank as u8, earliest, arrays));
        let accessed = match self.widths.get(index) {
            Some(widths) => widths.only(old.lanes).bank_set(),
            None => new.arrays,
        };
        self.gating.exchange(bank, old.arrays, new.arrays, ready, now);
        let awake = self.gating.awake_for(bank, accessed, ready);
        self.counters.wakeup_waits += awake - ready;
        if !old.moves {
            let encoding = match (new.range, self.widths.is_empty()) {
                (Range::Uncompressed, _) => 0,
                (range, true) => range as usize,
                (_, false) => 4,
            };
            self.counters.stored[encoding] += 1;
            self.counters.stored_arrays += u64::from(new.arrays.count_ones());
        }
        self.keep(index, slot, old, new);
        if self.shadow.is_some() {
            self.store(index, values, old.lanes, old.range);
        }
        (access.arrays, access.ready, access.awake) = (accessed.count_ones(), ready, awake);
    }

    /// Lanes of a register are stored as it is kept now; before, it was kept in some range.
    #[inline(never)]
    fn store(&mut self, index: usize, values: &Row, lanes: u32, range: Range) {
        let form = self.form(index);
        if let Some(shadow) = &mut self.shadow {
            shadow.store(index, form, &values.0, lanes, range);
        }
    }
}

impl RegisterFileSite for WarpedCompression {
    fn start(&mut self, now: u64, &Started { slot, registers, .. }: &Started) {
        let allocated = registers.min(u32::from(u8::MAX));
        self.warps[slot % SLOTS] = Warp { allocated, ..Warp::default() };
        for register in 0..allocated as u8 {
            let index = index(slot, register);
            self.registers[index] = Register::default();
            if self.parameters.valid_on == Valid::Launch {
                self.registers[index].valid = true;
                self.late(now, slot, register, &Row([0; 32]));
            }
        }
    }

    fn end(&mut self, now: u64, slot: usize) {
        for register in 0..self.warps[slot % SLOTS].allocated as u8 {
            let index = index(slot, register);
            let bank = self.bank(slot, register);
            self.gating.release(bank, self.registers[index].arrays, now);
            self.registers[index] = Register::default();
            if let Some(widths) = self.widths.get_mut(index) {
                *widths = Widths::default();
            }
            if let Some(shadow) = &mut self.shadow {
                shadow.forget(index);
            }
        }
        self.warps[slot % SLOTS] = Warp::default();
    }

    fn looks_before(&self) -> Looks {
        if self.shadow.is_some() { Looks::Always } else { Looks::IfPartial }
    }

    fn before(&mut self, &Next { slot, timing, lanes, .. }: &Next, values: Values) -> Before {
        if self.shadow.is_some()
            && let Some(mismatch) = self.verify(slot, timing, values)
        {
            return Before::Corrupted(mismatch);
        }
        self.compressed_destination(slot, timing, lanes.mask).map_or(Before::Go, Before::Move)
    }

    fn issued(&mut self, _now: u64, next: &Next) {
        self.note(next);
    }

    fn issue(&mut self, now: u64, next: &Next, port: &mut OperandPort) -> u64 {
        let site = self;
        in_two_copies!(site.bit_instructions, |site: &mut WarpedCompression,
                                               now: u64,
                                               next: &Next,
                                               port: &mut OperandPort|
         -> u64 {
            site.note(next);
            match next.timing.sources {
                0 => now + 1,
                _ => site.read_operands(now, next.slot % SLOTS, next.timing, port),
            }
        })
    }

    fn moving(&mut self, slot: usize, register: u8, lanes: NextLanes) {
        self.counters.moves += 1;
        self.counters.moves_by_phase[Phase::of(lanes) as usize] += 1;
        let entry = &mut self.registers[index(slot, register)];
        (entry.lanes, entry.moves) = (FULL, true);
    }

    fn reads_alone(&self) -> bool {
        true
    }

    fn read(&mut self, now: u64, slot: usize, timing: &Timing, port: &mut OperandPort) -> u64 {
        self.read_operands(now, slot % SLOTS, timing, port)
    }

    fn plan(&mut self, _now: u64, slot: usize, _timing: &Timing, plan: &mut ReadPlan) {
        for access in plan.accesses_mut() {
            access.arrays = self.arrays(slot, access.register);
            if access.second != NONE {
                access.arrays = access.arrays.max(self.arrays(slot, access.second));
            }
        }
    }

    /// A compressed operand passes a decompressor on its way to the collector (section 5).
    fn arrive(&mut self, now: u64, slot: usize, plan: &ReadPlan) -> u64 {
        let mut ready = 0;
        for access in plan.accesses() {
            ready = ready.max(self.arrives(now, access.at, slot, access.register));
            if access.second != NONE {
                ready = ready.max(self.arrives(now, access.at, slot, access.second));
            }
        }
        ready
    }

    fn write(&mut self, written: &Written, access: &mut WriteAccess, port: &mut ReadPort) {
        self.write_register(written, access, port);
    }

    fn write_all(&mut self, result: &Coming, port: ResultPort) -> u64 {
        let site = self;
        in_two_copies!(site.bit_instructions, |site: &mut WarpedCompression,
                                               result: &Coming,
                                               port: ResultPort|
         -> u64 {
            let mut port = port;
            // Few results have more than a register: the first without a loop, so that nothing is kept for further ones.
            let done = port
                .write_word(result, 0, |written, access, port| site.write_register(written, access, port));
            if result.timing.dst_words == 1 { done } else { done.max(site.write_rest(result, port)) }
        })
    }

    fn late(&mut self, now: u64, slot: usize, register: u8, values: &Row) {
        let index = index(slot, register);
        let old = self.registers[index];
        if !old.valid && old.lanes == 0 {
            return;
        }
        let mut new = Register { valid: true, range: Range::Uncompressed, arrays: EVERY, ..old };
        if let Some(widths) = self.widths.get_mut(index) {
            widths.update(&values.0, FULL);
            (new.range, new.arrays) = (threads(widths), widths.bank_set());
        }
        let bank = self.bank(slot, register);
        self.gating.claim(bank, new.arrays & !old.arrays, now);
        // A value that is stored already waits for nothing.
        self.gating.awaken(bank, new.arrays, now);
        self.gating.release(bank, old.arrays & !new.arrays, now);
        self.keep(index, slot, old, new);
        self.store(index, values, FULL, old.range);
    }

    fn settle(&mut self, now: u64) {
        self.gating.settle(now);
    }

    fn counters(&self) -> Box<dyn CounterSet> {
        Box::new(Counters {
            wakeups: self.gating.wakeups,
            gated: self.gating.off.iter().sum(),
            gated_by_bank: self.gating.off,
            ..self.counters.clone()
        })
    }

    fn fault_is_pending(&self) -> bool {
        self.shadow.as_ref().is_some_and(|shadow| shadow.fault_is_pending())
    }
}
/// With threads compressed apart, the indicator shows only whether any of them is.
fn threads(widths: &Widths) -> Range {
    if widths.bytes() < 128 { Range::B4D2 } else { Range::Uncompressed }
}

/// By range, as its two bits tell it: the arrays from the lowest on.
const PREFIXES: [u8; 4] = {
    let mut prefixes = [0; 4];
    let mut bits = 0;
    while bits < 4 {
        prefixes[bits] = u8::MAX >> (ARRAYS - Range::ALL[bits].banks());
        bits += 1;
    }
    prefixes
};

/// The arrays of a range: from the lowest on.
#[inline(always)]
fn prefix(range: Range) -> u8 {
    PREFIXES[range as usize]
}
