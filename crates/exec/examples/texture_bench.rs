// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed of texture and surface instructions in functional mode, in millions of warp instructions a second:
//! `cargo run --release -p warpwatt-exec --example texture_bench [ROUNDS]`.
//!
//! A program is a loop of 32 fetches (or loads, or stores), each after the arithmetic that moves its coordinate; half of its instructions are
//! accesses. Programs take turns, and the fastest of all rounds counts; time is that of the processor where the host tells it, so that a busy
//! host is unfair to none.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use warpwatt_exec::lanes::Level;
use warpwatt_exec::{GridLaunch, Image, Options, Quiet};
use warpwatt_isa::*;
use warpwatt_memory::DeviceMemory;
use warpwatt_memory::texture::{
    AddressMode, ChannelKind, Filter, Format, Image as Texture, Sampler, Shape, Storage,
};

/// Warp instructions of a launch, and the least time that launches are repeated for.
const INSTRUCTIONS: u64 = 6_800;
const LEAST: Duration = Duration::from_millis(60);
const SIDE: u32 = 64;

#[derive(Clone)]
struct Case {
    name: String,
    op: Op,
    geom: TexGeom,
    format: Format,
    sampler: Sampler,
    /// Texels are addressed by whole numbers.
    integer: bool,
    formatted: bool,
}

fn case(name: &str, geom: TexGeom, kind: ChannelKind, bits: u8, channels: u8) -> Case {
    Case {
        name: name.to_owned(),
        op: Op::Tex,
        geom,
        format: Format { kind, bits, channels },
        sampler: Sampler { read_normalized: bits < 32, ..Sampler::default() },
        integer: false,
        formatted: false,
    }
}

fn cases() -> Vec<Case> {
    use ChannelKind::{Float, Signed, Unsigned};
    let mut all = Vec::new();
    let mut texture = |mut case: Case, filter: Filter, address: AddressMode, normalized: bool| {
        case.sampler.filter = filter;
        case.sampler.address = [address; 3];
        case.sampler.normalized = normalized;
        all.push(case);
    };
    let (point, linear) = (Filter::Point, Filter::Linear);
    let (clamp, wrap) = (AddressMode::Clamp, AddressMode::Wrap);
    let whole = |mut case: Case| {
        case.integer = true;
        case
    };
    texture(whole(case("1D, f32, by index", TexGeom::D1, Float, 32, 1)), point, clamp, false);
    texture(whole(case("1D, s32 x 4, by index", TexGeom::D1, Signed, 32, 4)), point, clamp, false);
    texture(whole(case("2D, f32, by index", TexGeom::D2, Float, 32, 1)), point, clamp, false);
    texture(case("1D, f32, linear", TexGeom::D1, Float, 32, 1), linear, clamp, true);
    texture(case("2D, f32", TexGeom::D2, Float, 32, 1), point, clamp, false);
    texture(case("2D, f32, wrap", TexGeom::D2, Float, 32, 1), point, wrap, true);
    texture(case("2D, f32, linear", TexGeom::D2, Float, 32, 1), linear, clamp, false);
    texture(case("2D, f32, linear, mirror", TexGeom::D2, Float, 32, 1), linear, AddressMode::Mirror, true);
    texture(case("2D, f32, linear, border", TexGeom::D2, Float, 32, 1), linear, AddressMode::Border, true);
    texture(case("2D, f32 x 2, linear", TexGeom::D2, Float, 32, 2), linear, wrap, true);
    texture(case("2D, f32 x 4", TexGeom::D2, Float, 32, 4), point, clamp, true);
    texture(case("2D, f32 x 4, linear", TexGeom::D2, Float, 32, 4), linear, wrap, true);
    texture(case("2D, f16 x 4, linear", TexGeom::D2, Float, 16, 4), linear, wrap, true);
    texture(case("2D, u8, linear", TexGeom::D2, Unsigned, 8, 1), linear, clamp, true);
    texture(case("2D, u8 x 4", TexGeom::D2, Unsigned, 8, 4), point, clamp, false);
    texture(case("2D, u8 x 4, linear", TexGeom::D2, Unsigned, 8, 4), linear, wrap, true);
    texture(case("2D, s16 x 2, linear", TexGeom::D2, Signed, 16, 2), linear, clamp, true);
    texture(case("2D layers, f32, linear", TexGeom::A2d, Float, 32, 1), linear, clamp, false);
    texture(case("3D, f32", TexGeom::D3, Float, 32, 1), point, clamp, false);
    texture(case("3D, f32, linear", TexGeom::D3, Float, 32, 1), linear, wrap, true);
    texture(case("3D, u8 x 4, linear", TexGeom::D3, Unsigned, 8, 4), linear, clamp, true);
    texture(case("cube, f32 x 4, linear", TexGeom::Cube, Float, 32, 4), linear, clamp, true);
    for (op, verb) in [(Op::Suld, "load"), (Op::Sust, "store")] {
        for (what, geom, bits, channels, formatted) in [
            ("2D, u8", TexGeom::D2, 8, 1, false),
            ("2D, u32", TexGeom::D2, 32, 1, false),
            ("2D, u32 x 4", TexGeom::D2, 32, 4, false),
            ("3D, u16", TexGeom::D3, 16, 1, false),
            ("2D, u8 x 4, formatted", TexGeom::D2, 8, 4, true),
            ("2D, u32, formatted", TexGeom::D2, 32, 1, true),
        ] {
            let surface = case(&format!("surface {verb} {what}"), geom, Unsigned, bits, channels);
            all.push(Case { op, integer: true, formatted, ..surface });
        }
    }
    all
}

/// The kernel: registers 0 and 1 the handle, 4 to 7 coordinates, 8 to 11 data.
fn program(case: &Case, rounds: u32) -> Program {
    let mut program = Program { name: "bench".into(), registers: 32, sm: 50, ..Program::default() };
    let alu = |op: Op, ty: Ty, dst: u8, src: [Src; 3]| {
        let mut uop = Uop::new(op, ty);
        (uop.dst, uop.src) = (Reg(dst), [src[0], src[1], src[2], Src::None]);
        uop
    };
    let none = Src::None;
    let param = |at: u16| Src::Const { bank: 0, offset: bank0::PARAMS + at };
    let mut tid = Uop::new(Op::S2r, Ty::U32);
    (tid.dst, tid.sub) = (Reg(2), Sub::SReg(SReg::TidX));
    program.uops.push(tid);
    program.uops.push(alu(Op::Mov, Ty::U32, 0, [param(0), none, none]));
    program.uops.push(alu(Op::Mov, Ty::U32, 1, [param(4), none, none]));
    program.uops.push(alu(Op::Mov, Ty::U32, 3, [Src::Imm(0), none, none]));
    let texel = case.format.texel_bytes();
    let is_surface = case.op != Op::Tex;
    let scale = if is_surface && !case.formatted { texel } else { 1 };
    for k in 4..8 {
        if case.integer {
            program.uops.push(alu(Op::Imad, Ty::U32, k, [Src::Reg(Reg(2)), Src::Imm(scale), Src::Imm(0)]));
        } else {
            let mut convert = alu(Op::Cvt, Ty::F32, k, [Src::Reg(Reg(2)), none, none]);
            convert.ty2 = Ty::U32;
            program.uops.push(convert);
            let step = if case.sampler.normalized { 0.035 } else { 0.77 };
            let step = Src::Imm(f32::to_bits(step));
            program.uops.push(alu(Op::Fmul, Ty::F32, k, [Src::Reg(Reg(k)), step, none]));
        }
    }
    // Rows and slices stay: what moves is x, by whole accesses.
    let x = 4 + u8::from(case.geom.layered());
    if case.integer {
        for k in 5..8 {
            program.uops.push(alu(Op::Mov, Ty::U32, k, [Src::Imm(3), none, none]));
        }
    } else if case.geom.layered() {
        program.uops.push(alu(Op::Mov, Ty::U32, 4, [Src::Imm(2), none, none]));
    }
    program.uops.push(alu(Op::Mov, Ty::U32, 12, [Src::Reg(Reg(x)), none, none]));
    let start = program.uops.len() as u32;
    program.uops.push(alu(Op::Mov, Ty::U32, x, [Src::Reg(Reg(12)), none, none]));
    for _ in 0..32 {
        let mut access = Uop::new(case.op, if is_surface { Ty::U32 } else { Ty::F32 });
        access.ty2 = if case.integer { Ty::S32 } else { Ty::F32 };
        access.src[0] = Src::Reg(Reg(0));
        access.src[1] = Src::Reg(Reg(4));
        if is_surface {
            access.sub = Sub::Surf(case.geom, SurfClamp::Clamp, case.formatted);
            access.mem.vec = if case.formatted { 4 } else { case.format.channels };
            if !case.formatted {
                access.ty = [Ty::U8, Ty::U16, Ty::U32][(case.format.bits / 16) as usize];
            }
        } else {
            access.sub = Sub::Tex(case.geom, LodMode::Base);
        }
        match case.op {
            Op::Sust => access.src[2] = Src::Reg(Reg(8)),
            _ => access.dst = Reg(8),
        }
        program.uops.push(access);
        let moved = match case.integer {
            true => alu(Op::Iadd3, Ty::U32, x, [Src::Reg(Reg(x)), Src::Imm(scale), Src::Imm(0)]),
            false => {
                let step = if case.sampler.normalized { 0.0017 } else { 0.11 };
                alu(Op::Fadd, Ty::F32, x, [Src::Reg(Reg(x)), Src::Imm(f32::to_bits(step)), none])
            }
        };
        program.uops.push(moved);
    }
    program.uops.push(alu(Op::Iadd3, Ty::U32, 3, [Src::Reg(Reg(3)), Src::Imm(1), Src::Imm(0)]));
    let mut compare = Uop::new(Op::Isetp, Ty::U32);
    compare.sub = Sub::Cmp(Cmp::Lt, BoolOp::And);
    (compare.pdst[0], compare.src[0], compare.src[1]) = (Pred(0), Src::Reg(Reg(3)), Src::Imm(rounds));
    program.uops.push(compare);
    let mut back = Uop::new(Op::Bra, Ty::U32);
    (back.target, back.guard) = (start, PredSrc { pred: Pred(0), negated: false });
    program.uops.push(back);
    program.uops.push(Uop::new(Op::Exit, Ty::U32));
    program
}

struct Bench {
    case: Case,
    image: Image,
    memory: DeviceMemory,
    params: [u8; 8],
    best: f64,
}

impl Bench {
    fn new(case: Case) -> Bench {
        let mut memory = DeviceMemory::new(64 << 20).expect("room for a small device");
        let (shape, extent) = match case.geom {
            TexGeom::D1 => (Shape::D1, [4096, 0, 1]),
            TexGeom::D2 => (Shape::D2, [SIDE, SIDE, 1]),
            TexGeom::D3 => (Shape::D3, [SIDE, SIDE, 16]),
            TexGeom::A1d => (Shape::Layered1d, [SIDE, 0, 4]),
            TexGeom::A2d => (Shape::Layered2d, [SIDE, SIDE, 4]),
            TexGeom::Cube | TexGeom::Acube => (Shape::Cube, [SIDE, SIDE, 6]),
        };
        let (storage, bytes) = Storage::array(shape, extent, 1, case.format);
        let base = memory.alloc(bytes, "texels").expect("room for an image");
        let texels: Vec<u8> = (0..bytes).map(|i| (i * 37 % 61) as u8).collect();
        memory.write(base, &texels).expect("inside");
        let handle = memory.images.create(Texture { storage: storage.at(base), sampler: case.sampler });
        let rounds = (INSTRUCTIONS / 68) as u32;
        let image = Image::new(Arc::new(program(&case, rounds)), Level::detect()).expect("a sound program");
        Bench { case, image, memory, params: handle.to_le_bytes(), best: f64::INFINITY }
    }

    fn lap(&mut self) {
        let launch = GridLaunch {
            image: &self.image,
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            params: &self.params,
            bank3: &[],
            bank4: &[],
            cooperative: false,
            workspace: 0,
            grid_id: 0,
        };
        let (started, mut instructions) = (clock(), 0);
        while clock() - started < LEAST {
            let stats = warpwatt_exec::run(&launch, &mut self.memory, &mut Quiet, &Options::default());
            let stats = stats.map_err(|failure| failure.fault.detail).expect("a program without faults");
            instructions += stats.warp_instructions;
        }
        self.best = self.best.min((clock() - started).as_secs_f64() / instructions as f64);
    }
}

/// Time that this process had a processor; time that passes where the host does not tell.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    let mut benches: Vec<Bench> = cases().into_iter().map(Bench::new).collect();
    for _ in 0..rounds {
        benches.iter_mut().for_each(Bench::lap);
    }
    for bench in &benches {
        println!("{:40} {:8.2} M warp instructions/s", bench.case.name, 1e-6 / bench.best);
    }
}
