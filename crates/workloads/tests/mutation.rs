// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks are strong: change any one arithmetic instruction of a workload's PTX, and its check fails, or the
//! run does. Each test does that for every arithmetic instruction of one workload in turn. The few that cannot show are in `EQUIVALENT`.

use warpwatt_runtime::{Class, Device, Nobody, Options};
use warpwatt_workloads::{Size, Workload, find};

/// One instruction put in another's place.
struct Mutant {
    line: usize,
    before: String,
    after: String,
    ptx: String,
}

impl Mutant {
    fn text(&self) -> String {
        format!("line {}: `{}` as `{}`", self.line, self.before, self.after)
    }
}

/// Opcodes that compute nothing: they move, choose, compare or steer.
const NOT_ARITHMETIC: [&str; 13] =
    ["mov", "ld", "st", "cvta", "cvt", "setp", "selp", "bra", "bar", "ret", "shfl", "exit", "tex"];

/// Changes that show in no output at tiny nor at small, and why they cannot: workload, instruction, reason.
const EQUIVALENT: [(&str, &str, &str); 8] = [
    ("cutcp", "add.s32 \t%r32, %r10, %r31;", "offsets of bins are a list that holds the opposite of each"),
    ("dwt2d", "sub.s32 \t%r53, %r52, %r3;", "only used below column -62, where no tile begins"),
    (
        "dwt2d",
        "sub.s32 \t%r123, %r66, %r10;",
        "only used by the first row of tiles, where the second operand is 0",
    ),
    (
        "pageviewcount",
        "add.s32 \t%r1, %r10, %r11;",
        "threads take the same elements in another order, the padding at the end aside",
    ),
    (
        "pageviewrank",
        "add.s32 \t%r1, %r10, %r11;",
        "threads take the same elements in another order, the padding at the end aside",
    ),
    (
        "sort",
        "add.s32 \t%r22, %r9, %r26;",
        "the sum that is carried is 0 in the first round of a scan; a second one begins at medium",
    ),
    (
        "sort",
        "add.s32 \t%r23, %r27, %r26;",
        "the sum that is carried is 0 in the first round of a scan; a second one begins at medium",
    ),
    (
        "sort",
        "add.s32 \t%r24, %r23, %r9;",
        "the sum that is carried on is read in the second round of a scan, which begins at medium",
    ),
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

/// Whether the check or the run fails with a changed text.
fn is_noticed(workload: &dyn Workload, mutant: &Mutant, size: Size) -> bool {
    // A changed loop may never end.
    let options =
        Options { max_thread_instructions: Some(4 * size.thread_instructions().1), ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    match workload.run(&mut device, &mutant.ptx, size, 1) {
        Ok(check) => !check.passed,
        Err(error) if matches!(error.class(), Class::Fault | Class::Limit) => true,
        Err(error) => panic!("{}: {error}", mutant.text()),
    }
}

fn every_change_is_noticed(name: &str) {
    let workload = find(name).expect("a workload of that name");
    let mutants = mutants(workload.ptx());
    assert!(mutants.len() > 5, "only {} instructions to change", mutants.len());
    let equivalent: Vec<&str> =
        EQUIVALENT.iter().filter(|(other, ..)| *other == name).map(|(_, before, _)| *before).collect();
    // What a tiny problem does not reach, such as a second tile or the next level of a tree, a small one does.
    let unnoticed: Vec<&Mutant> = mutants
        .iter()
        .filter(|mutant| {
            !is_noticed(workload, mutant, Size::Tiny) && !is_noticed(workload, mutant, Size::Small)
        })
        .collect();
    let unknown: Vec<String> = unnoticed
        .iter()
        .filter(|mutant| !equivalent.contains(&mutant.before.as_str()))
        .map(|mutant| mutant.text())
        .collect();
    assert!(
        unknown.is_empty(),
        "{} of {} are not noticed:\n{}",
        unknown.len(),
        mutants.len(),
        unknown.join("\n")
    );
    let noticed = equivalent.iter().find(|before| unnoticed.iter().all(|mutant| mutant.before != **before));
    assert_eq!(noticed, None, "it is noticed");
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
