// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory as programs hold it: what kind each block is, whose it is, and where a pointer points.
//!
//! Device, managed and pinned memory all come from the device's region, whose addresses are the host's own, so a pointer means the
//! same on both sides. Registered memory is the program's own, made known to the device.

use std::collections::BTreeMap;

use warpwatt_runtime::texture::{Format, Shape, Storage};
use warpwatt_runtime::{Device, DevicePtr, Error, Stream, Until};

use crate::core::code::{Code, Result};
use crate::core::handle::{HandleKind, Table};
use crate::core::state::{Core, because};

/// Rows of pitched memory start at multiples of this.
pub const PITCH_ALIGNMENT: u64 = 512;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    Device,
    Managed,
    /// Page-locked host memory that we gave; flags as in `cudaHostAlloc`.
    Pinned {
        flags: u32,
    },
    /// Host memory of the program's; flags as in `cudaHostRegister`.
    Registered {
        flags: u32,
    },
    /// Behind an array: only copies and textures reach it.
    Array,
    /// From a memory pool, given and taken back in stream order.
    Pool {
        pool: u64,
    },
}

impl MemoryKind {
    /// Whether the host may follow pointers into it.
    pub fn host_sees(self) -> bool {
        matches!(self, MemoryKind::Managed | MemoryKind::Pinned { .. } | MemoryKind::Registered { .. })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub base: u64,
    pub bytes: u64,
    pub kind: MemoryKind,
    /// Counted from 1 over all blocks: never the same for two (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
    pub id: u64,
}

impl Block {
    pub fn release(&self, device: &mut Device) -> std::result::Result<(), Error> {
        match self.kind {
            MemoryKind::Registered { .. } => device.abandon(self.base),
            _ => device.free(DevicePtr(self.base)),
        }
    }
}

/// All blocks, by their start.
#[derive(Default)]
pub struct Ledger {
    blocks: BTreeMap<u64, Block>,
    made: u64,
    shared: usize,
}

impl Ledger {
    fn add(&mut self, base: u64, bytes: u64, kind: MemoryKind) {
        self.made += 1;
        self.shared += usize::from(kind.host_sees());
        self.blocks.insert(base, Block { base, bytes, kind, id: self.made });
    }

    fn remove(&mut self, base: u64) -> Option<Block> {
        let block = self.blocks.remove(&base)?;
        self.shared -= usize::from(block.kind.host_sees());
        Some(block)
    }

    pub fn starting_at(&self, base: u64) -> Option<&Block> {
        self.blocks.get(&base)
    }

    pub fn holding(&self, at: u64) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=at).next_back()?;
        (at - block.base < block.bytes.max(1)).then_some(block)
    }

    /// Whether there is memory in which the host could see what kernels do without asking us.
    pub fn host_sees(&self) -> bool {
        self.shared > 0
    }

    pub fn take(&mut self) -> Vec<Block> {
        self.shared = 0;
        std::mem::take(&mut self.blocks).into_values().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values()
    }
}

/// Where a pointer points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pointed {
    /// Into a block that the program took.
    Block(Block),
    /// Into a variable of a module.
    Variable { base: u64, bytes: u64 },
    /// Into the device's addresses, but to nothing that lives there.
    Nothing,
    /// To memory that only the host knows.
    Host,
}

impl Pointed {
    pub fn device_sees(&self) -> bool {
        matches!(self, Pointed::Block(_) | Pointed::Variable { .. })
    }
}

/// A CUDA array, or one level of a mipmapped one.
#[derive(Clone, Debug)]
pub struct Array {
    pub storage: Storage,
    /// As the program gave them: 0 where a dimension is not used.
    pub extent: [u64; 3],
    pub flags: u32,
    /// Start of the memory behind it; `None` for a level, which its mipmapped array owns.
    pub owned: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Mipmap {
    pub storage: Storage,
    pub extent: [u64; 3],
    pub flags: u32,
    pub owned: u64,
    /// Handles of its levels' arrays, once requested.
    pub levels: Vec<Option<u64>>,
}

/// Memory pools. All take from the same memory; what they hold is counted.
pub struct Pools {
    pub table: Table<Pool>,
    /// The device's own pool, which exists from the start.
    pub default: u64,
    pub current: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Pool {
    pub release_threshold: u64,
    /// Reuse policies, all on unless switched off; they have no effect here.
    pub reuse: [i32; 3],
    pub used: u64,
    pub used_high: u64,
}

impl Default for Pools {
    fn default() -> Self {
        Pools::new()
    }
}

impl Pools {
    pub fn new() -> Pools {
        let mut table = Table::new(HandleKind::Pool);
        let default = table.insert(Pool { reuse: [1; 3], ..Pool::default() });
        Pools { table, default, current: default }
    }
}

impl Core {
    pub fn pointed(&self, at: u64) -> Pointed {
        if let Some(block) = self.ledger.holding(at) {
            return Pointed::Block(*block);
        }
        if let Some(found) = self.device.find(at) {
            return Pointed::Variable { base: found.base, bytes: found.size };
        }
        if self.device.owns_address(at) { Pointed::Nothing } else { Pointed::Host }
    }

    /// Takes memory; `bytes` is not 0.
    pub fn alloc(&mut self, bytes: u64, kind: MemoryKind) -> Result<u64> {
        let taken = self.device.alloc(bytes);
        let base = self.settle(taken)?.0;
        if kind.host_sees() {
            self.device.mark_written(DevicePtr(base), bytes);
        }
        self.ledger.add(base, bytes, kind);
        Ok(base)
    }

    /// Allocates rows of `width` bytes, and returns their pitch.
    pub fn alloc_pitched(&mut self, width: u64, rows: u64) -> Result<(u64, u64)> {
        let pitch = width.checked_next_multiple_of(PITCH_ALIGNMENT).ok_or(Code::OUT_OF_MEMORY)?;
        let bytes = pitch.checked_mul(rows).ok_or(Code::OUT_OF_MEMORY)?;
        Ok((self.alloc(bytes.max(1), MemoryKind::Device)?, pitch))
    }

    /// Gives a block back that starts at `base` and is of a kind that `fits`; waits for all work first, as CUDA does.
    pub fn free(&mut self, base: u64, fits: impl Fn(MemoryKind) -> bool) -> Result<()> {
        let Some(block) = self.ledger.starting_at(base).copied().filter(|block| fits(block.kind)) else {
            because(self.why_not_free(base));
            return Err(Code::INVALID_VALUE);
        };
        self.finish(Until::Everything)?;
        self.ledger.remove(base);
        if let MemoryKind::Pool { pool } = block.kind {
            self.leave_pool(pool, block.bytes);
        }
        let outcome = block.release(&mut self.device);
        self.settle(outcome)
    }

    fn why_not_free(&self, at: u64) -> String {
        if self.device.was_freed(at) {
            return format!("double free: the block at {at:#x} was freed before");
        }
        match self.pointed(at) {
            Pointed::Block(block) if block.base == at => {
                "the block was allocated by a function that does not match this one".to_owned()
            }
            Pointed::Block(block) => {
                format!("{at:#x} is {} bytes into a block, not its start", at - block.base)
            }
            Pointed::Variable { .. } => "this is a variable of a module".to_owned(),
            Pointed::Nothing => format!("no block starts at {at:#x}"),
            Pointed::Host => "this is a pointer of the host, not of the device".to_owned(),
        }
    }

    pub fn register(&mut self, at: u64, bytes: u64, flags: u32) -> Result<()> {
        if at == 0 || bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if self.pointed(at) != Pointed::Host {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let adopted = self.device.adopt(at, bytes, "registered host memory");
        self.settle(adopted)?;
        self.ledger.add(at, bytes, MemoryKind::Registered { flags });
        Ok(())
    }

    pub fn unregister(&mut self, at: u64) -> Result<()> {
        let registered = |block: &&Block| matches!(block.kind, MemoryKind::Registered { .. });
        if self.ledger.starting_at(at).filter(registered).is_none() {
            return Err(Code::HOST_MEMORY_NOT_REGISTERED);
        }
        self.free(at, |_| true)
    }

    /// Memory that is given in stream order. It is available immediately: the order matters only for its reuse.
    pub fn alloc_async(&mut self, bytes: u64, pool: u64) -> Result<u64> {
        self.pools.table.get(pool)?;
        let base = self.alloc(bytes, MemoryKind::Pool { pool })?;
        let pool = self.pools.table.get_mut(pool)?;
        pool.used += bytes;
        pool.used_high = pool.used_high.max(pool.used);
        Ok(base)
    }

    pub fn free_async(&mut self, base: u64, stream: Stream) -> Result<()> {
        let Some(block) = self.ledger.starting_at(base).copied() else {
            because(self.why_not_free(base));
            return Err(Code::INVALID_VALUE);
        };
        match block.kind {
            MemoryKind::Pool { pool } => self.leave_pool(pool, block.bytes),
            MemoryKind::Device | MemoryKind::Managed => (),
            _ => return Err(Code::INVALID_VALUE),
        }
        self.ledger.remove(base);
        let queued = self.device.queue_free(stream, DevicePtr(base));
        self.settle(queued)?;
        self.relieve()
    }

    fn leave_pool(&mut self, pool: u64, bytes: u64) {
        if let Ok(pool) = self.pools.table.get_mut(pool) {
            pool.used = pool.used.saturating_sub(bytes);
        }
    }

    /// Takes memory for an array; `extent` in texels, 0 for dimensions that are not used.
    pub fn create_array(
        &mut self,
        shape: Shape,
        extent: [u64; 3],
        format: Format,
        flags: u32,
    ) -> Result<u64> {
        let (storage, base) = self.array_memory(shape, extent, 1, format)?;
        Ok(self.arrays.insert(Array { storage, extent, flags, owned: Some(base) }))
    }

    pub fn create_mipmap(
        &mut self,
        shape: Shape,
        extent: [u64; 3],
        levels: u32,
        format: Format,
        flags: u32,
    ) -> Result<u64> {
        let largest = extent.iter().max().copied().unwrap_or_default();
        let most = u64::BITS - largest.leading_zeros();
        let levels = levels.clamp(1, most.max(1));
        let (storage, owned) = self.array_memory(shape, extent, levels, format)?;
        let levels = vec![None; storage.levels.len()];
        Ok(self.mipmaps.insert(Mipmap { storage, extent, flags, owned, levels }))
    }

    fn array_memory(
        &mut self,
        shape: Shape,
        extent: [u64; 3],
        levels: u32,
        format: Format,
    ) -> Result<(Storage, u64)> {
        if extent[0] == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut small = [0; 3];
        for (small, extent) in small.iter_mut().zip(extent) {
            *small = u32::try_from(extent).ok().filter(|&n| n <= 1 << 20).ok_or(Code::INVALID_VALUE)?;
        }
        let (storage, bytes) = Storage::array(shape, small, levels, format);
        let base = self.alloc(bytes.max(1), MemoryKind::Array)?;
        Ok((storage.at(base), base))
    }

    /// The array of one level of a mipmapped array; the same one every time.
    pub fn mipmap_level(&mut self, mipmap: u64, level: u32) -> Result<u64> {
        let of = self.mipmaps.get_mut(mipmap)?;
        let slot = of.levels.get(level as usize).ok_or(Code::INVALID_VALUE)?;
        if let Some(array) = slot {
            return Ok(*array);
        }
        let chosen = of.storage.levels[level as usize];
        let shrink = |n: u64| if n == 0 { 0 } else { (n >> level).max(1) };
        let depth = if of.storage.shape == Shape::D3 { shrink(of.extent[2]) } else { of.extent[2] };
        let array = Array {
            storage: Storage { shape: of.storage.shape, format: of.storage.format, levels: vec![chosen] },
            extent: [shrink(of.extent[0]), shrink(of.extent[1]), depth],
            flags: of.flags,
            owned: None,
        };
        let handle = self.arrays.insert(array);
        self.mipmaps.get_mut(mipmap)?.levels[level as usize] = Some(handle);
        Ok(handle)
    }

    pub fn destroy_array(&mut self, array: u64) -> Result<()> {
        // A level goes with its mipmapped array.
        let base = self.arrays.get(array)?.owned.ok_or(Code::INVALID_VALUE)?;
        self.arrays.remove(array)?;
        self.free(base, |kind| kind == MemoryKind::Array)
    }

    pub fn destroy_mipmap(&mut self, mipmap: u64) -> Result<()> {
        let gone = self.mipmaps.remove(mipmap)?;
        for level in gone.levels.into_iter().flatten() {
            self.arrays.remove(level)?;
        }
        self.free(gone.owned, |kind| kind == MemoryKind::Array)
    }
}
