// SPDX-License-Identifier: MIT OR Apache-2.0
//! What timing needs to know about a micro-op, worked out once per kernel: its unit, its latency, the registers that it reads and writes.

use warpwatt_config::Config;
use warpwatt_isa::{CacheOp, Class, Flags, Op, Program, Reg, SReg, Src, Sub, Ty, Uop};

pub use warpwatt_isa::Unit;

use crate::register_file::Map;

/// Whose operand collectors an instruction uses: it cannot issue while none of them is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum CollectorPool {
    Sp,
    Sfu,
    Fp64,
    /// The queue of the memory unit.
    Memory,
}

impl CollectorPool {
    pub const COUNT: usize = 4;
    pub const ALL: [CollectorPool; CollectorPool::COUNT] =
        [CollectorPool::Sp, CollectorPool::Sfu, CollectorPool::Fp64, CollectorPool::Memory];
}

/// What an instruction does besides computing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    None,
    Load,
    Store,
    Atomic,
    Reduction,
    Texture,
    Branch,
    Fence,
    /// Barriers, ends, system calls: the executor tells what came of them.
    Control,
    /// Behind the last micro-op: the executor reports a warp that gets there.
    End,
}

/// Registers below this number have a bit each in the words of [`Timing`], and predicates those above.
pub const LOW_REGISTERS: u8 = 56;

/// The most registers that an instruction reads.
pub const SOURCES: usize = 16;

#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Timing {
    /// Registers below [`LOW_REGISTERS`] and predicates that are read or written: none of them may be under way.
    pub hazards: u64,
    pub writes: u64,
    /// There are other registers among its operands, which are found in `source` and `dst`.
    pub high: bool,
    /// It writes a register or a predicate.
    pub has_result: bool,
    /// Instructions that a fetch from this one on brings.
    pub brings: u8,
    pub unit: Unit,
    pub pool: CollectorPool,
    pub effect: Effect,
    pub latency: u16,
    pub initiation: u16,
    pub dst: u8,
    pub dst_words: u8,
    /// Which of these words are upper halves of 64-bit values.
    pub upper_words: u16,
    pub sources: u8,
    pub source: [u8; SOURCES],
    /// By source: no instruction on any path reads the register after this one.
    pub last_reads: u16,
    /// Operands that lie in different banks come in two cycles at most, if these banks are otherwise free: as many in the first as a
    /// collector has ports, the rest in the second. How many these are ([`SCATTERED`] if the operands lie otherwise), and the banks of
    /// each cycle as sets, for warp slot 0, repeated all over the word: to turn them by the slot gives those of any other.
    pub reads_later: u8,
    pub read_banks: [u64; 2],
    /// Constant operands: how many, bank and offset of each.
    pub constants: u8,
    pub constant_bank: [u8; 4],
    pub constant_offset: [u16; 4],
    pub cache: CacheOp,
    /// For techniques, which are the only ones to ask: which of the sources belong together, and the registers that it or a later instruction on some path
    /// reads before they are written; all of them if that is not known.
    pub words: SourceWords,
    pub live: [u64; 4],
}

/// Every register may be read.
const ALL_LIVE: [u64; 4] = [u64::MAX; 4];

/// Operands that share banks, or are too many for two cycles.
const SCATTERED: u8 = u8::MAX;

/// Two lines of the host's cache.
const _: () = assert!(size_of::<Timing>() == 128);

impl Timing {
    /// Whether the operands lie in different banks, so that `read_banks` says it all.
    #[inline(always)]
    pub fn reads_plainly(&self) -> bool {
        self.reads_later != SCATTERED
    }

    /// The registers that it writes.
    pub fn written(&self) -> std::ops::Range<u8> {
        self.dst..self.dst + self.dst_words
    }

    /// The registers that it reads.
    pub fn read(&self) -> &[u8] {
        &self.source[..usize::from(self.sources)]
    }
}

/// Which of an instruction's sources belong together, a bit for each source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SourceWords {
    /// It is the second word of a 64-bit operand, whose first word is the source before it.
    pub second: u16,
    /// It is the upper half of a 64-bit value: one of those, or an operand of a sum with a carry from the lower half.
    pub upper: u16,
}

/// A kernel's micro-ops as the timed machine sees them.
pub struct Decoded {
    /// By micro-op, and behind the last one an entry with [`Effect::End`].
    pub timing: Vec<Timing>,
    /// Whether the program reads the device's clock in nanoseconds.
    pub reads_timer: bool,
}

impl Decoded {
    pub fn new(program: &Program, config: &Config) -> Decoded {
        let map = Map::new(config);
        let timers = [Sub::SReg(SReg::GlobalTimerLo), Sub::SReg(SReg::GlobalTimerHi)];
        let end = Timing { effect: Effect::End, ..decode(&Uop::new(Op::Nop, Ty::U32), config, &map) };
        let uops = program.uops.len() as u32;
        let timing = program.uops.iter().zip(0..);
        let live = |pc: u32| program.live_in.get(pc as usize).copied().unwrap_or(ALL_LIVE);
        let timing = timing.map(|(uop, pc)| Timing {
            brings: fetched(pc, uops, config) as u8,
            live: live(pc),
            ..decode(uop, config, &map)
        });
        Decoded {
            timing: timing.chain([end]).collect(),
            reads_timer: program.uops.iter().any(|uop| timers.contains(&uop.sub)),
        }
    }
}

impl Decoded {
    /// Micro-ops of the program.
    pub fn uops(&self) -> usize {
        self.timing.len() - 1
    }
}

/// `MOV R, R`, which techniques inject.
pub fn decode_move(register: u8, config: &Config, map: &Map) -> Timing {
    let mut uop = Uop::new(Op::Mov, Ty::U32);
    uop.dst = Reg(register);
    uop.src[0] = Src::Reg(Reg(register));
    decode(&uop, config, map)
}

/// How many instructions a fetch from `pc` on brings: those of the line, up to the end of the program and the width of a fetch.
pub fn fetched(pc: u32, end: u32, config: &Config) -> u32 {
    let in_line = config.icache.line_bytes / config.fetch.instruction_bytes;
    let width = config.fetch.width.min(config.fetch.buffer);
    width.min(in_line - pc % in_line).min(end - pc)
}

fn decode(uop: &Uop, config: &Config, map: &Map) -> Timing {
    let (latency, initiation) = class_cycles(uop.class(), config);
    let mut timing = Timing {
        hazards: 0,
        writes: 0,
        high: false,
        has_result: false,
        brings: 0,
        unit: uop.unit(),
        pool: match uop.unit() {
            Unit::Sp | Unit::Shuffle => CollectorPool::Sp,
            Unit::Sfu => CollectorPool::Sfu,
            Unit::Fp64 => CollectorPool::Fp64,
            Unit::Memory => CollectorPool::Memory,
        },
        effect: effect(uop),
        latency: latency as u16,
        initiation: initiation as u16,
        dst: uop.dst.0,
        dst_words: 0,
        upper_words: upper_words(uop),
        sources: 0,
        source: [0; SOURCES],
        last_reads: 0,
        reads_later: 0,
        read_banks: [0; 2],
        constants: 0,
        constant_bank: [0; 4],
        constant_offset: [0; 4],
        cache: uop.mem.cache,
        words: source_words(uop),
        live: ALL_LIVE,
    };
    if uop.dst != Reg::ZERO {
        timing.dst_words = uop.dst_words() as u8;
        timing.writes = timing.written().fold(0, |set, register| set | low(register));
    }
    timing.hazards = timing.writes;
    for i in 0..uop.src.len() {
        match uop.src[i] {
            Src::Reg(first) if first != Reg::ZERO => {
                for register in 0..uop.src_words(i) as u8 {
                    timing.hazards |= low(first.0 + register);
                    let known = usize::from(timing.sources);
                    // A register that is named twice is read once.
                    if known < SOURCES && !timing.source[..known].contains(&(first.0 + register)) {
                        timing.source[known] = first.0 + register;
                        timing.last_reads |= u16::from(uop.last_use >> i & 1) << known;
                        timing.sources += 1;
                    }
                }
            }
            Src::Const { bank, offset } => {
                let known = usize::from(timing.constants);
                (timing.constant_bank[known], timing.constant_offset[known]) = (bank, offset);
                timing.constants += 1;
            }
            _ => {}
        }
    }
    plan_reads(&mut timing, config, map);
    timing.high = timing.read().iter().copied().chain(timing.written()).any(|register| low(register) == 0);
    timing.writes |= uop.pdst.iter().fold(0, |set, pred| set | predicate(pred.0));
    timing.hazards |= timing.writes | predicate(uop.guard.pred.0);
    timing.hazards |= uop.psrc.iter().fold(0, |set, source| set | predicate(source.pred.0));
    timing.has_result = timing.dst_words != 0 || timing.writes != 0;
    timing
}

/// The bit of a register, if it has one.
fn low(register: u8) -> u64 {
    if register < LOW_REGISTERS { 1 << register } else { 0 }
}

/// The bit of a predicate, if it has one: P7 is the constant true.
fn predicate(number: u8) -> u64 {
    if number < 7 { 1 << (LOW_REGISTERS + number) } else { 0 }
}

/// Finds out which banks the operands come from, and whether that takes two cycles at most.
fn plan_reads(timing: &mut Timing, config: &Config, map: &Map) {
    let ports = config.rf.collector_ports as usize;
    let mut plain = map.turns();
    for (i, &register) in timing.source[..usize::from(timing.sources)].iter().enumerate() {
        let bank = map.repeated(register);
        plain &= i < 2 * ports && (timing.read_banks[0] | timing.read_banks[1]) & bank == 0;
        timing.read_banks[usize::from(i >= ports)] |= bank;
        timing.reads_later += u8::from(i >= ports);
    }
    if !plain {
        timing.reads_later = SCATTERED;
    }
}

/// Words of the destination that are upper halves: every other one of pairs, and sums with a carry from the lower half.
fn upper_words(uop: &Uop) -> u16 {
    if uop.op == Op::Iadd3 && uop.flags.has(Flags::CARRY_IN) {
        1
    } else if uop.op == Op::ImadWide || uop.ty.words() == 2 {
        0xaaaa
    } else {
        0
    }
}

/// Which sources belong together, in the order in which [`decode`] lists them.
pub fn source_words(uop: &Uop) -> SourceWords {
    let mut words = SourceWords::default();
    let mut known: Vec<u8> = Vec::new();
    let upper_half = uop.op == Op::Iadd3 && uop.flags.has(Flags::CARRY_IN) || uop.op == Op::IsetpX;
    for i in 0..uop.src.len() {
        let Src::Reg(first) = uop.src[i] else { continue };
        for word in 0..if first == Reg::ZERO { 0 } else { uop.src_words(i) as u8 } {
            if known.len() < SOURCES && !known.contains(&(first.0 + word)) {
                // The first word may stand for another operand too.
                let second = word % 2 == 1 && is_wide(uop, i) && known.last() == Some(&(first.0 + word - 1));
                words.second |= u16::from(second) << known.len();
                words.upper |= u16::from(upper_half || word % 2 == 1 && is_wide(uop, i)) << known.len();
                known.push(first.0 + word);
            }
        }
    }
    words
}

/// Whether a source is made of 64-bit values: addresses, handles, and operands of 64-bit types.
fn is_wide(uop: &Uop, source: usize) -> bool {
    let memory =
        matches!(uop.class(), Class::Load | Class::Store | Class::Atomic | Class::Texture | Class::Surface);
    match source {
        0 if memory => uop.src_words(0) == 2,
        _ if matches!(uop.class(), Class::Texture | Class::Surface) => false,
        _ if memory => uop.ty.words() == 2,
        _ => uop.src_words(source) == 2,
    }
}

fn effect(uop: &Uop) -> Effect {
    match uop.op {
        Op::Ld | Op::Suld => Effect::Load,
        Op::St | Op::Sust => Effect::Store,
        Op::Atom => Effect::Atomic,
        Op::Red | Op::Sured => Effect::Reduction,
        Op::Tex | Op::Tld4 | Op::Txq => Effect::Texture,
        Op::Bra | Op::Brx | Op::Call | Op::CallInd | Op::Ret => Effect::Branch,
        Op::Membar => Effect::Fence,
        Op::Exit | Op::Bar | Op::WarpSync | Op::Sys | Op::Nanosleep | Op::Trap | Op::Brkpt => Effect::Control,
        _ => Effect::None,
    }
}

/// Latency and initiation interval of a class. What memory decides on has neither.
fn class_cycles(class: Class, config: &Config) -> (u32, u32) {
    let (latency, initiation) = (&config.latency, &config.initiation);
    match class {
        Class::IntAdd => (latency.int_add, initiation.int_add),
        Class::IntMul => (latency.int_mul, initiation.int_mul),
        Class::IntWide => (latency.int_wide, initiation.int_wide),
        Class::Logic => (latency.logic, initiation.logic),
        Class::Shift => (latency.shift, initiation.shift),
        Class::MinMax => (latency.min_max, initiation.min_max),
        Class::Compare => (latency.compare, initiation.compare),
        Class::Move => (latency.moves, initiation.moves),
        Class::Fp32 => (latency.fp32, initiation.fp32),
        Class::Fp16 => (latency.fp16, initiation.fp16),
        Class::Fp64 => (latency.fp64, initiation.fp64),
        Class::Convert => (latency.convert, initiation.convert),
        Class::Special => (latency.special, initiation.special),
        Class::BitCount => (latency.bit_count, initiation.bit_count),
        Class::Dot => (latency.dot, initiation.dot),
        Class::Shuffle => (latency.shuffle, initiation.shuffle),
        Class::Vote => (latency.vote, initiation.vote),
        Class::Branch | Class::Barrier | Class::System | Class::Fence => (latency.moves, initiation.moves),
        Class::Load | Class::Store | Class::Atomic | Class::Texture | Class::Surface => (1, 1),
    }
}
