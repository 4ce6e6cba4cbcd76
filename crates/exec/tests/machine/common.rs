// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small assembler for programs that tests build by hand, and a device to run them on.

use std::collections::HashMap;
use std::sync::Arc;

use warpwatt_exec::lanes::Level;
use warpwatt_exec::{Failure, GridLaunch, GridStats, Image, Options, Services, run};
use warpwatt_isa::*;
use warpwatt_memory::DeviceMemory;

pub fn r(n: u8) -> Src {
    Src::Reg(Reg(n))
}

pub fn imm(value: i32) -> Src {
    Src::Imm(value as u32)
}

/// Word `n` of the parameters.
pub fn param(n: u16) -> Src {
    Src::Const { bank: 0, offset: bank0::PARAMS + 4 * n }
}

pub const RZ: Src = Src::Reg(Reg::ZERO);

#[derive(Default)]
pub struct Asm {
    pub program: Program,
    labels: HashMap<&'static str, u32>,
    fixups: Vec<(usize, Option<&'static str>, Option<&'static str>)>,
    guard: Option<PredSrc>,
}

impl Asm {
    pub fn new(sm: u32) -> Asm {
        Asm {
            program: Program { name: "test".into(), registers: 32, sm, ..Program::default() },
            ..Asm::default()
        }
    }

    pub fn here(&self) -> u32 {
        self.program.uops.len() as u32
    }

    pub fn label(&mut self, name: &'static str) -> &mut Asm {
        let old = self.labels.insert(name, self.here());
        assert!(old.is_none(), "label {name} twice");
        self
    }

    pub fn pc(&self, name: &str) -> u32 {
        self.labels[name]
    }

    /// Guards the next micro-op.
    pub fn when(&mut self, pred: u8) -> &mut Asm {
        self.guard = Some(PredSrc { pred: Pred(pred), negated: false });
        self
    }

    pub fn unless(&mut self, pred: u8) -> &mut Asm {
        self.guard = Some(PredSrc { pred: Pred(pred), negated: true });
        self
    }

    pub fn put(&mut self, mut uop: Uop) -> &mut Asm {
        uop.guard = self.guard.take().unwrap_or(uop.guard);
        uop.loc = self.here();
        self.program.uops.push(uop);
        self
    }

    pub fn op(&mut self, op: Op, ty: Ty, dst: u8, src: &[Src]) -> &mut Asm {
        let mut uop = Uop::new(op, ty);
        uop.dst = Reg(dst);
        uop.src[..src.len()].copy_from_slice(src);
        self.put(uop)
    }

    pub fn mov(&mut self, dst: u8, a: Src) -> &mut Asm {
        self.op(Op::Mov, Ty::U32, dst, &[a])
    }

    pub fn add(&mut self, dst: u8, a: Src, b: Src) -> &mut Asm {
        self.op(Op::Iadd3, Ty::U32, dst, &[a, b, RZ])
    }

    pub fn mad(&mut self, dst: u8, a: Src, b: Src, c: Src) -> &mut Asm {
        self.op(Op::Imad, Ty::U32, dst, &[a, b, c])
    }

    /// Address pair dst = pair of parameters `n` + a * scale.
    pub fn address(&mut self, dst: u8, n: u16, a: Src, scale: i32) -> &mut Asm {
        self.op(Op::ImadWide, Ty::U32, dst, &[a, imm(scale), param(n)])
    }

    pub fn s2r(&mut self, dst: u8, sreg: SReg) -> &mut Asm {
        let mut uop = Uop::new(Op::S2r, Ty::U32);
        uop.dst = Reg(dst);
        uop.sub = Sub::SReg(sreg);
        self.put(uop)
    }

    pub fn setp(&mut self, pred: u8, a: Src, cmp: Cmp, b: Src) -> &mut Asm {
        let mut uop = Uop::new(Op::Isetp, Ty::S32);
        uop.pdst[0] = Pred(pred);
        uop.sub = Sub::Cmp(cmp, BoolOp::And);
        uop.src[0] = a;
        uop.src[1] = b;
        self.put(uop)
    }

    pub fn bra(&mut self, target: &'static str, reconv: Option<&'static str>) -> &mut Asm {
        self.fixups.push((self.program.uops.len(), Some(target), reconv));
        self.put(Uop::new(Op::Bra, Ty::U32))
    }

    pub fn call(&mut self, target: &'static str) -> &mut Asm {
        self.fixups.push((self.program.uops.len(), Some(target), None));
        self.put(Uop::new(Op::Call, Ty::U32))
    }

    /// Jump through table 0.
    pub fn brx(&mut self, a: Src, reconv: &'static str) -> &mut Asm {
        self.fixups.push((self.program.uops.len(), None, Some(reconv)));
        let mut uop = Uop::new(Op::Brx, Ty::U32);
        uop.src[0] = a;
        uop.target = 0;
        self.put(uop)
    }

    pub fn plain(&mut self, op: Op) -> &mut Asm {
        self.put(Uop::new(op, Ty::U32))
    }

    pub fn exit(&mut self) -> &mut Asm {
        self.plain(Op::Exit)
    }

    pub fn bar(&mut self, number: i32, threads: i32, kind: BarKind) -> &mut Asm {
        let mut uop = Uop::new(Op::Bar, Ty::U32);
        uop.sub = Sub::Bar(kind);
        uop.src[0] = imm(number);
        uop.src[1] = if threads == 0 { RZ } else { imm(threads) };
        self.put(uop)
    }

    pub fn sync(&mut self) -> &mut Asm {
        self.bar(0, 0, BarKind::Sync)
    }

    pub fn ld(&mut self, space: Space, ty: Ty, dst: u8, a: Src, off: i32) -> &mut Asm {
        self.ldv(space, ty, 1, dst, a, off)
    }

    pub fn ldv(&mut self, space: Space, ty: Ty, vec: u8, dst: u8, a: Src, off: i32) -> &mut Asm {
        let mut uop = Uop::new(Op::Ld, ty);
        uop.mem.space = space;
        uop.mem.vec = vec;
        uop.dst = Reg(dst);
        uop.src[0] = a;
        uop.off = off;
        self.put(uop)
    }

    pub fn st(&mut self, space: Space, ty: Ty, a: Src, off: i32, b: Src) -> &mut Asm {
        self.stv(space, ty, 1, a, off, b)
    }

    pub fn stv(&mut self, space: Space, ty: Ty, vec: u8, a: Src, off: i32, b: Src) -> &mut Asm {
        let mut uop = Uop::new(Op::St, ty);
        uop.mem.space = space;
        uop.mem.vec = vec;
        uop.src[0] = a;
        uop.src[1] = b;
        uop.off = off;
        self.put(uop)
    }

    pub fn atom(&mut self, op: AtomOp, space: Space, ty: Ty, dst: u8, src: [Src; 3]) -> &mut Asm {
        let mut uop = Uop::new(Op::Atom, ty);
        uop.mem.space = space;
        uop.sub = Sub::Atom(op);
        uop.dst = Reg(dst);
        uop.src[..3].copy_from_slice(&src);
        self.put(uop)
    }

    pub fn program(&self) -> Program {
        let mut program = self.program.clone();
        for &(at, target, reconv) in &self.fixups {
            if let Some(target) = target {
                program.uops[at].target = self.labels[target];
            }
            if let Some(reconv) = reconv {
                program.uops[at].reconv = self.labels[reconv];
            }
        }
        program
    }
}

/// A device with one buffer of words, `out`, that programs find in parameters 0 and 1.
pub struct Bench {
    pub memory: DeviceMemory,
    pub out: u64,
    pub words: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub cooperative: bool,
    pub bank3: Vec<u8>,
    pub printed: Vec<u8>,
    pub more_params: Vec<u8>,
}

impl Bench {
    pub fn new(words: u64) -> Bench {
        let mut memory = DeviceMemory::new(64 << 20).unwrap();
        let out = memory.alloc(4 * words, "out").unwrap();
        Bench {
            memory,
            out,
            words,
            grid: [1, 1, 1],
            block: [32, 1, 1],
            dynamic_shared: 0,
            cooperative: false,
            bank3: Vec::new(),
            printed: Vec::new(),
            more_params: Vec::new(),
        }
    }

    pub fn run(&mut self, asm: &Asm) -> Result<GridStats, Box<Failure>> {
        self.run_with(asm, &Options::default())
    }

    pub fn run_with(&mut self, asm: &Asm, options: &Options) -> Result<GridStats, Box<Failure>> {
        self.run_at(asm, options, Level::detect())
    }

    pub fn run_at(&mut self, asm: &Asm, options: &Options, level: Level) -> Result<GridStats, Box<Failure>> {
        let params = self.params();
        let image = Image::new(Arc::new(asm.program()), level).unwrap();
        let bank3 = self.bank3.clone();
        let launch = self.launch(&image, &params, &bank3);
        let services: &mut dyn Services = &mut self.printed;
        run(&launch, &mut self.memory, services, options)
    }

    pub fn params(&self) -> Vec<u8> {
        [&self.out.to_le_bytes()[..], &self.more_params].concat()
    }

    pub fn launch<'a>(&self, image: &'a Image, params: &'a [u8], bank3: &'a [u8]) -> GridLaunch<'a> {
        GridLaunch {
            image,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
            params,
            bank3,
            bank4: &[],
            cooperative: self.cooperative,
            workspace: 0,
            grid_id: 7,
        }
    }

    pub fn words(&self) -> Vec<u32> {
        let bytes = self.memory.bytes(self.out, 4 * self.words).unwrap();
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    }
}
