// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed of the functional engine on a hand-written inner loop of a tiled matrix product: processor time per warp instruction.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use warpwatt_isa::*;

fn sgemm_like() -> Asm {
    let mut a = Asm::new(20);
    a.program.shared_bytes = 2048;
    a.s2r(0, SReg::TidX).s2r(1, SReg::TidY).mad(12, r(1), imm(16), r(0));
    a.address(4, 0, r(12), 4).op(Op::Shl, Ty::U32, 2, &[r(0), imm(2)]).op(Op::Shl, Ty::U32, 3, &[r(1), imm(6)]);
    a.mov(8, imm(0)).mov(9, imm(0)).op(Op::Shl, Ty::U32, 13, &[r(12), imm(2)]);
    a.label("loop").ld(Space::Global, Ty::F32, 6, r(4), 0).ld(Space::Global, Ty::F32, 7, r(4), 1024);
    a.st(Space::Shared, Ty::F32, r(13), 0, r(6)).st(Space::Shared, Ty::F32, r(13), 1024, r(7)).sync();
    for k in 0..16 {
        a.ld(Space::Shared, Ty::F32, 10, r(3), 4 * k).ld(Space::Shared, Ty::F32, 11, r(2), 1024 + 64 * k);
        a.op(Op::Ffma, Ty::F32, 9, &[r(10), r(11), r(9)]);
    }
    a.sync().add(8, r(8), imm(1)).setp(0, r(8), Cmp::Lt, imm(200)).when(0).bra("loop", Some("end"));
    a.label("end").st(Space::Global, Ty::F32, r(4), 0, r(9)).exit();
    a
}

fn arithmetic() -> Asm {
    let mut a = Asm::new(20);
    a.s2r(0, SReg::TidX).address(4, 0, r(0), 4);
    a.label("loop");
    for k in 0..16 {
        a.op(Op::Ffma, Ty::F32, 9 + k % 4, &[r(10), r(11), r(9 + k % 4)]);
    }
    a.add(8, r(8), imm(1)).setp(0, r(8), Cmp::Lt, imm(400)).when(0).bra("loop", Some("end"));
    a.label("end").st(Space::Global, Ty::F32, r(4), 0, r(9)).exit();
    a
}

/// Processor time of this process in seconds: other work on the machine does not count.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    for (name, asm) in [("sgemm-like", sgemm_like()), ("arithmetic", arithmetic())] {
        let mut bench = Bench::new(1024);
        bench.grid = [300, 1, 1];
        bench.block = [16, 16, 1];
        let start = processor_seconds();
        let stats = bench.run(&asm).unwrap();
        let seconds = processor_seconds() - start;
        let million = stats.warp_instructions as f64 / 1e6;
        println!("{name}: {:.1} M warp instructions/s, {:.1} ns each", million / seconds, 1e3 * seconds / million);
    }
}
