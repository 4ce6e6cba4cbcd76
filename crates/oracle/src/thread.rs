// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread: its frames, how operands are read and written, and the step from one instruction to the next.

use std::collections::HashMap;

use warpwatt_ptx::ast::Space;
use warpwatt_ptx::words::{Mod, Opcode};

use crate::access::ADDRESS;
use crate::alu::{self, Sources};
use crate::bind::{Bound, Formal, Function, Instr, Operand, VariableAddress, function_address};
use crate::contract::Fused;
use crate::float;
use crate::form::{ScalarKind, Ty, extend};
use crate::meet::{Arrival, Collective};
use crate::memory::{self, FUNCTION, Memory};

/// State that all threads of a block share.
pub struct World<'a> {
    pub bound: &'a Bound,
    pub memory: &'a mut Memory,
    pub constants: Vec<u8>,
    pub params: Vec<u8>,
    pub shared: Vec<u8>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cta: [u32; 3],
    /// Instructions that may still run, over all threads.
    pub fuel: u64,
}

#[derive(Clone, Debug)]
pub struct Frame {
    pub function: usize,
    pub pc: usize,
    pub regs: Vec<u64>,
    /// The factors of the latest execution of each product.
    factors: HashMap<usize, [u64; 2]>,
    /// Start of its variables in the thread's local memory.
    base: u64,
}

#[derive(Clone, Debug)]
pub enum State {
    Ready,
    /// At a block barrier.
    Barrier(Arrival),
    /// At an instruction that exchanges values with other lanes.
    Warp(Collective),
    Done,
}

pub struct Thread {
    pub index: u32,
    pub tid: [u32; 3],
    pub frames: Vec<Frame>,
    pub local: Vec<u8>,
    pub state: State,
    carry: bool,
}

/// Where control goes after an instruction.
enum Flow {
    Next,
    Jump(usize),
    /// The program counter is set already, or the thread waits or has ended.
    Settled,
}

struct Reader<'a, 'w> {
    thread: &'a Thread,
    world: &'a World<'w>,
    instr: &'a Instr,
}

/// Values as they are, the destination first.
impl Sources for [u64; 4] {
    fn get(&self, index: usize, ty: Ty) -> Result<u64, String> {
        Ok(self[index] & ty.mask())
    }

    fn count(&self) -> usize {
        3
    }
}

impl Sources for Reader<'_, '_> {
    fn get(&self, index: usize, ty: Ty) -> Result<u64, String> {
        let operand = self.instr.operands.get(index).ok_or("an operand is missing")?;
        self.thread.read(self.world, operand, ty)
    }

    fn count(&self) -> usize {
        self.instr.operands.len() - 1
    }
}

const MAX_DEPTH: usize = 4096;

impl Thread {
    pub fn new(world: &World, kernel: usize, index: u32) -> Thread {
        let [x, y, _] = world.block;
        let mut thread = Thread {
            index,
            tid: [index % x, index / x % y, index / x / y],
            frames: Vec::new(),
            local: Vec::new(),
            state: State::Ready,
            carry: false,
        };
        thread.enter(&world.bound.functions[kernel], kernel);
        thread
    }

    fn enter(&mut self, function: &Function, index: usize) {
        let base = (self.local.len() as u64).next_multiple_of(16);
        self.local.resize((base + function.frame_bytes) as usize, 0);
        self.frames.push(Frame {
            function: index,
            pc: 0,
            regs: vec![0; function.regs.len()],
            factors: HashMap::new(),
            base,
        });
    }

    pub fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    pub fn frame_mut(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Runs until the thread waits or ends.
    pub fn run(&mut self, world: &mut World) -> Result<(), String> {
        let bound = world.bound;
        while matches!(self.state, State::Ready) {
            let function = &bound.functions[self.frame().function];
            let Some(instr) = function.code.get(self.frame().pc) else {
                // Falling off the end returns.
                self.leave(world)?;
                continue;
            };
            world.fuel = world.fuel.checked_sub(1).ok_or("too many instructions")?;
            let holds = match instr.guard {
                Some((slot, negated)) => (self.frame().regs[slot] != 0) != negated,
                None => true,
            };
            let flow = if holds { self.step(world, instr) } else { Ok(Flow::Next) };
            match flow.map_err(|error| format!("{}, line {}: {error}", function.name, instr.line))? {
                Flow::Next => self.frame_mut().pc += 1,
                Flow::Jump(target) => self.frame_mut().pc = target,
                Flow::Settled => {}
            }
        }
        Ok(())
    }

    fn step(&mut self, world: &mut World, instr: &Instr) -> Result<Flow, String> {
        let ops = &instr.operands;
        match instr.op {
            Opcode::Bra => match ops.as_slice() {
                [Operand::Label(target)] => return Ok(Flow::Jump(*target)),
                _ => return Err("a branch needs a label".to_owned()),
            },
            Opcode::Brx => {
                let index = self.read(world, &ops[0], Ty::U32)? as usize;
                let Operand::Table(targets) = &ops[1] else { return Err("brx needs a table".to_owned()) };
                return targets.get(index).map(|&at| Flow::Jump(at)).ok_or("brx beyond its table".to_owned());
            }
            Opcode::Call => return self.call(world, instr),
            Opcode::Ret if self.frames.len() > 1 => {
                self.leave(world)?;
                return Ok(Flow::Settled);
            }
            Opcode::Ret | Opcode::Exit => {
                self.state = State::Done;
                return Ok(Flow::Settled);
            }
            Opcode::Trap => return Err("trap".to_owned()),
            Opcode::Setp => self.setp(world, instr)?,
            Opcode::Set => self.set(world, instr)?,
            Opcode::Testp => self.testp(world, instr)?,
            Opcode::Mov => self.mov(world, instr)?,
            Opcode::Cvta => self.cvta(world, instr)?,
            Opcode::Isspacep => {
                let address = self.read(world, &ops[1], ADDRESS)?;
                let within = window_of(address) == instr.form.space;
                self.write_pred(world, &ops[0], within)?;
            }
            Opcode::Ld | Opcode::Ldu => self.ld(world, instr)?,
            Opcode::St => self.st(world, instr)?,
            Opcode::Atom | Opcode::Red => self.atom(world, instr)?,
            Opcode::Membar
            | Opcode::Fence
            | Opcode::Nanosleep
            | Opcode::Prefetch
            | Opcode::Prefetchu
            | Opcode::Pmevent
            | Opcode::Discard => {}
            Opcode::Bar | Opcode::Barrier | Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux => {
                self.state = self.arrive(world, instr)?;
                return Ok(Flow::Settled);
            }
            _ => self.compute(world, instr)?,
        }
        Ok(Flow::Next)
    }

    fn set(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let (to, from) = (instr.form.types[0], instr.form.ty());
        let holds = self.compared(world, instr, from)?;
        let yes = if to.float() { float::one(to) } else { to.mask() };
        self.write(world, &instr.operands[0], if holds { yes } else { 0 }, to)
    }

    fn testp(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let ty = instr.form.ty();
        let words = [Mod::Finite, Mod::Infinite, Mod::Number, Mod::Notanumber, Mod::Normal, Mod::Subnormal];
        let word = instr.form.one_of(&words).ok_or("testp without a property")?;
        let holds = float::property(word, self.read(world, &instr.operands[1], ty)?, ty) == Some(true);
        self.write_pred(world, &instr.operands[0], holds)
    }

    fn cvta(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let window = window(instr.form.space);
        let address = self.read(world, &instr.operands[1], instr.form.ty())?;
        let to_space = instr.form.has(Mod::To);
        let moved = if to_space { address.wrapping_sub(window) } else { address.wrapping_add(window) };
        self.write(world, &instr.operands[0], moved, instr.form.ty())
    }

    /// Arithmetic and logic. The factors of a product are kept for a sum that it is contracted with.
    fn compute(&mut self, world: &mut World, instr: &Instr) -> Result<(), String> {
        let ops = &instr.operands;
        let mut carry = self.carry;
        let reader = Reader { thread: self, world, instr };
        let fused = world.bound.functions[self.frame().function].fused.get(&self.frame().pc);
        let result = match fused {
            Some(fused) => self.fused(world, instr, *fused)?,
            None => alu::evaluate(instr, &reader, &mut carry)?,
        };
        if instr.op == Opcode::Mul && instr.form.ty().float() {
            let ty = instr.form.ty();
            let factors = [self.read(world, &ops[1], ty)?, self.read(world, &ops[2], ty)?];
            let pc = self.frame().pc;
            self.frame_mut().factors.insert(pc, factors);
        }
        let Some((value, ty)) = result else {
            return Err(format!("{:?} is not known to the oracle", instr.op));
        };
        self.carry = carry;
        self.write(world, &ops[0], value, ty)
    }

    /// A sum as a fused multiply-add.
    fn fused(&self, world: &World, instr: &Instr, fused: Fused) -> Result<Option<(u64, Ty)>, String> {
        let ty = instr.form.ty();
        let signs = (0..ty.lanes).fold(0, |signs, lane| signs | 1 << ((lane + 1) * ty.bits - 1));
        let factors = self.frame().factors.get(&fused.product).ok_or("a sum without its product")?;
        let addend = self.read(world, &instr.operands[3 - fused.operand], ty)?;
        let second_is_negative = instr.op == Opcode::Sub;
        let flip = fused.negated ^ (second_is_negative && fused.operand == 2);
        let [a, b] = *factors;
        let a = if flip { a ^ signs } else { a };
        let c = if second_is_negative && fused.operand == 1 { addend ^ signs } else { addend };
        let fma = Instr { op: Opcode::Fma, ..instr.clone() };
        alu::evaluate(&fma, &[0, a, b, c], &mut false)
    }

    /// The comparison of `set` or `setp` with its boolean operator.
    fn compared(&self, world: &World, instr: &Instr, ty: Ty) -> Result<bool, String> {
        let ops = &instr.operands;
        let compared =
            alu::compare(&instr.form, ty, self.read(world, &ops[1], ty)?, self.read(world, &ops[2], ty)?)?;
        match ops.get(3) {
            Some(with) => Ok(alu::combine(&instr.form, compared, self.read_pred(world, with)?)),
            None => Ok(compared),
        }
    }

    fn setp(&mut self, world: &World, instr: &Instr) -> Result<(), String> {
        let ty = instr.form.ty();
        let ops = &instr.operands;
        if ty.lanes == 2 {
            return Err("setp on packed values".to_owned());
        }
        let compared =
            alu::compare(&instr.form, ty, self.read(world, &ops[1], ty)?, self.read(world, &ops[2], ty)?)?;
        let with = ops.get(3).map(|with| self.read_pred(world, with)).transpose()?;
        let combined = |holds| with.map_or(holds, |with| alu::combine(&instr.form, holds, with));
        match &ops[0] {
            Operand::Pair(first, second) => {
                self.write_pred(world, first, combined(compared))?;
                self.write_pred(world, second, combined(!compared))
            }
            single => self.write_pred(world, single, combined(compared)),
        }
    }

    fn mov(&mut self, world: &World, instr: &Instr) -> Result<(), String> {
        let ty = instr.form.ty();
        match (&instr.operands[0], &instr.operands[1]) {
            (Operand::Vector(parts), whole) => {
                let value = self.read(world, whole, ty)?;
                let bits = ty.bits / parts.len() as u32;
                let part = Ty { kind: ScalarKind::Bits, bits, lanes: 1 };
                parts.iter().enumerate().try_for_each(|(index, operand)| {
                    self.write(world, operand, value >> (bits * index as u32) & part.mask(), part)
                })
            }
            (whole, Operand::Vector(parts)) => {
                let bits = ty.bits / parts.len() as u32;
                let part = Ty { kind: ScalarKind::Bits, bits, lanes: 1 };
                let mut value = 0;
                for (index, operand) in parts.iter().enumerate() {
                    value |= (self.read(world, operand, part)? & part.mask()) << (bits * index as u32);
                }
                self.write(world, whole, value, ty)
            }
            (to, from) => {
                let value = self.read(world, from, ty)?;
                self.write(world, to, value, ty)
            }
        }
    }

    /// Reads an operand as a value of `ty`: literals are brought to that type, registers give their low bits.
    pub fn read(&self, world: &World, operand: &Operand, ty: Ty) -> Result<u64, String> {
        let value = match operand {
            Operand::Reg(slot) => self.frame().regs[*slot],
            Operand::Int(value) if ty.float() && ty.lanes == 1 => {
                let nearest = rustc_apfloat::Round::NearestTiesToEven;
                float::from_integer(i128::from(*value as i64), ty, nearest)
            }
            Operand::Int(value) => *value,
            Operand::F32(bits) if ty == Ty::F64 => f64::from(f32::from_bits(*bits)).to_bits(),
            Operand::F32(bits) => u64::from(*bits),
            Operand::F64(bits) if ty == Ty::F32 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            Operand::F64(bits) => *bits,
            Operand::Not(inner) => self.read(world, inner, ty)? ^ 1,
            Operand::Neg(inner) => self.read(world, inner, ty)?.wrapping_neg(),
            Operand::Special(name, member) => self.special(world, name, *member)?,
            Operand::Var(place, offset) => self.address_of(world, *place).wrapping_add(*offset as u64),
            Operand::Function(index) => function_address(*index),
            other => return Err(format!("this operand has no value: {other:?}")),
        };
        Ok(value & ty.mask())
    }

    pub fn read_pred(&self, world: &World, operand: &Operand) -> Result<bool, String> {
        Ok(self.read(world, operand, Ty { kind: ScalarKind::Pred, bits: 1, lanes: 1 })? != 0)
    }

    /// Writes a value of `ty`: a wider register is filled by extending it.
    pub fn write(&mut self, world: &World, operand: &Operand, value: u64, ty: Ty) -> Result<(), String> {
        match operand {
            Operand::Sink => Ok(()),
            Operand::Reg(slot) => {
                let frame = self.frame_mut();
                let width = world.bound.functions[frame.function].regs[*slot];
                let extended = if ty.signed() { extend(value, ty.bits) as u64 } else { value };
                frame.regs[*slot] = extended & width.mask();
                Ok(())
            }
            Operand::Pair(first, _) => self.write(world, first, value, ty),
            other => Err(format!("cannot write to {other:?}")),
        }
    }

    pub fn write_pred(&mut self, world: &World, operand: &Operand, value: bool) -> Result<(), String> {
        self.write(world, operand, u64::from(value), Ty { kind: ScalarKind::Pred, bits: 1, lanes: 1 })
    }

    pub fn address_of(&self, world: &World, place: VariableAddress) -> u64 {
        match place {
            VariableAddress::Shared(u64::MAX) => world.bound.dynamic_shared,
            VariableAddress::Global(at)
            | VariableAddress::Const(at)
            | VariableAddress::Shared(at)
            | VariableAddress::KernelParam(at) => at,
            VariableAddress::Frame(at) => self.frame().base + at,
        }
    }

    fn special(&self, world: &World, name: &str, member: u8) -> Result<u64, String> {
        let of = |vector: [u32; 3]| vector.get(usize::from(member)).copied().unwrap_or(0);
        let lane = self.index % 32;
        Ok(u64::from(match name {
            "%tid" => of(self.tid),
            "%ntid" => of(world.block),
            "%ctaid" => of(world.cta),
            "%nctaid" => of(world.grid),
            "%laneid" => lane,
            "%warpid" => self.index / 32,
            "%nwarpid" => world.block.iter().product::<u32>().div_ceil(32),
            "%lanemask_eq" => 1 << lane,
            "%lanemask_lt" => (1 << lane) - 1,
            "%lanemask_le" => u32::MAX >> (31 - lane),
            "%lanemask_gt" => !(u32::MAX >> (31 - lane)),
            "%lanemask_ge" => !((1 << lane) - 1),
            _ => return Err(format!("special register {name}")),
        }))
    }

    /// Calls: arguments are copied into the callee's parameters.
    fn call(&mut self, world: &mut World, instr: &Instr) -> Result<Flow, String> {
        let (returns, callee, args) = split_call(instr)?;
        if let Operand::Special(name, _) = callee
            && name == "__ww_fchk"
        {
            let unsafe_to_divide =
                fchk(self.read(world, &args[0], Ty::F32)?, self.read(world, &args[1], Ty::F32)?);
            self.write_pred(world, &returns[0], unsafe_to_divide)?;
            return Ok(Flow::Next);
        }
        let index = match callee {
            Operand::Function(index) => *index,
            register @ Operand::Reg(_) => {
                let address = self.read(world, register, ADDRESS)?;
                (address.wrapping_sub(FUNCTION) / 16) as usize
            }
            other => return Err(format!("cannot call {other:?}")),
        };
        let function = world.bound.functions.get(index).ok_or("a call to no function")?;
        if self.frames.len() >= MAX_DEPTH {
            return Err("calls too deep".to_owned());
        }
        let mut values = Vec::new();
        for (formal, arg) in function.params.iter().zip(args) {
            values.push(self.argument(world, function, *formal, arg)?);
        }
        self.enter(function, index);
        for (formal, value) in function.params.iter().zip(values) {
            match *formal {
                Formal::Reg(slot) => self.frame_mut().regs[slot] = memory::load(&value),
                Formal::Bytes { place, size } => {
                    let at = self.address_of(world, place);
                    self.local_bytes(at, size)?.copy_from_slice(&value);
                }
            }
        }
        Ok(Flow::Settled)
    }

    /// The bytes of an argument: a `.param` variable, or a register or literal.
    fn argument(
        &mut self,
        world: &World,
        to: &Function,
        formal: Formal,
        arg: &Operand,
    ) -> Result<Vec<u8>, String> {
        let size = match formal {
            Formal::Reg(_) => 8,
            Formal::Bytes { size, .. } => size,
        };
        if let Operand::Var(place @ VariableAddress::Frame(_), offset) = arg {
            let at = self.address_of(world, *place).wrapping_add(*offset as u64);
            return self.local_bytes(at, size).map(|bytes| bytes.to_vec());
        }
        let ty = match formal {
            Formal::Reg(slot) => to.regs[slot],
            Formal::Bytes { .. } => Ty { kind: ScalarKind::Bits, bits: 64, lanes: 1 },
        };
        let value = self.read(world, arg, ty)?;
        Ok(value.to_le_bytes()[..size.min(8) as usize].to_vec())
    }

    /// Returns from the function: its results go to the operands of the call, which the caller's program counter still points at.
    fn leave(&mut self, world: &World) -> Result<(), String> {
        let function = &world.bound.functions[self.frame().function];
        if self.frames.len() == 1 {
            self.state = State::Done;
            return Ok(());
        }
        let mut results = Vec::new();
        for formal in &function.returns {
            results.push(match *formal {
                Formal::Reg(slot) => self.frame().regs[slot].to_le_bytes().to_vec(),
                Formal::Bytes { place, size } => {
                    let at = self.address_of(world, place);
                    self.local_bytes(at, size)?.to_vec()
                }
            });
        }
        let base = self.frame().base;
        self.frames.pop();
        self.local.truncate(base as usize);
        let caller = &world.bound.functions[self.frame().function];
        let (returns, _, _) = split_call(&caller.code[self.frame().pc])?;
        for (operand, bytes) in returns.iter().zip(results) {
            if let Operand::Var(place, offset) = operand {
                let at = self.address_of(world, *place).wrapping_add(*offset as u64);
                self.local_bytes(at, bytes.len() as u64)?.copy_from_slice(&bytes);
            } else {
                let value = memory::load(&bytes[..bytes.len().min(8)]);
                self.write(world, operand, value, Ty { kind: ScalarKind::Bits, bits: 64, lanes: 1 })?;
            }
        }
        self.frame_mut().pc += 1;
        Ok(())
    }

    pub fn local_bytes(&mut self, at: u64, len: u64) -> Result<&mut [u8], String> {
        memory::slice(&mut self.local, at, len).ok_or_else(|| format!("local address {at:#x} (+{len})"))
    }
}

/// Results, callee and arguments of a call.
fn split_call(instr: &Instr) -> Result<(&[Operand], &Operand, &[Operand]), String> {
    let ops = instr.operands.as_slice();
    let (returns, rest) = match ops {
        [Operand::Group(returns), rest @ ..] => (returns.as_slice(), rest),
        rest => (&[][..], rest),
    };
    let (callee, rest) = rest.split_first().ok_or("a call to nothing")?;
    let args = match rest {
        [Operand::Group(args), ..] => args.as_slice(),
        _ => &[],
    };
    Ok((returns, callee, args))
}

/// Whether the quick sequence for a / b might not be exact: special or subnormal operands, or exponents near the ends of their range.
fn fchk(a: u64, b: u64) -> bool {
    let exponent = |raw: u64| (raw >> 23 & 0xff) as i32;
    let (a, b) = (exponent(a), exponent(b));
    let quotient = a - b;
    !(32..255).contains(&a) || !(1..=252).contains(&b) || !(-120..=120).contains(&quotient)
}

/// Where the window of a space begins in generic addresses; global memory is itself.
pub fn window(space: Option<Space>) -> u64 {
    match space {
        Some(Space::Shared) => memory::SHARED,
        Some(Space::Local) => memory::LOCAL,
        Some(Space::Const) => memory::CONST,
        Some(Space::Param) => memory::PARAM,
        _ => 0,
    }
}

/// The space that a generic address lies in.
pub fn window_of(address: u64) -> Option<Space> {
    let windows = [
        (memory::SHARED, Space::Shared),
        (memory::LOCAL, Space::Local),
        (memory::CONST, Space::Const),
        (memory::PARAM, Space::Param),
    ];
    let found = windows.into_iter().find(|(base, _)| (*base..base + memory::WINDOW).contains(&address));
    Some(found.map_or(Space::Global, |(_, space)| space))
}
