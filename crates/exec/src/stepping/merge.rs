// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of an epoch: stores and atomics of all SMs take effect, in the order of cycle, SM and issue.

use warpwatt_memory::DeviceMemory;

use crate::port::{scatter, would_change};
use crate::stepping::EpochLog;
use crate::stepping::log::What;

/// What a merge did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MergeOutcome {
    /// Whether any byte changed its value; always false without `watch`.
    pub changed: bool,
    /// Warp stores and warp atomics.
    pub stores: u64,
    pub atomics: u64,
}

/// Applies the logs of all SMs, the position in the slice being the SM's number, and clears them. `watch`: note whether memory changed.
///
/// # Safety
/// All entries must have been made by steps over this memory, with no allocation freed since. The resident blocks that made them must still be
/// there, not started anew, since atomics write their old values to registers.
pub unsafe fn merge<L: AsMut<EpochLog>>(
    logs: &mut [L],
    _memory: &mut DeviceMemory,
    watch: bool,
) -> MergeOutcome {
    let mut outcome = MergeOutcome::default();
    loop {
        let cycle = logs.iter_mut().map(|log| log.as_mut().next_cycle()).min().unwrap_or(u64::MAX);
        if cycle == u64::MAX {
            break;
        }
        for log in logs.iter_mut() {
            let log = log.as_mut();
            while log.next_cycle() == cycle {
                // SAFETY: the caller guarantees memory and registers.
                unsafe { apply_next(log, watch, &mut outcome) };
            }
        }
    }
    for log in logs {
        log.as_mut().clear();
    }
    outcome
}

#[inline(always)]
unsafe fn apply_next(log: &mut EpochLog, watch: bool, outcome: &mut MergeOutcome) {
    let Some((taken, what)) = log.take() else { return };
    // SAFETY: the log holds spans that were checked when they were logged, and no allocation ends within an epoch.
    unsafe {
        match what {
            What::Run => {
                let (to, bytes) = taken.run();
                outcome.changed |= watch && std::slice::from_raw_parts(to, bytes.len()) != bytes;
                bytes.as_ptr().copy_to_nonoverlapping(to, bytes.len());
                outcome.stores += 1;
            }
            What::Store(shape) => {
                let (span, src) = (taken.span(), taken.operands().as_ptr());
                outcome.changed |= watch && would_change(&span, shape, src);
                scatter(&span, shape, src);
                outcome.stores += 1;
            }
            What::Atomic { op, dst } => {
                let operands = taken.operands();
                let words = op.ty.words().max(1) as usize;
                // Only compare-and-swap has a second operand; the others do not use it.
                let second = if operands.len() >= 2 * words { &operands[words..] } else { operands };
                let changed = op.apply(&taken.span(), operands.as_ptr(), second.as_ptr(), dst);
                outcome.changed |= watch && changed;
                outcome.atomics += 1;
            }
        }
    }
}
