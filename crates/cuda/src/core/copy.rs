// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies and fills between any two places: linear memory of either side and arrays, in one, two or three dimensions.

use warpwatt_runtime::{CopyBox, End, FillBox, HostPtr, Side, Stream, Until};

use crate::core::code::{Code, Result};
use crate::core::launch::Command;
use crate::core::memory::{MemoryKind, Pointed};
use crate::core::state::Core;

/// Memory that a copy reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMemory {
    /// A pointer of either side.
    Linear(u64),
    /// A handle of an array.
    Array(u64),
}

/// One end of a copy: the memory, its rows, and where in it the box starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plane {
    pub at: CopyMemory,
    /// Bytes from row to row, and rows from slice to slice; an array knows its own.
    pub pitch: u64,
    pub rows: u64,
    /// Start of the box: bytes, rows, slices.
    pub offset: [u64; 3],
}

impl Plane {
    pub fn linear(at: u64) -> Plane {
        Plane { at: CopyMemory::Linear(at), pitch: 0, rows: 0, offset: [0; 3] }
    }

    pub fn pitched(at: u64, pitch: u64) -> Plane {
        Plane { pitch, ..Plane::linear(at) }
    }

    /// `x` in bytes.
    pub fn array(handle: u64, x: u64, y: u64, z: u64) -> Plane {
        Plane { at: CopyMemory::Array(handle), pitch: 0, rows: 0, offset: [x, y, z] }
    }
}

/// A box of bytes that is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copy {
    pub to: Plane,
    pub from: Plane,
    /// Bytes of a row, rows, slices.
    pub extent: [u64; 3],
}

impl Copy {
    pub fn flat(to: u64, from: u64, bytes: u64) -> Copy {
        Copy { to: Plane::linear(to), from: Plane::linear(from), extent: [bytes, 1, 1] }
    }
}

/// The kinds of the two ends given by the program (`cudaMemcpyKind`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// The pointers tell.
    Any,
}

impl Direction {
    /// Whether (destination, source) must be memory that the device sees.
    fn on_device(self) -> (bool, bool) {
        match self {
            Direction::HostToDevice => (true, false),
            Direction::DeviceToHost => (false, true),
            Direction::DeviceToDevice => (true, true),
            Direction::HostToHost | Direction::Any => (false, false),
        }
    }
}

/// A fill of linear memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    pub at: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element: u8,
    /// Elements of a row, and rows.
    pub width: u64,
    pub height: u64,
}

/// A plane with its memory looked up.
struct Located {
    address: u64,
    pitch: u64,
    slice: u64,
    kind: Where,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Device,
    /// Page-locked or managed: the host's, and there when the copy runs.
    Shared,
    /// Of the host alone: it may be gone when a queued copy runs.
    Pageable,
}

impl Core {
    /// Copies in stream order. `wait`: not before it is done, as the functions without `Async` do where the host takes part.
    pub fn copy(&mut self, stream: Stream, copy: Copy, direction: Direction, wait: bool) -> Result<()> {
        if copy.extent.contains(&0) {
            return Ok(());
        }
        let (to, from) = (self.locate(&copy.to, &copy.extent)?, self.locate(&copy.from, &copy.extent)?);
        let on_device = direction.on_device();
        if (on_device.0 && to.kind == Where::Pageable) || (on_device.1 && from.kind == Where::Pageable) {
            return Err(Code::INVALID_VALUE);
        }
        // CUDA too returns from a copy to pageable memory only when it is done.
        let host = to.kind != Where::Device || from.kind != Where::Device;
        if self.graphs.captures(stream) || !((wait && host) || to.kind == Where::Pageable) {
            return self.submit(stream, Command::Copy(copy));
        }
        let [width, height, depth] = copy.extent;
        let queued = self
            .device
            .queue_copy(stream, CopyBox { to: to.side(), from: from.side(), width, height, depth });
        self.settle(queued)?;
        self.finish(Until::Stream(stream))
    }

    pub fn fill(&mut self, stream: Stream, fill: Fill) -> Result<()> {
        if fill.width == 0 || fill.height == 0 {
            return Ok(());
        }
        if !self.pointed(fill.at).device_sees() || !fill.at.is_multiple_of(u64::from(fill.element)) {
            return Err(Code::INVALID_VALUE);
        }
        self.submit(stream, Command::Fill(fill))
    }

    /// Puts a copy into the device's queue. The bytes of pageable memory are taken now.
    pub(super) fn queue_copy(&mut self, stream: Stream, copy: &Copy) -> Result<()> {
        let (to, from) = (self.locate(&copy.to, &copy.extent)?, self.locate(&copy.from, &copy.extent)?);
        let [width, height, depth] = copy.extent;
        let queued = self.device.queue_copy(
            stream,
            CopyBox { to: to.side(), from: from.taken(copy.extent), width, height, depth },
        );
        self.settle(queued)?;
        self.relieve()
    }

    pub(super) fn queue_fill(&mut self, stream: Stream, fill: &Fill) -> Result<()> {
        let Fill { at, pitch, value, element, width, height } = *fill;
        let queued = self.device.queue_fill(stream, FillBox { at, pitch, value, element, width, height });
        self.settle(queued)?;
        self.relieve()
    }

    fn locate(&self, plane: &Plane, extent: &[u64; 3]) -> Result<Located> {
        let [x, y, z] = plane.offset;
        let (base, pitch, slice, kind) = match plane.at {
            CopyMemory::Array(handle) => {
                let array = self.arrays.get(handle)?;
                let level = array.storage.levels[0];
                let texel = u64::from(array.storage.format.texel_bytes());
                let fits = |start: u64, count: u64, most: u64| {
                    start.checked_add(count).is_some_and(|end| end <= most)
                };
                if !fits(x, extent[0], u64::from(level.width) * texel)
                    || !fits(y, extent[1], u64::from(level.height))
                    || !fits(z, extent[2], u64::from(level.depth))
                {
                    return Err(Code::INVALID_VALUE);
                }
                (level.address, level.pitch, level.slice, Where::Device)
            }
            CopyMemory::Linear(0) => return Err(Code::INVALID_VALUE),
            CopyMemory::Linear(at) => {
                let flat = extent[1] <= 1 && extent[2] <= 1;
                let pitch = if plane.pitch == 0 && flat { extent[0] } else { plane.pitch };
                if pitch < extent[0] && !flat {
                    return Err(Code::INVALID_PITCH);
                }
                let rows = if plane.rows == 0 { extent[1] } else { plane.rows };
                let kind = match self.pointed(at) {
                    Pointed::Nothing => return Err(Code::INVALID_VALUE),
                    Pointed::Host => Where::Pageable,
                    Pointed::Block(block) if block.kind.host_sees() && block.kind != MemoryKind::Managed => {
                        Where::Shared
                    }
                    Pointed::Block(_) | Pointed::Variable { .. } => Where::Device,
                };
                (at, pitch, pitch.checked_mul(rows).ok_or(Code::INVALID_VALUE)?, kind)
            }
        };
        let offset = y
            .checked_mul(pitch)
            .zip(z.checked_mul(slice))
            .and_then(|(y, z)| x.checked_add(y)?.checked_add(z));
        let address = offset.and_then(|offset| base.checked_add(offset)).ok_or(Code::INVALID_VALUE)?;
        Ok(Located { address, pitch, slice, kind })
    }
}

impl Located {
    fn side(&self) -> Side {
        let at = match self.kind {
            Where::Device => End::Device(self.address),
            // The region's addresses are the host's.
            Where::Shared | Where::Pageable => End::Host(HostPtr(self.address as *mut u8)),
        };
        Side { at, pitch: self.pitch, slice: self.slice }
    }

    /// The source of a copy; what is in pageable memory is read here and now.
    fn taken(&self, extent: [u64; 3]) -> Side {
        if self.kind != Where::Pageable {
            return self.side();
        }
        let [width, height, depth] = extent;
        let mut bytes = Vec::with_capacity((width * height * depth) as usize);
        for z in 0..depth {
            for y in 0..height {
                let row = self.address + z * self.slice + y * self.pitch;
                // SAFETY: the program says that it may be read, as it does to CUDA.
                bytes.extend_from_slice(unsafe {
                    std::slice::from_raw_parts(row as *const u8, width as usize)
                });
            }
        }
        Side { at: End::Bytes(bytes), pitch: width, slice: width * height }
    }
}
