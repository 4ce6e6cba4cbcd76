// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compiled kernel with everything it may call.

use crate::{Ty, Uop};

/// Constant bank 0: launch geometry, then the kernel's parameters.
pub mod bank0 {
    pub const BLOCK_DIM: u16 = 0x00;
    pub const GRID_DIM: u16 = 0x0c;
    /// Initial stack pointer: bytes of local memory a thread has.
    pub const STACK: u16 = 0x28;
    /// What `%envreg1` (upper word) and `%envreg2` read: the address of a cooperative launch's workspace, zero otherwise.
    pub const WORKSPACE_HI: u16 = 0x30;
    pub const WORKSPACE_LO: u16 = 0x34;
    pub const PARAMS: u16 = 0x160;
}

/// Where generic addresses of the different spaces lie. Every window starts at a multiple of 2^32, so that an address inside of it is the low word.
pub mod window {
    pub const SHARED: u64 = 0x1_0000_0000;
    pub const LOCAL: u64 = 0x2_0000_0000;
    pub const CONST: u64 = 0x3_0000_0000;
    pub const PARAM: u64 = 0x4_0000_0000;
    /// Function "addresses": `FUNCTION + 16 * id`, id counted over the module's functions in order of appearance.
    pub const FUNCTION: u64 = 0x5_0000_0000;
    /// Texture and surface handles: `TEXTURE + 32 * id`.
    pub const TEXTURE: u64 = 0x6_0000_0000;
    pub const GLOBAL: u64 = 0x100_0000_0000;
}

/// A place in the source that the program was compiled from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Location {
    /// Index into `Program::files`; `u32::MAX` when there is no line information.
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// Line in the PTX text, from 1.
    pub ptx_line: u32,
}

impl Location {
    pub const NO_FILE: u32 = u32::MAX;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    pub offset: u32,
    pub size: u32,
    pub align: u32,
    /// Scalar type; `None` for an aggregate, and for untyped bits, such as `.b32`.
    pub ty: Option<Ty>,
}

#[derive(Clone, Debug)]
pub struct FunctionEntry {
    pub name: String,
    /// Module-wide id: its address is `window::FUNCTION + 16 * id`.
    pub id: u32,
    pub entry: u32,
    pub end: u32,
    /// Bytes of stack one activation takes.
    pub frame: u32,
}

/// One live range of a machine register: `[from, to)` in micro-op indices of the linear order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveRange {
    pub reg: u8,
    pub from: u32,
    pub to: u32,
}

/// Hints from the compiler part of a technique to its hardware part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hints {
    /// Name of the technique.
    pub technique: &'static str,
    /// What they mean is the technique's own business.
    pub words: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub name: String,
    /// The kernel's code first, then the functions it may call.
    pub uops: Vec<Uop>,
    pub locs: Vec<Location>,
    pub files: Vec<String>,
    /// Registers per thread.
    pub registers: u32,
    pub predicates: u32,
    /// Bytes of spill slots per thread, and the static counts of the stores and loads that use them.
    pub spill_bytes: u32,
    pub spill_stores: u32,
    pub spill_loads: u32,
    /// Static shared memory in bytes.
    pub shared_bytes: u32,
    /// Where dynamic shared memory starts: `shared_bytes` rounded up to the alignment of what is declared there, 16 at least.
    pub dynamic_shared: u32,
    /// Local memory per thread: the deepest chain of frames, plus the stack limit when there is recursion or an indirect call.
    pub local_bytes: u32,
    pub recursive: bool,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    /// Symbols whose addresses are in constant bank 4, eight bytes each: module variables, texture and surface references.
    pub globals: Vec<String>,
    pub functions: Vec<FunctionEntry>,
    /// Jump tables of BRX: targets as micro-op indices.
    pub tables: Vec<Vec<u32>>,
    pub live_ranges: Vec<LiveRange>,
    /// By micro-op: registers, a bit each, that it or a later one on some path reads before they are written.
    pub live_in: Vec<[u64; 4]>,
    /// Left by techniques that have changed the program, one each at most.
    pub hints: Vec<Hints>,
    /// Named barriers used (highest number + 1).
    pub barriers: u32,
    pub max_ntid: Option<[u32; 3]>,
    pub req_ntid: Option<[u32; 3]>,
    pub min_ctas: Option<u32>,
    /// `.target`. From 70 on barriers count threads, and warp-wide operations wait for the lanes that they name; how lanes that diverge
    /// make progress is the GPU's business.
    pub sm: u32,
    /// Uses the cooperative grid barrier.
    pub grid_sync: bool,
    /// The shared arrays of the program.
    pub shared_arrays: Vec<SharedArray>,
    /// Which of them an access to shared memory is meant for, by its line in the PTX text, where that is known; sorted.
    pub array_lines: Vec<(u32, u32)>,
}

/// An array in shared memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SharedArray {
    pub name: String,
    pub offset: u32,
    /// 0 for dynamic shared memory.
    pub bytes: u32,
    /// Only dynamic shared memory follows it.
    pub is_last: bool,
}

impl Program {
    /// The shared array that an instruction's access is meant for, if that is known.
    pub fn shared_array(&self, pc: u32) -> Option<&SharedArray> {
        let line = self.locs.get(self.uops.get(pc as usize)?.loc as usize)?.ptx_line;
        let found = self.array_lines.binary_search_by_key(&line, |entry| entry.0).ok()?;
        self.shared_arrays.get(self.array_lines[found].1 as usize)
    }
}

impl Program {
    /// The hints of a technique, if it left any.
    pub fn hints(&self, technique: &str) -> Option<&[u64]> {
        self.hints.iter().find(|hints| hints.technique == technique).map(|hints| hints.words.as_slice())
    }
}
