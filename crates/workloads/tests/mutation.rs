// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks are strong: change any one arithmetic instruction of a workload's PTX, and its check fails, or the
//! run does. Each test does that for every arithmetic instruction of one workload in turn. The few that cannot show are in `SILENT`.

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

/// A change that shows in no output.
struct Silent {
    workload: &'static str,
    instruction: &'static str,
    reason: &'static str,
    /// Whether the instruction can be left out without a wrong output: wherever its result is used, its second operand is 0, or it is
    /// used nowhere. Otherwise leaving it out is noticed: see [`weaker`].
    unneeded: bool,
}

/// Changes that give the right outputs with every input, and why.
const SILENT: [Silent; 5] = [
    Silent {
        workload: "cutcp",
        instruction: "add.s32 \t%r32, %r10, %r31;",
        reason: "the list of offsets between bins holds the opposite of each, so the same bins come in another order",
        unneeded: false,
    },
    Silent {
        workload: "dwt2d",
        instruction: "sub.s32 \t%r53, %r52, %r3;",
        reason: "the place mirrored at the left edge, chosen for columns below -62, where no tile begins",
        unneeded: true,
    },
    Silent {
        workload: "dwt2d",
        instruction: "sub.s32 \t%r123, %r66, %r10;",
        reason: "the row mirrored at the upper edge, chosen in the first row of tiles only, where the second operand is 0",
        unneeded: true,
    },
    Silent {
        workload: "pageviewcount",
        instruction: "add.s32 \t%r1, %r10, %r11;",
        reason: "each block takes the elements below its first; those left out or before the array have no partner to compare with",
        unneeded: false,
    },
    Silent {
        workload: "pageviewrank",
        instruction: "add.s32 \t%r1, %r10, %r11;",
        reason: "each block takes the elements below its first; those left out or before the array have no partner to compare with",
        unneeded: false,
    },
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

/// Whether a change is noticed at any of the three lesser sizes. What a tiny problem does not reach, such as a second tile or the next
/// level of a tree, a small one does, and a medium one has more of it than a block takes at once.
fn is_noticed_anywhere(workload: &dyn Workload, mutant: &Mutant) -> bool {
    [Size::Tiny, Size::Small, Size::Medium].into_iter().any(|size| is_noticed(workload, mutant, size))
}

/// The instruction of a mutant left out instead: its result is its first operand.
fn weaker(ptx: &str, mutant: &Mutant) -> Mutant {
    let body = mutant.before.trim_end_matches(';');
    let (opcode, operands) = body.split_once(char::is_whitespace).expect("an opcode with operands");
    let kind = opcode.rsplit('.').next().unwrap_or_default();
    let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
    let after = format!("mov.{kind} {}, {};", operands[0], operands[1]);
    let mut lines: Vec<&str> = ptx.lines().collect();
    lines[mutant.line - 1] = &after;
    let ptx = lines.join("\n");
    Mutant { line: mutant.line, before: mutant.before.clone(), after, ptx }
}

fn every_change_is_noticed(name: &str) {
    let workload = find(name).expect("a workload of that name");
    let mutants = mutants(workload.ptx());
    assert!(mutants.len() > 5, "only {} instructions to change", mutants.len());
    let silent: Vec<&Silent> = SILENT.iter().filter(|silent| silent.workload == name).collect();
    let unnoticed: Vec<&Mutant> =
        mutants.iter().filter(|mutant| !is_noticed_anywhere(workload, mutant)).collect();
    let of = |mutant: &Mutant| silent.iter().find(|silent| silent.instruction == mutant.before);
    let unknown: Vec<String> =
        unnoticed.iter().filter(|mutant| of(mutant).is_none()).map(|mutant| mutant.text()).collect();
    assert!(
        unknown.is_empty(),
        "{} of {} are not noticed:\n{}",
        unknown.len(),
        mutants.len(),
        unknown.join("\n")
    );
    assert_eq!(unnoticed.len(), silent.len(), "a change is noticed that is listed as silent");
    for mutant in unnoticed {
        let silent = of(mutant).expect("all are known");
        let other = weaker(workload.ptx(), mutant);
        assert_eq!(
            is_noticed_anywhere(workload, &other),
            !silent.unneeded,
            "{} ({})",
            other.text(),
            silent.reason
        );
    }
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
