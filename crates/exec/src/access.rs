// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads, stores and atomics: from lanes' addresses to checked spans.
//!
//! The common case, all lanes inside the allocation that the micro-op accessed last (or shared memory), is decided for 32 lanes at once
//! without a branch per lane. Everything else, and every fault, takes the slow path in `resolve`.

use warpwatt_isa::{AtomOp, Op, Space, Sub, window};

use crate::atomics::AtomicOp;
use crate::cta::{Block, Warp};
use crate::fault::{AccessKind, FaultKind};
use crate::image::Code;
use crate::lanes::Row;
use crate::machine::{Event, Machine, Offsets, Tally, Window};
use crate::port::{GlobalPort, Span, Spread, gather, scatter, would_change};
use crate::record::{Access, Lanes};

/// All ones for a lane of the mask.
#[inline(always)]
fn lane_bits(mask: u32, lane: usize) -> u32 {
    ((mask << (31 - lane)) as i32 >> 31) as u32
}

/// What lanes that move so many bytes each have to keep to, in a range of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Bits of an offset that must be 0.
    pub odd: u32,
    /// The highest offset that there may be.
    pub last: u32,
}

impl Bounds {
    /// `None` if no lane fits.
    #[inline(always)]
    pub(crate) fn new(bytes: u32, len: u64) -> Option<Bounds> {
        debug_assert!(bytes != 0 && len <= 1 << 32);
        let last = len.checked_sub(u64::from(bytes))? as u32;
        Some(Bounds { odd: bytes - 1, last })
    }

    /// Not 0 if an offset is not aligned or too high.
    #[inline(always)]
    fn excess(self, offset: u32) -> u32 {
        offset & self.odd | offset.max(self.last) ^ self.last
    }
}

/// Offsets of 64-bit addresses plus a constant, and whether all active lanes are inside of so many bytes, and aligned.
#[inline(always)]
pub(crate) unsafe fn offsets64(
    address: *const Row,
    add: u64,
    mask: u32,
    (bytes, len): (u32, u64),
    out: &mut Offsets,
) -> bool {
    // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window, the
    // block's shared memory or the bank.
    let (low, high) = unsafe { (&(*address).0, &(*address.add(1)).0) };
    let Some(bounds) = Bounds::new(bytes, len) else { return false };
    match mask {
        u32::MAX => sums64(low, high, add, bounds, out, |_| !0) == 0,
        _ => sums64(low, high, add, bounds, out, |lane| lane_bits(mask, lane)) == 0,
    }
}

/// [`offsets64`] of addresses plus `off`, from `guest` on, with the host's vector instructions.
///
/// # Safety
/// As for [`offsets64`]; the host must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn offsets64_wide(
    address: *const Row,
    off: u64,
    guest: u64,
    mask: u32,
    (bytes, len): (u32, u64),
    out: &mut Offsets,
) -> bool {
    let start = guest.wrapping_sub(off);
    // SAFETY: as the caller promises.
    unsafe {
        // Almost no allocation has addresses with different high words.
        if u64::from(start as u32) + len > 1 << 32 {
            return offsets64_apart(address, start, mask, (bytes, len), out);
        }
        let Some(bounds) = Bounds::new(bytes, len) else { return false };
        let halves = (&(*address).0, &(*address.add(1)).0);
        crate::wide::offsets64(halves, start, mask, bounds, out)
    }
}

#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
unsafe fn offsets64_apart(
    address: *const Row,
    start: u64,
    mask: u32,
    limits: (u32, u64),
    out: &mut Offsets,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe { offsets64(address, 0u64.wrapping_sub(start), mask, limits, out) }
}

/// The sums, and what is wrong with those that count: one number for all of them, so that it is tested once.
#[inline(always)]
fn sums64(
    low: &[u32; 32],
    high: &[u32; 32],
    add: u64,
    bounds: Bounds,
    out: &mut Offsets,
    counts: impl Fn(usize) -> u32,
) -> u32 {
    let (add_low, add_high) = (add as u32, (add >> 32) as u32);
    let mut wrong = 0;
    for (lane, (low, high)) in low.iter().zip(high).enumerate() {
        let sum = low.wrapping_add(add_low);
        let carry = u32::from(sum < add_low);
        let rest = high.wrapping_add(add_high).wrapping_add(carry);
        out.0[lane] = sum;
        wrong |= (rest | bounds.excess(sum)) & counts(lane);
    }
    wrong
}

/// [`offsets64`] of 32-bit addresses.
#[inline(always)]
pub(crate) unsafe fn offsets32(
    address: *const Row,
    add: u32,
    mask: u32,
    (bytes, len): (u32, u64),
    out: &mut Offsets,
) -> bool {
    // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window, the
    // block's shared memory or the bank.
    let address = unsafe { &(*address).0 };
    let Some(bounds) = Bounds::new(bytes, len) else { return false };
    match mask {
        u32::MAX => sums32(address, add, bounds, out, |_| !0) == 0,
        _ => sums32(address, add, bounds, out, |lane| lane_bits(mask, lane)) == 0,
    }
}

/// As [`sums64`].
#[inline(always)]
fn sums32(
    address: &[u32; 32],
    add: u32,
    bounds: Bounds,
    out: &mut Offsets,
    counts: impl Fn(usize) -> u32,
) -> u32 {
    let mut wrong = 0;
    for (lane, address) in address.iter().enumerate() {
        let sum = address.wrapping_add(add);
        out.0[lane] = sum;
        wrong |= bounds.excess(sum) & counts(lane);
    }
    wrong
}

/// Shared memory as a fast access sees it: as if there were none where a check has to see each access first.
#[derive(Clone, Copy)]
pub(crate) struct SharedSpan {
    pub host: *mut u8,
    pub bytes: u32,
}

/// What loads and stores need whose lanes are all in one place: so little that it is put together for each of them.
/// `WIDE`: inside of a function that has the host's vector instructions, which the host must have then.
pub(crate) struct Reach<'m, P, const WIDE: bool> {
    pub pool: *mut Row,
    pub port: &'m mut P,
    pub windows: &'m [Window],
    pub offsets: &'m mut Offsets,
    pub tally: &'m mut Tally,
}

/// Each gives false, and has changed nothing but the lanes' offsets, if not all lanes are in one place that is known, or the access must wait.
///
/// # Safety of its functions
/// As for [`Machine`]: rows of the micro-op's operands are the warp's, and there is a window for the micro-op.
impl<P: GlobalPort, const WIDE: bool> Reach<'_, P, WIDE> {
    /// Records an access of lanes in one region.
    #[inline(always)]
    pub(crate) fn note(tally: &mut Tally, space: Space, base: u64, span: &Span, kind: AccessKind) {
        if P::RECORDS {
            let &Span { mask, bytes, spread, .. } = span;
            tally.record.access = Access::Lanes(Lanes { space, bank: 0, base, mask, bytes, kind, spread });
        }
    }

    /// Fills in the lanes' offsets from the micro-op's window. `None`: not all of them are in it.
    #[inline(always)]
    unsafe fn in_window(&mut self, warp: &Warp, code: &Code, pc: u32, mask: u32) -> Option<Window> {
        // SAFETY: as the caller promises.
        unsafe {
            let window = *self.windows.get_unchecked(pc as usize);
            let address = code.source(0, warp.rows, self.pool);
            let (off, guest) = (i64::from(code.off) as u64, window.guest);
            let limits = (u32::from(code.bytes), window.len);
            let fits = match WIDE {
                #[cfg(target_arch = "x86_64")]
                true => offsets64_wide(address, off, guest, mask, limits, self.offsets),
                _ => offsets64(address, off.wrapping_sub(guest), mask, limits, self.offsets),
            };
            fits.then_some(window)
        }
    }

    /// [`Span::new`] with the instructions that there are.
    #[inline(always)]
    pub(crate) fn span(
        host: *mut u8,
        guest: u64,
        Offsets(offsets): &Offsets,
        mask: u32,
        bytes: u32,
    ) -> Span<'_> {
        let spread = match WIDE {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the host has the instructions.
            true => unsafe { crate::wide::spread(offsets, mask, bytes) },
            _ => Spread::of(offsets, mask, bytes),
        };
        Span { host, guest, offsets, mask, bytes, spread }
    }

    #[inline(always)]
    pub(crate) unsafe fn load_global(&mut self, warp: &mut Warp, code: &Code, pc: u32, mask: u32) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let window = self.in_window(warp, code, pc, mask);
            window.is_some_and(|window| self.load_from(window, warp, code, mask))
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn store_global(&mut self, warp: &mut Warp, code: &Code, pc: u32, mask: u32) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let Some(window) = self.in_window(warp, code, pc, mask) else { return false };
            self.store_to(window, warp, code, mask);
            true
        }
    }

    /// Loads from a window that has all lanes at `self.offsets`. False if the load must wait.
    #[inline(always)]
    unsafe fn load_from(&mut self, window: Window, warp: &mut Warp, code: &Code, mask: u32) -> bool {
        // SAFETY: as the caller promises; offsets were checked against the window.
        unsafe {
            let span = Self::span(window.host, window.guest, self.offsets, mask, u32::from(code.bytes));
            if self.port.must_wait(&span) {
                return false;
            }
            self.port.load(&span, code.shape, warp.rows.add(code.dst as usize));
            Self::note(self.tally, Space::Global, window.guest, &span, AccessKind::Load);
            true
        }
    }

    /// Stores to a window that has all lanes at `self.offsets`.
    #[inline(always)]
    unsafe fn store_to(&mut self, window: Window, warp: &mut Warp, code: &Code, mask: u32) {
        // SAFETY: as the caller promises; offsets were checked against the window.
        unsafe {
            let src = code.source(1, warp.rows, self.pool);
            let span = Self::span(window.host, window.guest, self.offsets, mask, u32::from(code.bytes));
            if self.tally.watch.on {
                self.tally.watch.changed |= would_change(&{ span }, code.shape, src);
            }
            self.port.store(&span, code.shape, src);
            Self::note(self.tally, Space::Global, window.guest, &span, AccessKind::Store);
        }
    }

    /// Fills in the lanes' offsets into shared memory. False: not all are in bounds.
    #[inline(always)]
    unsafe fn in_shared(&mut self, warp: &Warp, shared: SharedSpan, code: &Code, mask: u32) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            Self::offsets_in_shared(code.source(0, warp.rows, self.pool), shared, code, mask, self.offsets)
        }
    }

    /// Offsets into shared memory of lanes with these addresses. False: not all are in bounds.
    #[inline(always)]
    pub(crate) unsafe fn offsets_in_shared(
        address: *const Row,
        shared: SharedSpan,
        code: &Code,
        mask: u32,
        out: &mut Offsets,
    ) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let (add, bytes, len) = (code.off as u32, u32::from(code.bytes), u64::from(shared.bytes));
            match WIDE {
                #[cfg(target_arch = "x86_64")]
                true => Bounds::new(bytes, len)
                    .is_some_and(|bounds| crate::wide::offsets32(&(*address).0, add, mask, bounds, out)),
                _ => offsets32(address, add, mask, (bytes, len), out),
            }
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn load_shared(
        &mut self,
        warp: &mut Warp,
        shared: SharedSpan,
        code: &Code,
        mask: u32,
    ) -> bool {
        // SAFETY: as the caller promises; offsets are used after they were checked against shared memory.
        unsafe {
            if !self.in_shared(warp, shared, code, mask) {
                return false;
            }
            let span = Self::span(shared.host, window::SHARED, self.offsets, mask, u32::from(code.bytes));
            gather(&span, code.shape, warp.rows.add(code.dst as usize));
            Self::note(self.tally, Space::Shared, 0, &span, AccessKind::Load);
            true
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn store_shared(
        &mut self,
        warp: &mut Warp,
        shared: SharedSpan,
        code: &Code,
        mask: u32,
    ) -> bool {
        // SAFETY: as the caller promises; offsets are used after they were checked against shared memory.
        unsafe {
            if !self.in_shared(warp, shared, code, mask) {
                return false;
            }
            let src = code.source(1, warp.rows, self.pool);
            let span = Self::span(shared.host, window::SHARED, self.offsets, mask, u32::from(code.bytes));
            if self.tally.watch.on {
                self.tally.watch.changed |= would_change(&{ span }, code.shape, src);
            }
            scatter(&span, code.shape, src);
            Self::note(self.tally, Space::Shared, 0, &span, AccessKind::Store);
            true
        }
    }
}

impl<P: GlobalPort> Machine<'_, P> {
    #[inline(always)]
    pub(crate) fn reach(&mut self) -> Reach<'_, P, false> {
        Reach {
            pool: self.pool,
            port: &mut self.port,
            windows: self.windows,
            offsets: self.offsets,
            tally: self.tally,
        }
    }

    /// Records an access of the lanes of `mask` at `self.offsets` in one region.
    #[inline(always)]
    fn note(&mut self, (space, bank): (Space, u8), base: u64, mask: u32, code: &Code, kind: AccessKind) {
        if P::RECORDS {
            let bytes = u32::from(code.bytes);
            let lanes = Lanes { space, bank, base, mask, bytes, kind, spread: Spread::Unknown };
            self.tally.record.access = Access::Lanes(lanes);
        }
    }

    /// Fills in the lanes' offsets from the micro-op's window, which may have to be found first. `None`: not all of them are in one.
    #[inline(always)]
    unsafe fn in_window(&mut self, warp: &Warp, code: &Code, pc: u32, mask: u32) -> Option<Window> {
        // SAFETY: as the caller promises (see `Machine`).
        unsafe {
            let known = self.reach().in_window(warp, code, pc, mask);
            known.or_else(|| self.find_window(warp, code, pc, mask))
        }
    }

    /// Finds the allocation of the lowest lane for the micro-op's window, and whether it has the others' bytes too.
    #[cold]
    #[inline(never)]
    unsafe fn find_window(&mut self, warp: &Warp, code: &Code, pc: u32, mask: u32) -> Option<Window> {
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let address = self.source(warp, code, 0);
            let lane = mask.trailing_zeros() as usize;
            let first = u64::from((*address).0[lane]) | u64::from((*address.add(1)).0[lane]) << 32;
            let first = first.wrapping_add(i64::from(code.off) as u64);
            let memory = self.port.memory();
            if memory.is_monitored() {
                return None;
            }
            let (found, readable) = match self.grid.image.uops[pc as usize].op {
                Op::Ld => memory.find_readable(first)?,
                _ => memory.find(first).map(|found| (found, found.size))?,
            };
            let window =
                Window { guest: found.base, host: memory.host(found.base), len: readable.min(1 << 32) };
            let add = (i64::from(code.off) as u64).wrapping_sub(window.guest);
            if !offsets64(address, add, mask, (u32::from(code.bytes), window.len), self.offsets) {
                return None;
            }
            self.windows[pc as usize] = window;
            Some(window)
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn load_global(&mut self, warp: &mut Warp, code: &Code, pc: u32, mask: u32) -> bool {
        // SAFETY: as the caller promises (see `Machine`).
        unsafe {
            let window = self.in_window(warp, code, pc, mask);
            window.is_some_and(|window| self.reach().load_from(window, warp, code, mask))
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn store_global(&mut self, warp: &mut Warp, code: &Code, pc: u32, mask: u32) -> bool {
        // SAFETY: as the caller promises (see `Machine`).
        unsafe {
            let Some(window) = self.in_window(warp, code, pc, mask) else { return false };
            self.reach().store_to(window, warp, code, mask);
            true
        }
    }

    #[inline(always)]
    fn shared_span<'s>(offsets: &'s Offsets, block: &Block, code: &Code, mask: u32) -> Span<'s> {
        Span::new(block.shared(), window::SHARED, &offsets.0, mask, u32::from(code.bytes))
    }

    /// Loads and stores of local, constant and generic memory, and atomics.
    #[inline(always)]
    pub(crate) unsafe fn other_access(
        &mut self,
        warp: &mut Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
    ) -> Event {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let kind = match uop.op {
            Op::Ld => AccessKind::Load,
            Op::St => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        if kind == AccessKind::Atomic {
            let legal = matches!(uop.sub, Sub::Atom(op) if AtomicOp::is_legal(op, uop.ty))
                && code.bytes as u32 == uop.ty.bytes();
            if !legal {
                let detail = format!("this machine does not have `{uop}`");
                return self.raise(warp, block, pc, FaultKind::Unsupported, mask, detail);
            }
        }
        // SAFETY: operands were checked when the program was decoded.
        let done = unsafe {
            match uop.mem.space {
                Space::Local => self.fast_local(warp, code, kind, mask),
                Space::Const => self.fast_const(warp, code, uop.mem.bank, kind, mask),
                Space::Shared => {
                    let inside = self.reach().in_shared(warp, block.span(), code, mask);
                    if inside {
                        self.shared_atomic(warp, block, pc, mask);
                        self.note((Space::Shared, 0), 0, mask, code, kind);
                    }
                    inside
                }
                Space::Global => self.fast_global(warp, pc, kind, mask),
                Space::Generic => {
                    let high = (*self.source(warp, code, 0).add(1)).0[mask.trailing_zeros() as usize];
                    if u64::from(high) << 32 == window::SHARED {
                        self.generic_shared(warp, block, pc, kind, mask)
                    } else {
                        u64::from(high) << 32 >= window::GLOBAL && self.fast_global(warp, pc, kind, mask)
                    }
                }
            }
        };
        if done { self.advance(warp, pc) } else { self.access_slowly(warp, block, pc, mask, kind) }
    }

    #[inline(always)]
    unsafe fn fast_global(&mut self, warp: &mut Warp, pc: u32, kind: AccessKind, mask: u32) -> bool {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            match kind {
                AccessKind::Load => self.load_global(warp, code, pc, mask),
                AccessKind::Store => self.store_global(warp, code, pc, mask),
                AccessKind::Atomic => {
                    let Some(window) = self.in_window(warp, code, pc, mask) else { return false };
                    let (host, guest) = (window.host, window.guest);
                    self.global_atomic(warp, pc, host, guest, mask);
                    self.note((Space::Global, 0), guest, mask, code, kind);
                    true
                }
            }
        }
    }

    /// Applies the atomic of a micro-op to the lanes' offsets inside of an allocation.
    pub(crate) unsafe fn global_atomic(
        &mut self,
        warp: &mut Warp,
        pc: u32,
        host: *mut u8,
        guest: u64,
        mask: u32,
    ) {
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let (op, operands) = self.atomic_operands(warp, pc, true);
            let bytes = u32::from(self.grid.image.code[pc as usize].bytes);
            let span = Span::new(host, guest, &self.offsets.0, mask, bytes);
            self.tally.watch.changed |= self.port.atomic(&span, &op, operands.0, operands.1, operands.2);
        }
    }

    /// Applies the atomic of a micro-op to the lanes' offsets in shared memory.
    pub(crate) unsafe fn shared_atomic(&mut self, warp: &mut Warp, block: &Block, pc: u32, mask: u32) {
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let (op, operands) = self.atomic_operands(warp, pc, false);
            let code = &self.grid.image.code[pc as usize];
            let span = Self::shared_span(self.offsets, block, code, mask);
            self.tally.watch.changed |= op.apply(&span, operands.0, operands.1, operands.2);
        }
    }

    unsafe fn atomic_operands(
        &self,
        warp: &Warp,
        pc: u32,
        global: bool,
    ) -> (AtomicOp, (*const Row, *const Row, Option<*mut Row>)) {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let op = match uop.sub {
            Sub::Atom(op) => op,
            _ => AtomOp::Exch,
        };
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let dst = (uop.op == Op::Atom).then(|| warp.rows.add(code.dst as usize));
            let operands = (self.source(warp, code, 1), self.source(warp, code, 2), dst);
            (AtomicOp { op, ty: uop.ty, flush: global }, operands)
        }
    }

    /// A generic access of lanes that all point into shared memory.
    #[inline(always)]
    unsafe fn generic_shared(
        &mut self,
        warp: &mut Warp,
        block: &Block,
        pc: u32,
        kind: AccessKind,
        mask: u32,
    ) -> bool {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let address = self.source(warp, code, 0);
            let add = (i64::from(code.off) as u64).wrapping_sub(window::SHARED);
            let limits = (u32::from(code.bytes), u64::from(block.shared_bytes));
            if !offsets64(address, add, mask, limits, self.offsets) || block.is_checked() {
                return false;
            }
            self.shared_access(warp, block, pc, kind, mask);
            self.note((Space::Shared, 0), 0, mask, code, kind);
            true
        }
    }

    /// Performs an access at the lanes' offsets in shared memory, which are in bounds.
    pub(crate) unsafe fn shared_access(
        &mut self,
        warp: &mut Warp,
        block: &Block,
        pc: u32,
        kind: AccessKind,
        mask: u32,
    ) {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let span = Self::shared_span(self.offsets, block, code, mask);
            match kind {
                AccessKind::Load => gather(&span, code.shape, warp.rows.add(code.dst as usize)),
                AccessKind::Store => {
                    let src = self.source(warp, code, 1);
                    self.tally.watch.changed |=
                        self.tally.watch.on && would_change(&{ span }, code.shape, src);
                    scatter(&span, code.shape, src);
                }
                AccessKind::Atomic => self.shared_atomic(warp, block, pc, mask),
            }
        }
    }

    #[inline(always)]
    unsafe fn fast_local(&mut self, warp: &mut Warp, code: &Code, kind: AccessKind, mask: u32) -> bool {
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let address = self.source(warp, code, 0);
            let limits = (u32::from(code.bytes), u64::from(warp.local.bytes()));
            let fits = offsets32(address, code.off as u32, mask, limits, self.offsets);
            if !fits || kind == AccessKind::Atomic {
                return false;
            }
            self.local_access(warp, code, kind, mask);
            self.note((Space::Local, 0), 0, mask, code, kind);
            true
        }
    }

    /// Performs a load or store at the lanes' offsets in local memory, which are in bounds.
    pub(crate) unsafe fn local_access(&mut self, warp: &mut Warp, code: &Code, kind: AccessKind, mask: u32) {
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            if kind == AccessKind::Load {
                warp.local.load(&self.offsets.0, mask, code.shape, warp.rows.add(code.dst as usize));
            } else {
                let src = self.source(warp, code, 1);
                self.tally.watch.changed |= warp.local.store(&self.offsets.0, mask, code.shape, src);
            }
        }
    }

    #[inline(always)]
    unsafe fn fast_const(
        &mut self,
        warp: &mut Warp,
        code: &Code,
        bank: u8,
        kind: AccessKind,
        mask: u32,
    ) -> bool {
        let bytes = self.grid.bank(bank);
        // SAFETY: rows of the micro-op's operands are the warp's (see `Machine`), and offsets are used after they were checked against the window,
        // the block's shared memory or the bank.
        unsafe {
            let address = self.source(warp, code, 0);
            let limits = (u32::from(code.bytes), bytes.len() as u64);
            if !offsets32(address, code.off as u32, mask, limits, self.offsets) || kind != AccessKind::Load {
                return false;
            }
            let host = bytes.as_ptr().cast_mut();
            let span = Span::new(host, 0, &self.offsets.0, mask, u32::from(code.bytes));
            gather(&span, code.shape, warp.rows.add(code.dst as usize));
            self.note((Space::Const, bank), 0, mask, code, kind);
            true
        }
    }
}
