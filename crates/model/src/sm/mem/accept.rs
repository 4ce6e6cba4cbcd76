// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions are handed over to the memory unit at issue: what they access becomes transactions.

use warpwatt_exec::AccessKind;
use warpwatt_exec::stepping::{Access, AccessGroup, Lanes, Spread, Stepper};
use warpwatt_isa::Space;

use super::coalesce::{self, Offsets};
use super::flight::FlightId;
use super::job::{Entry, Job, JobKind, Origin, Part};
use super::l1d::Op;
use super::shared::Shared;
use super::{MemoryUnit, WARPS, start};
use crate::host::in_two_copies;
use crate::net::LINE_BYTES;

impl MemoryUnit {
    /// Takes an instruction at issue: a load of words of global memory side by side, one for each of 32 lanes, from the address `run` on, or else one with the
    /// access that the stepper recorded. Tells how many transactions that makes.
    #[inline(always)]
    pub fn accept(
        &mut self,
        job: Job,
        run: Option<u64>,
        origin: impl FnOnce() -> Origin,
        stepper: &Stepper,
    ) -> u32 {
        if let Some(address) = run {
            return self.accept_run(job, address);
        }
        // Filled in where it stays.
        let entry = self.instructions.upcoming();
        entry.job = job;
        if let &Access::Words(spread) = stepper.access() {
            if !self.shared.data.has_sites()
                && let Some(passes) = self.shared.passes_of_words(stepper.offsets(), spread)
            {
                let kind = if job.kind == JobKind::Store { AccessKind::Store } else { AccessKind::Load };
                entry.first = Part::Shared { kind, passes, rows: (0, 0) };
                (entry.transactions, entry.flight) = (1, FlightId::NONE);
                self.await_turn(job.ready);
                return 1;
            }
            entry.origin = origin();
            return self.accept_words(spread, stepper.offsets());
        }
        match stepper.access() {
            Access::Lanes(lanes) => {
                let needs_origin = match lanes.space {
                    Space::Global | Space::Generic => false,
                    // Techniques want to know rows.
                    Space::Shared => self.shared.data.has_sites(),
                    Space::Local | Space::Const => true,
                };
                if needs_origin {
                    entry.origin = origin();
                }
                self.accept_lanes(lanes, stepper.offsets())
            }
            _ => {
                entry.origin = origin();
                self.accept_other(stepper)
            }
        }
    }

    /// Takes a load of words of global memory side by side, one for each of 32 lanes.
    #[inline(always)]
    pub(super) fn accept_run(&mut self, job: Job, address: u64) -> u32 {
        let entry = self.instructions.upcoming();
        entry.job = job;
        let is_line = self.is_plain && address.is_multiple_of(LINE_BYTES);
        if !is_line || job.global_op(self.caches_global) != Op::Load {
            return self.accept_lines_of_run(address);
        }
        (entry.first, entry.transactions, entry.flight) = (Part::Line { address }, 1, FlightId::NONE);
        self.counters.transactions[0] += 1;
        self.await_turn(job.ready);
        1
    }

    /// The rest of [`MemoryUnit::accept_run`] if it is not a line that may be cached, or techniques act.
    #[inline(never)]
    pub(super) fn accept_lines_of_run(&mut self, address: u64) -> u32 {
        let (space, spread, kind) = (Space::Global, Spread::Consecutive, AccessKind::Load);
        let lanes = Lanes { space, bank: 0, base: address, mask: u32::MAX, bytes: 4, kind, spread };
        self.accept_others(&lanes, &coalesce::SIDE_BY_SIDE)
    }

    /// Takes the upcoming instruction, a load or store of a word of shared memory in each of 32 lanes, in general.
    #[inline(never)]
    pub(super) fn accept_words(&mut self, spread: Spread, offsets: &Offsets) -> u32 {
        let (space, kind) = (Space::Shared, self.instructions.upcoming().job.access_kind());
        let lanes = Lanes { space, bank: 0, base: 0, mask: u32::MAX, bytes: 4, kind, spread };
        self.accept_lanes(&lanes, offsets)
    }

    #[inline(never)]
    pub(super) fn accept_other(&mut self, stepper: &Stepper) -> u32 {
        match stepper.access() {
            Access::Lanes(lanes) => self.accept_lanes(lanes, stepper.offsets()),
            &Access::Words(spread) => self.accept_words(spread, stepper.offsets()),
            Access::Mixed => self.accept_groups(stepper.groups()),
            &Access::Texture { texels, .. } => self.accept_texture(stepper.lines(), texels),
            Access::None => self.accept_groups(&[]),
        }
    }

    /// Takes the upcoming instruction, whose lanes are all in one place.
    #[inline(always)]
    pub(super) fn accept_lanes(&mut self, lanes: &Lanes, offsets: &Offsets) -> u32 {
        let unit = self;
        if lanes.space != Space::Shared {
            return unit.accept_others(lanes, offsets);
        }
        // Vector instructions are for the offsets of the lanes.
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               lanes: &Lanes,
                                               offsets: &Offsets|
         -> u32 {
            match unit.accept_shared(lanes, offsets) {
                true => 1,
                false => unit.accept_others(lanes, offsets),
            }
        })
    }

    /// Takes a load or store of shared memory whose pattern is known, while no technique acts there. False for others.
    #[inline(always)]
    pub(super) fn accept_shared(&mut self, lanes: &Lanes, offsets: &Offsets) -> bool {
        let &Lanes { mask, bytes, spread, .. } = lanes;
        let entry = self.instructions.upcoming();
        let kind = match entry.job.kind {
            JobKind::Load => AccessKind::Load,
            JobKind::Store => AccessKind::Store,
            _ => return false,
        };
        if mask == 0 || self.shared.data.has_sites() {
            return false;
        }
        let Some(passes) = self.shared.passes_at_once(offsets, mask, bytes, spread) else { return false };
        entry.first = Part::Shared { kind, passes, rows: (0, 0) };
        entry.transactions = 1;
        self.queue(FlightId::NONE);
        true
    }

    /// [`MemoryUnit::accept_lanes`] in general.
    #[inline(always)]
    pub(super) fn accept_others(&mut self, lanes: &Lanes, offsets: &Offsets) -> u32 {
        let unit = self;
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit,
                                               lanes: &Lanes,
                                               offsets: &Offsets|
         -> u32 {
            unit.accept_global(lanes, offsets).unwrap_or_else(|| {
                unit.accept_with(|entry, shared, cached| entry.add_lanes(lanes, offsets, shared, cached))
            })
        })
    }

    /// Takes a load or store of global memory. `None` for others, of which nothing is taken.
    #[inline(always)]
    pub(super) fn accept_global(&mut self, lanes: &Lanes, offsets: &Offsets) -> Option<u32> {
        let &Lanes { space, base, mask, bytes, spread, .. } = lanes;
        let entry = self.instructions.upcoming();
        let is_store = entry.job.kind == JobKind::Store;
        if space != Space::Global || !is_store && entry.job.kind != JobKind::Load || mask == 0 {
            return None;
        }
        entry.reset();
        let op = entry.job.global_op(self.caches_global);
        coalesce::global(base, offsets, mask, bytes, spread, self.bit_instructions, &mut entry.lines);
        let found = entry.lines.len() as u32;
        entry.first = Part::Global { op, end: found };
        entry.transactions = found;
        self.counters.transactions[(found as usize).wrapping_sub(1).min(31)] += 1;
        if is_store {
            self.pending_writes[usize::from(entry.job.warp) % WARPS] += found;
            self.unacknowledged += found;
        }
        let flight = if found > 1 { start(&mut self.flights, entry) } else { FlightId::NONE };
        self.queue(flight);
        Some(found)
    }

    /// Takes the upcoming instruction, whose lanes are in several places, or that has none.
    pub(super) fn accept_groups(&mut self, groups: &[AccessGroup]) -> u32 {
        let unit = self;
        in_two_copies!(unit.bit_instructions, |unit: &mut MemoryUnit, groups: &[AccessGroup]| -> u32 {
            unit.accept_with(|entry, shared, cached| {
                for group in groups {
                    entry.add_lanes(&group.lanes, &group.offsets, shared, cached);
                }
            })
        })
    }

    /// Takes the upcoming texture or surface instruction, which touches lines of 128 bytes.
    pub(super) fn accept_texture(&mut self, lines: &[u64], texels: u32) -> u32 {
        if self.instructions.upcoming().job.kind == JobKind::Texture {
            self.texture.counters.instructions += 1;
            self.texture.counters.texels += u64::from(texels);
            let line_bytes = self.texture.line_bytes();
            self.accept_with(|entry, _, _| entry.add_texture(lines, line_bytes))
        } else {
            self.accept_with(|entry, _, cached| entry.add_surface(lines, texels, cached))
        }
    }

    /// Takes the upcoming instruction, with what adds its transactions; that may need shared memory, and has to know whether global memory is cached.
    #[inline(always)]
    pub(super) fn accept_with(&mut self, add: impl FnOnce(&mut Entry, &mut Shared, bool)) -> u32 {
        let entry = self.instructions.upcoming();
        entry.reset();
        add(entry, &mut self.shared, self.caches_global);
        // Texture accesses come to their end while others are made, which would mix up the handles.
        let flight = match entry.first {
            Part::Texture { .. } => start(&mut self.flights, entry),
            _ if entry.transactions > 1 => start(&mut self.flights, entry),
            _ => FlightId::NONE,
        };
        if entry.touched != 0 {
            self.counters.transactions[(entry.touched as usize - 1).min(31)] += 1;
            self.pending_writes[usize::from(entry.job.warp) % WARPS] += entry.acknowledged;
            self.unacknowledged += entry.acknowledged;
        }
        let transactions = entry.transactions;
        self.queue(flight);
        transactions
    }

    /// The upcoming instruction is complete but for its handle.
    #[inline(always)]
    pub(super) fn queue(&mut self, flight: FlightId) {
        let entry = self.instructions.upcoming();
        entry.flight = flight;
        let ready = entry.job.ready;
        self.await_turn(ready);
    }

    /// The upcoming instruction is complete, and has its operands in a cycle.
    #[inline(always)]
    pub(super) fn await_turn(&mut self, ready: u64) {
        if self.instructions.push(ready) {
            self.wake = self.wake.min(self.next_start());
        }
    }
}
