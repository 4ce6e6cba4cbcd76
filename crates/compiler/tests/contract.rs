// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products and sums become fused multiply-adds where ptxas makes them so: the counts of FMUL, FADD and FFMA (or their double and half
//! forms) in the machine code of ptxas 12.9 for sm_75, for the same PTX (docs/compiler.md, "Contraction").

use warpwatt_compiler::{Options, compile, front};
use warpwatt_isa::Op;

/// Statements on the inputs %x0 to %x5 with results %r0 and up; products, sums and fused ones that ptxas makes of them. TY stands for the type,
/// BITS for its untyped twin.
const ALL_TYPES: [(&str, [usize; 3]); 24] = [
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%x2,%t0;", [0, 0, 1]),
    ("mul.TY %t0,%x0,%x1; sub.TY %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.TY %t0,%x0,%x1; sub.TY %r0,%x2,%t0;", [0, 0, 1]),
    ("mul.rn.TY %t0,%x0,%x1; add.TY %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.TY %t0,%x0,%x1; add.rn.TY %r0,%t0,%x2;", [1, 1, 0]),
    // Every use of the product must be a sum.
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%x2; add.TY %r1,%t0,%x3;", [0, 0, 2]),
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%x2; mov.BITS %r1,%t0;", [1, 1, 0]),
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%x2; mul.TY %r1,%t0,%x3;", [2, 1, 0]),
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%t0;", [1, 1, 0]),
    ("mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%x2; mul.TY %t3,%t0,%x3; add.TY %t4,%t3,%t3;", [0, 0, 1]),
    // One of two products: the one with fewer uses, or the first.
    ("mul.TY %t0,%x0,%x1; mul.TY %t1,%x2,%x3; add.TY %r0,%t0,%t1;", [1, 0, 1]),
    ("mul.TY %t0,%x0,%x1; mul.TY %t1,%x2,%x3; add.TY %r0,%t0,%t1; add.TY %r1,%t0,%x4;", [1, 1, 1]),
    ("mul.TY %t0,%x0,%x1; mul.TY %t1,%x2,%x3; add.TY %r0,%t0,%x4; add.TY %r1,%t1,%t0;", [1, 1, 1]),
    ("mul.TY %t0,%x0,%x1; mul.TY %t1,%x2,%x3; add.TY %r0,%t0,%t1; sub.TY %r1,%t1,%t0;", [1, 0, 2]),
    (
        "mul.TY %t0,%x0,%x0; mul.TY %t1,%x1,%x1; add.TY %t2,%t0,%t1; mul.TY %t3,%x2,%x2; add.TY %r0,%t2,%t3;",
        [1, 0, 2],
    ),
    // Copies and negations of a product are the product.
    ("mul.TY %t0,%x0,%x1; mov.BITS %t5,%t0; add.TY %r0,%t5,%x2;", [0, 0, 1]),
    ("mul.TY %t0,%x0,%x1; neg.TY %t1,%t0; add.TY %r0,%t1,%x2;", [0, 0, 1]),
    // In one block only, with any guard on the sum and none on the product.
    ("mul.TY %t0,%x0,%x1; mov.BITS %r0,%x2; @%c bra L; add.TY %r0,%t0,%x3; L:", [1, 1, 0]),
    ("mul.TY %t0,%x0,%x1; bra L; L: add.TY %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.TY %t0,%x0,%x1; mov.BITS %r0,%x2; @%c add.TY %r0,%t0,%x3;", [0, 0, 1]),
    ("mov.BITS %t0,%x4; @%c mul.TY %t0,%x0,%x1; add.TY %r0,%t0,%x3;", [1, 1, 0]),
    // In any block, if a factor is a constant.
    ("mul.TY %t0,%x0,%s; FAR add.TY %r0,%t0,%x2;", [0, 0, 1]),
    ("mov.BITS %t1,16968; mul.TY %t0,%x0,%t1; FAR sub.TY %r0,%x2,%t0;", [0, 0, 1]),
];

/// What only single precision has, or what was measured for it alone.
const SINGLE: [(&str, [usize; 3]); 16] = [
    ("mul.ftz.f32 %t0,%x0,%x1; add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,%x1; add.ftz.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.ftz.f32 %t0,%x0,%x1; add.ftz.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.sat.f32 %t0,%x0,%x1; add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,%x1; add.sat.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%x1; add.rz.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,%x1; neg.ftz.f32 %t1,%t0; add.f32 %r0,%t1,%x2;", [1, 2, 0]),
    ("mul.ftz.f32 %t0,%x0,%x1; neg.f32 %t1,%t0; add.ftz.f32 %r0,%t1,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%x1; abs.f32 %t1,%t0; add.f32 %r0,%t1,%x2;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,0f40000000; add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%x1; add.f32 %r0,%t0,0f3f800000;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%x1; add.f32 %r0,%t0,%x2; add.ftz.f32 %r1,%t0,%x3;", [1, 2, 0]),
    ("mul.f32 %t0,%x0,%x1; bar.sync 0; add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%x1; @%c exit; add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    (
        "mul.f32 %t0,%x0,%x1; mul.f32 %t1,%x2,%x3; mul.f32 %t2,%x4,%x5; add.f32 %r0,%t0,%t1; add.f32 %r1,%t1,%t2; add.f32 %r2,%t2,%t0;",
        [2, 0, 3],
    ),
    ("mul.f32 %t0,%x0,%x1; mul.f32 %t1,%x2,%x3; add.f32 %r0,%t1,%t0; mul.f32 %r1,%t0,%x4;", [2, 0, 1]),
];

/// Products and sums in different blocks: FAR stands for a branch over a barrier. %s and %u are parameters of the type, `c` is a constant variable.
const FAR: [(&str, [usize; 3]); 32] = [
    // A factor that needs no register: an immediate, a parameter, a launch dimension, a constant variable.
    ("mul.f32 %t0,%x0,%x1; FAR add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,0f40490fdb; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%s,%x0; FAR sub.f32 %r0,%x2,%t0;", [0, 0, 1]),
    ("mul.f32 %t0,%s,%u; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mov.f32 %t1,0f40490fdb; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mov.b32 %t1,%q; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("neg.f32 %t1,%s; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("abs.f32 %t1,%s; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("neg.ftz.f32 %t1,%s; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [1, 2, 0]),
    ("mov.u32 %i,%ntid.x; mov.b32 %t1,%i; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("ld.const.f32 %t1,[c+4]; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mov.u32 %i,%tid.x; mov.b32 %t1,%i; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("cvt.rn.f32.u32 %t1,%q; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("add.f32 %t1,%s,0f3f800000; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [1, 2, 0]),
    ("mov.f32 %t1,%s; @%d mov.f32 %t1,%u; mul.f32 %t0,%x0,%t1; FAR add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    // All other conditions hold as in one block.
    ("mul.rn.f32 %t0,%x0,%s; FAR add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,%s; FAR add.f32 %r0,%t0,%x2; mov.b32 %r1,%t0;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,%s; add.f32 %r1,%t0,%x1; FAR add.f32 %r0,%t0,%x2;", [0, 0, 2]),
    ("mul.f32 %t0,%x0,%s; add.f32 %r1,%t0,%x1; FAR mov.b32 %r0,%t0;", [1, 1, 0]),
    ("mul.f32 %t0,%x0,%s; neg.f32 %t1,%t0; FAR mov.b32 %t2,%t1; add.f32 %r0,%t2,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%s; FAR mov.b32 %r1,%x4; @%d add.f32 %r1,%t0,%x1;", [0, 0, 1]),
    // Registers that several instructions may have written hold no product.
    ("mov.b32 %t0,%x1; @%c bra L; bar.sync 0; mul.f32 %t0,%x0,%s; L: add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    // What is written to a factor later does not matter.
    ("mul.f32 %t0,%x0,%s; FAR add.rn.f32 %x0,%x0,%x3; add.f32 %r0,%t0,%x0;", [0, 1, 1]),
    // Of two products: fewer uses, then the first operand, in the order of the code.
    ("mul.f32 %t0,%x0,%s; mul.f32 %t1,%x1,%u; FAR add.f32 %r0,%t0,%t1;", [1, 0, 1]),
    ("mul.f32 %t0,%x0,%s; FAR mul.f32 %t1,%x1,%x2; add.f32 %r0,%t0,%t1; add.f32 %r1,%t0,%x4;", [1, 1, 1]),
    ("mul.f32 %t0,%x0,%s; FAR mul.f32 %t1,%x1,%x2; add.f32 %r0,%t0,%t1; add.f32 %r1,%t1,%x4;", [1, 1, 1]),
    ("mul.f32 %t0,%x0,%x3; FAR mul.f32 %t1,%x1,%x2; add.f32 %r0,%t0,%t1;", [1, 0, 1]),
    // In and behind a loop that is not unrolled.
    (
        "mul.f32 %t0,%x0,%s; mov.u32 %i,0; L: .pragma \"nounroll\"; bar.sync 0; add.f32 %r0,%t0,%x2; add.u32 %i,%i,1; setp.lt.u32 %d,%i,%q; @%d bra L;",
        [0, 0, 1],
    ),
    (
        "mov.u32 %i,0; L: .pragma \"nounroll\"; bar.sync 0; ld.volatile.global.f32 %t1,[%p+40]; mul.f32 %t0,%t1,%s; add.u32 %i,%i,1; setp.lt.u32 %d,%i,%q; \
         @%d bra L; add.f32 %r0,%t0,%x2;",
        [0, 0, 1],
    ),
    // A product of two immediates is evaluated first (ptxas does the multiplication itself).
    ("mov.f32 %t1,0f40490fdb; mul.f32 %t0,%t1,0f40490fdb; add.f32 %r0,%t0,%x2;", [1, 1, 0]),
    // A slow path is a branch.
    ("mul.f32 %t0,%x0,%s; @%c bra L; exit; L: add.f32 %r0,%t0,%x2;", [0, 0, 1]),
    ("mul.f32 %t0,%x0,%x1; @%c bra L; exit; L: add.f32 %r0,%t0,%x2;", [1, 1, 0]),
];

fn counts(body: &str, ty: &str) -> [usize; 3] {
    let (bits, size) = match ty {
        "f64" => ("b64", 8),
        "f16" => ("b16", 2),
        _ => ("b32", 4),
    };
    let register = if ty == "f32" || ty == "f64" { ty } else { bits };
    let mut text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .b8 c[16];\n\
         .visible .entry k(.param .u64 p, .param .u32 q, .param .{bits} s, .param .{bits} u)\n{{\n\
         .reg .{register} %x<6>, %t<6>, %r<4>, %s, %u;\n.reg .u64 %p;\n.reg .u32 %q, %i;\n.reg .pred %c, %d;\n\
         ld.param.u64 %p, [p];\nld.param.u32 %q, [q];\nsetp.eq.u32 %c, %q, 0;\nsetp.eq.u32 %d, %q, 1;\n\
         ld.param.{bits} %s, [s];\nld.param.{bits} %u, [u];\n"
    );
    for i in 0..6 {
        text += &format!("ld.volatile.global.{bits} %x{i}, [%p+{}];\n", i * size);
    }
    let body = body.replace("FAR", "@%c bra L; bar.sync 0; L:").replace("TY", ty).replace("BITS", bits);
    text += &body;
    for i in (0..4).filter(|i| body.contains(&format!("%r{i}"))) {
        text += &format!("\nst.global.{bits} [%p+{}], %r{i};", 800 + i * size);
    }
    text += "\nret;\n}\n";
    let parsed = warpwatt_ptx::parse("contract.ptx", &text);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{:?}", parsed.diagnostics);
    let layout = front::layout(&parsed.module);
    let compiled = compile(&parsed.module, &layout, "k", &Options::default()).expect("it compiles");
    [Op::Fmul, Op::Fadd, Op::Ffma].map(|op| compiled.program.uops.iter().filter(|uop| uop.op == op).count())
}

#[test]
fn products_and_sums_are_fused_where_ptxas_fuses_them() {
    let mut wrong = Vec::new();
    let everywhere =
        ["f32", "f64", "f16", "f16x2"].into_iter().flat_map(|ty| ALL_TYPES.map(|case| (ty, case)));
    for (ty, (body, expected)) in everywhere.chain(SINGLE.into_iter().chain(FAR).map(|case| ("f32", case))) {
        // Half precision keeps a negation apart, which ptxas makes part of the operation.
        let negations = usize::from(body.contains("neg") && ty.starts_with("f16") && expected[2] == 0);
        let found = counts(body, ty);
        if found != [expected[0], expected[1] + negations, expected[2]] {
            wrong.push(format!("{ty}: {body}\n    {found:?} for {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "products, sums, fused:\n{}", wrong.join("\n"));
}
