// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses lane by lane: generic addresses of mixed spaces, lanes in several allocations, checks that need every access, and all faults.

use warpwatt_isa::{Space, window};
use warpwatt_memory::{Bounds, Stray};

use crate::cta::{Block, Warp};
use crate::fault::{AccessKind, FaultAccess, FaultKind};
use crate::machine::{Event, Machine};
use crate::port::{GlobalPort, Shape, Span, Spread, gather, would_change};
use crate::record::{AccessGroup, Lanes};
use crate::rows::lanes_of;

/// The memory behind a lane's address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Global {
        host: *mut u8,
        guest: u64,
        len: u64,
    },
    Shared,
    Local,
    Bank(u8),
    /// No memory at all: reads as zero.
    Nowhere,
}

/// A lane's access: the region, and the offset in it.
struct RegionOffset {
    region: Region,
    offset: u64,
}

/// Why a lane's access cannot be made.
struct Refusal {
    kind: FaultKind,
    space: Space,
    address: u64,
    detail: &'static str,
}

impl<P: GlobalPort> Machine<'_, P> {
    /// Performs an access lane by lane, or faults if a lane is refused.
    #[cold]
    #[inline(never)]
    pub(crate) fn access_slowly(
        &mut self,
        warp: &mut Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
        kind: AccessKind,
    ) -> Event {
        let bytes = u32::from(self.grid.image.code[pc as usize].bytes);
        let mut places: [Option<RegionOffset>; 32] = [const { None }; 32];
        let mut first: Option<Refusal> = None;
        let mut refused = 0;
        for lane in lanes_of(mask) {
            match self.resolve(warp, block, pc, lane, kind) {
                Ok(place) => places[lane] = Some(place),
                Err(refusal) => {
                    if let Some(place) = self.stray(warp, block, pc, lane, kind, &refusal) {
                        places[lane] = Some(place);
                    } else if first.as_ref().is_none_or(|first| first.kind == refusal.kind) {
                        refused |= 1 << lane;
                        first.get_or_insert(refusal);
                    }
                }
            }
        }
        if let Some(Refusal { kind: fault, space, address, detail }) = first {
            let nearest = match space {
                Space::Global => self.port.memory().nearest(address),
                _ => None,
            };
            let access = FaultAccess { address, bytes, space, kind, nearest };
            return self.raise_access(warp, block, pc, fault, refused, Some(access), detail.to_string());
        }
        if P::RECORDS {
            if kind == AccessKind::Load && self.any_must_wait(&places, bytes) {
                return Event::Retry;
            }
            self.tally.record.groups.clear();
        }
        let mut rest = mask;
        while rest != 0 {
            let lowest = rest.trailing_zeros() as usize;
            let Some(region) = places[lowest].as_ref().map(|place| place.region) else { break };
            let mut group = 0;
            for lane in lanes_of(rest) {
                if let Some(place) = places[lane].as_ref().filter(|place| place.region == region) {
                    // Offsets beyond 4 GiB into an allocation do not fit the lanes' words: such a lane is accessed alone.
                    match (region, u32::try_from(place.offset)) {
                        (_, Ok(offset)) => {
                            self.offsets.0[lane] = offset;
                            group |= 1 << lane;
                        }
                        (Region::Global { host, guest, .. }, Err(_)) => {
                            self.offsets.0[lane] = 0;
                            let at = place.offset;
                            let single = Region::Global { host, guest: guest + at, len: u64::from(bytes) };
                            self.note_group(single, 1 << lane, bytes, kind);
                            // SAFETY: the offset was found to be inside of the allocation.
                            unsafe {
                                self.global_group(
                                    warp,
                                    pc,
                                    host.wrapping_add(at as usize),
                                    guest + at,
                                    1 << lane,
                                    kind,
                                )
                            };
                            rest &= !(1 << lane);
                        }
                        _ => {}
                    }
                }
            }
            rest &= !group;
            if group == 0 {
                continue;
            }
            self.note_group(region, group, bytes, kind);
            let event = self.perform(warp, block, pc, group, kind, region);
            if event == Event::Fault {
                return event;
            }
        }
        if P::RECORDS {
            self.tally.record.settle_groups();
        }
        self.advance(warp, pc)
    }

    /// With [`Bounds::Warn`]: the memory that an out-of-bounds load reads. It is noted.
    fn stray(
        &self,
        warp: &Warp,
        block: &Block,
        pc: u32,
        lane: usize,
        kind: AccessKind,
        refusal: &Refusal,
    ) -> Option<RegionOffset> {
        let memory = self.port.memory();
        let &Refusal { kind: fault, address, space, .. } = refusal;
        let bytes = u32::from(self.grid.image.code[pc as usize].bytes);
        let null = FaultAccess { address, bytes, space, kind, nearest: None }.is_null();
        if memory.bounds() != Bounds::Warn
            || kind != AccessKind::Load
            || space != Space::Global
            || null
            || !matches!(fault, FaultKind::OutOfBounds | FaultKind::UseAfterFree)
            || address % u64::from(bytes) != 0
        {
            return None;
        }
        let thread = self.grid.thread(warp.index, lane);
        let (grid, cta) = (self.grid.grid_id, block.id);
        memory.note_stray(Stray { grid, pc, cta, thread, address, bytes, count: 1 });
        Some(match memory.behind(address, bytes.into()) {
            Some(host) => {
                RegionOffset { region: Region::Global { host, guest: address, len: bytes.into() }, offset: 0 }
            }
            None => RegionOffset { region: Region::Nowhere, offset: 0 },
        })
    }

    /// Whether any lane of a load must wait for its bytes.
    fn any_must_wait(&self, places: &[Option<RegionOffset>; 32], bytes: u32) -> bool {
        places.iter().flatten().any(|place| match place.region {
            Region::Global { host, guest, .. } => {
                let host = host.wrapping_add(place.offset as usize);
                self.port.must_wait(&Span::new(host, guest, &[0; 32], 1, bytes))
            }
            _ => false,
        })
    }

    /// Records an access of the lanes of `mask` at `self.offsets` in one region.
    fn note_group(&mut self, region: Region, mask: u32, bytes: u32, kind: AccessKind) {
        if !P::RECORDS {
            return;
        }
        let (space, bank, base) = match region {
            Region::Global { guest, .. } => (Space::Global, 0, guest),
            Region::Shared => (Space::Shared, 0, 0),
            Region::Local => (Space::Local, 0, 0),
            Region::Bank(bank) => (Space::Const, bank, 0),
            Region::Nowhere => return,
        };
        let lanes = Lanes { space, bank, base, mask, bytes, kind, spread: Spread::Unknown };
        self.tally.record.groups.push(AccessGroup { lanes, offsets: self.offsets.0 });
    }

    /// Performs an access of lanes whose places lie in one region, at `self.offsets`.
    fn perform(
        &mut self,
        warp: &mut Warp,
        block: &mut Block,
        pc: u32,
        mask: u32,
        kind: AccessKind,
        region: Region,
    ) -> Event {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: `resolve` found every lane in bounds and aligned; rows were checked when the program was decoded.
        unsafe {
            match region {
                Region::Global { host, guest, .. } => {
                    if self.port.memory().is_monitored() {
                        self.observe_global(warp, block, pc, (host, guest), mask, kind);
                    }
                    self.global_group(warp, pc, host, guest, mask, kind);
                }
                Region::Local => self.local_access(warp, code, kind, mask),
                Region::Nowhere => {
                    let (Shape::Words(rows) | Shape::Narrow { count: rows, .. }) = code.shape;
                    for row in 0..usize::from(rows) {
                        let dst = &mut (*warp.rows.add(code.dst as usize + row)).0;
                        lanes_of(mask).for_each(|lane| dst[lane] = 0);
                    }
                }
                Region::Bank(bank) => {
                    let host = self.grid.bank(bank).as_ptr().cast_mut();
                    let span = Span::new(host, 0, &self.offsets.0, mask, u32::from(code.bytes));
                    gather(&span, code.shape, warp.rows.add(code.dst as usize));
                }
                Region::Shared => {
                    if block.is_checked()
                        && let Some(event) = self.check_shared(warp, block, pc, mask, kind)
                    {
                        return event;
                    }
                    self.shared_access(warp, block, pc, kind, mask);
                }
            }
        }
        Event::Go
    }

    unsafe fn global_group(
        &mut self,
        warp: &mut Warp,
        pc: u32,
        host: *mut u8,
        guest: u64,
        mask: u32,
        kind: AccessKind,
    ) {
        let code = &self.grid.image.code[pc as usize];
        // SAFETY: as the caller promises (see `Machine`).
        unsafe {
            let span = Span::new(host, guest, &self.offsets.0, mask, u32::from(code.bytes));
            match kind {
                AccessKind::Load => self.port.load(&span, code.shape, warp.rows.add(code.dst as usize)),
                AccessKind::Store => {
                    let src = self.source(warp, code, 1);
                    self.tally.watch.changed |= self.tally.watch.on && would_change(&span, code.shape, src);
                    self.port.store(&span, code.shape, src);
                }
                AccessKind::Atomic => self.global_atomic(warp, pc, host, guest, mask),
            }
        }
    }

    fn resolve(
        &self,
        warp: &Warp,
        block: &Block,
        pc: u32,
        lane: usize,
        kind: AccessKind,
    ) -> Result<RegionOffset, Refusal> {
        let image = self.grid.image;
        let (code, uop) = (&image.code[pc as usize], &image.uops[pc as usize]);
        let bytes = u64::from(code.bytes);
        // SAFETY: operands were checked when the program was decoded.
        let (low, high) = unsafe {
            let row = self.source(warp, code, 0);
            let wide = matches!(uop.mem.space, Space::Global | Space::Generic);
            ((*row).0[lane], if wide { (*row.add(1)).0[lane] } else { 0 })
        };
        let wide = (u64::from(low) | u64::from(high) << 32).wrapping_add(i64::from(code.off) as u64);
        let narrow = u64::from(low.wrapping_add(code.off as u32));
        let in_window = |base: u64| wide >> 32 == base >> 32;
        let (space, address, bank) = match uop.mem.space {
            Space::Global => (Space::Global, wide, 0),
            Space::Shared => (Space::Shared, narrow, 0),
            Space::Local => (Space::Local, narrow, 0),
            Space::Const => (Space::Const, narrow, uop.mem.bank),
            Space::Generic if in_window(window::SHARED) => (Space::Shared, wide & 0xffff_ffff, 0),
            Space::Generic if in_window(window::LOCAL) => (Space::Local, wide & 0xffff_ffff, 0),
            Space::Generic if in_window(window::CONST) => (Space::Const, wide & 0xffff_ffff, 3),
            Space::Generic if in_window(window::PARAM) => (Space::Const, wide & 0xffff_ffff, 0),
            Space::Generic => (Space::Global, wide, 0),
        };
        let refuse = |kind, detail| Err(Refusal { kind, space, address, detail });
        let inside = |len: u64| address.checked_add(bytes).is_some_and(|end| end <= len);
        let region = match space {
            Space::Shared if !inside(u64::from(block.shared_bytes)) => {
                return refuse(FaultKind::OutOfBounds, "beyond the block's shared memory");
            }
            Space::Shared => Region::Shared,
            Space::Local if kind == AccessKind::Atomic => {
                return refuse(FaultKind::WrongSpace, "atomics work on global and shared memory only");
            }
            Space::Local if inside(u64::from(warp.local.bytes())) => Region::Local,
            // The stack grows towards 0: below it, offsets wrap round.
            Space::Local if address >= 1 << 31 => {
                return refuse(FaultKind::StackOverflow, "the thread's stack is used up");
            }
            Space::Local => return refuse(FaultKind::OutOfBounds, "beyond the thread's local memory"),
            Space::Const if kind != AccessKind::Load => {
                return refuse(FaultKind::WrongSpace, "constant memory and parameters cannot be written");
            }
            Space::Const if inside(self.grid.bank(bank).len() as u64) => Region::Bank(bank),
            Space::Const => return refuse(FaultKind::OutOfBounds, "beyond the constant bank"),
            Space::Global | Space::Generic => match self.global_region(address, bytes, kind) {
                Ok(region) => region,
                Err((kind, detail)) => return refuse(kind, detail),
            },
        };
        if address % bytes != 0 {
            return refuse(FaultKind::Misaligned, "the address is not a multiple of the size of the access");
        }
        let offset = match region {
            Region::Global { guest, .. } => address - guest,
            _ => address,
        };
        Ok(RegionOffset { region, offset })
    }

    fn global_region(
        &self,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Result<Region, (FaultKind, &'static str)> {
        let memory = self.port.memory();
        let found = match kind {
            AccessKind::Load => memory.find_readable(address),
            _ => memory.find(address).map(|found| (found, found.size)),
        };
        if let Some((found, len)) = found {
            let guest = found.base;
            if guest + len - address < bytes {
                return Err((FaultKind::OutOfBounds, "the last bytes lie past the end"));
            }
            return Ok(Region::Global { host: memory.host(guest), guest, len });
        }
        if memory.find_freed(address).is_some() {
            return Err((FaultKind::UseAfterFree, ""));
        }
        Err(match address & !0xffff_ffff {
            0 | 0xffff_ffff_0000_0000 => (FaultKind::OutOfBounds, ""),
            window::SHARED => (FaultKind::WrongSpace, "this is an address of shared memory"),
            window::LOCAL => (FaultKind::WrongSpace, "this is an address of local memory"),
            window::CONST => (FaultKind::WrongSpace, "this is an address of constant memory"),
            window::PARAM => (FaultKind::WrongSpace, "this is the address of a parameter"),
            window::FUNCTION => (FaultKind::WrongSpace, "this is the address of a function"),
            window::TEXTURE => (FaultKind::WrongSpace, "this is the handle of a texture or surface"),
            _ => (FaultKind::OutOfBounds, ""),
        })
    }

    /// One byte at a generic address, as a lane sees it.
    pub(crate) fn generic_byte(&self, warp: &Warp, block: &Block, lane: usize, address: u64) -> Option<u8> {
        let low = address as u32;
        match address & !0xffff_ffff {
            // SAFETY: in bounds of the block's shared memory.
            window::SHARED => {
                // SAFETY: as the caller promises (see `Machine`).
                (low < block.shared_bytes).then(|| unsafe { block.shared().add(low as usize).read() })
            }
            window::LOCAL => warp.local.byte(lane, low),
            window::CONST => self.grid.bank(3).get(low as usize).copied(),
            window::PARAM => self.grid.bank(0).get(low as usize).copied(),
            _ => self.port.memory().bytes(address, 1).ok().map(|bytes| bytes[0]),
        }
    }
}
