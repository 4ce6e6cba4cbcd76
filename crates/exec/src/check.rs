// SPDX-License-Identifier: MIT OR Apache-2.0
//! Optional checks of the instructions of a warp: accesses to shared memory (`shadow`), to global memory
//! (`warpwatt_memory::monitor`), shared arrays, shuffles.

use warpwatt_isa::{Op, Order, ShflMode, Space, Sub, Uop};
use warpwatt_memory::monitor::{Observed, Origin, Touched};

use crate::cta::{Block, Warp};
use crate::fault::{AccessKind, Fault, FaultAccess, FaultKind, Rival};
use crate::machine::{Event, Machine};
use crate::port::{GlobalPort, Span, lane_bytes};
use crate::rows::lanes_of;
use crate::shadow::{Finding, Seen};

/// Whether an access orders other accesses.
fn is_strong(uop: &Uop) -> bool {
    uop.mem.order != Order::Weak
}

impl<P: GlobalPort> Machine<'_, P> {
    pub(crate) fn origin(&self, warp: &Warp, block: &Block, pc: u32, lane: usize) -> Origin {
        Origin { block: self.grid.cta_number(block.id), thread: 32 * warp.index + lane as u32, pc }
    }

    /// Reports an access at `self.offsets` from a host address to the checks of global memory.
    ///
    /// # Safety
    /// The lanes' bytes are inside of allocations.
    pub(crate) unsafe fn observe_global(
        &mut self,
        warp: &Warp,
        block: &mut Block,
        pc: u32,
        (host, guest): (*mut u8, u64),
        mask: u32,
        kind: AccessKind,
    ) {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let (bytes, strong) = (usize::from(code.bytes), is_strong(uop));
        let how = match kind {
            AccessKind::Load => Touched::Read,
            AccessKind::Store => Touched::Written,
            AccessKind::Atomic => Touched::Atomically,
        };
        for lane in lanes_of(mask) {
            let offset = u64::from(self.offsets.0[lane]);
            let address = guest + offset;
            // SAFETY: the caller guarantees the bytes, and rows were checked when the program was decoded.
            let (current, data) = unsafe {
                let current = std::slice::from_raw_parts(host.add(offset as usize), bytes);
                let data = match kind {
                    AccessKind::Store => lane_bytes(self.source(warp, code, 1), code.shape, lane),
                    _ => [0; 32],
                };
                (current, data)
            };
            let stored = if kind == AccessKind::Store { &data[..bytes] } else { &[][..] };
            self.port.memory().observe(&Observed {
                grid: self.grid.grid_id,
                origin: self.origin(warp, block, pc, lane),
                phase: warp.grid_syncs,
                how,
                strong,
                learns: uop.op == Op::Atom,
                address,
                current,
                stored,
            });
            if let Some(shadow) = &mut block.shadow
                && (strong || kind == AccessKind::Atomic)
            {
                shadow.synchronize(warp.index, address, kind);
            }
        }
    }

    /// Checks an access of lanes at `self.offsets` to shared memory, before it is made.
    pub(crate) fn check_shared(
        &mut self,
        warp: &Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
        kind: AccessKind,
    ) -> Option<Event> {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let bytes = u32::from(code.bytes);
        if block.checks.arrays
            && let Some(array) = image.program().shared_array(pc)
        {
            // An array without a size is all of dynamic shared memory, which also extends the last array.
            let dynamic = self.grid.dynamic_shared > 0 && array.is_last;
            let end =
                if array.bytes == 0 || dynamic { block.shared_bytes } else { array.offset + array.bytes };
            let beyond = |&lane: &usize| {
                let at = self.offsets.0[lane];
                at < array.offset || at + bytes > end
            };
            let wrong = lanes_of(mask).filter(beyond).fold(0u32, |lanes, lane| lanes | 1 << lane);
            if wrong != 0 {
                let at = self.offsets.0[wrong.trailing_zeros() as usize];
                let access =
                    FaultAccess { address: at.into(), bytes, space: Space::Shared, kind, nearest: None };
                let name = &array.name;
                let place = match at.checked_sub(array.offset) {
                    Some(inside) => format!("byte {inside} of"),
                    None => format!("{} bytes before", array.offset - at),
                };
                let detail = format!("this is {place} `{name}`, which has {} bytes", end - array.offset);
                return Some(self.raise_access(
                    warp,
                    block,
                    pc,
                    FaultKind::SharedOverrun,
                    wrong,
                    Some(access),
                    detail,
                ));
            }
        }
        let shared = block.shared();
        let found = {
            let shadow = block.shadow.as_mut()?;
            let source = match kind {
                AccessKind::Store => Some(self.source(warp, code, 1)),
                _ => None,
            };
            let value = |lane: usize, k: u32| {
                // SAFETY: operands were checked when the program was decoded.
                source.map_or(0, |rows| unsafe { lane_bytes(rows, code.shape, lane)[k as usize] })
            };
            let offsets = &self.offsets.0;
            let span = Span::new(std::ptr::null_mut(), 0, offsets, mask, bytes);
            let seen = Seen { span, warp: warp.index, pc, kind, strong: is_strong(uop), value: &value };
            let due = shadow.due(false);
            // SAFETY: all lanes are in bounds of the block's shared memory.
            let current = |offset: u32| unsafe { shared.add(offset as usize).read() };
            due.or_else(|| shadow.note(&seen, current).err())?
        };
        Some(self.raise_finding(warp, block, found))
    }

    /// A read of uninitialised shared memory, when its epoch has ended. `last`: the block's last lanes exit.
    pub(crate) fn due_finding(&mut self, warp: &Warp, block: &mut Block, last: bool) -> Option<Event> {
        let found = block.shadow.as_mut()?.due(last)?;
        Some(self.raise_finding(warp, block, found))
    }

    #[cold]
    fn raise_finding(&mut self, warp: &Warp, block: &Block, found: Finding) -> Event {
        let Finding { kind, pc, lane, offset, access, bytes, detail, rival, .. } = found;
        let access =
            FaultAccess { address: offset.into(), bytes, space: Space::Shared, kind: access, nearest: None };
        let fault = self.fault_of(warp, block, pc, kind, 1 << lane, detail);
        let thread = self.grid.thread(found.warp, lane);
        let calls = if found.warp == warp.index { fault.calls.clone() } else { Vec::new() };
        let rival = rival.map(|(kind, pc, warp, lane)| Rival {
            kind,
            pc,
            cta: block.id,
            thread: self.grid.thread(warp, lane),
        });
        let fault = Fault { access: Some(access), thread, lanes: 1 << lane, calls, rival, ..fault };
        self.tally.fault = Some(Box::new(fault));
        Event::Fault
    }

    /// Checks a shuffle of the lanes of `present`, which execute it together.
    pub(crate) fn check_shuffle(
        &mut self,
        warp: &Warp,
        block: &Block,
        pc: u32,
        present: u32,
    ) -> Option<Event> {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let Sub::Shfl(mode) = uop.sub else { return None };
        if !block.checks.shuffles {
            return None;
        }
        for lane in lanes_of(present) {
            // SAFETY: operands were checked when the program was decoded.
            let [shift, clamp, members] = [1, 2, usize::from(code.member)]
                .map(|operand| unsafe { (*self.source(warp, code, operand)).0[lane] });
            let me = lane as u32;
            if image.uops[pc as usize].flags.has(warpwatt_isa::Flags::SYNC) && members >> me & 1 == 0 {
                let detail =
                    format!("lane {me} executes it with a mask of 0x{members:08x}, which does not name it");
                return Some(self.raise(warp, block, pc, FaultKind::AbsentLane, 1 << lane, detail));
            }
            let (shift, segment, clamp) = (shift & 31, clamp >> 8 & 31, clamp & 31);
            let last = me & segment | clamp & !segment;
            let (source, valid) = match mode {
                ShflMode::Up => (me.wrapping_sub(shift), me as i32 - shift as i32 >= last as i32),
                ShflMode::Down => (me + shift, me + shift <= last),
                ShflMode::Bfly => (me ^ shift, me ^ shift <= last),
                ShflMode::Idx => {
                    let source = me & segment | shift & !segment;
                    (source, source <= last)
                }
            };
            if valid && present >> (source & 31) & 1 == 0 {
                let why = match warp.splits.live >> (source & 31) & 1 {
                    0 => "has ended or was never there",
                    _ => "does not take part",
                };
                let detail =
                    format!("lane {me} reads from lane {source}, which {why}: the value is not defined");
                return Some(self.raise(warp, block, pc, FaultKind::AbsentLane, 1 << lane, detail));
            }
        }
        None
    }
}
