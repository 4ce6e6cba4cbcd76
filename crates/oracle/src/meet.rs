// SPDX-License-Identifier: MIT OR Apache-2.0
//! Synchronisation of threads: block barriers, and the instructions by which the lanes of a warp exchange values.

use warpwatt_ptx::words::{Mod, Opcode};

use crate::bind::{Instr, Operand};
use crate::form::{ScalarKind, Ty};
use crate::integer as int;
use crate::thread::{State, Thread, World};

#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub barrier: u32,
    /// Threads that must come; all that still run if absent.
    pub count: Option<u32>,
    /// `.arrive`: does not wait.
    pub passes: bool,
    pub predicate: bool,
}

#[derive(Clone, Debug)]
pub struct Collective {
    pub op: Opcode,
    pub mask: u32,
    pub value: u64,
    /// Lane or distance and clamp of a shuffle.
    pub lane: u32,
    pub clamp: u32,
    pub predicate: bool,
}

const PREDICATE: Ty = Ty { kind: ScalarKind::Pred, bits: 1, lanes: 1 };

impl Thread {
    /// The instruction at which the thread now waits; its program counter stays there.
    pub fn arrive(&mut self, world: &World, instr: &Instr) -> Result<State, String> {
        let (form, ops) = (&instr.form, &instr.operands);
        let word = |index: usize| self.read(world, &ops[index], Ty::U32).map(|value| value as u32);
        let sync = form.has(Mod::Sync);
        let mut wait =
            Collective { op: instr.op, mask: u32::MAX, value: 0, lane: 0, clamp: 0, predicate: false };
        match instr.op {
            Opcode::Bar | Opcode::Barrier if form.has(Mod::Warp) => wait.mask = word(0)?,
            Opcode::Bar | Opcode::Barrier => {
                let reduces = form.has(Mod::Red);
                // A reduction writes its result first and takes a predicate last.
                let first = usize::from(reduces);
                let last = ops.len() - usize::from(reduces);
                let arrival = Arrival {
                    barrier: word(first)?,
                    count: (last > first + 1).then(|| word(first + 1)).transpose()?,
                    passes: form.has(Mod::Arrive),
                    predicate: reduces && self.read_pred(world, &ops[last])?,
                };
                return Ok(State::Barrier(arrival));
            }
            Opcode::Shfl => {
                wait.value = self.read(world, &ops[1], Ty::B32)?;
                wait.lane = word(2)?;
                wait.clamp = word(3)?;
                if sync {
                    wait.mask = word(4)?;
                }
            }
            Opcode::Vote => {
                wait.predicate = self.read(world, &ops[1], PREDICATE)? != 0;
                if sync {
                    wait.mask = word(2)?;
                }
            }
            Opcode::Match | Opcode::Redux => {
                wait.value = self.read(world, &ops[1], form.ty())?;
                wait.mask = word(2)?;
            }
            _ => return Err(format!("{:?} is no meeting", instr.op)),
        }
        Ok(State::Warp(wait))
    }

    fn current<'w>(&self, world: &World<'w>) -> &'w Instr {
        let frame = self.frame();
        &world.bound.functions[frame.function].code[frame.pc]
    }

    fn go_on(&mut self) {
        self.state = State::Ready;
        self.frame_mut().pc += 1;
    }
}

/// Opens every barrier at which enough threads are; true if one opened.
pub fn open_barriers(world: &World, threads: &mut [Thread], passed: &mut [u32; 16]) -> Result<bool, String> {
    let mut opened = false;
    for thread in threads.iter_mut() {
        if let State::Barrier(arrival) = &thread.state
            && arrival.passes
        {
            let slot = passed.get_mut(arrival.barrier as usize).ok_or("barriers are numbered 0 to 15")?;
            *slot += 1;
            thread.go_on();
            opened = true;
        }
    }
    let running = threads.iter().filter(|thread| !matches!(thread.state, State::Done)).count() as u32;
    for barrier in 0..16 {
        let at = |thread: &Thread| match &thread.state {
            State::Barrier(arrival) if arrival.barrier == barrier => Some(*arrival),
            _ => None,
        };
        let waiting: Vec<Arrival> = threads.iter().filter_map(at).collect();
        let Some(first) = waiting.first() else { continue };
        let count = waiting.len() as u32 + passed[barrier as usize];
        if count < first.count.unwrap_or(running) {
            continue;
        }
        let votes = waiting.iter().filter(|arrival| arrival.predicate).count() as u32;
        passed[barrier as usize] = 0;
        opened = true;
        for thread in threads.iter_mut().filter(|thread| at(thread).is_some()) {
            let instr = thread.current(world);
            if instr.form.has(Mod::Red) {
                let result = match instr.form.one_of(&[Mod::Popc, Mod::And, Mod::Or]) {
                    Some(Mod::And) => u32::from(votes == waiting.len() as u32),
                    Some(Mod::Or) => u32::from(votes > 0),
                    _ => votes,
                };
                let ty = if instr.form.has(Mod::Popc) { Ty::U32 } else { PREDICATE };
                thread.write(world, &instr.operands[0], u64::from(result), ty)?;
            }
            thread.go_on();
        }
    }
    Ok(opened)
}

/// Runs every exchange in a warp whose lanes have all come; true if one ran.
pub fn exchange(world: &World, warp: &mut [Thread]) -> Result<bool, String> {
    let alive = lanes(warp, |thread| !matches!(thread.state, State::Done));
    let mut ran = false;
    for lane in 0..warp.len() {
        let State::Warp(mine) = &warp[lane].state else { continue };
        let (op, members) = (mine.op, mine.mask & alive);
        let come = lanes(warp, |thread| matches!(&thread.state, State::Warp(wait) if wait.op == op));
        if members & 1 << lane == 0 {
            return Err("a lane is not in its own member mask".to_owned());
        }
        if members & !come != 0 {
            continue;
        }
        let waits: Vec<Option<Collective>> = warp
            .iter()
            .map(|thread| if let State::Warp(wait) = &thread.state { Some(wait.clone()) } else { None })
            .collect();
        for (index, thread) in warp.iter_mut().enumerate() {
            if members >> index & 1 == 1 {
                deliver(world, thread, index as u32, members, &waits)?;
            }
        }
        ran = true;
    }
    Ok(ran)
}

fn lanes(warp: &[Thread], holds: impl Fn(&Thread) -> bool) -> u32 {
    warp.iter().enumerate().fold(0, |mask, (lane, thread)| mask | u32::from(holds(thread)) << lane)
}

/// Gives one lane its result and lets it go on.
fn deliver(
    world: &World,
    thread: &mut Thread,
    lane: u32,
    members: u32,
    waits: &[Option<Collective>],
) -> Result<(), String> {
    let instr = thread.current(world);
    let (form, ops) = (&instr.form, &instr.operands);
    let of = |lane: u32| waits.get(lane as usize).and_then(Option::as_ref);
    let mine = of(lane).ok_or("a lane that does not wait")?;
    let each = || (0..32).filter(|lane| members >> lane & 1 == 1).filter_map(|lane| Some((lane, of(lane)?)));
    match instr.op {
        Opcode::Bar | Opcode::Barrier => {}
        Opcode::Shfl => {
            let (from, in_range) =
                shuffle_source(form.one_of(&[Mod::Up, Mod::Down, Mod::Bfly, Mod::Idx]), lane, mine)?;
            // What is read from a lane that is not there is open; as on hardware, it is 0.
            let value = of(from).filter(|_| members >> from & 1 == 1).map_or(0, |wait| wait.value);
            let (to, flag) = match &ops[0] {
                Operand::Pair(to, flag) => (to.as_ref(), Some(flag.as_ref())),
                to => (to, None),
            };
            thread.write(world, to, value, Ty::B32)?;
            if let Some(flag) = flag {
                thread.write_pred(world, flag, in_range)?;
            }
        }
        Opcode::Vote => {
            let ballot =
                each().filter(|(_, wait)| wait.predicate).fold(0, |mask, (lane, _)| mask | 1u32 << lane);
            let holds = match form.one_of(&[Mod::All, Mod::Any, Mod::Uni, Mod::Ballot]) {
                Some(Mod::Ballot) => {
                    thread.write(world, &ops[0], u64::from(ballot), Ty::B32)?;
                    thread.go_on();
                    return Ok(());
                }
                Some(Mod::All) => ballot == members,
                Some(Mod::Any) => ballot != 0,
                _ => ballot == members || ballot == 0,
            };
            thread.write_pred(world, &ops[0], holds)?;
        }
        Opcode::Match => {
            let equal = each()
                .filter(|(_, wait)| wait.value == mine.value)
                .fold(0, |mask, (lane, _)| mask | 1u32 << lane);
            let all = equal == members;
            let result = if form.has(Mod::All) && !all { 0 } else { equal };
            thread.write(world, &ops[0], u64::from(result), Ty::B32)?;
            if let Operand::Pair(_, flag) = &ops[0] {
                thread.write_pred(world, flag, all)?;
            }
        }
        Opcode::Redux => {
            let ty = form.ty();
            let word = form.one_of(&[Mod::Add, Mod::Min, Mod::Max, Mod::And, Mod::Or, Mod::Xor]);
            let reduced = each().map(|(_, wait)| wait.value).reduce(|a, b| {
                let (x, y) = (int::value(a, ty), int::value(b, ty));
                match word {
                    Some(Mod::Add) => a.wrapping_add(b),
                    Some(Mod::Min) => x.min(y) as u64,
                    Some(Mod::Max) => x.max(y) as u64,
                    Some(Mod::And) => a & b,
                    Some(Mod::Or) => a | b,
                    _ => a ^ b,
                }
            });
            thread.write(world, &ops[0], reduced.unwrap_or(0) & ty.mask(), ty)?;
        }
        _ => return Err(format!("{:?} is no exchange", instr.op)),
    }
    thread.go_on();
    Ok(())
}

/// The lane a shuffle reads, and whether it was within the segment (PTX ISA, `shfl.sync`).
fn shuffle_source(mode: Option<Mod>, lane: u32, wait: &Collective) -> Result<(u32, bool), String> {
    let (amount, clamp, segment) = (wait.lane & 31, wait.clamp & 31, wait.clamp >> 8 & 31);
    let highest = (lane & segment) | (clamp & !segment);
    let (from, in_range) = match mode {
        Some(Mod::Up) => {
            let from = i64::from(lane) - i64::from(amount);
            (from, from >= i64::from(highest))
        }
        Some(Mod::Down) => (i64::from(lane + amount), lane + amount <= highest),
        Some(Mod::Bfly) => (i64::from(lane ^ amount), lane ^ amount <= highest),
        Some(Mod::Idx) => {
            let from = (lane & segment) | (amount & !segment);
            (i64::from(from), from <= highest)
        }
        _ => return Err("a shuffle without its mode".to_owned()),
    };
    Ok(if in_range { (from as u32, true) } else { (lane, false) })
}
