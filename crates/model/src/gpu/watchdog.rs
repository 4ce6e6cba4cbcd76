// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detects runs without progress: no memory changes, no warp exits, no barrier opens, and all lanes that can run return to a state that
//! they were in before. Stops runs in which no warp exits for very long.

use warpwatt_exec::stepping::{Deciding, Snapshot, stuck};
use warpwatt_exec::{Ending, Fault, FaultKind, PcCount, Watchdog};

use crate::sm::{Kernel, Sm, Work};

/// Cycles, times the patience in warp instructions, after which warps are examined however few instructions they issued.
const CYCLES: u64 = 4;
/// Warp instructions until the state of suspects is recorded anew for the first time.
const FIRST_RENEWAL: u64 = 20_000;

/// A warp that is watched: where it is, and how it was when the watch began.
struct Suspect {
    sm: usize,
    slot: usize,
    kernel: usize,
    resident: usize,
    warp: usize,
    snapshot: Snapshot,
    /// How often it had jumped then: one that has not jumped since waits for memory, and did not return to its state.
    jumps: u32,
    came_back: bool,
}

/// Instructions that an SM has executed of a kernel since the state of suspects was recorded.
struct Executed {
    /// Issues of each at that time.
    before: Vec<u64>,
    /// How many have been issued since, and the registers that decide where warps go in these.
    count: usize,
    deciding: Deciding,
}

/// Progress of a run, when it is examined.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// Warp instructions issued, and cycles gone by.
    pub issued: u64,
    pub cycle: u64,
}

impl Moment {
    fn since(self, start: Moment) -> Moment {
        Moment {
            issued: self.issued.saturating_sub(start.issued),
            cycle: self.cycle.saturating_sub(start.cycle),
        }
    }
}

pub(super) struct Watch {
    /// The last sign of life, and the last end of a warp.
    last_sign: Moment,
    last_end: Moment,
    suspects: Option<Vec<Suspect>>,
    /// For each SM and kernel that has suspects.
    executed: Vec<((usize, usize), Executed)>,
    /// Warp instructions issued when suspects were examined.
    looked: u64,
    /// Warp instructions issued when the state of those that did not return is recorded anew: a state from before a loop does not return, so
    /// the time between is doubled (Brent's way to find a cycle).
    renewal: u64,
    /// Memory changed since the watch began.
    pub changed: bool,
}

/// Result of an examination.
pub(super) enum Finding {
    Stuck { launch: usize, fault: Box<Fault> },
    Ending(Ending),
}

impl Watch {
    pub fn new(start: Moment) -> Watch {
        Watch {
            last_sign: start,
            last_end: start,
            suspects: None,
            executed: Vec::new(),
            looked: 0,
            renewal: 0,
            changed: false,
        }
    }

    /// Whether changes of memory are to be noted.
    pub fn is_on(&self) -> bool {
        self.suspects.is_some()
    }

    /// Examines the run; says what is wrong if it must not go on.
    pub fn look(
        &mut self,
        sms: &mut [Sm],
        works: &mut [Work],
        kernels: &[Kernel],
        now: Moment,
        dog: Watchdog,
    ) -> Option<Finding> {
        let (mut signs, mut ended) = (0, 0);
        for work in works.iter_mut() {
            signs += std::mem::take(&mut work.progress);
            ended += std::mem::take(&mut work.warps_ended);
        }
        if ended != 0 {
            self.last_end = now;
        }
        let limit = dog.limit.unwrap_or(Watchdog::TIMED_LIMIT);
        let running = now.since(self.last_end);
        if running.issued >= limit || running.cycle >= limit {
            return Some(Finding::Ending(Ending::Endless));
        }
        if self.is_on() {
            self.changed |= note_memory(works, true);
        }
        if signs + ended != 0 || self.changed {
            if self.is_on() {
                note_memory(works, false);
            }
            self.last_sign = now;
            self.suspects = None;
            self.changed = false;
            return None;
        }
        let waited = now.since(self.last_sign);
        if waited.issued < dog.patience && waited.cycle < CYCLES.saturating_mul(dog.patience) {
            return None;
        }
        let issued = now.issued;
        let Some(suspects) = &mut self.suspects else {
            note_memory(works, true);
            let suspects = arrest(sms, works, kernels);
            self.executed = begin(&suspects, works, kernels);
            self.suspects = Some(suspects);
            (self.looked, self.renewal) = (issued, issued + FIRST_RENEWAL);
            return None;
        };
        if issued == self.looked {
            return None;
        }
        self.looked = issued;
        for suspect in suspects.iter_mut().filter(|suspect| !suspect.came_back) {
            let Suspect { sm, slot, kernel, resident, warp, jumps, .. } = *suspect;
            let resident = &works[sm].shares[kernel].residents[resident];
            let prepared = &kernels[kernel].prepared;
            if resident.warp_pc(warp).is_none() {
                // It waits: without a sign of life it will do so for ever.
                suspect.came_back = true;
            } else if sms[sm].jumps(slot) == jumps {
                continue;
            } else if let Some(place) = suspect.snapshot.place(resident, warp) {
                let found = self.executed.iter_mut().find(|(place, _)| *place == (sm, kernel));
                let Some((_, executed)) = found else { continue };
                let counts = works[sm].shares[kernel].stepper.counts();
                let deciding = executed.deciding(&kernels[kernel], counts);
                suspect.came_back = suspect.snapshot.note(prepared, resident, warp, place, deciding);
            }
        }
        if suspects.iter().all(|suspect| suspect.came_back) {
            let launch = suspects.first().map_or(0, |suspect| suspect.kernel);
            let detail = format!(
                "no memory changed, no warp ended and no barrier opened in {} warp instructions and {} cycles",
                waited.issued, waited.cycle
            );
            let residents = works.iter().flat_map(|work| &work.shares[launch].residents);
            let live = residents.filter(|resident| !resident.is_done());
            let fault = stuck(&kernels[launch].prepared, FaultKind::NoProgress, live, detail);
            return Some(Finding::Stuck { launch, fault: Box::new(fault) });
        }
        if issued >= self.renewal {
            self.renewal = issued + 2 * (issued - self.last_sign.issued).max(FIRST_RENEWAL);
            for suspect in suspects.iter_mut().filter(|suspect| !suspect.came_back) {
                let Suspect { sm, slot, kernel, resident, warp, .. } = *suspect;
                let resident = &works[sm].shares[kernel].residents[resident];
                suspect.snapshot = Snapshot::of(&kernels[kernel].prepared, resident, warp);
                suspect.jumps = sms[sm].jumps(slot);
            }
            self.executed = begin(suspects, works, kernels);
        }
        None
    }
}

/// Whether shared or local memory changed since the last time; from now on, changes are noted if `on`.
fn note_memory(works: &mut [Work], on: bool) -> bool {
    let shares = works.iter_mut().flat_map(|work| &mut work.shares);
    shares.fold(false, |changed, share| share.stepper.watch(on) | changed)
}

/// Starts to note which instructions are executed where suspects are.
fn begin(suspects: &[Suspect], works: &[Work], kernels: &[Kernel]) -> Vec<((usize, usize), Executed)> {
    let mut places: Vec<_> = suspects.iter().map(|suspect| (suspect.sm, suspect.kernel)).collect();
    places.sort_unstable();
    places.dedup();
    let begin = |(sm, kernel): (usize, usize)| {
        let counts: &[PcCount] = works[sm].shares[kernel].stepper.counts();
        let before = counts.iter().map(|count| count.issues).collect();
        let deciding = Deciding::of(&kernels[kernel].prepared, |_| true);
        ((sm, kernel), Executed { before, count: 0, deciding })
    };
    places.into_iter().map(begin).collect()
}

impl Executed {
    /// The registers that decide where warps go which execute what was executed so far.
    fn deciding(&mut self, kernel: &Kernel, counts: &[PcCount]) -> &Deciding {
        let executed = |pc: usize| self.before.get(pc) != counts.get(pc).map(|count| &count.issues);
        let count = (0..counts.len()).filter(|&pc| executed(pc)).count();
        if count != self.count {
            self.deciding = Deciding::of(&kernel.prepared, executed);
            self.count = count;
        }
        &self.deciding
    }
}

/// Records the state of every warp that can run.
fn arrest(sms: &mut [Sm], works: &[Work], kernels: &[Kernel]) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for (sm, state) in sms.iter().enumerate() {
        for (slot, kernel, resident, warp) in state.running() {
            let block = &works[sm].shares[kernel].residents[resident];
            if block.warp_pc(warp).is_some() {
                let snapshot = Snapshot::of(&kernels[kernel].prepared, block, warp);
                let jumps = state.jumps(slot);
                suspects.push(Suspect {
                    sm,
                    slot,
                    kernel,
                    resident,
                    warp,
                    snapshot,
                    jumps,
                    came_back: false,
                });
            }
        }
    }
    suspects
}
