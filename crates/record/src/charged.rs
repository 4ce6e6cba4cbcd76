// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions, and through them source lines, have of a counter's events: [`Charge`] in numbers.

use warpwatt_base::counters::Charge;
use warpwatt_energy::Shares;
use warpwatt_runtime::{Instruction, OpKind, Path, Unit};

/// Events of one kind, a [`Charge`] whose name was looked up.
#[derive(Clone, Copy)]
enum Events {
    Of(Charge),
    Op(OpKind),
    OpLanes(OpKind),
    Unit(Unit),
}

/// What events of one kind are divided by.
pub(crate) struct Column {
    pub charge: Charge,
    events: Events,
    /// Where the counter that has all events of this kind is among those of the GPU, if there is one.
    whole: Option<usize>,
}

impl Column {
    /// `names`: counters of the GPU.
    pub fn new(charge: Charge, names: &[&'static str]) -> Column {
        let kind = |name: &str| OpKind::ALL.iter().copied().find(|kind| kind.name() == name);
        let unit = |name: &str| Unit::ALL.iter().copied().find(|unit| unit.name() == name);
        let events = match charge {
            Charge::Op(name) => kind(name).map(Events::Op),
            Charge::OpLanes(name) => kind(name).map(Events::OpLanes),
            Charge::Unit(name) => unit(name).map(Events::Unit),
            _ => None,
        };
        let whole = whole(charge).and_then(|whole| names.iter().position(|name| *name == whole));
        Column { charge, events: events.unwrap_or(Events::Of(charge)), whole }
    }

    /// Adds the events of this kind that each instruction caused to a list.
    fn weigh(&self, all: &[Instruction], list: &mut Vec<f64>) {
        let times = |one: &Instruction, each: u8| one.issues as f64 * f64::from(each);
        let when = |condition: bool, count: u64| if condition { count as f64 } else { 0.0 };
        match self.events {
            Events::Op(kind) => put(list, all, |one| when(one.facts.kind == kind, one.issues)),
            Events::OpLanes(kind) => put(list, all, |one| when(one.facts.kind == kind, one.lanes)),
            Events::Unit(unit) => put(list, all, |one| when(one.facts.unit == unit, one.issues)),
            Events::Of(charge) => match charge {
                Charge::Issues => put(list, all, |one| one.issues as f64),
                Charge::Lanes => put(list, all, |one| one.lanes as f64),
                Charge::Reads => put(list, all, |one| times(one, one.facts.reads)),
                Charge::Writes => put(list, all, |one| times(one, one.facts.writes)),
                Charge::Constants => put(list, all, |one| times(one, one.facts.constants)),
                Charge::ConstantCache => put(list, all, |one| {
                    times(one, one.facts.constants) + when(one.facts.path == Path::Constant, one.facts.lines)
                }),
                Charge::Shared => put(list, all, |one| when(one.facts.path == Path::Shared, one.issues)),
                Charge::Lines => put(list, all, |one| when(one.facts.path == Path::Global, one.facts.lines)),
                Charge::TextureLines => {
                    put(list, all, |one| when(one.facts.path == Path::Texture, one.facts.lines))
                }
                Charge::AllLines => put(list, all, |one| {
                    when(matches!(one.facts.path, Path::Global | Path::Texture), one.facts.lines)
                }),
                Charge::Time => put(list, all, |one| (one.issues + one.waited) as f64),
                // The others name a kind or a unit that does not exist.
                Charge::Nobody | Charge::Op(_) | Charge::OpLanes(_) | Charge::Unit(_) => {
                    put(list, all, |_| 0.0)
                }
            },
        }
    }
}

fn put(list: &mut Vec<f64>, all: &[Instruction], weight: impl Fn(&Instruction) -> f64) {
    list.extend(all.iter().map(weight));
}

/// The counter that has all events of a kind, where there is one.
fn whole(charge: Charge) -> Option<String> {
    Some(match charge {
        Charge::Issues => "sm.issued.count".to_owned(),
        Charge::Lanes => "sm.thread_instructions.count".to_owned(),
        Charge::Op(kind) => format!("ops.{kind}.count"),
        Charge::OpLanes(kind) => format!("ops.{kind}.lanes.count"),
        Charge::Reads => "rf.reads.count".to_owned(),
        Charge::Writes => "rf.writes.count".to_owned(),
        Charge::Constants => "sm.constant_operands.count".to_owned(),
        Charge::Unit(name) => format!("units.{name}.count"),
        Charge::Time => "sm.issue_slots.count".to_owned(),
        Charge::ConstantCache
        | Charge::Shared
        | Charge::Lines
        | Charge::TextureLines
        | Charge::AllLines
        | Charge::Nobody => return None,
    })
}

/// Shares of a kernel's instructions in what the GPU did while it ran.
pub(crate) struct PcShares<'e> {
    /// Which column each of the model's counters goes by.
    column_of: &'e [Option<usize>],
    /// Rows of shares, time first.
    shares: Vec<f64>,
    /// Where the row of each column starts, if it is needed.
    row_of: Vec<Option<usize>>,
    places: usize,
}

impl PcShares<'_> {
    /// `needed`: the columns that events are divided by, beside time, the first; `counted`: counters of the GPU in their order; `issued` those of its
    /// instructions.
    pub fn new<'e>(
        columns: &[Column],
        needed: &[bool],
        column_of: &'e [Option<usize>],
        instructions: &[Instruction],
        counted: &[Option<f64>],
        all_issued: u64,
    ) -> PcShares<'e> {
        // Kernels that run at the same time share what has no counter of its own for each, by the instructions they issued.
        let issued: u64 = instructions.iter().map(|instruction| instruction.issues).sum();
        let (issued, all) = (issued as f64, all_issued as f64);
        let own = if all > issued { issued / all } else { 1.0 };
        let places = instructions.len();
        let mut row_of = vec![None; columns.len()];
        let rows = 1 + needed.iter().skip(1).filter(|needed| **needed).count();
        let mut shares = Vec::with_capacity(rows * places);
        for (at, column) in columns.iter().enumerate().filter(|(at, _)| *at == 0 || needed[*at]) {
            let first = shares.len();
            row_of[at] = Some(first);
            column.weigh(instructions, &mut shares);
            let row = &mut shares[first..];
            let sum: f64 = row.iter().sum();
            let whole = match column.whole.and_then(|whole| counted[whole]) {
                Some(whole) => whole.max(sum),
                None => sum / own,
            };
            let scale = if whole > 0.0 { 1.0 / whole } else { 0.0 };
            row.iter_mut().for_each(|share| *share *= scale);
        }
        PcShares { column_of, shares, row_of, places }
    }
}

impl Shares for PcShares<'_> {
    fn places(&self) -> usize {
        self.places
    }

    fn events(&self, counter: usize) -> Option<&[f64]> {
        let first = self.row_of[self.column_of[counter]?]?;
        Some(&self.shares[first..][..self.places])
    }

    fn time(&self) -> &[f64] {
        &self.shares[..self.places]
    }
}
