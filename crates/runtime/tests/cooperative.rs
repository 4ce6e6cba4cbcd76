// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cooperative launches: the workspace in which cooperative groups' `grid_group` counts its blocks.

use warpwatt_runtime::{Args, Device, Error, LaunchConfig};

/// What `grid.sync()` compiles to: block 0 adds the complement, so that the last arrival flips the counter's top bit.
const GRID_SYNC: &str = r#".version 7.0
.target sm_75
.address_size 64
.visible .entry rounds(.param .u64 data)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, %envreg1;
    mov.u32 %r1, %envreg2;
    mov.b64 %rd1, {%r1, %r0};
    setp.ne.u64 %p0, %rd1, 0;
    @%p0 bra valid;
    trap;
valid:
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd2, %rd0, %rd2;
    add.u32 %r4, %r2, 1;
    rem.u32 %r4, %r4, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd3, %rd0, %rd3;
    mov.u32 %r5, 0;
round:
    ld.volatile.global.u32 %r6, [%rd3];
    bar.sync 0;
    setp.eq.u32 %p1, %r2, 0;
    sub.u32 %r7, 0x80000001, %r3;
    selp.b32 %r8, %r7, 1, %p1;
    atom.add.acq_rel.gpu.u32 %r9, [%rd1+4], %r8;
wait:
    ld.acquire.gpu.u32 %r10, [%rd1+4];
    xor.b32 %r11, %r10, %r9;
    setp.ge.s32 %p2, %r11, 0;
    @%p2 bra wait;
    add.u32 %r6, %r6, 1;
    st.volatile.global.u32 [%rd2], %r6;
    atom.add.acq_rel.gpu.u32 %r9, [%rd1+4], %r8;
again:
    ld.acquire.gpu.u32 %r10, [%rd1+4];
    xor.b32 %r11, %r10, %r9;
    setp.ge.s32 %p2, %r11, 0;
    @%p2 bra again;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, 3;
    @%p3 bra round;
    ret;
}
"#;

#[test]
fn blocks_of_a_cooperative_grid_meet_in_its_workspace() {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("rounds.ptx", GRID_SYNC).expect("it loads");
    let data = device.alloc(4 * 200).expect("room");
    let start: Vec<u8> = (0..200u32).flat_map(|k| (1000 * k).to_le_bytes()).collect();
    // More blocks than a machine holds otherwise, and twice: the second launch finds the barrier as new.
    for _ in 0..2 {
        device.write(data, &start).expect("a copy");
        let config = LaunchConfig::new(200, 1).cooperative();
        device.launch(module, "rounds", &config, &Args::new().ptr(data)).expect("it runs");
        let mut bytes = vec![0; 4 * 200];
        device.read(data, &mut bytes).expect("a copy");
        for (k, word) in bytes.chunks(4).enumerate() {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            assert_eq!(word, 1000 * ((k as u32 + 3) % 200) + 3, "block {k}");
        }
    }
}

#[test]
fn a_plain_launch_has_no_workspace() {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("rounds.ptx", GRID_SYNC).expect("it loads");
    let data = device.alloc(4).expect("room");
    let outcome = device.launch(module, "rounds", &LaunchConfig::new(1, 1), &Args::new().ptr(data));
    let Err(Error::Fault(report)) = outcome else { panic!("it should trap, not {outcome:?}") };
    assert!(report.to_string().contains("trap"), "{report}");
}
