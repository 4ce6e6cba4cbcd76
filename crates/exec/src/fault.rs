// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults that stop a kernel, with thread and instruction. The caller finds the source line of a `pc`.

use std::fmt;

use warpwatt_isa::Space;
use warpwatt_memory::{Nearest, Relation};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// Bytes outside of every live allocation, or of the shared, local or constant memory there is.
    OutOfBounds,
    /// An address that is not a multiple of the size of the access.
    Misaligned,
    /// Bytes of an allocation that was freed.
    UseAfterFree,
    /// An access that the space of its address does not allow, such as a store to constant memory.
    WrongSpace,
    /// All warps of a block wait for each other.
    BarrierDeadlock,
    /// Warps run without any effect, as on a lock that is never released.
    NoProgress,
    StackOverflow,
    /// The kernel executed `trap`.
    Trap,
    /// The kernel executed `brkpt`, and there is no debugger.
    Breakpoint,
    /// A device-side `assert` failed.
    Assert,
    /// A call through an invalid function pointer, or a jump to an address without code.
    InvalidPc,
    /// A barrier number above 15, or a thread count that no barrier can have.
    InvalidBarrier,
    /// `free` of something that `malloc` did not give.
    InvalidFree,
    /// `free` of something that was freed before.
    DoubleFree,
    /// An operation this machine cannot execute.
    Unsupported,
    /// A launch whose geometry or constants do not fit its program.
    InvalidLaunch,
    /// Two warps touched the same shared byte between barriers, and one of them wrote.
    SharedRace,
    /// An uninitialised shared byte was read.
    UninitializedShared,
    /// Two blocks touched the same byte of global memory without an order between them, and one of them wrote.
    GlobalRace,
    /// An uninitialised byte of global memory was read.
    UninitializedGlobal,
    /// A shuffle by a lane that its mask does not name, or from one that does not take part.
    AbsentLane,
    /// An access to shared memory that leaves the array that it was meant for.
    SharedOverrun,
    /// A technique returned another value than was stored: not a fault of the program.
    Corrupted,
}

impl FaultKind {
    /// A short stable name for machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::OutOfBounds => "out-of-bounds",
            FaultKind::Misaligned => "misaligned",
            FaultKind::UseAfterFree => "use-after-free",
            FaultKind::WrongSpace => "wrong-space",
            FaultKind::BarrierDeadlock => "barrier-deadlock",
            FaultKind::NoProgress => "no-progress",
            FaultKind::StackOverflow => "stack-overflow",
            FaultKind::Trap => "trap",
            FaultKind::Breakpoint => "breakpoint",
            FaultKind::Assert => "assert",
            FaultKind::InvalidPc => "invalid-pc",
            FaultKind::InvalidBarrier => "invalid-barrier",
            FaultKind::InvalidFree => "invalid-free",
            FaultKind::DoubleFree => "double-free",
            FaultKind::Unsupported => "unsupported",
            FaultKind::InvalidLaunch => "invalid-launch",
            FaultKind::SharedRace => "shared-race",
            FaultKind::UninitializedShared => "uninitialized-shared",
            FaultKind::GlobalRace => "global-race",
            FaultKind::UninitializedGlobal => "uninitialized-global",
            FaultKind::AbsentLane => "absent-lane",
            FaultKind::SharedOverrun => "shared-overrun",
            FaultKind::Corrupted => "corrupted",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    Load,
    Store,
    Atomic,
}

/// The access of the thread that faulted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultAccess {
    /// As the thread gave it: an offset for shared, local and constant memory, an address for global and generic.
    pub address: u64,
    pub bytes: u32,
    /// The space the address was found to be in.
    pub space: Space,
    pub kind: AccessKind,
    /// For global memory: what the address was probably meant for.
    pub nearest: Option<Nearest>,
}

impl FaultAccess {
    pub fn is_store(&self) -> bool {
        self.kind != AccessKind::Load
    }

    /// Whether the address is that of a null pointer, or of an element near it.
    pub fn is_null(&self) -> bool {
        let near = 1 << 32;
        self.space == Space::Global && (self.address < near || self.address > u64::MAX - near)
    }

    /// Whether the address is near no allocation.
    pub fn is_wild(&self) -> bool {
        self.space == Space::Global && self.nearest.is_none() && !self.is_null()
    }
}

/// Where one warp stood when the kernel stopped for a deadlock or for lack of progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiter {
    pub cta: [u32; 3],
    pub warp: u32,
    pub pc: u32,
    pub lanes: u32,
    /// What it waits for, in words.
    pub reason: String,
}

/// The other access of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rival {
    pub kind: AccessKind,
    pub pc: u32,
    pub cta: [u32; 3],
    pub thread: [u32; 3],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    /// Index of the micro-op in `Program::uops`.
    pub pc: u32,
    pub cta: [u32; 3],
    pub thread: [u32; 3],
    pub access: Option<FaultAccess>,
    /// The lanes of the thread's warp with this fault, its own included.
    pub lanes: u32,
    /// Calls that are active in the thread, innermost first: the micro-ops that call.
    pub calls: Vec<u32>,
    /// What the thread's access conflicts with.
    pub rival: Option<Rival>,
    /// One more sentence, without a full stop; may be empty.
    pub detail: String,
    /// For deadlocks and lack of progress: the first few warps and what they wait for.
    pub waiters: Vec<Waiter>,
}

impl Fault {
    /// A fault of the first thread, with nothing known beyond the instruction.
    pub fn bare(kind: FaultKind, pc: u32, detail: impl Into<String>) -> Fault {
        Fault {
            kind,
            pc,
            cta: [0; 3],
            thread: [0; 3],
            access: None,
            lanes: 0,
            calls: Vec::new(),
            rival: None,
            detail: detail.into(),
            waiters: Vec::new(),
        }
    }
}

impl fmt::Display for FaultAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic operation",
        };
        let space = format!("{:?}", self.space).to_lowercase();
        write!(f, "{verb} of {} bytes at 0x{:x} in {space} memory", self.bytes, self.address)?;
        let Some(near) = &self.nearest else { return Ok(()) };
        let what = format!(
            "the {}-byte allocation `{}` at 0x{:x}",
            near.allocation.size, near.allocation.name, near.allocation.base
        );
        match (near.relation, near.freed) {
            (Relation::Inside(at), true) => write!(f, ": {at} bytes into {what}, which was freed"),
            (Relation::Inside(at), false) => write!(f, ": {at} bytes into {what}"),
            (Relation::After(0), _) => write!(f, ": just past the end of {what}"),
            (Relation::After(past), _) => write!(f, ": {past} bytes past the end of {what}"),
            (Relation::Before(ahead), _) => write!(f, ": {ahead} bytes before {what}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(access) = &self.access {
            write!(f, ": {access}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        let ([bx, by, bz], [tx, ty, tz]) = (self.cta, self.thread);
        write!(f, " (block {bx},{by},{bz}, thread {tx},{ty},{tz}, pc {})", self.pc)
    }
}
