// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source lines of a program: where they are found for each micro-op once, and counts of each launch by line.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use warpwatt_exec::{GridStats, Image, PcCount};
use warpwatt_isa::{Location, Program};
use warpwatt_model::Stalls;

use crate::record::LineCount;

/// What was done for a source line by all of its micro-ops.
#[derive(Clone, Default)]
struct Sum {
    is_used: bool,
    warp_instructions: u64,
    thread_instructions: u64,
    stalls: Stalls,
}

/// The source lines of a program.
pub(crate) struct Lines {
    /// In order of file and line.
    lines: Vec<(Arc<str>, u32)>,
    /// Which of them each micro-op belongs to.
    of_pc: Vec<u32>,
}

/// Lines of the programs that were launched, by the number of their image.
#[derive(Default)]
pub(crate) struct LineTables(FxHashMap<u64, Arc<Lines>>);

impl LineTables {
    pub fn of(&mut self, image: &Image, ptx_file: &str) -> Arc<Lines> {
        let lines = self.0.entry(image.id());
        lines.or_insert_with(|| Arc::new(Lines::of(image.program(), ptx_file))).clone()
    }
}

impl Lines {
    fn of(program: &Program, ptx_file: &str) -> Lines {
        // Micro-ops without a location have the one behind the last.
        let none = Location::default();
        let places: Vec<_> =
            program.locs.iter().chain([&none]).map(|at| place(program, ptx_file, at)).collect();
        let loc = |loc: u32| (loc as usize).min(places.len() - 1);
        let mut lines: Vec<_> = program.uops.iter().map(|uop| places[loc(uop.loc)]).collect();
        lines.sort_unstable();
        lines.dedup();
        let of_loc: Vec<_> = places.iter().map(|at| lines.binary_search(at).unwrap_or_default()).collect();
        let mut files = FxHashMap::<&str, Arc<str>>::default();
        Lines {
            of_pc: program.uops.iter().map(|uop| of_loc[loc(uop.loc)] as u32).collect(),
            lines: lines
                .into_iter()
                .map(|(file, line)| (files.entry(file).or_insert_with(|| Arc::from(file)).clone(), line))
                .collect(),
        }
    }

    /// Sums the counts of micro-ops by line; lines without any are left out. `stalls` is empty for a functional launch.
    pub fn counts(&self, stats: &GridStats, stalls: &[Stalls]) -> Vec<LineCount> {
        let mut sums = vec![Sum::default(); self.lines.len()];
        let none = Stalls::default();
        for (pc, &line) in self.of_pc.iter().enumerate() {
            let count = stats.per_pc.get(pc).copied().unwrap_or_default();
            let waited = stalls.get(pc).unwrap_or(&none);
            let has_waited = is_any(waited);
            if count.issues == 0 && !has_waited {
                continue;
            }
            let sum = &mut sums[line as usize];
            sum.is_used = true;
            sum.warp_instructions += count.issues;
            sum.thread_instructions += count.lanes;
            if has_waited {
                sum.stalls.iter_mut().zip(waited).for_each(|(sum, cycles)| *sum += cycles);
            }
        }
        let used = self.lines.iter().zip(sums).filter(|(_, sum)| sum.is_used);
        used.map(|((file, line), sum)| LineCount {
            file: file.clone(),
            line: *line,
            warp_instructions: sum.warp_instructions,
            thread_instructions: sum.thread_instructions,
            stalls: sum.stalls,
        })
        .collect()
    }

    /// By micro-op: its place among the lines of [`Lines::counts`], if it has one.
    pub fn places(&self, counts: &[PcCount], stalls: &[Stalls]) -> Vec<Option<u32>> {
        let has_run = |pc: usize| {
            counts.get(pc).is_some_and(|count| count.issues != 0) || stalls.get(pc).is_some_and(is_any)
        };
        let mut numbers = vec![None; self.lines.len()];
        let of_pc = self.of_pc.iter().enumerate();
        of_pc.filter(|(pc, _)| has_run(*pc)).for_each(|(_, &line)| numbers[line as usize] = Some(0));
        numbers.iter_mut().flatten().zip(0..).for_each(|(number, place)| *number = place);
        let of_pc = self.of_pc.iter().enumerate();
        of_pc.map(|(pc, &line)| numbers[line as usize].filter(|_| has_run(pc))).collect()
    }
}

/// Whether anything was waited for.
fn is_any(stalls: &Stalls) -> bool {
    stalls.iter().fold(0, |any, cycles| any | cycles) != 0
}

/// The source line of a location. Where there is no line table, the PTX text is the source.
fn place<'p>(program: &'p Program, ptx_file: &'p str, at: &Location) -> (&'p str, u32) {
    match program.files.get(at.file as usize) {
        Some(file) if at.file != Location::NO_FILE && at.line > 0 => (file.as_str(), at.line),
        _ => (ptx_file, at.ptx_line),
    }
}
