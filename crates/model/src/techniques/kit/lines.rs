// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shadow of a cache's data array: which line of memory each frame holds. Caches keep no bytes of their own (values are in device
//! memory since their instruction issued), so what a frame has to give back is the line that was filled into it.

use crate::cache::LineId;

/// Lines of memory by frame.
pub struct LineShadow {
    frames: Vec<Option<u64>>,
    /// A bit is to be flipped, in the first frame that is read.
    flip: bool,
}

impl LineShadow {
    pub fn new(frames: u32, inject: bool) -> LineShadow {
        LineShadow { frames: vec![None; frames as usize], flip: inject }
    }

    /// Sets the number of frames; all are empty.
    pub fn resize(&mut self, frames: u32) {
        self.frames.clear();
        self.frames.resize(frames as usize, None);
    }

    /// A line is filled into a frame, or written there as a whole.
    pub fn store(&mut self, frame: LineId, line: u64) {
        self.frames[frame.0 as usize] = Some(line);
    }

    /// The line that a frame gives back, if it is another than the one that the tags say.
    pub fn check(&mut self, frame: LineId, line: u64) -> Option<u64> {
        let stored = self.frames[frame.0 as usize].as_mut()?;
        if self.flip {
            *stored ^= 1;
            self.flip = false;
        }
        (*stored != line).then_some(*stored)
    }

    /// A bit was to be flipped, and nothing has been read that has one.
    pub fn fault_is_pending(&self) -> bool {
        self.flip
    }
}
