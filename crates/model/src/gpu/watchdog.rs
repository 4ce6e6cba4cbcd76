// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds runs that get nowhere: no memory changes, no warp ends, no barrier opens, and every warp that can run comes back to a state that
//! it was in before.

use warpwatt_exec::stepping::{Snapshot, stuck};
use warpwatt_exec::{Fault, FaultKind, Watchdog};

use crate::sm::{Kernel, Sm, Work};

/// Instructions after which every part of a diverged warp that spins has had its turn, many times over.
const TURNS: u64 = 1 << 14;

/// A warp that is watched: where it is, and how it was when the watch began.
struct Suspect {
    sm: usize,
    kernel: usize,
    resident: usize,
    warp: usize,
    snapshot: Snapshot,
    /// Instructions that it had issued.
    issued: u64,
    came_back: bool,
}

/// Warp instructions between two looks at the suspects, and until they are taken down anew for the first time.
const PAUSE: u64 = 256;
const FIRST_RENEWAL: u64 = 100_000;

#[derive(Default)]
pub(super) struct Watch {
    /// Warp instructions issued when there was the last sign of life, and when suspects were last taken.
    last_sign: u64,
    suspects: Option<Vec<Suspect>>,
    /// Warp instructions issued when suspects are looked at next, and when those that did not come back are taken down anew: a state
    /// from before a loop does not return, so the time between is doubled (Brent's way to find a cycle).
    next_look: u64,
    renewal: u64,
    /// Memory changed since the watch began.
    pub changed: bool,
}

impl Watch {
    /// Whether somebody wants to know if memory changes.
    pub fn is_on(&self) -> bool {
        self.suspects.is_some()
    }

    /// Looks at the state of things after `issued` warp instructions; gives the kernel and fault of a run that is stuck.
    pub fn look(
        &mut self,
        sms: &mut [Sm],
        works: &mut [Work],
        kernels: &[Kernel],
        issued: u64,
        dog: Watchdog,
    ) -> Option<(usize, Fault)> {
        let signs: u64 = works.iter_mut().map(|work| std::mem::take(&mut work.progress)).sum();
        if signs != 0 || self.changed {
            self.last_sign = issued;
            self.suspects = None;
            self.changed = false;
            return None;
        }
        let waited = issued.saturating_sub(self.last_sign);
        if waited < dog.patience {
            return None;
        }
        let Some(suspects) = &mut self.suspects else {
            self.suspects = Some(arrest(sms, works, kernels));
            (self.next_look, self.renewal) = (issued + PAUSE, issued + FIRST_RENEWAL);
            return None;
        };
        if issued < self.next_look {
            return None;
        }
        self.next_look = issued + PAUSE;
        let renew = issued >= self.renewal;
        if renew {
            self.renewal = issued + 2 * waited;
        }
        for suspect in suspects.iter_mut().filter(|suspect| !suspect.came_back) {
            let Suspect { sm, kernel, resident, warp, issued, .. } = *suspect;
            let resident = &works[sm].shares[kernel].residents[resident];
            let prepared = &kernels[kernel].prepared;
            let Some(pc) = resident.warp_pc(warp) else {
                suspect.came_back = true;
                continue;
            };
            // Lanes that wait for those that spin may be what these wait for: they have to have had their turn.
            let lanes = resident.next_lanes(prepared, warp);
            let turns = if lanes.active != lanes.live { TURNS } else { 0 };
            suspect.came_back = pc == suspect.snapshot.pc()
                && resident.warp_issued(warp).saturating_sub(issued) >= turns
                && suspect.snapshot.matches(prepared, resident, warp);
            if renew && !suspect.came_back {
                suspect.snapshot = Snapshot::of(prepared, resident, warp);
                suspect.issued = resident.warp_issued(warp);
            }
        }
        let all_spin = suspects.iter().all(|suspect| suspect.came_back);
        let warps = suspects.len().max(1) as u64;
        if !all_spin && waited / warps < dog.limit {
            return None;
        }
        let launch = suspects.first().map_or(0, |suspect| suspect.kernel);
        let detail =
            format!("no memory changed, no warp ended and no barrier opened in {waited} warp instructions");
        let residents = works.iter().flat_map(|work| &work.shares[launch].residents);
        let live = residents.filter(|resident| !resident.is_done());
        Some((launch, stuck(&kernels[launch].prepared, FaultKind::NoProgress, live, detail)))
    }
}

/// Takes down the state of every warp that can run.
fn arrest(sms: &mut [Sm], works: &[Work], kernels: &[Kernel]) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for (sm, state) in sms.iter().enumerate() {
        for (kernel, resident, warp) in state.running() {
            let block = &works[sm].shares[kernel].residents[resident];
            if block.warp_pc(warp).is_some() {
                let snapshot = Snapshot::of(&kernels[kernel].prepared, block, warp);
                let issued = block.warp_issued(warp);
                suspects.push(Suspect { sm, kernel, resident, warp, snapshot, issued, came_back: false });
            }
        }
    }
    suspects
}
