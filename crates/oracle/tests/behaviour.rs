// SPDX-License-Identifier: MIT OR Apache-2.0
//! The oracle itself: what it is trusted with, on kernels small enough to work out by hand.

use warpwatt_oracle::{Launch, Memory, run};

const OUT: u64 = 0x100_0000_0000;

/// Runs `body` (with `%tid.x` in `%t`, the output's address of this thread in `%out`) and gives the 64-bit words it stored.
fn launch(before: &str, body: &str, threads: u32) -> Result<Vec<u64>, String> {
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 p)\n{{\n\
         .reg .u32 %t, %a, %b, %c; .reg .u64 %out, %x, %y; .reg .f32 %f, %g; .reg .pred %p, %q;\n\
         mov.u32 %t, %tid.x; ld.param.u64 %out, [p]; mad.wide.u32 %out, %t, 8, %out;\n{body}\nret;\n}}\n"
    );
    let parsed = warpwatt_ptx::parse("test.ptx", &text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut memory = Memory::new();
    memory.map(OUT, vec![0; 8 * threads as usize]);
    let params = OUT.to_le_bytes();
    let launch =
        Launch { kernel: "k", grid: [1; 3], block: [threads, 1, 1], dynamic_shared: 64, params: &params };
    run(&parsed.module, &launch, &mut memory)?;
    let bytes = memory.buffer(OUT).expect("it was mapped");
    Ok(bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect())
}

#[test]
fn barriers_order_shared_memory() {
    let body = ".shared .u32 s[64]; mov.u32 %a, s; mad.lo.u32 %a, %t, 4, %a; st.shared.u32 [%a], %t;\n\
                bar.sync 0; mov.u32 %b, 63; sub.u32 %b, %b, %t; mov.u32 %a, s; mad.lo.u32 %a, %b, 4, %a;\n\
                ld.shared.u32 %c, [%a]; st.global.u32 [%out], %c;";
    assert_eq!(launch("", body, 64).unwrap(), (0..64).rev().collect::<Vec<_>>());
}

#[test]
fn a_barrier_that_some_never_reach_is_reported() {
    let body = "setp.eq.u32 %p, %t, 3; @%p bra W; bar.sync 0; W: bar.sync 1;";
    let error = launch("", body, 32).unwrap_err();
    assert!(error.contains("forever"), "{error}");
}

#[test]
fn lanes_exchange_values() {
    let body = "shfl.sync.bfly.b32 %a|%p, %t, 1, 0x1f, 0xffffffff; setp.gt.u32 %q, %t, 29;\n\
                vote.sync.ballot.b32 %b, %q, 0xffffffff; mov.b64 %x, {%a, %b}; st.global.u64 [%out], %x;";
    let expected: Vec<u64> = (0..32).map(|lane| 0xc000_0000_0000_0000 | (lane ^ 1)).collect();
    assert_eq!(launch("", body, 32).unwrap(), expected);
}

#[test]
fn functions_recurse_through_parameters_in_memory() {
    let before = ".func (.param .b32 r) factorial (.param .b32 n)\n{\n.reg .u32 %n, %m; .reg .pred %p;\n\
                  ld.param.u32 %n, [n]; setp.lt.u32 %p, %n, 2; @%p bra ONE; sub.u32 %m, %n, 1;\n\
                  {\n.param .b32 q; .param .b32 v;\nst.param.b32 [q], %m;\n\
                  call (v), factorial, (q);\nld.param.b32 %m, [v];\n}\n\
                  mul.lo.u32 %n, %n, %m; bra OUT; ONE: mov.u32 %n, 1; OUT: st.param.b32 [r], %n; ret;\n}";
    let body = "{ .param .b32 q; .param .b32 v; st.param.b32 [q], %t; call (v), factorial, (q);\n\
                ld.param.b32 %a, [v]; } st.global.u32 [%out], %a;";
    assert_eq!(launch(before, body, 6).unwrap(), [1, 1, 2, 6, 24, 120]);
}

#[test]
fn carries_and_borrows_chain() {
    let body = "mov.u32 %a, -1; add.cc.u32 %a, %a, 1; addc.u32 %b, 0, 0; mov.b64 %x, {%a, %b}; mov.u32 %a, 0;\n\
                sub.cc.u32 %a, %a, 1; subc.u32 %b, 7, 0; mov.b64 %y, {%a, %b}; add.u64 %x, %x, %y;\n\
                st.global.u64 [%out], %x;";
    assert_eq!(launch("", body, 1).unwrap(), [0x7_ffff_ffff]);
}

#[test]
fn generic_addresses_lead_to_their_spaces() {
    let body = ".shared .align 8 .u64 s; .local .align 8 .u64 l; cvta.shared.u64 %x, s;\n\
                st.u64 [%x], 5; ld.shared.u64 %y, [s]; cvta.local.u64 %x, l; st.u64 [%x], %y;\n\
                ld.local.u64 %y, [l]; isspacep.local %p, %x; selp.u32 %a, 10, 20, %p; cvt.u64.u32 %x, %a;\n\
                add.u64 %y, %y, %x; st.global.u64 [%out], %y;";
    assert_eq!(launch("", body, 1).unwrap(), [15]);
}

#[test]
fn addresses_outside_of_buffers_are_reported_with_their_line() {
    let error = launch("", "st.global.u64 [%out+8], 1;", 1).unwrap_err();
    assert!(error.contains("line 9") && error.contains("0x10000000008"), "{error}");
}

#[test]
fn conversions_clamp_and_round() {
    let body = "mov.f32 %f, 0fC0200000; cvt.rni.s32.f32 %a, %f; cvt.rzi.u32.f32 %b, %f; mov.b64 %x, {%a, %b};\n\
                st.global.u64 [%out], %x;";
    assert_eq!(launch("", body, 1).unwrap(), [0xffff_fffe], "-2.5 to even is -2, to unsigned is 0");
}
