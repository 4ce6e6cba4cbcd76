// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functional engine: keeps as many blocks alive as the machine could hold and rotates among them with fixed quanta, on one thread.
//!
//! Programs that spin across blocks (grid barriers, look-back scans, locks) therefore finish, always in the same order.

use warpwatt_memory::DeviceMemory;

use crate::counted::Counted;
use crate::cta::Cta;
use crate::fault::{Fault, FaultKind};
use crate::grid::Grid;
use crate::machine::{Event, Machine, State, Watch};
use crate::options::{Options, Services, Watchdog};
use crate::port::{Direct, GlobalPort};
use crate::split::Wait;
use crate::stats::{Ending, GridStats};
use crate::watchdog::{Look, SPIN_PERIOD, stuck};
use crate::{Failure, GridLaunch};

/// Instructions a warp issues before the next warp runs.
const QUANTUM: u32 = 512;
/// Rounds over the warps of a block before the next block runs: while a block runs, its registers stay in the host's caches.
const ROUNDS: u32 = 16;
/// Quantum of a warp that was found spinning.
const SHORT_QUANTUM: u32 = 64;
/// Quanta in a row after which a warp is examined: at first, and at most.
pub(crate) const FIRST_LOOK: u32 = 2;
const LAST_LOOK: u32 = 1 << 13;
const SPINNING: u32 = 1;
/// Longest loop that is recognised as spinning, in instructions.
const LONGEST_PERIOD: u32 = 1 << 20;

/// Why the rotation stops before all blocks have ended.
enum Stop {
    Fault(Box<Fault>),
    Ending(Ending),
}

/// Executes a grid to its end, or to the fault or limit that stops it.
pub fn run(
    launch: &GridLaunch,
    memory: &mut DeviceMemory,
    services: &mut dyn Services,
    options: &Options,
) -> Result<GridStats, Box<Failure>> {
    let grid = Grid::new(launch, options.sm)
        .map_err(|fault| Box::new(Failure { fault: *fault, stats: GridStats::default() }))?;
    match memory.counter() {
        Some(_) => run_with(&grid, Counted(memory), services, options),
        None => run_with(&grid, Direct(memory), services, options),
    }
}

fn run_with<P: GlobalPort>(
    grid: &Grid,
    port: P,
    services: &mut dyn Services,
    options: &Options,
) -> Result<GridStats, Box<Failure>> {
    let mut state = State::new(grid);
    let mut engine = Engine {
        machine: Machine::new(grid, port, services, &mut state),
        grid,
        options,
        ctas: Vec::new(),
        next: 0,
        finished: 0,
        barriers: 0,
        since_end: 0,
        since_progress: 0,
        since_look: 0,
        look_length: SPIN_PERIOD,
    };
    let result = engine.run();
    let stats = engine.stats();
    match result {
        Ok(()) => Ok(stats),
        Err(Stop::Ending(ending)) => Ok(GridStats { ending, ..stats }),
        Err(Stop::Fault(fault)) => Err(Box::new(Failure { fault: *fault, stats })),
    }
}

struct Engine<'a, 'o, P> {
    machine: Machine<'a, P>,
    grid: &'a Grid<'a>,
    options: &'o Options<'o>,
    /// The resident blocks; a slot is done when its block ended and none is left.
    ctas: Vec<Cta>,
    /// Number of the next block to start.
    next: u64,
    finished: u64,
    barriers: u64,
    /// Warp instructions since a warp ended.
    since_end: u64,
    /// Warp instructions since a warp ended or a barrier opened.
    since_progress: u64,
    /// Warp instructions since a warp ended, a barrier opened or the warps were examined.
    since_look: u64,
    /// Longest loop that the next examination recognises, in instructions: doubled while it finds nothing.
    look_length: u32,
}

impl<P: GlobalPort> Engine<'_, '_, P> {
    fn run(&mut self) -> Result<(), Stop> {
        for slot in 0..self.grid.resident {
            let mut cta = Cta::new(self.grid, slot as u32, self.options.checks);
            cta.start(self.grid, self.next);
            self.next += 1;
            self.ctas.push(cta);
        }
        while self.finished < self.grid.ctas {
            let mut ran = false;
            for slot in 0..self.ctas.len() {
                if self.ctas[slot].is_done() {
                    continue;
                }
                ran |= self.run_cta(slot)?;
                self.replace_ended(slot);
            }
            self.open_grid_barrier(ran)?;
            self.watch()?;
            // Also while no block ends.
            self.machine.services.progress(self.finished, self.grid.ctas);
        }
        Ok(())
    }

    /// If the block that has just run is done, counts it and starts the next one in its place.
    fn replace_ended(&mut self, slot: usize) {
        if self.ctas[slot].is_done() {
            self.finished += 1;
            self.machine.services.progress(self.finished, self.grid.ctas);
            if self.next < self.grid.ctas {
                self.ctas[slot].start(self.grid, self.next);
                self.next += 1;
            }
        }
    }

    /// Runs the warps of a block in turn. False if none could run.
    fn run_cta(&mut self, slot: usize) -> Result<bool, Stop> {
        let mut ever = false;
        for warp in &mut self.ctas[slot].warps {
            warp.resting = false;
        }
        for _ in 0..ROUNDS {
            let mut ran = false;
            for warp in 0..self.ctas[slot].warps.len() {
                let state = &self.ctas[slot].warps[warp];
                if state.can_run() && !state.resting {
                    ran = true;
                    self.run_warp(slot, warp)?;
                }
            }
            ever |= ran;
            if !ran || self.ctas[slot].is_done() {
                break;
            }
        }
        let cta = &self.ctas[slot];
        let waits_for_grid = |cta: &Cta| {
            cta.warps.iter().flat_map(|warp| &warp.splits.others).any(|split| split.wait == Wait::Grid)
        };
        if !cta.is_done() && !cta.warps.iter().any(|warp| warp.can_run()) && !waits_for_grid(cta) {
            let detail = "all warps of the block wait for each other".to_string();
            let fault = stuck(self.grid, FaultKind::BarrierDeadlock, std::iter::once(cta), detail);
            return Err(Stop::Fault(Box::new(fault)));
        }
        Ok(ever)
    }

    /// Runs one warp for its quantum.
    fn run_warp(&mut self, slot: usize, index: usize) -> Result<(), Stop> {
        let spins = self.ctas[slot].warps[index].look_after == SPINNING;
        let mut left = self.allowance(if spins { SHORT_QUANTUM } else { QUANTUM })?;
        while left > 0 {
            let Cta { block, warps, .. } = &mut self.ctas[slot];
            let warp = &mut warps[index];
            let before = warp.issued;
            let event = self.machine.run_warp(warp, block, left);
            let issued = warp.issued.saturating_sub(before);
            left = left.saturating_sub((issued as u32).max(1));
            self.machine.tally.elapsed += issued;
            self.since_end += issued;
            self.since_progress += issued;
            self.since_look += issued;
            match event {
                Event::Go => return self.end_of_quantum(slot, index),
                Event::Yield => {
                    self.end_of_quantum(slot, index)?;
                    self.ctas[slot].warps[index].resting = true;
                    return Ok(());
                }
                _ => {
                    (warp.quanta, warp.look_after) = (0, FIRST_LOOK);
                    self.handle(slot, event)?;
                }
            }
            if !self.ctas[slot].warps[index].can_run() {
                break;
            }
        }
        Ok(())
    }

    /// Applies an event of a warp to its block and the grid.
    fn handle(&mut self, slot: usize, event: Event) -> Result<(), Stop> {
        match event {
            // The last two come from ports that delay accesses, which `Direct` does not.
            Event::Go | Event::Yield | Event::Blocked | Event::Retry | Event::Deferred => {}
            Event::Exited | Event::Barrier => {
                let opened = self.ctas[slot].open_barriers(self.grid);
                self.barriers += opened;
                if event == Event::Exited {
                    self.since_end = 0;
                }
                if opened != 0 || event == Event::Exited {
                    self.progress();
                }
            }
            Event::Grid => self.progress(),
            Event::Fault => {
                let fault = self.machine.tally.fault.take();
                return Err(Stop::Fault(
                    fault.unwrap_or_else(|| Box::new(Fault::bare(FaultKind::InvalidPc, 0, ""))),
                ));
            }
        }
        Ok(())
    }

    fn progress(&mut self) {
        (self.since_progress, self.since_look, self.look_length) = (0, 0, SPIN_PERIOD);
    }

    /// Instructions the next warp may issue; none are left when a limit is reached.
    fn allowance(&self, quantum: u32) -> Result<u32, Stop> {
        if let Some(flag) = self.options.interrupt
            && flag.load(std::sync::atomic::Ordering::Relaxed)
        {
            return Err(Stop::Ending(Ending::Interrupted));
        }
        let mut left = u64::from(quantum);
        if let Some(limit) = self.options.max_warp_instructions {
            left = left.min(limit.saturating_sub(self.machine.tally.elapsed));
        }
        if let Some(limit) = self.options.max_thread_instructions {
            left = left.min(limit.saturating_sub(self.machine.lanes));
        }
        if left == 0 { Err(Stop::Ending(Ending::LimitReached)) } else { Ok(left as u32) }
    }

    /// A warp has used up its quantum. Now and then it is examined: if it spins, it rests until the other blocks have run.
    fn end_of_quantum(&mut self, slot: usize, index: usize) -> Result<(), Stop> {
        let Cta { block, warps, .. } = &mut self.ctas[slot];
        let warp = &mut warps[index];
        warp.quanta += 1;
        let room = |limit: u64| self.machine.tally.elapsed + u64::from(SPIN_PERIOD) <= limit;
        if warp.quanta >= warp.look_after && self.options.max_warp_instructions.is_none_or(room) {
            let look = self.machine.look_at(warp, block);
            // A warp that computes is examined again after twice the time; one that spins, at once.
            warp.look_after = match look {
                Look::Spins => SPINNING,
                _ => (2 * warp.look_after).clamp(FIRST_LOOK, LAST_LOOK),
            };
            warp.quanta = 0;
            match look {
                Look::Event(event) => return self.handle(slot, event),
                Look::Waits => return Ok(()),
                Look::Spins | Look::Moves => {}
            }
            warp.resting = look == Look::Spins;
        }
        Ok(())
    }

    /// Opens the barrier of the grid when all threads have arrived. `ran`: a warp could run in this rotation.
    fn open_grid_barrier(&mut self, ran: bool) -> Result<(), Stop> {
        if !self.grid.cooperative {
            return Ok(());
        }
        let live: u64 = self.ctas.iter().map(|cta| u64::from(cta.block.live_threads)).sum();
        let waiting = |cta: &Cta| -> u64 {
            let splits = cta.warps.iter().flat_map(|warp| &warp.splits.others);
            splits
                .filter(|split| split.wait == Wait::Grid)
                .map(|split| u64::from(split.mask.count_ones()))
                .sum()
        };
        let waiting: u64 = self.ctas.iter().map(waiting).sum();
        if live != 0 && waiting == live {
            for warp in self.ctas.iter_mut().flat_map(|cta| &mut cta.warps) {
                warp.splits.wake(Wait::Grid);
                warp.splits.resume();
            }
            self.barriers += 1;
            self.progress();
        } else if !ran && live != 0 {
            let detail = format!("{waiting} of {live} threads wait at the barrier of the grid");
            let live_ctas = self.ctas.iter().filter(|cta| !cta.is_done());
            let fault = stuck(self.grid, FaultKind::BarrierDeadlock, live_ctas, detail);
            return Err(Stop::Fault(Box::new(fault)));
        }
        Ok(())
    }

    /// After a long time without progress: checks whether all warps spin.
    fn watch(&mut self) -> Result<(), Stop> {
        let dog = self.options.watchdog;
        if self.since_end >= dog.limit.unwrap_or(Watchdog::LIMIT) {
            return Err(Stop::Ending(Ending::Endless));
        }
        if self.since_look < dog.patience {
            return Ok(());
        }
        self.since_look = 0;
        self.machine.tally.watch = Watch { on: true, changed: false };
        let moving = self.any_warp_moves();
        let changed = self.machine.tally.watch.changed;
        self.machine.tally.watch = Watch::default();
        let waited = self.since_progress;
        if changed {
            (self.since_progress, self.look_length) = (0, SPIN_PERIOD);
        } else {
            self.look_length = (2 * self.look_length).min(LONGEST_PERIOD);
        }
        if moving? || changed {
            return Ok(());
        }
        let detail =
            format!("no memory changed, no warp ended and no barrier opened in {waited} warp instructions");
        let live_ctas = self.ctas.iter().filter(|cta| !cta.is_done());
        Err(Stop::Fault(Box::new(stuck(self.grid, FaultKind::NoProgress, live_ctas, detail))))
    }

    /// Examines the warps until one is found that does not spin.
    fn any_warp_moves(&mut self) -> Result<bool, Stop> {
        for slot in 0..self.ctas.len() {
            for index in 0..self.ctas[slot].warps.len() {
                let Cta { block, warps, .. } = &mut self.ctas[slot];
                match self.machine.look_closely(&mut warps[index], block, self.look_length) {
                    Look::Spins | Look::Waits => {}
                    Look::Moves => return Ok(true),
                    Look::Event(event) => {
                        self.handle(slot, event)?;
                        self.replace_ended(slot);
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    fn stats(&self) -> GridStats {
        let per_pc = self.machine.counts[..self.grid.image.program().uops.len()].to_vec();
        GridStats {
            ending: Ending::Finished,
            warp_instructions: per_pc.iter().map(|count| count.issues).sum(),
            thread_instructions: per_pc.iter().map(|count| count.lanes).sum(),
            per_pc,
            barriers: self.barriers,
            divergent_branches: self.machine.tally.divergent_branches,
            ctas_finished: self.finished,
            ctas: self.grid.ctas,
            warps: self.grid.ctas * u64::from(self.grid.warps),
            resident_ctas: self.grid.resident,
        }
    }
}
