// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer division and remainder take at most 1.3 times the instructions that ptxas makes of them, by variables and by constants.
//!
//! The figures are the instructions of a kernel that loads the operands, divides and stores the result, subroutine included: ptxas 12.9
//! (package nvidia-cuda-nvcc-cu12) for sm_75, disassembled by nvdisasm 13.4, without padding. ptxas has one sequence for all constants.

use warpwatt_compiler::{Options, compile, front};

/// Type; division and remainder by a variable, by a constant, and by a negative one.
const PTXAS: [(&str, [[usize; 2]; 3]); 6] = [
    ("u16", [[27, 29], [13, 15], [13, 15]]),
    ("s16", [[33, 36], [19, 20], [19, 20]]),
    ("u32", [[24, 23], [19, 18], [19, 18]]),
    ("s32", [[30, 28], [23, 21], [23, 21]]),
    ("u64", [[78, 74], [70, 66], [70, 66]]),
    ("s64", [[94, 88], [79, 75], [86, 80]]),
];
const CONSTANTS: [i32; 10] = [3, 7, 10, 16, 60, 641, 1000, 10000, -7, -16];

fn count(op: &str, ty: &str, by: Option<i32>) -> usize {
    let (load, b) = match by {
        None => (format!("ld.global.{ty} %b, [%p+8];"), "%b".to_string()),
        Some(constant) => (String::new(), constant.to_string()),
    };
    let text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .{ty} %a, %b, %d;\n.reg .u64 %p;\n\
         ld.param.u64 %p, [p];\nld.global.{ty} %a, [%p];\n{load}\n{op}.{ty} %d, %a, {b};\nst.global.{ty} [%p+16], %d;\nret;\n}}\n"
    );
    let parsed = warpwatt_ptx::parse("division.ptx", &text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let placed = front::layout(&parsed.module);
    let compiled = compile(&parsed.module, &placed, "k", &Options::default()).expect("it compiles");
    compiled.program.uops.len()
}

#[test]
fn division_takes_no_more_than_ptxas_and_a_third() {
    let mut over = Vec::new();
    for (ty, [variable, constant, negative]) in PTXAS {
        for (k, op) in ["div", "rem"].into_iter().enumerate() {
            let divisors = CONSTANTS.into_iter().filter(|&c| c > 0 || ty.starts_with('s')).map(Some);
            for by in [None].into_iter().chain(divisors) {
                let theirs = match by {
                    None => variable[k],
                    Some(c) if c > 0 => constant[k],
                    Some(_) => negative[k],
                };
                let ours = count(op, ty, by);
                if ours * 10 > theirs * 13 {
                    over.push(format!("{op}.{ty} by {by:?}: {ours} for {theirs}"));
                }
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
