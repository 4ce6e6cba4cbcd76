// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts that were linked, run: calls whose prototype differs from the definition in another text.

use warpwatt_runtime::{Args, Device, LaunchConfig};

const HEAD: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// Links two texts, runs `k(out)` with one thread and gives the two words at `out`, which start at 77.
fn run(user: &str, library: &str) -> [u32; 2] {
    let texts = [format!("{HEAD}{user}"), format!("{HEAD}{library}")];
    let linked = warpwatt_ptx::link(&[("user", &texts[0]), ("library", &texts[1])]).expect("they link");
    let mut device = Device::new().expect("a device");
    let module = device.load_module("linked", &linked).expect("it loads");
    let out = device.alloc(8).expect("room");
    device.write(out, &[77, 0, 0, 0, 77, 0, 0, 0]).expect("inside");
    let args = Args::new().ptr(out);
    device.launch(module, "k", &LaunchConfig::new(1, 1), &args).unwrap_or_else(|error| panic!("{error}"));
    let mut bytes = [0; 8];
    device.read(out, &mut bytes).expect("inside");
    [0, 4].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
}

const STORE: &str = ".reg .b32 %r<3>; .reg .b64 %d<3>;
    ld.param.u32 %r1, [x]; ld.param.u64 %d1, [p]; st.global.u32 [%d1+4], %r1;";

#[test]
fn a_call_that_expects_a_result_of_a_function_without_one_passes_its_arguments() {
    for size in ["b32", "b64"] {
        let user = format!(
            ".extern .func (.param .{size} r) f(.param .b32 x, .param .b64 p);
            .visible .entry k(.param .u64 out)
            {{
                .reg .b32 %r<3>; .reg .b64 %d<3>;
                ld.param.u64 %d1, [out];
                .param .b32 a0; .param .b64 a1; .param .{size} back;
                st.param.b32 [a0], 42; st.param.b64 [a1], %d1;
                call.uni (back), f, (a0, a1);
                ld.param.b32 %r1, [back];
                and.b32 %r2, %r1, 0;
                st.global.u32 [%d1], %r2;
                ret;
            }}"
        );
        let library = format!(".visible .func f(.param .b32 x, .param .b64 p)\n{{ {STORE} ret; }}");
        assert_eq!(run(&user, &library), [0, 42], "{size}");
    }
}

#[test]
fn a_result_that_a_call_does_not_expect_is_dropped() {
    let user = ".extern .func f(.param .b32 x, .param .b64 p);
        .visible .entry k(.param .u64 out)
        {
            .reg .b64 %d<3>;
            ld.param.u64 %d1, [out];
            .param .b32 a0; .param .b64 a1;
            st.param.b32 [a0], 43; st.param.b64 [a1], %d1;
            call.uni f, (a0, a1);
            ret;
        }";
    let library = format!(
        ".visible .func (.param .b32 r) f(.param .b32 x, .param .b64 p)\n{{ {STORE} st.param.b32 [r], 9; ret; }}"
    );
    assert_eq!(run(user, &library), [77, 43]);
}
