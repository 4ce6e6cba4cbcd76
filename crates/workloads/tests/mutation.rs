// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks are strong: change any one arithmetic instruction of a workload's PTX, and its check fails, or the
//! run does. Each test does that for every arithmetic instruction of one workload in turn. The few that do not show are counted in `KNOWN`.

use warpwatt_runtime::{Class, Device, Nobody, Options};
use warpwatt_workloads::{Size, find};

/// One instruction put in another's place.
struct Mutant {
    line: usize,
    before: String,
    after: String,
    ptx: String,
}

/// Opcodes that compute nothing: they move, choose, compare or steer.
const NOT_ARITHMETIC: [&str; 13] =
    ["mov", "ld", "st", "cvta", "cvt", "setp", "selp", "bra", "bar", "ret", "shfl", "exit", "tex"];

/// How many changes of a workload do not show in its outputs at tiny: indices that are zero in a problem of that size (one layer of blocks,
/// one tile, the first pass of a sort), and values that are computed ahead and not used.
const KNOWN: [(&str, usize); 11] = [
    ("btree", 2),
    ("cutcp", 2),
    ("dct8x8", 18),
    ("dwt2d", 5),
    ("montecarlo", 3),
    ("mri_gridding", 2),
    ("pageviewcount", 1),
    ("pageviewrank", 1),
    ("sad", 1),
    ("sort", 4),
    ("sortnetworks", 10),
];

/// What an instruction becomes, or why there is nothing to change.
enum Change {
    To(String),
    NotArithmetic,
    /// Any change of it would have the same result.
    Neutral,
    Unknown,
}

fn change(opcode: &str, operands: &[&str]) -> Change {
    let (stem, rest) = opcode.split_once('.').unwrap_or((opcode, ""));
    let last = rest.rsplit('.').next().unwrap_or_default();
    let with = |opcode: String, operands: &[&str]| Change::To(format!("{opcode} {};", operands.join(", ")));
    match (stem, last) {
        _ if NOT_ARITHMETIC.contains(&stem) || last == "pred" => Change::NotArithmetic,
        ("add" | "sub", _) if matches!(operands.last(), Some(&"0" | &"0f00000000")) => Change::Neutral,
        ("add", _) => with(format!("sub.{rest}"), operands),
        ("sub", _) => with(format!("add.{rest}"), operands),
        ("mul", _) if rest == "wide.s32" => with("cvt.s64.s32".into(), &operands[..2]),
        ("mul", _) if rest == "wide.u32" => with("cvt.u64.u32".into(), &operands[..2]),
        ("mul", _) if rest == "wide.u16" => with("cvt.u32.u16".into(), &operands[..2]),
        ("mul", _) => with(format!("add.{last}"), operands),
        ("mad" | "fma", "f32") => with("mul.f32".into(), &operands[..3]),
        ("mad", _) => with(format!("mul.lo.{last}"), &operands[..3]),
        ("min", _) => with(format!("max.{rest}"), operands),
        ("max", _) => with(format!("min.{rest}"), operands),
        ("shl", bits) => with(format!("shr.{}", bits.replace('b', "u")), operands),
        ("shr", bits) => with(format!("shl.{}", bits.replace(['u', 's'], "b")), operands),
        ("bfe" | "bfi", bits) => with(format!("mov.{bits}"), &operands[..2]),
        ("shf", bits) => with(format!("mov.{bits}"), &operands[..2]),
        ("and", _) => with(format!("or.{rest}"), operands),
        ("or" | "xor", _) => with(format!("and.{rest}"), operands),
        ("not" | "neg" | "abs" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos", _) => {
            with(format!("mov.{last}"), operands)
        }
        ("div", "f32") => with("mul.f32".into(), operands),
        ("div", _) => with(format!("mul.lo.{rest}"), operands),
        ("rem", _) => with(format!("div.{rest}"), operands),
        ("atom", _) if rest.contains(".add.") => with(opcode.replace(".add.", ".max."), operands),
        ("atom", _) if rest.contains(".min.") => with(opcode.replace(".min.", ".max."), operands),
        ("atom", _) if rest.contains(".max.") => with(opcode.replace(".max.", ".min."), operands),
        _ => Change::Unknown,
    }
}

/// Every arithmetic instruction changed in turn.
fn mutants(ptx: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut mutants = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim();
        assert!(
            !text.starts_with('@') || text.contains("bra"),
            "line {}: only branches have guards",
            index + 1
        );
        // Instructions start with a small letter; directives, labels and braces do not.
        let Some(body) =
            text.strip_suffix(';').filter(|body| body.starts_with(|c: char| c.is_ascii_lowercase()))
        else {
            continue;
        };
        let (opcode, operands) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
        match change(opcode, &operands) {
            Change::To(after) => {
                let mut changed = lines.clone();
                changed[index] = &after;
                let ptx = changed.join("\n");
                mutants.push(Mutant { line: index + 1, before: text.into(), after, ptx });
            }
            Change::NotArithmetic | Change::Neutral => {}
            Change::Unknown => panic!("line {}: how to change `{text}`?", index + 1),
        }
    }
    mutants
}

fn every_change_is_noticed(name: &str) {
    let workload = find(name).expect("a workload of that name");
    let mut device = Device::new().expect("a device");
    let check = workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("the workload runs");
    assert!(check.passed);
    let instructions: u64 = device.log().iter().map(|launch| launch.thread_instructions).sum();

    let mutants = mutants(workload.ptx());
    assert!(mutants.len() > 5, "only {} instructions to change", mutants.len());
    let mut unnoticed = Vec::new();
    for mutant in &mutants {
        // A changed loop may never end.
        let options = Options { max_thread_instructions: Some(4 * instructions), ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let change = || format!("line {}: `{}` as `{}`", mutant.line, mutant.before, mutant.after);
        match workload.run(&mut device, &mutant.ptx, Size::Tiny, 1) {
            Ok(check) if check.passed => unnoticed.push(change()),
            Ok(_) => {}
            Err(error) if matches!(error.class(), Class::Fault | Class::Limit) => {}
            Err(error) => panic!("{}: {error}", change()),
        }
    }
    let known = KNOWN.iter().find(|(other, _)| *other == name).map_or(0, |(_, count)| *count);
    assert!(
        unnoticed.len() == known,
        "{} of {} are not noticed, and {known} known to be so:\n{}",
        unnoticed.len(),
        mutants.len(),
        unnoticed.join("\n")
    );
}

macro_rules! workloads {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            every_change_is_noticed(stringify!($name));
        }
    )*};
}

workloads! {
    vecadd sgemm reduction scan transpose pathfinder bfs hotspot backprop nw kmeans histo gaussian lib
    stencil spmv_jds mri_q cp lps lud aes bfs_ispass nqu neural sto srad_v1
    dwt2d sad ray
    btree blackscholes fastwalsh alexnet cifarnet gru lstm
    cutcp lbm mri_gridding tpacf cfd kmeans_texture lavamd leukocyte particlefilter srad_v2 streamcluster simpletexture
    convsep compact pageviewcount pageviewrank heartwall mummergpu bfs_lonestar sssp spmv_csr
    nn hotspot3d matrixmul dct8x8 sortnetworks montecarlo triad sort md
}

#[test]
fn no_workload_is_left_out() {
    let here = include_str!("mutation.rs");
    let list = here.split_once("\nworkloads! {").and_then(|(_, rest)| rest.split_once('}'));
    let (list, _) = list.expect("the list above");
    for workload in warpwatt_workloads::all() {
        assert!(list.split_whitespace().any(|word| word == workload.info().name));
    }
}
