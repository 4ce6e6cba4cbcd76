// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the clean-up passes make of small kernels: the SSA text after them. Each test names the idea; the expected text is the whole kernel.

use warpwatt_compiler::{front, opt, print, verify};

/// SSA of `body` after clean-up. Registers are declared here; parameters are `p`, `q` (pointers) and `n`.
fn cleaned(body: &str) -> String {
    let text = format!(
        ".version 7.5\n.target sm_50\n.address_size 64\n.const .align 4 .f32 weights[8];\n.shared .align 4 .b8 tile[256];\n\
         .visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<20>;\n\
         .reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n{body}\nret;\n}}\n"
    );
    let parsed = warpwatt_ptx::parse("k.ptx", &text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let layout = front::layout(&parsed.module);
    let mut lowered = front::lower(&parsed.module, &layout, "k").unwrap_or_else(|d| panic!("{d:?}"));
    let kernel = &mut lowered.functions[0];
    opt::run(kernel, true);
    verify::ssa(kernel).unwrap_or_else(|problem| panic!("{problem}\n{}", print::function(kernel)));
    // The head line is the same for all.
    print::function(kernel).lines().skip(1).map(|l| l.trim_end().to_string() + "\n").collect()
}

fn check(body: &str, expected: &str) {
    let got = cleaned(body);
    let trim =
        |s: &str| s.lines().map(|l| l.trim().to_string()).filter(|l| !l.is_empty()).collect::<Vec<_>>();
    assert_eq!(trim(&got), trim(expected), "got:\n{got}");
}

const ADDRESS: &str = "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\n";

#[test]
fn an_array_element_is_one_wide_multiply_add_with_the_base_from_the_constant_bank() {
    check(
        &format!(
            "{ADDRESS}ld.global.u32 %r2, [%rd4+8];\nadd.s64 %rd5, %rd4, 64;\nst.global.u32 [%rd5+4], %r2;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v7 = MOV 0x4
             d4 = IMAD.WIDE v2, v7, c[0x0][0x160]
             v5 = LD.GLOBAL.U32 d4, off=8
             ST.GLOBAL.U32 d4, v5, off=68
             exit",
    );
}

#[test]
fn constants_are_folded_through_chains() {
    check(
        &format!(
            "{ADDRESS}mov.u32 %r2, 5;\nadd.s32 %r3, %r2, 7;\nshl.b32 %r4, %r3, 2;\nmul.lo.s32 %r5, %r4, %r3;\nst.global.u32 [%rd4], %r5;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v9 = MOV 0x4
             d4 = IMAD.WIDE v2, v9, c[0x0][0x160]
             v10 = MOV 0x240
             ST.GLOBAL.U32 d4, v10
             exit",
    );
}

#[test]
fn equal_computations_are_merged_and_dead_ones_removed() {
    check(
        &format!(
            "{ADDRESS}ld.global.u32 %r2, [%rd4];\nxor.b32 %r3, %r2, %r1;\nxor.b32 %r4, %r1, %r2;\nxor.b32 %r5, %r2, %r1;\nmul.lo.s32 %r6, %r4, %r5;\nadd.s32 %r7, %r3, %r5;\nst.global.u32 [%rd4], %r7;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v11 = MOV 0x4
             d4 = IMAD.WIDE v2, v11, c[0x0][0x160]
             v5 = LD.GLOBAL.U32 d4
             v6 = LOP3.0x3c v5, v2, 0x0
             v10 = IADD3.S32 v6, v6
             ST.GLOBAL.U32 d4, v10
             exit",
    );
}

#[test]
fn three_input_operations_swallow_their_single_users() {
    check(
        &format!(
            "{ADDRESS}ld.global.u32 %r2, [%rd4];\nld.param.u32 %r3, [n];\nand.b32 %r4, %r2, %r1;\nxor.b32 %r5, %r4, %r3;\nadd.s32 %r6, %r5, %r1;\nadd.s32 %r7, %r6, %r2;\nshl.b32 %r8, %r7, 3;\nadd.s32 %r9, %r8, %r1;\nmul.lo.s32 %r10, %r9, %r2;\nadd.s32 %r11, %r10, %r5;\nst.global.u32 [%rd4], %r11;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v15 = MOV 0x4
             d4 = IMAD.WIDE v2, v15, c[0x0][0x160]
             v5 = LD.GLOBAL.U32 d4
             v8 = LOP3.0x6a v5, v2, c[0x0][0x170]
             v10 = IADD3.S32 v8, v2, v5
             v12 = LEA.SH3 v10, v2
             v14 = IMAD.S32 v12, v5, v8
             ST.GLOBAL.U32 d4, v14
             exit",
    );
}

#[test]
fn a_shared_address_is_computed_in_32_bits() {
    check(
        &format!(
            "{ADDRESS}mov.u64 %rd6, tile;\nmov.u32 %r5, %tid.y;\nmul.wide.u32 %rd7, %r5, 4;\nadd.s64 %rd8, %rd6, %rd7;\nld.shared.u32 %r2, [%rd8+16];\nst.global.u32 [%rd4], %r2;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v11 = MOV 0x4
             d4 = IMAD.WIDE v2, v11, c[0x0][0x160]
             v6 = S2R SR_TID.Y
             v10 = SHL v6, 0x2
             v9 = LD.SHARED.U32 v10, off=16
             ST.GLOBAL.U32 d4, v9
             exit",
    );
}

#[test]
fn a_constant_at_a_known_place_is_an_operand() {
    check(
        &format!(
            "{ADDRESS}ld.const.f32 %f1, [weights+8];\nld.global.f32 %f2, [%rd4];\nmul.f32 %f3, %f2, %f1;\nneg.f32 %f4, %f3;\nadd.f32 %f5, %f2, %f4;\nst.global.f32 [%rd4], %f5;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v10 = MOV 0x4
             d4 = IMAD.WIDE v2, v10, c[0x0][0x160]
             v6 = LD.GLOBAL.F32 d4
             v9 = FFMA.F32 -v6, c[0x3][0x8], v6
             ST.GLOBAL.F32 d4, v9
             exit",
    );
}

#[test]
fn a_short_branch_becomes_guarded_instructions() {
    check(
        &format!(
            "{ADDRESS}ld.global.u32 %r2, [%rd4];\nld.param.u32 %r3, [n];\nsetp.lt.u32 %p1, %r2, %r3;\n@%p1 bra skip;\nadd.s32 %r2, %r2, 9;\nst.global.u32 [%rd4+4], %r2;\nskip:\nst.global.u32 [%rd4], %r2;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v11 = MOV 0x4
             d4 = IMAD.WIDE v2, v11, c[0x0][0x160]
             v5 = LD.GLOBAL.U32 d4
             p7 = ISETP.LT v5, c[0x0][0x170]
             @!p7 v9 = IADD3.S32 v5, 0x9
             @!p7 ST.GLOBAL.U32 d4, v9, off=4
             @!p7 v10 = MOV v9, keep=v5
             ST.GLOBAL.U32 d4, v10
             exit",
    );
}

#[test]
fn a_comparison_combines_with_the_predicate_that_follows() {
    check(
        &format!(
            "{ADDRESS}ld.param.u32 %r3, [n];\nsetp.lt.u32 %p1, %r1, %r3;\nsetp.ne.s32 %p2, %r1, 7;\nand.pred %p3, %p1, %p2;\nselp.u32 %r4, 1, 0, %p3;\nsetp.eq.s32 %p4, %r4, 1;\n@!%p4 bra out;\nst.global.u32 [%rd4], %r1;\nout:"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v11 = MOV 0x4
             d4 = IMAD.WIDE v2, v11, c[0x0][0x160]
             p7 = ISETP.S32.NE v2, 0x7
             p8 = ISETP.LT v2, c[0x0][0x170], p7
             @p8 ST.GLOBAL.U32 d4, v2
             exit",
    );
}

#[test]
fn a_constant_that_needs_a_register_is_moved_there_outside_of_the_loop() {
    check(
        &format!(
            "{ADDRESS}ld.param.u32 %r3, [n];\nmov.u32 %r4, 0;\nmov.f32 %f1, 0f00000000;\nloop:\nld.global.f32 %f2, [%rd4];\nfma.rn.f32 %f1, %f2, 0f3FC00000, 0f40490FDB;\nst.global.f32 [%rd4], %f1;\nadd.s32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, %r3;\n@%p1 bra loop;"
        ),
        "b0:
             v2 = S2R SR_TID.X
             v13 = MOV 0x4
             d4 = IMAD.WIDE v2, v13, c[0x0][0x160]
             v14 = MOV 0x40490fdb
             jump b1
             b1:  ; from b0 b1
             v8 = phi 0x0, v11
             v9 = LD.GLOBAL.F32 d4
             v10 = FFMA.F32 v9, 0x3fc00000, v14
             ST.GLOBAL.F32 d4, v10
             v11 = IADD3.S32 v8, 0x1
             p12 = ISETP.LT v11, c[0x0][0x170]
             branch p12 ? b1 : b2
             b2:  ; from b1
             exit",
    );
}
