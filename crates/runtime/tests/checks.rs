// SPDX-License-Identifier: MIT OR Apache-2.0
//! Optional checks, and what reports of faults say. Each check has a program with the error and right ones that look like it, and both
//! modes agree.

use warpwatt_config::Config;
use warpwatt_runtime::{
    Args, CheckOptions, Device, DevicePtr, Error, FaultReport, LaunchConfig, Mode, ModuleId, Nobody, Options,
};

/// A module for a target, of kernels `k(out)` whose bodies are given; `%d1` is `out`, `%r1` the thread, `%r2` the block.
fn module(sm: u32, globals: &str, body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_{sm}\n.address_size 64\n{globals}\n.visible .entry k(.param .u64 out)\n{{\n\
        .reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<4>;\n\
        ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n{body}\nret;\n}}\n"
    )
}

fn checks(names: &str) -> CheckOptions {
    let mut checks = CheckOptions::default();
    names.split(',').filter(|name| !name.is_empty()).for_each(|name| checks.add(name).expect("a check"));
    checks
}

fn modes() -> [Mode; 2] {
    [Mode::Functional, Mode::timed(Config::default())]
}

struct Bench {
    device: Device,
    module: ModuleId,
    out: DevicePtr,
}

impl Bench {
    fn new(mode: Mode, names: &str, ptx: &str, bytes: u64, written: bool) -> Bench {
        let options = Options { mode, checks: checks(names), ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let module = device.load_module("k.ptx", ptx).unwrap_or_else(|error| panic!("{error}"));
        let out = device.alloc_named(bytes, "out").expect("room");
        if written {
            device.memset(out, 0, bytes).expect("inside");
        }
        Bench { device, module, out }
    }

    fn launch(&mut self, grid: u32, block: u32) -> Result<(), Error> {
        let args = Args::new().ptr(self.out);
        self.device.launch(self.module, "k", &LaunchConfig::new(grid, block), &args)
    }
}

/// Runs `k` in both modes; gives what was reported, which must be of the same kind in both.
fn report(names: &str, ptx: &str, grid: u32, block: u32) -> Option<Box<FaultReport>> {
    let outcomes = modes().map(|mode| match Bench::new(mode, names, ptx, 4096, true).launch(grid, block) {
        Ok(()) => None,
        Err(Error::Fault(report)) => Some(report),
        Err(other) => panic!("{other}"),
    });
    let [functional, timed] = outcomes;
    let code = |of: &Option<Box<FaultReport>>| of.as_ref().map(|report| report.code);
    assert_eq!(code(&functional), code(&timed), "{functional:?}\n{timed:?}\n{ptx}");
    functional
}

fn is_right(names: &str, ptx: &str, grid: u32, block: u32) {
    if let Some(report) = report(names, ptx, grid, block) {
        panic!("{report}\n{ptx}");
    }
}

/// Lines of the two accesses of a race, in order.
fn lines(report: &FaultReport) -> [u32; 2] {
    let rival = report.rival.as_ref().and_then(|rival| rival.place.as_ref()).expect("the other access");
    let mut lines = [report.ptx.as_ref().expect("a line").line, rival.line];
    lines.sort_unstable();
    lines
}

fn line_of(ptx: &str, text: &str) -> u32 {
    ptx.lines().position(|line| line.contains(text)).expect("it is there") as u32 + 1
}

/// Threads store to their own places, and read those of others: `partner` turns the thread into the other's number in %r4.
fn exchange(sm: u32, between: &str, partner: &str) -> String {
    let body = format!(
        "mov.u32 %r8, sh;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r5, %r8, %r3;\nadd.u32 %r9, %r1, 7;\n\
        st.shared.u32 [%r5], %r9;\n{between}\n{partner}\nshl.b32 %r4, %r4, 2;\nadd.u32 %r6, %r8, %r4;\n\
        ld.shared.u32 %r7, [%r6];\ncvt.u64.u32 %d2, %r3;\nadd.u64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r7;"
    );
    module(sm, ".shared .align 4 .b8 sh[1024];", &body)
}

#[test]
fn a_race_between_warps_is_named_with_both_lines_also_when_the_reader_comes_first() {
    let racing = exchange(75, "", "xor.b32 %r4, %r1, 32;");
    let found = report("races,uninit", &racing, 1, 64).expect("a race");
    assert_eq!(found.code, "shared-race", "{found}");
    assert_eq!(lines(&found), [line_of(&racing, "st.shared"), line_of(&racing, "ld.shared")]);
    is_right("races,uninit", &exchange(75, "bar.sync 0;", "xor.b32 %r4, %r1, 32;"), 1, 64);
    is_right("", &racing, 1, 64);
}

#[test]
fn what_nobody_writes_is_uninitialised_and_no_race() {
    let unset = exchange(75, "bar.sync 0;", "add.u32 %r4, %r1, 64;");
    let found = report("races,uninit", &unset, 1, 64).expect("a read of nothing");
    assert_eq!(found.code, "uninitialized-shared", "{found}");
    assert_eq!(found.ptx.as_ref().map(|place| place.line), Some(line_of(&unset, "ld.shared")));
}

#[test]
fn lanes_of_a_warp_are_independent_from_sm_70_on() {
    let partner = "xor.b32 %r4, %r1, 1;";
    let racing = exchange(75, "", partner);
    let found = report("races", &racing, 1, 32).expect("a race");
    assert_eq!(found.code, "shared-race");
    assert!(found.details.iter().any(|detail| detail.contains("both lanes")), "{found}");
    assert_eq!(lines(&found), [line_of(&racing, "st.shared"), line_of(&racing, "ld.shared")]);
    is_right("races", &exchange(75, "bar.warp.sync 0xffffffff;", partner), 1, 32);
    is_right("races", &exchange(50, "", partner), 1, 32);
    is_right("races", &exchange(75, "", "mov.u32 %r4, %r1;"), 1, 32);
}

#[test]
fn lanes_that_store_one_value_are_right_and_several_values_are_not() {
    let store = |value: &str| {
        let body = format!(
            "st.shared.u32 [sh], {value};\nbar.sync 0;\nld.shared.u32 %r3, [sh];\nst.global.u32 [%d1], 0;"
        );
        module(75, ".shared .align 4 .b8 sh[4];", &body)
    };
    is_right("races", &store("5"), 1, 64);
    assert_eq!(report("races", &store("%r1"), 1, 32).map(|found| found.code), Some("shared-race"));
}

/// Thread 0 of each block takes a lock in global memory, changes a word of `out`, and releases it.
fn locked(lock: bool) -> String {
    let (take, release) = match lock {
        true => (
            "again: atom.global.cas.b32 %r5, [lock], 0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra again;\nmembar.gl;",
            "membar.gl;\natom.global.exch.b32 %r6, [lock], 0;",
        ),
        false => ("", ""),
    };
    let body = format!(
        "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra end;\n{take}\nld.global.u32 %r3, [%d1];\nadd.u32 %r3, %r3, 1;\n\
        st.global.u32 [%d1], %r3;\n{release}\nend:"
    );
    module(75, ".global .align 4 .u32 lock = 0;", &body)
}

#[test]
fn races_between_blocks_are_found_and_locks_and_atomics_order_them() {
    let racing = locked(false);
    let found = report("races", &racing, 4, 32).expect("a race");
    assert_eq!(found.code, "global-race", "{found}");
    let rival = found.rival.as_ref().expect("the other access");
    assert_ne!(rival.block, found.block);
    is_right("races,uninit", &locked(true), 4, 32);
    is_right("races", &locked(false), 1, 64);
    let atomic = module(75, "", "red.global.add.u32 [%d1], 1;");
    is_right("races,uninit", &atomic, 4, 64);
    // Blocks that store the same are right, and so are those that store to neighbours of a word.
    is_right("races", &module(75, "", "st.global.u32 [%d1], 9;"), 4, 64);
    let neighbours =
        "cvt.u64.u32 %d2, %r2;\nadd.u64 %d3, %d1, %d2;\nadd.u32 %r3, %r2, 1;\nst.global.u8 [%d3], %r3;";
    is_right("races", &module(75, "", neighbours), 8, 32);
    assert_eq!(
        report("races", &module(75, "", "st.global.u32 [%d1], %r2;"), 4, 32).map(|found| found.code),
        Some("global-race")
    );
}

#[test]
fn a_flag_that_is_waited_for_orders_blocks() {
    // The last block to come reads what all have stored.
    let last = |atomic: bool| {
        let come = match atomic {
            true => {
                "membar.gl;\natom.global.add.u32 %r5, [count], 1;\nsetp.ne.u32 %p1, %r5, 3;\n@%p1 bra end;\nmembar.gl;"
            }
            false => "setp.ne.u32 %p1, %r2, 3;\n@%p1 bra end;",
        };
        let body = format!(
            "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra end;\nmul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d1, %d2;\nadd.u32 %r3, %r2, 5;\n\
            st.global.u32 [%d3], %r3;\n{come}\nld.global.u32 %r6, [%d1];\nld.global.u32 %r7, [%d1+4];\nadd.u32 %r6, %r6, %r7;\n\
            st.global.u32 [%d1+64], %r6;\nend:"
        );
        module(75, ".global .align 4 .u32 count = 0;", &body)
    };
    is_right("races,uninit", &last(true), 4, 32);
    assert_eq!(report("races", &last(false), 4, 32).map(|found| found.code), Some("global-race"));
}

#[test]
fn global_memory_that_nobody_wrote_is_told() {
    let ptx = module(75, "", "ld.global.u32 %r3, [%d1+8];\nst.global.u32 [%d1+16], %r3;");
    for mode in modes() {
        let mut bench = Bench::new(mode.clone(), "uninit", &ptx, 64, false);
        let Err(Error::Fault(found)) = bench.launch(1, 1) else { panic!("nothing was found") };
        assert_eq!(found.code, "uninitialized-global");
        assert_eq!(found.ptx.as_ref().map(|place| place.line), Some(line_of(&ptx, "ld.global")));
        // Once the host, or another kernel, has written it, all is well.
        bench.device.write(bench.out.offset(8), &[1, 2, 3, 4]).expect("inside");
        bench.launch(1, 1).unwrap_or_else(|error| panic!("{error}"));
        Bench::new(mode, "races", &ptx, 64, false).launch(1, 1).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn shuffles_from_lanes_that_are_not_there_are_told() {
    let down = |by: u32, mask: &str| {
        let body = format!("shfl.sync.down.b32 %r3, %r1, {by}, 31, {mask};\nst.global.u32 [%d1], 0;");
        module(75, "", &body)
    };
    is_right("shuffles", &down(8, "0xffffffff"), 1, 32);
    let found = report("shuffles", &down(8, "0xffffffff"), 1, 48).expect("half of a warp is not there");
    assert_eq!((found.code, found.thread), ("absent-lane", [40, 0, 0]));
    assert_eq!(
        report("shuffles", &down(0, "0xfffffffe"), 1, 32).map(|found| found.code),
        Some("absent-lane")
    );
    // Naming lanes that are not there is no error by itself.
    is_right("shuffles", &down(0, "0xffffffff"), 1, 48);
    is_right("", &down(8, "0xffffffff"), 1, 48);
}

#[test]
fn an_index_that_runs_into_the_next_shared_array_is_told() {
    let two = |count: u32| {
        let body = format!(
            "mov.u32 %r8, first;\nmov.u32 %r9, second;\nadd.u32 %r4, %r1, {count};\nshl.b32 %r3, %r4, 2;\nadd.u32 %r5, %r8, %r3;\n\
            st.shared.u32 [%r5], %r1;\nst.shared.u32 [%r9], 1;\nst.shared.u32 [second+8], 1;"
        );
        module(75, ".shared .align 4 .b8 first[128];\n.shared .align 4 .b8 second[128];", &body)
    };
    is_right("arrays", &two(0), 1, 32);
    let found = report("arrays", &two(4), 1, 32).expect("four threads are beyond");
    assert_eq!((found.code, found.threads), ("shared-overrun", 4), "{found}");
    assert!(found.details.iter().any(|detail| detail.contains("byte 128 of `first`")), "{found}");
    is_right("", &two(4), 1, 32);
}

#[test]
fn dynamic_shared_memory_has_no_end_of_its_own() {
    let body = "mov.u32 %r8, dyn;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r5, %r8, %r3;\nst.shared.u32 [%r5], %r1;";
    let ptx = module(75, ".extern .shared .align 4 .b8 dyn[];\n.shared .align 4 .b8 own[16];", body);
    for mode in modes() {
        let mut bench = Bench::new(mode, "arrays", &ptx, 64, true);
        let config = LaunchConfig::new(1, 32).shared(128);
        let args = Args::new().ptr(bench.out);
        bench.device.launch(bench.module, "k", &config, &args).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn device_memory_that_kernels_do_not_free_is_told_at_the_end() {
    let heap = |free: bool| {
        let give = if free { "call.uni free, (a1);" } else { "" };
        let body = format!(
            ".param .b64 a0; .param .b64 a1; .param .b64 back;\nst.param.b64 [a0], 40;\ncall.uni (back), malloc, (a0);\n\
            ld.param.b64 %d2, [back];\nst.param.b64 [a1], %d2;\n{give}"
        );
        module(
            75,
            ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);",
            &body,
        )
    };
    for mode in modes() {
        let notices = |names: &str, free: bool| {
            let mut bench = Bench::new(mode.clone(), names, &heap(free), 64, true);
            bench.launch(2, 3).unwrap_or_else(|error| panic!("{error}"));
            bench.device.notices()
        };
        let found = notices("leaks", false);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].message.starts_with("6 blocks of device `malloc`, 240 bytes"),
            "{}",
            found[0].message
        );
        assert!(notices("leaks", true).is_empty() && notices("", false).is_empty());
    }
}

#[test]
fn loads_beyond_an_allocation_follow_the_bounds() {
    const SIZE: u64 = (1 << 20) + 8;
    let load = |offset: i64| {
        module(75, "", &format!("ld.global.u32 %r3, [%d1+{offset}];\nst.global.u32 [%d1], %r3;"))
    };
    let outcome = |mode: &Mode, names: &str, size: u64, ptx: &str| {
        let mut bench = Bench::new(mode.clone(), names, ptx, size, true);
        let code = bench.launch(1, 32).err().map(|error| error.code());
        (code, bench.device.notices().into_iter().map(|notice| notice.message).collect::<Vec<_>>())
    };
    for mode in &modes() {
        let rest = load(SIZE as i64 + 100);
        assert_eq!(outcome(mode, "", SIZE, &rest), (None, vec![]));
        assert_eq!(outcome(mode, "bounds=page", SIZE, &rest), (None, vec![]));
        assert_eq!(outcome(mode, "bounds=exact", SIZE, &rest).0, Some("out-of-bounds"));
        assert_eq!(outcome(mode, "", 4000, &load(4000)).0, Some("out-of-bounds"), "small ones are exact");
        assert_eq!(outcome(mode, "", SIZE, &load(8192 + SIZE as i64)).0, Some("out-of-bounds"));
        let store = module(75, "", &format!("st.global.u32 [%d1+{}], 1;", SIZE + 100));
        assert_eq!(outcome(mode, "", SIZE, &store).0, Some("out-of-bounds"), "stores are exact");
        assert_eq!(outcome(mode, "bounds=warn", SIZE, &store).0, Some("out-of-bounds"));
        // A row before the array: 32 threads read there, and go on.
        for before in [-4096, -64] {
            let (code, notices) = outcome(mode, "bounds=warn", 4000, &load(before));
            assert_eq!((code, notices.len()), (None, 1));
            assert!(
                notices[0].starts_with("32 threads of `k` read beyond allocations at k.ptx:"),
                "{}",
                notices[0]
            );
        }
        let null = module(75, "", "mov.u64 %d2, 0;\nld.global.u32 %r3, [%d2];\nst.global.u32 [%d1], %r3;");
        assert_eq!(outcome(mode, "bounds=warn", 4000, &null).0, Some("out-of-bounds"), "cards refuse it");
    }
}

#[test]
fn null_and_wild_pointers_are_called_that_and_threads_and_calls_are_told() {
    let through = |address: &str| {
        let globals = ".func f(.param .b64 p)\n{\n.reg .b64 %d<2>; .reg .b32 %r<2>;\nld.param.u64 %d1, [p];\n\
            st.global.u32 [%d1], 1;\nret;\n}";
        let body = format!(
            "setp.gt.u32 %p1, %r1, 9;\n@%p1 ret;\nmov.u64 %d2, {address};\n.param .b64 a0;\nst.param.b64 [a0], %d2;\n\
            call.uni f, (a0);"
        );
        module(75, globals, &body)
    };
    for (address, what) in [
        ("0", "null pointer"),
        ("64", "null pointer"),
        ("-8", "null pointer"),
        ("0x7f00deadbee0", "wild pointer"),
    ] {
        let ptx = through(address);
        let found = report("", &ptx, 1, 32).expect("it points nowhere");
        assert!(found.headline.starts_with(&format!("access through a {what}")), "{found}");
        assert_eq!(found.threads, 10, "{found}");
        let text = found.to_string();
        assert!(
            text.contains("and 9 other threads of its warp") && !text.contains("before the start"),
            "{text}"
        );
        if !found.calls.is_empty() {
            assert!(text.contains("in `f`, called at k.ptx:"), "{text}");
        }
    }
}

#[test]
fn an_extern_shared_array_with_a_size_has_its_bytes() {
    let body = "mov.u32 %r8, sh;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r5, %r8, %r3;\nst.shared.u32 [%r5], %r1;\nld.shared.u32 %r6, [%r5];";
    is_right("all", &module(75, ".extern .shared .align 4 .b8 sh[260];", body), 1, 65);
    let found =
        report("", &module(75, ".extern .shared .align 4 .b8 sh[252];", body), 1, 65).expect("beyond");
    assert_eq!(found.code, "out-of-bounds");
}
