// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the simulated program can do wrong, and what is said about it.

use crate::common::{Folder, Ran, STORE_PTX, warpwatt};

fn run(example: &str, flags: &[&str]) -> Ran {
    let file = format!("examples/faults/{example}.toml");
    let mut args = vec!["run", "--launch", &file, "--functional", "-q"];
    args.extend(flags);
    warpwatt(&args)
}

/// The line of `faults.cu` that holds `text`.
fn line_of(text: &str) -> usize {
    let source =
        std::fs::read_to_string(crate::common::root().join("examples/faults/faults.cu")).expect("the source");
    source.lines().position(|line| line.contains(text)).expect("the line is there") + 1
}

#[test]
fn a_write_past_the_end_names_line_thread_and_allocation() {
    let line = line_of("out[i] = 1.0f;");
    run("past-the-end", &[])
        .expect(4)
        .says("out-of-bounds access: store of 4 bytes to global memory at 0x10000000400")
        .says("right past the end of `out` (1024 bytes at 0x10000000000)")
        .says("by thread (96, 0, 0) of block (1, 0, 0)")
        .says("in kernel `past_the_end`, launch 0, grid (2, 1, 1), block (160, 1, 1)")
        .says(&format!("at faults.cu:{line}:"))
        .says("out[i] = 1.0f;")
        .says("st.global")
        .says("help: compare the index");
}

#[test]
fn the_record_of_a_fault_has_its_place() {
    let ran = run("past-the-end", &["--json", "-"]).expect(4);
    let record = ran.json();
    assert_eq!(record["status"], "failed");
    let diagnostic = &record["diagnostics"][0];
    assert_eq!(diagnostic["code"], "out-of-bounds");
    assert_eq!(diagnostic["file"], "faults.cu");
    assert_eq!(diagnostic["line"], line_of("out[i] = 1.0f;"));
    assert!(record["totals"]["warp_instructions"].as_u64() > Some(0), "what ran until then is counted");
}

#[test]
fn without_a_line_table_the_ptx_line_is_named() {
    let folder = Folder::new();
    folder.file("store.ptx", STORE_PTX);
    let launch = folder.file(
        "store.toml",
        "ptx = \"store.ptx\"\n[[buffer]]\nname = \"data\"\ntype = \"u32\"\ncount = 10\n[[step]]\nlaunch = \"store\"\ngrid = 1\nblock = 32\nargs = [\"buf:data\", { u32 = 11 }, { u32 = 0 }]\n",
    );
    let line = STORE_PTX.lines().position(|line| line.contains("st.global")).expect("the store") + 1;
    warpwatt(&["run", "--launch", &launch, "--functional"])
        .expect(4)
        .says("by thread (10, 0, 0) of block (0, 0, 0)")
        .says(&format!("store.ptx:{line}: st.global.u32 [%rd3], %r2;"))
        .says("`data` (40 bytes");
}

#[test]
fn halves_of_a_block_at_different_barriers_are_a_deadlock() {
    run("divergent-barrier", &[])
        .expect(4)
        .says("barrier deadlock")
        .says("in kernel `divergent_barrier`")
        .says(&format!("faults.cu:{}", line_of("bar.sync 1, 128")))
        .says(&format!("faults.cu:{}", line_of("bar.sync 2, 128")))
        .says("help: all threads of a block have to reach the same barrier");
}

#[test]
fn a_race_is_seen_only_when_looked_for() {
    run("race", &[]).expect(0);
    for check in ["races", "races,uninit", "all"] {
        for mode in [&["--functional"][..], &[]] {
            let file = "examples/faults/race.toml";
            let ran =
                warpwatt(&[&["run", "--launch", file, "-q", "--check", check], mode].concat()).expect(4);
            let ran = ran.says("race on shared memory").says("in kernel `race`");
            for line in ["tile[threadIdx.x] =", "tile[127 - threadIdx.x]"] {
                assert!(
                    ran.err.contains(&format!("at faults.cu:{}:", line_of(line))),
                    "both lines: {}",
                    ran.err
                );
            }
        }
    }
}

#[test]
fn a_lock_that_is_never_released_is_no_progress() {
    for mode in [&["--functional"][..], &[]] {
        let file = "examples/faults/lock-held.toml";
        warpwatt(&[&["run", "--launch", file, "-q", "--timeout", "60"], mode].concat())
            .expect(4)
            .says("no progress")
            .says(&format!("faults.cu:{}", line_of("atomicCAS")));
    }
}

#[test]
fn functional_runs_obey_the_limits_of_a_gpu() {
    let file = "examples/faults/race.toml";
    let with = |setting: &str| warpwatt(&["run", "--launch", file, "--functional", "-q", "--set", setting]);
    with("sm.threads=64").expect(3).says("a block takes 128 threads, an SM has 64");
    with("sm.warps=2").expect(3).says("a block takes 4 warps, an SM has 2");
    with("sm.threads=128").expect(0);
    warpwatt(&["run", "transpose@tiny", "--functional", "-q", "--set", "sm.shared.bytes=1024"])
        .expect(3)
        .says("a block takes 4224 bytes of shared memory, an SM has 1024");
}

#[test]
fn a_misaligned_load_is_told_from_an_out_of_bounds_one() {
    run("misaligned", &[]).expect(4).says("misaligned access: load of 4 bytes").says("by thread (0, 0, 0)");
}
