// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coalescing: registers joined by copies become one where their lives do not interfere, words of wide registers included.
//!
//! Two registers interfere when one is written while the other is live, unless the write copies that other (Chaitin et al., "Register Allocation via
//! Coloring"). Classes of joined registers keep the offset of every member, so that a single word may live in the middle of a run.

use rustc_hash::FxHashMap;
use warpwatt_isa::Op;

use super::liveness::{Liveness, Segment, contains, union};
use super::machine::{MFunc, copied};
use crate::ir::{Inst, Opnd, Part, PredUse, Value, ValueInfo};

/// One write of a class word.
#[derive(Clone, Copy)]
struct Write {
    point: u32,
    what: Written,
}

#[derive(Clone, Copy)]
enum Written {
    Something,
    Copy(Value, u8),
    /// Nothing is written at all.
    Undefined,
}

#[derive(Clone, Default)]
struct Word {
    live: Vec<Segment>,
    writes: Vec<Write>,
}

struct Class {
    members: Vec<(Value, u8)>,
    words: Vec<Word>,
    predicate: bool,
}

struct Coalescer {
    classes: Vec<Option<Class>>,
    /// Class of a value and the word at which it starts there.
    home: Vec<(u32, u8)>,
    sizes: Vec<u8>,
}

/// Joins what can be joined, renames the function to classes and drops the copies that became idle.
pub(super) fn run(f: &mut MFunc) {
    let live = Liveness::of(f);
    let mut candidates: Vec<(u32, Part, Part)> = Vec::new();
    let mut writes: Vec<Vec<Write>> = vec![Vec::new(); live.map.len()];
    for &b in &f.order {
        let depth = f.loop_depth.get(b.index()).copied().unwrap_or(0);
        for (k, m) in f.blocks[b.index()].insts.iter().enumerate() {
            let point = 2 * (live.spans[b.index()].first + k as u32) + 1;
            let copy = copied(&m.inst);
            if let Some((d, s)) = copy {
                candidates.push((depth, d, s));
            }
            m.inst.for_each_def(|d| {
                for (i, slot) in live.map.slots(d).enumerate() {
                    let what = match copy {
                        Some((_, s)) => Written::Copy(s.value, s.lane + i as u8),
                        None if m.inst.op == Op::Undef => Written::Undefined,
                        None => Written::Something,
                    };
                    writes[slot].push(Write { point, what });
                }
            });
        }
    }
    let mut c = Coalescer {
        classes: Vec::with_capacity(f.values.len()),
        home: (0..f.values.len() as u32).map(|i| (i, 0)).collect(),
        sizes: f.values.iter().map(|v| v.words).collect(),
    };
    let mut segments = live.segments;
    for i in 0..f.values.len() {
        let value = Value::from(i);
        let words = live
            .map
            .all_of(value)
            .map(|s| Word { live: std::mem::take(&mut segments[s]), writes: std::mem::take(&mut writes[s]) })
            .collect();
        let predicate = f.values[i].words == 0;
        c.classes.push(Some(Class { members: vec![(value, 0)], words, predicate }));
    }
    candidates.sort_by_key(|&(depth, ..)| std::cmp::Reverse(depth));
    for (_, d, s) in candidates {
        c.join(d, s);
    }
    c.rename(f);
}

fn alignment(words: u8) -> i32 {
    match words {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    }
}

impl Coalescer {
    fn join(&mut self, d: Part, s: Part) {
        let (cd, od) = self.home[d.value.index()];
        let (cs, os) = self.home[s.value.index()];
        if cd == cs {
            return;
        }
        let (Some(a), Some(b)) = (&self.classes[cd as usize], &self.classes[cs as usize]) else { return };
        if a.predicate != b.predicate {
            return;
        }
        // Word w of class b is word w + shift of class a.
        let shift = i32::from(od + d.lane) - i32::from(os + s.lane);
        let base = shift.min(0);
        let width = (a.words.len() as i32).max(b.words.len() as i32 + shift) - base;
        if width > 4 {
            return;
        }
        let aligned = |class: &Class, by: i32| {
            class.members.iter().all(|&(v, o)| (i32::from(o) + by) % alignment(self.sizes[v.index()]) == 0)
        };
        if !aligned(a, -base) || !aligned(b, shift - base) {
            return;
        }
        for (w, word) in b.words.iter().enumerate() {
            let other = w as i32 + shift;
            if other < 0 || other >= a.words.len() as i32 {
                continue;
            }
            let mine = &a.words[other as usize];
            if self.clash(mine, cs, w as u8, &word.live) || self.clash(word, cd, other as u8, &mine.live) {
                return;
            }
        }
        let (Some(a), Some(b)) = (self.classes[cd as usize].take(), self.classes[cs as usize].take()) else {
            return;
        };
        let mut words = vec![Word::default(); width as usize];
        let mut members = Vec::with_capacity(a.members.len() + b.members.len());
        for (class, by) in [(&a, -base), (&b, shift - base)] {
            for &(v, o) in &class.members {
                let at = (i32::from(o) + by) as u8;
                members.push((v, at));
                self.home[v.index()] = (cd, at);
            }
            for (w, word) in class.words.iter().enumerate() {
                let into = &mut words[(w as i32 + by) as usize];
                into.live = union(&into.live, &word.live);
                into.writes.extend_from_slice(&word.writes);
            }
        }
        self.classes[cd as usize] = Some(Class { members, words, predicate: a.predicate });
    }

    /// A write of `word` changes word `at` of `other` while that is live.
    fn clash(&self, word: &Word, other: u32, at: u8, live: &[Segment]) -> bool {
        word.writes.iter().any(|w| {
            let excused = match w.what {
                Written::Undefined => true,
                Written::Something => false,
                Written::Copy(v, lane) => {
                    let (class, offset) = self.home[v.index()];
                    class == other && offset + lane == at
                }
            };
            !excused && contains(live, w.point)
        })
    }

    fn rename(&self, f: &mut MFunc) {
        let mut names: FxHashMap<u32, Value> = FxHashMap::default();
        let mut values = Vec::new();
        for (i, class) in self.classes.iter().enumerate() {
            if let Some(class) = class {
                names.insert(i as u32, Value::from(values.len()));
                let words = if class.predicate {
                    0
                } else {
                    // Three registers are aligned as four; so is a run that has such a member.
                    class.words.len() as u8
                };
                values.push(ValueInfo { words });
            }
        }
        let part = |p: Part| {
            let (class, offset) = self.home[p.value.index()];
            Part { value: names[&class], lane: p.lane + offset, words: p.words }
        };
        for block in &mut f.blocks {
            for m in &mut block.insts {
                rename(&mut m.inst, &part);
            }
            rename_term(&mut block.term, &part);
            block.insts.retain(|m| !copied(&m.inst).is_some_and(|(d, s)| d == s));
        }
        f.pinned = vec![false; values.len()];
        f.values = values;
    }
}

/// Renames every operand; a renaming may move a word within a run.
pub(super) fn rename(inst: &mut Inst, part: &impl Fn(Part) -> Part) {
    let pred = |p: &mut PredUse| {
        if let Some(value) = p.value {
            p.value = Some(part(Part { value, lane: 0, words: 0 }).value);
        }
    };
    pred(&mut inst.guard);
    inst.psrc.iter_mut().for_each(&pred);
    inst.pkeep.iter_mut().flatten().for_each(&pred);
    for src in inst.srcs.iter_mut().chain([&mut inst.keep]) {
        if let Opnd::Value(p) = src {
            *p = part(*p);
        }
    }
    if let Some(d) = &mut inst.dst {
        *d = part(*d);
    }
    for p in inst.pdst.iter_mut().flatten() {
        *p = part(Part { value: *p, lane: 0, words: 0 }).value;
    }
}

pub(super) fn rename_term(term: &mut crate::ir::Term, part: &impl Fn(Part) -> Part) {
    use crate::ir::Term;
    match term {
        Term::Branch { cond, .. } => {
            if let Some(value) = cond.value {
                cond.value = Some(part(Part { value, lane: 0, words: 0 }).value);
            }
        }
        Term::Table { index: Opnd::Value(p), .. } => *p = part(*p),
        _ => {}
    }
}
