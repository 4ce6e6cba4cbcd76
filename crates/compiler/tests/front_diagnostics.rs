// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said about PTX that cannot be lowered: the code, the words, the advice, and that neighbours stay usable.

use warpwatt_compiler::front;
use warpwatt_ptx::{Diagnostic, line_col};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn problems(text: &str, kernel: &str) -> Vec<Diagnostic> {
    let parsed = warpwatt_ptx::parse("test.ptx", text);
    let layout = front::layout(&parsed.module);
    front::lower(&parsed.module, &layout, kernel).err().unwrap_or_default()
}

/// The problems of a kernel with the given body, whose first line is line 8.
fn body(instructions: &str) -> (String, Vec<Diagnostic>) {
    let text = format!(
        "{HEAD}.shared .b8 tile[64];\n.entry k(.param .u64 pointer)\n{{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .s32 %s<4>;\n{instructions}\nret;\n}}\n"
    );
    let found = problems(&text, "k");
    (text, found)
}

fn only(instruction: &str) -> Diagnostic {
    let (text, mut found) = body(instruction);
    assert_eq!(found.len(), 1, "{instruction}: {found:#?}");
    let problem = found.remove(0);
    assert_eq!(line_col(&text, problem.span).0, 8, "{instruction}: {problem:?}");
    assert!(problem.help.is_some(), "{instruction}: no advice");
    problem
}

#[track_caller]
fn says(instruction: &str, code: &str, message: &str) {
    let problem = only(instruction);
    assert_eq!(problem.code, code, "{instruction}: {problem:?}");
    assert!(problem.message.contains(message), "{instruction}: {problem:?}");
}

#[test]
fn unsupported_forms_are_named() {
    for instruction in [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3};",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%r1];",
        "cp.async.ca.shared.global [%r1], [%rd1], 4;",
        "mbarrier.init.shared.b64 [%r1], 1;",
        "vadd.s32.s32.s32.add %r1, %r2, %r3;",
        "vshl.u32.u32.u32 %r1, %r2, %r3;",
        "vmad.u32.u32.u32.sat %r1, -%r2, %r3, %r1;",
        "vset4.u32.u32 %r1, %r2, %r3, %r1;",
        "red.global.add.v2.u32 [%rd1], {%r1, %r2};",
        "alloca.u64 %rd1, 16;",
        "barrier.cluster.arrive;",
        "add.cc.f32 %f1, %f2, %f3;",
        "add.sat.u32 %r1, %r2, %r3;",
        "mul.s32 %r1, %r2, %r3;",
        "setp.lo.s32 %p1, %r2, %r3;",
        "setp.lt.b32 %p1, %r2, %r3;",
        "cvt.f32.s32 %f1, %r2;",
        "cvt.s32.f32 %r1, %f2;",
        "atom.global.inc.s32 %r1, [%rd1], 1;",
        "red.global.cas.b32 [%rd1], %r1, %r2;",
        "ld.global.ftz.u32 %r1, [%rd1];",
        "shf.l.b32 %r1, %r2, %r3, 4;",
        "ex2.rn.f32 %f1, %f2;",
    ] {
        let problem = only(instruction);
        assert_eq!(problem.code, "ptx-unsupported", "{instruction}");
        let form = instruction.split_whitespace().next().unwrap_or_default().trim_end_matches(';');
        assert!(problem.message.contains(form), "{instruction}: {}", problem.message);
    }
}

#[test]
fn registers_of_the_wrong_type_are_told_apart() {
    says("add.s32 %r1, %rd2, %r3;", "ptx-type", "`%rd2` is a .b64 register, but the instruction needs .s32");
    says("add.s32 %f1, %r2, %r3;", "ptx-type", "`%f1` is a .f32 register");
    says("add.f32 %f1, %s2, %f3;", "ptx-type", "`%s2` is a .s32 register");
    says("add.s32 %r1, %p1, 2;", "ptx-type", "`%p1` is a .pred register");
    says("selp.b32 %r1, %r2, %r3, %r1;", "ptx-type", "needs .pred");
    says("ld.global.u64 %r1, [%rd1];", "ptx-type", "`%r1`");
    says("add.f32 %f1, %f2, 1;", "ptx-type", "an integer cannot be");
    says("mov.u16 %h1, 0f3F800000;", "ptx-type", "single-precision");
    says("st.global.u32 [%r1], %r2;", "ptx-unsupported", "64 bits");
}

#[test]
fn unknown_names_get_the_nearest_one() {
    let problem = only("add.s32 %r1, %r2, %r9;");
    assert_eq!(problem.code, "ptx-unknown-name");
    assert!(problem.help.as_deref().is_some_and(|h| h.contains("`%r0` to `%r3`")), "{problem:?}");
    let problem = only("st.shared.u32 [tiel], %r1;");
    assert!(problem.help.as_deref().is_some_and(|h| h.contains("`tile`")), "{problem:?}");
    let problem = only("ld.param.u64 %rd1, [pointre];");
    assert!(problem.help.as_deref().is_some_and(|h| h.contains("`pointer`")), "{problem:?}");
    says("bra nowhere;", "ptx-unknown-name", "`nowhere`");
}

#[test]
fn operands_are_counted_and_placed() {
    says("add.s32 %r1, %r2;", "ptx-operand-count", "takes 3 operands, this one has 2");
    says("ld.global.v4.u32 {%r1, %r2}, [%rd1];", "ptx-operand", "moves 4 elements, but 2 are given");
    says("ld.global.u32 %r1, [tile];", "ptx-space", ".shared");
    says("st.param.u64 [pointer], %rd1;", "ptx-space", "cannot be written");
    says("ld.param.u32 %r1, [pointer+70000];", "ptx-operand", "outside");
    says("bar.sync 16;", "ptx-operand", "invalid barrier number");
    says("add.s32 tile, %r1, %r2;", "ptx-operand", "invalid destination");
    says("bra tile;", "ptx-unknown-name", "tile");
}

#[test]
fn all_problems_of_a_kernel_are_collected() {
    let (_, found) =
        body("add.s32 %r1, %r9, 1;\nmul.s32 %r1, %r2, %r3;\nadd.s32 %r1, %r2, %r3;\nadd.f32 %f1, %f2, 1;");
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn messages_about_one_kernel_are_limited() {
    let many = "add.s32 %r1, %r9, 1;\n".repeat(5000);
    let (_, found) = body(&many);
    assert_eq!(found.len(), 100);
}

#[test]
fn a_kernel_is_refused_alone() {
    let text = format!(
        "{HEAD}.entry good() {{ ret; }}\n.entry bad() {{ .reg .b32 %r<2>; wmma.load.a.sync.aligned.row.m16n16k16.f16 {{%r1}}, [%r0]; ret; }}\n"
    );
    assert!(problems(&text, "good").is_empty());
    assert_eq!(problems(&text, "bad").len(), 1);
    let unknown = problems(&text, "goods");
    assert!(unknown[0].help.as_deref().is_some_and(|h| h.contains("`good`")), "{unknown:?}");
}

#[test]
fn calls_are_checked() {
    let text = |call: &str| {
        format!(
            "{HEAD}.extern .func (.param .b32 r) elsewhere(.param .b32 a);\n.func (.reg .b32 r) twice(.reg .b32 a) {{ add.s32 r, a, a; ret; }}\n.entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<4>;\n{call}\nret; }}\n"
        )
    };
    assert!(problems(&text("call (%r1), twice, (%r2);"), "k").is_empty());
    let code = |call: &str| problems(&text(call), "k").first().map(|d| d.code);
    assert_eq!(code("call (%r1), twice, (%r2, %r3);"), Some("ptx-operand-count"));
    assert_eq!(code("call (%r1), elsewhere, (%r2);"), Some("ptx-undefined"));
    assert_eq!(code("call (%r1), thrice, (%r2);"), Some("ptx-unknown-name"));
    assert_eq!(code("call (%r1), %rd1, (%r2);"), Some("ptx-operand"));
    assert_eq!(code("call (%rd1), twice, (%r2);"), Some("ptx-type"));
}

#[test]
fn limits_are_reported() {
    let code = |text: &str| problems(&format!("{HEAD}{text}"), "k").first().map(|d| d.code);
    assert_eq!(code(".entry k(.param .align 4 .b8 p[40000]) { ret; }"), Some("ptx-limit"));
    assert_eq!(code(".entry k() { .local .b8 big[99999999999]; ret; }"), Some("ptx-limit"));
    assert_eq!(code(".entry k() { .shared .b8 big[99999999999]; ret; }"), Some("ptx-limit"));
    assert_eq!(code(".entry k() .reqnctapercluster 2 { ret; }"), Some("ptx-unsupported"));
}

#[test]
fn a_kernel_that_launches_kernels_is_refused_as_such() {
    let text = format!(
        "{HEAD}.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f);\n.entry k()\n{{\n.param .b64 a;\n.param .b64 r;\nst.param.b64 [a], 0;\ncall.uni (r), __cudaCDP2GetParameterBufferV2, (a);\nret;\n}}\n"
    );
    let found = problems(&text, "k");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].code, "ptx-unsupported");
    assert!(found[0].message.contains("dynamic parallelism"), "{found:?}");
    assert!(found[0].help.as_deref().is_some_and(|help| help.contains("from the host")), "{found:?}");
}
