// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory as the SMs of a timed machine see it: behind a log while they run, and all of it between epochs.

use warpwatt_memory::DeviceMemory;

use crate::atomics::AtomicOp;
use crate::lanes::Row;
use crate::port::{Direct, GlobalPort, Shape, Span, gather};
use crate::stepping::EpochLog;

/// Memory that is read-only within the epoch, and the log of one SM in front of it.
pub(super) struct EpochPort<'a> {
    pub memory: &'a DeviceMemory,
    pub log: &'a mut EpochLog,
}

impl GlobalPort for EpochPort<'_> {
    const RECORDS: bool = true;

    fn memory(&self) -> &DeviceMemory {
        self.memory
    }

    fn memory_mut(&mut self) -> Option<&mut DeviceMemory> {
        None
    }

    #[inline(always)]
    fn must_wait(&self, span: &Span) -> bool {
        self.log.has_atomics() && self.log.may_hold(span) && self.log.holds_atomic(&{ *span })
    }

    #[inline(always)]
    unsafe fn load(&mut self, span: &Span, shape: Shape, dst: *mut Row) {
        // SAFETY: passed on as the caller promises (see `GlobalPort`).
        unsafe {
            if self.log.has_stores() && self.log.may_hold(span) {
                self.log.load_through(&{ *span }, shape, dst);
            } else {
                gather(span, shape, dst);
            }
        }
    }

    #[inline(always)]
    unsafe fn store(&mut self, span: &Span, shape: Shape, src: *const Row) {
        // SAFETY: passed on as the caller promises (see `GlobalPort`).
        unsafe { self.log.push_store(span, shape, src) }
    }

    unsafe fn atomic(
        &mut self,
        span: &Span,
        op: &AtomicOp,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) -> bool {
        // SAFETY: passed on as the caller promises (see `GlobalPort`).
        unsafe { self.log.push_atomic(span, op, b, c, dst) };
        false
    }
}

/// All of memory, for instructions that are executed between epochs.
pub(super) struct MergedPort<'a>(pub &'a mut DeviceMemory);

impl GlobalPort for MergedPort<'_> {
    const RECORDS: bool = true;

    fn memory(&self) -> &DeviceMemory {
        self.0
    }

    fn memory_mut(&mut self) -> Option<&mut DeviceMemory> {
        Some(self.0)
    }

    unsafe fn load(&mut self, span: &Span, shape: Shape, dst: *mut Row) {
        // SAFETY: passed on as the caller promises (see `GlobalPort`).
        unsafe { Direct(self.0).load(span, shape, dst) }
    }

    unsafe fn store(&mut self, span: &Span, shape: Shape, src: *const Row) {
        // SAFETY: passed on as the caller promises (see `GlobalPort`).
        unsafe { Direct(self.0).store(span, shape, src) }
    }

    unsafe fn atomic(
        &mut self,
        span: &Span,
        op: &AtomicOp,
        b: *const Row,
        c: *const Row,
        dst: Option<*mut Row>,
    ) -> bool {
        // SAFETY: passed on as the caller promises (see `GlobalPort`).
        unsafe { Direct(self.0).atomic(span, op, b, c, dst) }
    }
}
