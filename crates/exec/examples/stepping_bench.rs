// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a step takes, by kind of instruction: `cargo run --release -p warpwatt-exec --example stepping_bench`.

use std::sync::Arc;
use std::time::Instant;

use warpwatt_exec::lanes::Level;
use warpwatt_exec::stepping::*;
use warpwatt_exec::{CheckOptions, GridLaunch, Image, SmLimits};
use warpwatt_isa::*;
use warpwatt_memory::DeviceMemory;

const STEPS: u64 = 20_000_000;
/// Cycles from merge to merge.
const EPOCH: u64 = 32;

fn memory_op(op: Op, space: Space, a: u8) -> Uop {
    let mut uop = Uop::new(op, Ty::U32);
    uop.mem.space = space;
    uop.mem.vec = 1;
    uop.src[0] = Src::Reg(Reg(a));
    match op {
        Op::Ld => uop.dst = Reg(8),
        _ => uop.src[1] = Src::Reg(Reg(9)),
    }
    if op == Op::Red {
        uop.sub = Sub::Atom(AtomOp::Add);
    }
    uop
}

fn main() {
    let alu = |op: Op, ty: Ty| {
        let mut uop = Uop::new(op, ty);
        (uop.dst, uop.src) = (Reg(8), [9, 10, 11, 12].map(|n| Src::Reg(Reg(n))));
        uop
    };
    let store = memory_op(Op::St, Space::Global, 4);
    let cases: Vec<(&str, Vec<Uop>)> = vec![
        ("integer multiply-add", vec![alu(Op::Imad, Ty::U32)]),
        ("fused multiply-add", vec![alu(Op::Ffma, Ty::F32)]),
        ("shared load", vec![memory_op(Op::Ld, Space::Shared, 2)]),
        ("global load", vec![memory_op(Op::Ld, Space::Global, 4)]),
        ("global store", vec![store]),
        ("scattered store", vec![memory_op(Op::St, Space::Global, 6)]),
        ("store and load elsewhere", vec![store, memory_op(Op::Ld, Space::Global, 6)]),
        ("store and load of the same", vec![store, memory_op(Op::Ld, Space::Global, 4)]),
        ("reduction", vec![memory_op(Op::Red, Space::Global, 4)]),
    ];
    for (name, body) in cases {
        let mut program = Program { name: "bench".into(), registers: 32, sm: 50, ..Program::default() };
        program.shared_bytes = 1024;
        let mut tid = Uop::new(Op::S2r, Ty::U32);
        (tid.dst, tid.sub) = (Reg(0), Sub::SReg(SReg::TidX));
        let wide = |dst: u8, scale: u32| {
            let mut uop = Uop::new(Op::ImadWide, Ty::U32);
            let base = Src::Const { bank: 0, offset: bank0::PARAMS };
            (uop.dst, uop.src) = (Reg(dst), [Src::Reg(Reg(0)), Src::Imm(scale), base, Src::None]);
            uop
        };
        let mut shared = Uop::new(Op::Shl, Ty::U32);
        (shared.dst, shared.src[0], shared.src[1]) = (Reg(2), Src::Reg(Reg(0)), Src::Imm(2));
        let mut far = wide(6, 132);
        far.src[2] = Src::Const { bank: 0, offset: bank0::PARAMS + 8 };
        program.uops = vec![tid, wide(4, 4), far, shared];
        let start = program.uops.len() as u32;
        for _ in 0..64 / body.len() {
            program.uops.extend_from_slice(&body);
        }
        let mut back = Uop::new(Op::Bra, Ty::U32);
        back.target = start;
        program.uops.push(back);

        let mut memory = DeviceMemory::new(64 << 20).expect("room for a small device");
        let buffer = memory.alloc(1 << 20, "buffer").expect("room for a buffer");
        let params = [buffer.to_le_bytes(), (buffer + 8192).to_le_bytes()].concat();
        let image = Image::new(Arc::new(program), Level::detect()).expect("a sound program");
        let launch = GridLaunch {
            image: &image,
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            params: &params,
            bank3: &[],
            bank4: &[],
            cooperative: false,
            workspace: 0,
            grid_id: 0,
        };
        let prepared = Prepared::new(&launch, SmLimits::GTX480).expect("a block that fits");
        let mut stepper = Stepper::new(&prepared);
        let mut cta = Resident::new(&prepared, CheckOptions::default());
        cta.start(&prepared, 0, 0, 0);
        let mut logs = [EpochLog::new()];
        let (mut started, mut merging) = (Instant::now(), 0);
        let mut merged = MergeOutcome::default();
        for cycle in 0..STEPS {
            if cycle == STEPS / 10 {
                (started, merging) = (Instant::now(), 0);
                merged = MergeOutcome::default();
            }
            let now = Now { cycle, nanoseconds: cycle };
            let outcome = stepper.step(&prepared, &memory, &mut logs[0], &mut cta, 0, now);
            assert_eq!(outcome.event, StepEvent::Go);
            if cycle % EPOCH == EPOCH - 1 {
                let before = Instant::now();
                // SAFETY: one memory, and one block that is never started anew.
                let outcome = unsafe { merge(&mut logs, &mut memory, false) };
                merged.stores += outcome.stores + outcome.atomics;
                merging += before.elapsed().as_nanos();
            }
        }
        let steps = (STEPS - STEPS / 10) as f64;
        let stepping = (started.elapsed().as_nanos() - merging) as f64 / steps;
        let merging = merging as f64 / merged.stores.max(1) as f64;
        let merging = if merged.stores == 0 { String::new() } else { format!("{merging:.1} ns to merge") };
        println!("{name:28} {stepping:6.1} ns a step  {merging}");
    }
}
