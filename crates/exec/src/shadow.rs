// SPDX-License-Identifier: MIT OR Apache-2.0
//! Optional checks of shared memory: reads of bytes nobody wrote, and bytes that two warps touch between two barriers when one of them writes.
//!
//! Every byte remembers its last plain writer, its last reader and its last atomic user, with the count of barriers that had opened by then. Lanes of one warp
//! are not held against each other, and any barrier of the block counts as a boundary: what is reported is a race, but not every race is found.

use warpwatt_isa::Space;

use crate::fault::{AccessKind, FaultKind};
use crate::options::CheckOptions;
use crate::port::Span;
use crate::rows::lanes_of;

/// Who touched a byte last: the warp and the barrier count of the time.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Touch {
    /// Warp plus one; 0 for nobody.
    warp: u32,
    epoch: u32,
}

impl Touch {
    fn is_other(self, warp: u32, epoch: u32) -> bool {
        self.warp != 0 && self.warp != warp + 1 && self.epoch == epoch
    }
}

#[derive(Clone, Copy, Default)]
struct Byte {
    written: bool,
    writer: Touch,
    reader: Touch,
    /// Another warp than `reader` read it in the same epoch.
    shared_reader: bool,
    atomic: Touch,
}

pub(crate) struct Shadow {
    checks: CheckOptions,
    bytes: Vec<Byte>,
    epoch: u32,
}

/// A finding: which lane, and what is wrong.
pub(crate) struct Finding {
    pub kind: FaultKind,
    pub lane: usize,
    pub offset: u32,
    pub detail: String,
}

impl Shadow {
    pub(crate) fn new(checks: CheckOptions, bytes: usize) -> Shadow {
        Shadow { checks, bytes: vec![Byte::default(); bytes], epoch: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.fill(Byte::default());
        self.epoch = 0;
    }

    pub(crate) fn barrier_opened(&mut self) {
        self.epoch += 1;
    }

    pub(crate) fn note(&mut self, span: &Span, warp: u32, kind: AccessKind) -> Result<(), Finding> {
        for lane in lanes_of(span.mask) {
            for offset in span.offsets[lane]..span.offsets[lane] + span.bytes {
                if let Some((kind, detail)) = self.note_byte(offset as usize, warp, kind) {
                    return Err(Finding { kind, lane, offset, detail });
                }
            }
        }
        Ok(())
    }

    fn note_byte(&mut self, at: usize, warp: u32, kind: AccessKind) -> Option<(FaultKind, String)> {
        let epoch = self.epoch;
        let byte = &mut self.bytes[at];
        let me = Touch { warp: warp + 1, epoch };
        if self.checks.uninit && kind != AccessKind::Store && !byte.written {
            let space = Space::Shared;
            return Some((
                FaultKind::UninitializedShared,
                format!("byte {at} of {space:?} memory was never written").to_lowercase(),
            ));
        }
        let mut rival = None;
        if self.checks.races {
            if byte.writer.is_other(warp, epoch) {
                rival = Some((byte.writer, "wrote"));
            } else if kind != AccessKind::Atomic && byte.atomic.is_other(warp, epoch) {
                rival = Some((byte.atomic, "updated atomically"));
            } else if kind != AccessKind::Load && byte.reader.epoch == epoch && byte.reader.warp != 0 {
                if byte.reader.warp != warp + 1 {
                    rival = Some((byte.reader, "read"));
                } else if byte.shared_reader {
                    return Some((
                        FaultKind::SharedRace,
                        format!("other warps read byte {at} since the last barrier"),
                    ));
                }
            }
        }
        match kind {
            AccessKind::Store => {
                byte.writer = me;
                byte.written = true;
            }
            AccessKind::Atomic => {
                byte.atomic = me;
                byte.written = true;
            }
            AccessKind::Load => {
                byte.shared_reader =
                    byte.reader.epoch == epoch && (byte.shared_reader || byte.reader.is_other(warp, epoch));
                byte.reader = me;
            }
        }
        rival.map(|(touch, did)| {
            let other = touch.warp - 1;
            (
                FaultKind::SharedRace,
                format!("warp {other} {did} byte {at} since the last barrier, warp {warp} touches it now"),
            )
        })
    }
}
