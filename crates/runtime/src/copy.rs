// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies and fills as commands: rows and slices between device memory, host memory and bytes (after `cudaMemcpy3D` and `cudaMemset2D`
//! of the CUDA runtime).

use std::fmt;

use warpwatt_memory::MemoryError;
use warpwatt_model::partition;

use crate::clock::Way;
use crate::device::Device;
use crate::error::Error;
use crate::types::DevicePtr;

/// Memory of the host program. Whoever makes one vouches that it is valid until the command that uses it ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostPtr(pub *mut u8);

// SAFETY: an address; its creator guarantees that the memory is valid, from whatever thread commands are run.
unsafe impl Send for HostPtr {}

/// Source or destination of a copy.
#[derive(Clone, PartialEq, Eq)]
pub enum End {
    Device(u64),
    /// Host memory, read or written when the command runs.
    Host(HostPtr),
    /// Bytes taken at the call. Nothing can be copied to them.
    Bytes(Vec<u8>),
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Device(at) => write!(f, "Device({at:#x})"),
            End::Host(HostPtr(at)) => write!(f, "Host({at:p})"),
            End::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

/// One side of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    pub at: End,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice to the next.
    pub slice: u64,
}

/// A copy of `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyBox {
    pub to: Side,
    pub from: Side,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

impl CopyBox {
    /// Bytes in one run.
    pub fn flat(to: End, from: End, bytes: u64) -> CopyBox {
        let side = |at| Side { at, pitch: bytes, slice: bytes };
        CopyBox { to: side(to), from: side(from), width: bytes, height: 1, depth: 1 }
    }

    pub fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    pub(crate) fn way(&self) -> Way {
        match (&self.to.at, &self.from.at) {
            (End::Device(_), End::Device(_)) => Way::OnDevice,
            (End::Device(_), _) => Way::ToDevice,
            (_, End::Device(_)) => Way::FromDevice,
            _ => Way::OnHost,
        }
    }

    /// Bytes that pass through what the copy is done over: on the device they are read and written.
    pub(crate) fn traffic(&self) -> u64 {
        self.bytes().saturating_mul(if self.way() == Way::OnDevice { 2 } else { 1 })
    }

    fn what(&self) -> &'static str {
        match self.way() {
            Way::ToDevice => "copy to the device",
            Way::FromDevice => "copy from the device",
            Way::OnDevice => "copy on the device",
            Way::OnHost => "copy on the host",
        }
    }

    /// Bytes from the first to the last of a side.
    fn extent(&self, side: &Side) -> u64 {
        extent(self.width, (self.height, side.pitch), (self.depth, side.slice))
    }
}

/// Elements of 1, 2 or 4 bytes to be set to a value, row by row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FillBox {
    pub at: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// As many of its low bytes as an element has.
    pub value: u32,
    pub element: u8,
    /// Elements of a row.
    pub width: u64,
    pub height: u64,
}

impl FillBox {
    fn row(&self) -> u64 {
        self.width.saturating_mul(self.element.into())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.row().saturating_mul(self.height)
    }

    fn extent(&self) -> u64 {
        extent(self.row(), (self.height, self.pitch), (1, 0))
    }
}

fn extent(width: u64, (height, pitch): (u64, u64), (depth, slice): (u64, u64)) -> u64 {
    if width == 0 || height == 0 || depth == 0 {
        return 0;
    }
    (depth - 1).saturating_mul(slice).saturating_add((height - 1).saturating_mul(pitch)).saturating_add(width)
}

impl Device {
    /// Whether a copy is possible in the current state.
    pub(crate) fn check_copy(&self, copy: &CopyBox) -> Result<(), Error> {
        self.end(copy, &copy.from)?;
        if let End::Bytes(_) = copy.to.at {
            return Err(Error::Internal("a copy into a buffer that is not returned".to_owned()));
        }
        self.end(copy, &copy.to).map(drop)
    }

    pub(crate) fn check_fill(&self, fill: &FillBox) -> Result<(), Error> {
        if !matches!(fill.element, 1 | 2 | 4) {
            let reason = format!("elements must have 1, 2 or 4 bytes, not {}", fill.element);
            return Err(Error::Pointer {
                what: "memset",
                at: DevicePtr(fill.at),
                bytes: fill.extent(),
                reason,
            });
        }
        self.device_end("memset", fill.at, fill.extent()).map(drop)
    }

    /// The host address of one side of a copy.
    fn end(&self, copy: &CopyBox, side: &Side) -> Result<*mut u8, Error> {
        let bytes = copy.extent(side);
        match &side.at {
            End::Device(at) => self.device_end(copy.what(), *at, bytes),
            End::Host(HostPtr(at)) if at.is_null() && bytes > 0 => Err(Error::Pointer {
                what: copy.what(),
                at: DevicePtr(0),
                bytes,
                reason: "the host's pointer is null".to_owned(),
            }),
            End::Host(HostPtr(at)) => Ok(*at),
            End::Bytes(data) if bytes > data.len() as u64 => {
                Err(Error::Internal(format!("a copy of {bytes} bytes out of {}", data.len())))
            }
            End::Bytes(data) => Ok(data.as_ptr().cast_mut()),
        }
    }

    fn device_end(&self, what: &'static str, at: u64, bytes: u64) -> Result<*mut u8, Error> {
        let found = self.memory.span(at, bytes);
        found.map_err(|error: MemoryError| self.bad_pointer(what, DevicePtr(at), bytes, &error))
    }

    pub(crate) fn do_copy(&mut self, copy: &CopyBox) -> Result<(), Error> {
        let (to, from) = (self.end(copy, &copy.to)?, self.end(copy, &copy.from)?);
        if let End::Device(at) = copy.to.at
            && self.memory.is_monitored()
        {
            for slice in 0..copy.depth {
                for row in 0..copy.height {
                    self.memory.mark_written(at + slice * copy.to.slice + row * copy.to.pitch, copy.width);
                }
            }
        }
        let CopyBox { width, height, depth, .. } = *copy;
        let packed = |side: &Side| {
            (height == 1 || side.pitch == width) && (depth == 1 || side.slice == width * height)
        };
        let (row, rows, slices) = match packed(&copy.to) && packed(&copy.from) {
            true => (copy.bytes(), 1, 1),
            false => (width, height, depth),
        };
        for slice in 0..slices {
            for line in 0..rows {
                let step = |side: &Side| (slice * side.slice + line * side.pitch) as usize;
                // SAFETY: `end` found both sides long enough, or the caller vouched for it; `copy` allows overlap.
                unsafe {
                    std::ptr::copy(from.add(step(&copy.from)), to.add(step(&copy.to)), row as usize);
                }
                for (side, way) in
                    [(&copy.from, partition::Way::HostRead), (&copy.to, partition::Way::HostWrite)]
                {
                    if let End::Device(at) = side.at {
                        self.show_copy(way, at + step(side) as u64, row)?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn do_fill(&mut self, fill: &FillBox) -> Result<(), Error> {
        self.device_end("memset", fill.at, fill.extent())?;
        let bytes = fill.value.to_le_bytes();
        for line in 0..fill.height {
            let at = fill.at + line * fill.pitch;
            let row =
                self.memory.bytes_mut(at, fill.row()).map_err(|error| Error::Internal(error.to_string()))?;
            match fill.element {
                1 => row.fill(bytes[0]),
                size => {
                    let size = usize::from(size);
                    row.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&bytes[..size]));
                }
            }
            self.show_copy(partition::Way::HostWrite, at, fill.row())?;
        }
        Ok(())
    }
}
