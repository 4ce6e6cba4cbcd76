// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer division and remainder take at most 1.3 times the instructions that ptxas makes of them, by variables and by constants, for all widths. PTX has no division of
//! bytes: compilers load them into registers of 16 or 32 bits.
//!
//! The figures are the instructions of a kernel that loads the operands, divides and stores the result, subroutine included: ptxas 12.9
//! (package nvidia-cuda-nvcc-cu12) for sm_75, disassembled by nvdisasm 13.4, without padding. ptxas has one sequence for all constants.

use warpwatt_compiler::{Options, compile, front};

/// Type of the operation and of the operands in memory; division and remainder by a variable, by a constant, and by a negative one.
const PTXAS: [(&str, &str, [[usize; 2]; 3]); 12] = [
    ("u16", "u8", [[27, 29], [13, 15], [13, 15]]),
    ("s16", "s8", [[33, 36], [19, 20], [19, 20]]),
    ("u32", "u8", [[24, 23], [19, 18], [19, 18]]),
    ("s32", "s8", [[30, 28], [23, 21], [23, 21]]),
    ("u16", "u16", [[27, 29], [13, 15], [13, 15]]),
    ("s16", "s16", [[33, 36], [19, 20], [19, 20]]),
    ("u32", "u32", [[24, 23], [19, 18], [19, 18]]),
    ("s32", "s32", [[30, 28], [23, 21], [23, 21]]),
    ("u64", "u64", [[78, 74], [70, 66], [70, 66]]),
    ("s64", "s64", [[94, 88], [79, 75], [86, 80]]),
    // ptxas calls its subroutine for 64 bits here too, though the upper words are zero.
    ("u64", "u32", [[66, 65], [60, 59], [60, 59]]),
    ("s64", "u32", [[66, 65], [60, 59], [66, 64]]),
];
const CONSTANTS: [i32; 10] = [3, 7, 10, 16, 60, 641, 1000, 10000, -7, -16];

fn count(op: &str, ty: &str, stored: &str, by: Option<i32>) -> usize {
    let (load, b) = match by {
        None => (format!("ld.global.{stored} %b, [%p+8];"), "%b".to_string()),
        Some(constant) => (String::new(), constant.to_string()),
    };
    let text = format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .{ty} %a, %b, %d;\n.reg .u64 %p;\n\
         ld.param.u64 %p, [p];\nld.global.{stored} %a, [%p];\n{load}\n{op}.{ty} %d, %a, {b};\nst.global.{stored} [%p+16], %d;\nret;\n}}\n"
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
    for (ty, stored, [variable, constant, negative]) in PTXAS {
        for (k, op) in ["div", "rem"].into_iter().enumerate() {
            let divisors = CONSTANTS.into_iter().filter(|&c| c > 0 || ty.starts_with('s')).map(Some);
            for by in [None].into_iter().chain(divisors) {
                let theirs = match by {
                    None => variable[k],
                    Some(c) if c > 0 => constant[k],
                    Some(_) => negative[k],
                };
                let ours = count(op, ty, stored, by);
                if ours * 10 > theirs * 13 {
                    over.push(format!("{op}.{ty} of {stored} by {by:?}: {ours} for {theirs}"));
                }
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
fn operands_of_32_bits_leave_no_64_bit_division() {
    for (op, narrow) in [("div", 24), ("rem", 23)] {
        for ty in ["u64", "s64"] {
            let ours = count(op, ty, "u32", None);
            // What a 32-bit division of the same operands takes, and two words of the result where that has one.
            assert!(ours <= narrow + 4, "{op}.{ty} of zero-extended operands: {ours} instructions");
        }
    }
}
