// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register allocation on live segments: every physical register has the union of the segments of what is placed in it; a class goes to the lowest aligned
//! run that is free wherever it is live, or takes the place of cheaper ones, or is spilled (after LLVM's greedy allocator).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::banks::{self, Beside};
use super::hold::{self, Hold};
use super::liveness::{Liveness, Segment};
use super::machine::{MFunc, term_uses};
use super::spill;
use super::taken::{GROUP, Taken, ones};
use super::{BackError, BackOptions};
use crate::ir::{Part, Value};

/// Registers of predicates.
const PREDICATES: u32 = 7;
/// The stack pointer is never given away.
const STACK_POINTER: u32 = 1;

/// Lowest register (or predicate) of every value; values that are never live have none.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub place: Vec<Option<u8>>,
}

/// What the allocator does for speed where registers are plenty.
pub(super) struct Preferences {
    /// Holds of every word.
    holds: Vec<Vec<Hold>>,
    /// What is read beside every value.
    beside: Vec<Vec<Beside>>,
    banks: u32,
    /// Number of registers up to which preferences are respected: more would reduce occupancy.
    below: u32,
}

/// In which order classes look for a place. Which one packs best differs from kernel to kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    ByStart,
    WideFirst,
    LongFirst,
}

/// Allocates registers below `budget`, spilling as needed; rewrites `f` when it spills.
pub(super) fn run(f: &mut MFunc, options: &BackOptions) -> Result<Assignment, BackError> {
    let budget = options.budget.min(255);
    loop {
        let live = Liveness::of(f);
        let weights = weights(f, &live);
        let predicates = Solver::new(f, &live, &weights, None, true, PREDICATES).solve(Strategy::ByStart);
        let predicates = match predicates {
            Ok(found) => found,
            Err(Failure::Spill(list)) => {
                spill::predicates(f, &list);
                continue;
            }
            Err(Failure::Impossible(at)) => return Err(too_many(f, &live, at)),
        };
        let preferences = Preferences {
            holds: hold::of(f, &live, options.sm),
            beside: banks::of(f),
            banks: banks::banks(options.sm),
            below: options.full_occupancy,
        };
        match preferred_or_plain(f, &live, &weights, &preferences, budget) {
            Ok(mut place) => {
                for (slot, p) in place.iter_mut().zip(predicates) {
                    *slot = slot.or(p);
                }
                return Ok(Assignment { place });
            }
            Err(Failure::Spill(list)) => spill::registers(f, &list),
            Err(Failure::Impossible(at)) => return Err(too_many(f, &live, at)),
        }
    }
}

/// An assignment that respects preferences if they cost neither a spill nor occupancy, or else the plain one.
fn preferred_or_plain(
    f: &MFunc,
    live: &Liveness,
    weights: &[f32],
    preferences: &Preferences,
    budget: u32,
) -> Result<Vec<Option<u8>>, Failure> {
    let least = least_registers(f, live);
    let preferred = best_of(f, live, weights, Some(preferences), budget, least..budget);
    let known = preferred.as_ref().map_or(budget, |place| highest(f, place));
    if preferred.is_ok() && known <= preferences.below.max(least) {
        return preferred;
    }
    match (preferred, best_of(f, live, weights, None, budget, least..known)) {
        (Ok(preferred), Ok(plain)) if known <= highest(f, &plain) => Ok(preferred),
        (_, plain) => plain,
    }
}

/// Registers that no packing can do without: the words that are live at once, and the stack pointer, which lies among them.
fn least_registers(f: &MFunc, live: &Liveness) -> u32 {
    let is_register = |&i: &usize| f.values[i].words > 0;
    let slots = || (0..f.values.len()).filter(is_register).flat_map(|i| live.map.all_of(Value::from(i)));
    let end = slots().filter_map(|slot| live.segments[slot].last()).map(|s| s.to).max().unwrap_or(0);
    let mut change = vec![0i32; end as usize + 1];
    for s in slots().flat_map(|slot| &live.segments[slot]) {
        change[s.from as usize] += 1;
        change[s.to as usize] -= 1;
    }
    let most = change.iter().scan(0, |words, change| {
        *words += change;
        Some(*words)
    });
    let most = most.max().unwrap_or(0) as u32;
    if most > STACK_POINTER { most + 1 } else { most }
}

/// The packing with the fewest registers, or else the one with the fewest spills. None takes fewer registers than the start of `useful`; which one is
/// returned does not matter when it takes the end of `useful` or more.
fn best_of(
    f: &MFunc,
    live: &Liveness,
    weights: &[f32],
    preferences: Option<&Preferences>,
    budget: u32,
    useful: Range<u32>,
) -> Result<Vec<Option<u8>>, Failure> {
    let mut best: Option<(u32, Vec<Option<u8>>)> = None;
    let mut failure: Option<Failure> = None;
    for strategy in [Strategy::ByStart, Strategy::WideFirst, Strategy::LongFirst] {
        let mut solver = Solver::new(f, live, weights, preferences, false, budget);
        if let Some((top, _)) = &best {
            solver.give_up_at(useful.end.min(*top));
        }
        match solver.solve(strategy) {
            Ok(place) => {
                let top = highest(f, &place);
                if best.as_ref().is_none_or(|b| top < b.0) {
                    best = Some((top, place));
                }
                if top <= useful.start {
                    break;
                }
            }
            Err(Failure::Spill(list)) => {
                let fewer = |old: &Failure| matches!(old, Failure::Spill(o) if o.len() <= list.len());
                if !failure.as_ref().is_some_and(fewer) {
                    failure = Some(Failure::Spill(list));
                }
            }
            Err(impossible) => {
                failure.get_or_insert(impossible);
            }
        }
    }
    match (best, failure) {
        (Some((_, place)), _) => Ok(place),
        (None, Some(failure)) => Err(failure),
        (None, None) => Ok(vec![None; f.values.len()]),
    }
}

fn highest(f: &MFunc, place: &[Option<u8>]) -> u32 {
    let top =
        |(p, v): (&Option<u8>, &crate::ir::ValueInfo)| p.map_or(0, |p| u32::from(p) + u32::from(v.words));
    place.iter().zip(&f.values).map(top).max().unwrap_or(0)
}

fn too_many(f: &MFunc, live: &Liveness, point: u32) -> BackError {
    let at = point / 2;
    let block = f.order.iter().find(|b| {
        let span = live.spans[b.index()];
        (span.first..=span.term).contains(&at)
    });
    let text = block
        .and_then(|b| {
            let span = live.spans[b.index()];
            f.blocks[b.index()].insts.get((at - span.first) as usize)
        })
        .map_or_else(String::new, |m| m.inst.op.name().to_string());
    BackError::TooManyOperands { function: f.name.clone(), instruction: text }
}

/// How much spilling a value would cost: reads and writes, more in loops, per point that it occupies.
fn weights(f: &MFunc, live: &Liveness) -> Vec<f32> {
    let mut cost = vec![0f32; f.values.len()];
    for &b in &f.order {
        let unit = 10f32.powi(f.loop_depth.get(b.index()).copied().unwrap_or(0).min(6) as i32);
        let mut add = |p: Part| cost[p.value.index()] += unit;
        let block = &f.blocks[b.index()];
        for m in &block.insts {
            m.inst.for_each_use(&mut add);
            m.inst.for_each_def(&mut add);
        }
        term_uses(&block.term, &mut add);
    }
    let cheap = spill::rematerialisable(f);
    (0..f.values.len())
        .map(|i| {
            let value = Value::from(i);
            if f.pinned[i] {
                return 1e30 * (1.0 + f32::from(f.values[i].words));
            }
            let length: u32 =
                live.map.all_of(value).flat_map(|s| &live.segments[s]).map(|s| s.to - s.from).sum();
            let factor = if cheap[i].is_some() { 0.3 } else { 1.0 };
            cost[i] * factor / (length as f32 + 4.0)
        })
        .collect()
}

enum Failure {
    /// These have to leave the registers.
    Spill(Vec<Value>),
    /// One instruction takes more than there is: the point.
    Impossible(u32),
}

/// Segments of one physical register by their start, each with what is to be known about it.
#[derive(Clone)]
struct Track<T>(Vec<(Segment, T)>);

impl<T> Track<T> {
    /// Those that begin before a point; most often all do.
    fn before(&self, point: u32) -> &[(Segment, T)] {
        match self.0.last() {
            Some((last, _)) if last.from >= point => {
                &self.0[..self.0.partition_point(|(s, _)| s.from < point)]
            }
            _ => &self.0,
        }
    }

    /// One that begins where another does takes its place.
    fn insert(&mut self, segment: Segment, what: T) {
        let at = self.before(segment.from).len();
        match self.0.get_mut(at) {
            Some(same) if same.0.from == segment.from => *same = (segment, what),
            _ => self.0.insert(at, (segment, what)),
        }
    }

    fn remove(&mut self, from: u32) {
        let at = self.before(from).len();
        if self.0.get(at).is_some_and(|(s, _)| s.from == from) {
            self.0.remove(at);
        }
    }
}

struct Solver<'a> {
    f: &'a MFunc,
    live: &'a Liveness,
    weights: &'a [f32],
    preferences: Option<&'a Preferences>,
    predicates: bool,
    budget: u32,
    /// A packing with this many registers is of no use.
    useless: u32,
    /// Per physical register: holds, and the value that each does not bind.
    held: Vec<Track<Option<Value>>>,
    /// Per physical register: segments, and whose each is.
    unions: Vec<Track<u32>>,
    /// The same by points.
    taken: Taken,
    place: Vec<Option<u8>>,
}

impl<'a> Solver<'a> {
    fn new(
        f: &'a MFunc,
        live: &'a Liveness,
        weights: &'a [f32],
        preferences: Option<&'a Preferences>,
        predicates: bool,
        budget: u32,
    ) -> Self {
        Solver {
            f,
            live,
            weights,
            preferences,
            predicates,
            budget,
            useless: u32::MAX,
            held: vec![Track(Vec::new()); budget as usize],
            unions: vec![Track(Vec::new()); budget as usize],
            taken: Taken::new(live.points()),
            place: vec![None; f.values.len()],
        }
    }

    /// Has it give up as soon as it is clear that it takes this many registers, with values left that have no place. That is clear when a value is placed that high: without evictions, values
    /// stay where they are. An eviction happens when no place is free, which takes values all over the budget; and as
    /// what evicts a run lies in the same four registers, those at the end of the budget stay in use.
    fn give_up_at(&mut self, registers: u32) {
        if registers + 8 <= self.budget && self.f.values.iter().all(|value| value.words <= 4) {
            self.useless = registers;
        }
    }

    fn width(&self, v: Value) -> u32 {
        u32::from(self.f.values[v.index()].words).max(1)
    }

    fn start_of(&self, v: Value) -> Option<u32> {
        self.live.map.all_of(v).filter_map(|s| self.live.segments[s].first().map(|s| s.from)).min()
    }

    fn length_of(&self, v: Value) -> u32 {
        self.live.map.all_of(v).flat_map(|s| &self.live.segments[s]).map(|s| s.to - s.from).sum()
    }

    fn solve(mut self, strategy: Strategy) -> Result<Vec<Option<u8>>, Failure> {
        let mut queue = BinaryHeap::new();
        let mut keys = vec![(0, 0); self.f.values.len()];
        for (i, key) in keys.iter_mut().enumerate() {
            let v = Value::from(i);
            if (self.f.values[i].words == 0) != self.predicates {
                continue;
            }
            let Some(start) = self.start_of(v) else { continue };
            let first = match strategy {
                Strategy::ByStart => 0,
                Strategy::WideFirst => 4 - self.width(v).min(4),
                Strategy::LongFirst => u32::MAX - self.length_of(v),
            };
            *key = (first, start);
            queue.push(Reverse((*key, i as u32)));
        }
        let mut spilled = Vec::new();
        while let Some(Reverse((_, i))) = queue.pop() {
            let v = Value(i);
            let preferred = self.preferred(v);
            if let Some(base) = preferred.or_else(|| self.free_bases(v).next()) {
                self.put(v, base);
                if base + self.width(v) >= self.useless {
                    break;
                }
                continue;
            }
            match self.cheapest_eviction(v) {
                Some((base, evicted)) => {
                    for e in evicted {
                        self.remove(Value(e));
                        queue.push(Reverse((keys[e as usize], e)));
                    }
                    self.put(v, base);
                }
                None if self.f.pinned[v.index()] => {
                    return Err(Failure::Impossible(self.start_of(v).unwrap_or(0)));
                }
                None => spilled.push(v),
            }
        }
        if spilled.is_empty() { Ok(self.place) } else { Err(Failure::Spill(spilled)) }
    }

    /// Where a run may start, lowest first.
    fn bases(&self, v: Value) -> impl Iterator<Item = u32> {
        self.bases_without(v, |_| 0)
    }

    /// Where a run may start and is free wherever `v` is live.
    fn free_bases(&self, v: Value) -> impl Iterator<Item = u32> {
        self.bases_without(v, move |group| {
            let words = self.live.map.all_of(v).enumerate();
            words.fold(0, |all, (w, slot)| all | self.taken.within(group, &self.live.segments[slot]) >> w)
        })
    }

    /// Where a run may start, without those starts that a function gives for a group of registers. A run does not go over the end of a group, as it is aligned.
    fn bases_without(&self, v: Value, not: impl Fn(u32) -> u64) -> impl Iterator<Item = u32> {
        let width = self.width(v);
        let aligned = match width {
            1 => u64::MAX,
            2 => u64::MAX / 0b11,
            _ => u64::MAX / 0b1111,
        };
        let end = (self.budget + 1).saturating_sub(width);
        let with_stack_pointer = match (self.predicates, width) {
            (true, _) => 0,
            (false, 1) => 1 << STACK_POINTER,
            (false, _) => 1,
        };
        (0..end.div_ceil(GROUP)).flat_map(move |group| {
            let first = group * GROUP;
            let below = u64::MAX >> (first + GROUP).saturating_sub(end);
            let own = if group == 0 { with_stack_pointer } else { 0 };
            ones(aligned & below & !(own | not(group))).map(move |bit| first + bit)
        })
    }

    /// The lowest free place that respects holds, or the next one in the other bank if fewer operands that are read together with `v` are there.
    fn preferred(&self, v: Value) -> Option<u32> {
        let preferences = self.preferences?;
        let fits = |&base: &u32| {
            (self.live.map.all_of(v).enumerate())
                .all(|(w, slot)| self.respects_holds(preferences, v, base as usize + w, slot))
        };
        let low = |&base: &u32| base + self.width(v) <= preferences.below;
        let mut places = self.free_bases(v).take_while(low).filter(fits);
        let lowest = places.next()?;
        let met = self.met(preferences, v, lowest);
        if met == 0 {
            return Some(lowest);
        }
        let apart = |&base: &u32| base % preferences.banks != lowest % preferences.banks;
        let other = places.find(apart).filter(|&base| self.met(preferences, v, base) < met);
        Some(other.unwrap_or(lowest))
    }

    /// Word `slot` of `v` in register `at` is not written while that is held for another, and no other value is written to it while it is held for `v`.
    fn respects_holds(&self, preferences: &Preferences, v: Value, at: usize, slot: usize) -> bool {
        let waits = |s: &Segment| {
            let last = self.held[at].before(s.to).last();
            last.is_none_or(|(hold, result)| hold.to <= s.from || *result == Some(v))
        };
        let disturbed = |hold: &Hold| {
            let last = self.unions[at].before(hold.span.to).last();
            last.is_some_and(|(s, who)| s.to > hold.span.from && hold.result != Some(Value(*who)))
        };
        self.live.segments[slot].iter().all(waits) && !preferences.holds[slot].iter().any(disturbed)
    }

    /// How often `v` at `base` is read together with a word in the same bank. The first word of a run that is not placed yet will be even.
    fn met(&self, preferences: &Preferences, v: Value, base: u32) -> usize {
        if preferences.banks < 2 {
            return 0;
        }
        let same = |b: &&Beside| {
            let placed = self.place[b.other.index()].map(u32::from);
            let place = placed.or_else(|| (self.width(b.other) > 1).then_some(0));
            place.is_some_and(|p| {
                (p + u32::from(b.other_lane)) % preferences.banks
                    == (base + u32::from(b.lane)) % preferences.banks
            })
        };
        preferences.beside[v.index()].iter().filter(same).count()
    }

    fn in_the_way(&self, v: Value, base: u32) -> Vec<u32> {
        let mut found = Vec::new();
        for (w, slot) in self.live.map.all_of(v).enumerate() {
            let union = &self.unions[base as usize + w];
            for s in &self.live.segments[slot] {
                let others = union.before(s.to).iter().rev().take_while(|(other, _)| other.to > s.from);
                for (_, who) in others {
                    if !found.contains(who) {
                        found.push(*who);
                    }
                }
            }
        }
        found
    }

    /// The place whose dearest occupant is cheapest, if all of them are cheaper than `v`.
    fn cheapest_eviction(&self, v: Value) -> Option<(u32, Vec<u32>)> {
        let mine = self.weights[v.index()];
        let mut best: Option<(f32, u32, Vec<u32>)> = None;
        for base in self.bases(v) {
            let others = self.in_the_way(v, base);
            let dearest = others.iter().map(|&o| self.weights[o as usize]).fold(0f32, f32::max);
            if dearest < mine && best.as_ref().is_none_or(|b| dearest < b.0) {
                best = Some((dearest, base, others));
            }
        }
        best.map(|(_, base, others)| (base, others))
    }

    fn put(&mut self, v: Value, base: u32) {
        for (w, slot) in self.live.map.all_of(v).enumerate() {
            for s in &self.live.segments[slot] {
                self.unions[base as usize + w].insert(*s, v.0);
                self.taken.take(base + w as u32, s);
            }
            for hold in self.preferences.iter().flat_map(|preferences| &preferences.holds[slot]) {
                self.held[base as usize + w].insert(hold.span, hold.result);
            }
        }
        self.place[v.index()] = Some(base as u8);
    }

    fn remove(&mut self, v: Value) {
        let Some(base) = self.place[v.index()].take() else { return };
        for (w, slot) in self.live.map.all_of(v).enumerate() {
            for s in &self.live.segments[slot] {
                self.unions[usize::from(base) + w].remove(s.from);
                self.taken.give_back(u32::from(base) + w as u32, s);
            }
            for hold in self.preferences.iter().flat_map(|preferences| &preferences.holds[slot]) {
                self.held[usize::from(base) + w].remove(hold.span.from);
            }
        }
    }
}
