// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products and sums become fused multiply-adds where ptxas makes them so: the counts of FMUL, FADD and FFMA (or their double and half
//! forms) in the machine code of ptxas 12.9 for sm_75, for the same PTX (docs/compiler.md, "Contraction").

use warpwatt_compiler::{Options, compile, front};
use warpwatt_isa::Op;

/// Statements on the inputs %x0 to %x5 with results %r0 and up; products, sums and fused ones that ptxas makes of them. TY stands for the type,
/// BITS for its untyped twin.
const ALL_TYPES: [(&str, [usize; 3]); 22] = [
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

fn counts(body: &str, ty: &str) -> [usize; 3] {
    let (bits, size) = match ty {
        "f64" => ("b64", 8),
        "f16" => ("b16", 2),
        _ => ("b32", 4),
    };
    let register = if ty == "f32" || ty == "f64" { ty } else { bits };
    let mut text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 q)\n{{\n\
         .reg .{register} %x<6>, %t<6>, %r<4>;\n.reg .u64 %p;\n.reg .u32 %q;\n.reg .pred %c;\n\
         ld.param.u64 %p, [p];\nld.param.u32 %q, [q];\nsetp.eq.u32 %c, %q, 0;\n"
    );
    for i in 0..6 {
        text += &format!("ld.volatile.global.{bits} %x{i}, [%p+{}];\n", i * size);
    }
    let body = body.replace("TY", ty).replace("BITS", bits);
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
    for (ty, (body, expected)) in everywhere.chain(SINGLE.map(|case| ("f32", case))) {
        // Half precision keeps a negation apart, which ptxas makes part of the operation.
        let negations = usize::from(body.contains("neg") && ty.starts_with("f16") && expected[2] == 0);
        let found = counts(body, ty);
        if found != [expected[0], expected[1] + negations, expected[2]] {
            wrong.push(format!("{ty}: {body}\n    {found:?} for {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "products, sums, fused:\n{}", wrong.join("\n"));
}
