// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA C++ programs compiled by NVRTC (`cuda/*.cu`, PTX beside them): what the language offers beside arithmetic, and
//! programs whose blocks and lanes wait for each other. Most run functionally, and timed with compressed registers.

use std::sync::{Arc, Mutex};

use warpwatt_config::GpuFile;
use warpwatt_runtime::texture::{AddressMode, ChannelKind, Filter, Format, Image, Sampler, Storage};
use warpwatt_runtime::{
    Args, Device, DevicePtr, Error, FaultReport, LaunchConfig, Mode, ModuleId, Nobody, Observer, Options,
    Timed, Watchdog,
};
use warpwatt_testing::ways::{WAYS, with};

const PROGRESS: &str = include_str!("cuda/progress.ptx");
const LANGUAGE: &str = include_str!("cuda/language.ptx");
const LANGUAGE_CU: &str = include_str!("cuda/language.cu");

struct Session {
    device: Device,
    module: ModuleId,
}

impl Session {
    fn new(name: &str, ptx: &str) -> Session {
        Session::with(name, ptx, Options::default(), Box::new(Nobody))
    }

    /// On a functional device, and on timed ones whose registers a technique keeps.
    fn everywhere(name: &str, ptx: &str) -> Vec<Session> {
        let timed = [WAYS[0], WAYS[5]].map(|technique| {
            let config = GpuFile::preset("gtx480-wc").expect("a preset").config;
            Mode::Timed(Box::new(Timed { techniques: with(technique), ..Timed::new(config) }))
        });
        let modes = [Mode::Functional].into_iter().chain(timed);
        modes
            .map(|mode| Session::with(name, ptx, Options { mode, ..Options::default() }, Box::new(Nobody)))
            .collect()
    }

    fn with(name: &str, ptx: &str, options: Options, observer: Box<dyn Observer + Send>) -> Session {
        let mut device = Device::with(options, observer).expect("a device");
        device.add_source("language.cu", LANGUAGE_CU);
        let module = device.load_module(name, ptx).expect("PTX that loads");
        Session { device, module }
    }

    fn words(&mut self, values: &[u32]) -> DevicePtr {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let p = self.device.alloc(bytes.len() as u64).expect("room");
        self.device.write(p, &bytes).expect("inside");
        p
    }

    fn zeros(&mut self, n: usize) -> DevicePtr {
        self.words(&vec![0; n])
    }

    fn read(&mut self, p: DevicePtr, n: usize) -> Vec<u32> {
        let mut bytes = vec![0; n * 4];
        self.device.read(p, &mut bytes).expect("inside");
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    fn launch(&mut self, kernel: &str, grid: u32, block: u32, args: &Args) -> Result<(), Error> {
        self.device.launch(self.module, kernel, &LaunchConfig::new(grid, block), args)
    }

    fn fault(&mut self, kernel: &str, grid: u32, block: u32, args: &Args) -> Box<FaultReport> {
        match self.launch(kernel, grid, block, args) {
            Err(Error::Fault(report)) => report,
            Err(other) => panic!("{kernel}: another error: {other}"),
            Ok(()) => panic!("{kernel} ended without a fault"),
        }
    }
}

#[test]
fn a_scan_that_looks_back_over_spinning_blocks_is_right() {
    for mut s in Session::everywhere("progress.ptx", PROGRESS) {
        let n: usize = 300 * 128 - 37;
        let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect();
        let blocks = n.div_ceil(128);
        let (data, out, ticket) = (s.words(&input), s.zeros(n), s.zeros(1));
        let (status, own, prefix) = (s.zeros(blocks), s.zeros(blocks), s.zeros(blocks));
        let args = Args::new().ptr(data).ptr(out).u32(n as u32).ptr(ticket).ptr(status).ptr(own).ptr(prefix);
        s.launch("lookback_scan", blocks as u32, 128, &args).unwrap_or_else(|e| panic!("{e}"));
        let mut sum = 0u32;
        let expected: Vec<u32> = input
            .iter()
            .map(|v| {
                sum = sum.wrapping_add(*v);
                sum
            })
            .collect();
        assert_eq!(s.read(out, n), expected);
    }
}

#[test]
fn blocks_that_wait_for_each_other_by_spinning_all_pass() {
    for mut s in Session::everywhere("progress.ptx", PROGRESS) {
        let (blocks, rounds) = (60u32, 5u32);
        let start: Vec<u32> = (0..blocks).collect();
        let (cells, arrived, phase) = (s.words(&start), s.zeros(1), s.zeros(1));
        let args = Args::new().ptr(cells).ptr(arrived).ptr(phase).u32(rounds);
        s.launch("grid_barrier", blocks, 64, &args).unwrap_or_else(|e| panic!("{e}"));
        let mut expected = start;
        for _ in 0..rounds {
            let old = expected.clone();
            let n = old.len();
            for (b, cell) in expected.iter_mut().enumerate() {
                *cell = old[(b + n - 1) % n].wrapping_add(old[(b + 1) % n]).wrapping_add(1);
            }
        }
        assert_eq!(s.read(cells, blocks as usize), expected);
    }
}

#[test]
fn a_lock_that_lanes_of_one_warp_take_in_turn_serves_all_of_them() {
    let mut s = Session::new("progress.ptx", PROGRESS);
    let (lock, counter, order) = (s.zeros(1), s.zeros(1), s.zeros(256));
    s.launch("warp_lock", 4, 64, &Args::new().ptr(lock).ptr(counter).ptr(order))
        .unwrap_or_else(|e| panic!("{e}"));
    let mut seen = s.read(order, 256);
    seen.sort_unstable();
    assert_eq!(seen, (0..256).collect::<Vec<u32>>(), "every lane had the lock once");
}

#[test]
fn lanes_that_spin_for_long_before_others_get_their_turn_are_no_lack_of_progress() {
    let config = GpuFile::preset("gtx480-wc").expect("a preset").config;
    let mode = Mode::Timed(Box::new(Timed { techniques: with(WAYS[0]), ..Timed::new(config) }));
    let watchdog = Watchdog { patience: 3000, ..Watchdog::default() };
    let mut s = Session::with(
        "progress.ptx",
        PROGRESS,
        Options { mode, watchdog, ..Options::default() },
        Box::new(Nobody),
    );
    let (lock, counter, order) = (s.zeros(1), s.zeros(1), s.zeros(4));
    s.launch("warp_lock", 1, 4, &Args::new().ptr(lock).ptr(counter).ptr(order))
        .unwrap_or_else(|e| panic!("{e}"));
    let mut seen = s.read(order, 4);
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3]);
    let (held, out) = (s.words(&[1]), s.zeros(64));
    let report = s.fault("lost_lock", 2, 64, &Args::new().ptr(held).ptr(out));
    assert_eq!(report.code, "no-progress", "{report}");
}

#[test]
fn a_lock_that_can_never_be_had_is_reported() {
    let mut s = Session::new("progress.ptx", PROGRESS);
    let (lock, out) = (s.words(&[1]), s.zeros(64));
    let report = s.fault("lost_lock", 2, 64, &Args::new().ptr(lock).ptr(out));
    assert_eq!(report.code, "no-progress", "{report}");
    assert!(!report.waiting.is_empty());
}

#[test]
fn the_lock_of_a_warp_serves_all_lanes_whatever_the_target() {
    let old = PROGRESS.replace(".target sm_75", ".target sm_60");
    for mut s in Session::everywhere("progress.ptx", &old) {
        let (lock, counter, order) = (s.zeros(1), s.zeros(1), s.zeros(64));
        s.launch("warp_lock", 1, 64, &Args::new().ptr(lock).ptr(counter).ptr(order))
            .unwrap_or_else(|e| panic!("{e}"));
        let mut seen = s.read(order, 64);
        seen.sort_unstable();
        assert_eq!(seen, (0..64).collect::<Vec<u32>>(), "every lane had the lock once");
    }
}

/// Two lanes meet all others, of which most have nothing more to do than to end: `if (lane < 2) __syncwarp();`.
const LONELY_SYNC: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry lonely(.param .u64 out)\n{\n\
    .reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n\
    ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd2, %rd0, %rd1;\n\
    setp.ge.u32 %p0, %r0, 2;\n@%p0 bra meet;\nbar.warp.sync 0xffffffff;\nadd.u32 %r0, %r0, 100;\n\
    meet:\nadd.u32 %r0, %r0, 1;\nst.global.u32 [%rd2], %r0;\nret;\n}\n";

#[test]
fn a_warp_barrier_that_few_lanes_reach_opens_when_the_others_have_ended() {
    for mut s in Session::everywhere("lonely.ptx", LONELY_SYNC) {
        let out = s.zeros(32);
        s.launch("lonely", 1, 32, &Args::new().ptr(out)).unwrap_or_else(|e| panic!("{e}"));
        let expected: Vec<u32> = (0..32).map(|lane| lane + 1 + if lane < 2 { 100 } else { 0 }).collect();
        assert_eq!(s.read(out, 32), expected);
    }
}

#[test]
fn halves_of_a_warp_at_different_barriers_are_a_deadlock() {
    let mut s = Session::new("progress.ptx", PROGRESS);
    let out = s.zeros(64);
    let report = s.fault("split_barrier", 1, 64, &Args::new().ptr(out));
    // Two half-warps of 16 meet at each barrier: 32 of the 64 threads it is for.
    assert_eq!(report.code, "barrier-deadlock", "{report}");
    assert!(report.source.as_ref().is_some_and(|p| p.file == "progress.cu"), "{report}");
}

#[test]
fn a_long_computation_is_no_lack_of_progress() {
    let mut s = Session::new("progress.ptx", PROGRESS);
    let out = s.zeros(32);
    s.launch("long_count", 1, 32, &Args::new().ptr(out).u32(30_000_000)).unwrap_or_else(|e| panic!("{e}"));
    let mut x = 5u32;
    for _ in 0..30_000_000u32 {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    assert_eq!(s.read(out, 32)[5], x);
}

#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Observer for Printed {
    fn print(&mut self, text: &[u8]) {
        self.0.lock().expect("whole").extend_from_slice(text);
    }
}

#[test]
fn device_printf_formats_like_c() {
    let printed = Printed::default();
    let mut s = Session::with("language.ptx", LANGUAGE, Options::default(), Box::new(printed.clone()));
    s.launch("speak", 2, 32, &Args::new().i32(7)).unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8(printed.0.lock().expect("whole").clone()).expect("text");
    let line = |b, t| format!("block {b} thread {t}:  3.50 text z -7000000000 ff\n");
    assert_eq!(text, [line(0, 0), line(0, 1), line(1, 0), line(1, 1)].concat());
}

#[test]
fn a_failed_assertion_says_what_and_where() {
    let mut s = Session::new("language.ptx", LANGUAGE);
    let mut values = vec![1u32; 32];
    let small = s.words(&values);
    s.launch("must_be_small", 1, 32, &Args::new().ptr(small)).unwrap_or_else(|e| panic!("{e}"));
    values[9] = 100;
    let large = s.words(&values);
    let report = s.fault("must_be_small", 1, 32, &Args::new().ptr(large));
    assert_eq!((report.code, report.thread), ("assert", [9, 0, 0]));
    assert!(report.to_string().contains("v < 100"), "{report}");
}

#[test]
fn virtual_functions_are_called_through_tables() {
    for mut s in Session::everywhere("language.ptx", LANGUAGE) {
        let out = s.zeros(64);
        s.launch("virtual_calls", 1, 64, &Args::new().ptr(out)).unwrap_or_else(|e| panic!("{e}"));
        let expected: Vec<u32> = (0..64).map(|t| if t % 3 == 0 { t * t } else { t * (t + 1) / 2 }).collect();
        assert_eq!(s.read(out, 64), expected);
    }
}

#[test]
fn recursion_to_different_depths_in_one_warp() {
    for mut s in Session::everywhere("language.ptx", LANGUAGE) {
        let out = s.zeros(32);
        s.launch("recursion", 1, 32, &Args::new().ptr(out)).unwrap_or_else(|e| panic!("{e}"));
        // ackermann(2, n) = 2 n + 3
        assert_eq!(s.read(out, 32), (0..32).map(|t| 2 * (t % 5) + 3).collect::<Vec<u32>>());
    }
}

#[test]
fn endless_recursion_is_a_stack_overflow() {
    let mut s = Session::new("language.ptx", LANGUAGE);
    let out = s.zeros(32);
    let report = s.fault("runaway", 1, 32, &Args::new().ptr(out));
    assert_eq!(report.code, "stack-overflow", "{report}");
}

#[test]
fn arrays_in_local_memory_and_constant_tables() {
    for mut s in Session::everywhere("language.ptx", LANGUAGE) {
        let out = s.zeros(32);
        s.launch("local_table", 1, 32, &Args::new().ptr(out).i32(11)).unwrap_or_else(|e| panic!("{e}"));
        let weights = [3u32, 1, 4, 1, 5, 9, 2, 6];
        let table: Vec<u32> = (0..16).map(|i| i * 11 + weights[i as usize & 7]).collect();
        let expected: Vec<u32> =
            (0..32u32).map(|t| (0..11).map(|i| table[(t * 7 + i * 5) as usize & 15]).sum()).collect();
        assert_eq!(s.read(out, 32), expected);
    }
}

#[test]
fn a_variable_that_holds_the_address_of_another() {
    for mut s in Session::everywhere("language.ptx", LANGUAGE) {
        let out = s.zeros(32);
        s.launch("through_pointers", 1, 32, &Args::new().ptr(out)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(s.read(out, 32), vec![42; 32]);
    }
}

#[test]
fn every_thread_has_its_own_memory_from_malloc() {
    for mut s in Session::everywhere("language.ptx", LANGUAGE) {
        let out = s.zeros(64);
        s.launch("heap", 1, 32, &Args::new().ptr(out)).unwrap_or_else(|e| panic!("{e}"));
        let sums = s.read(out, 64);
        for t in 0..32usize {
            assert_eq!((sums[2 * t], sums[2 * t + 1]), (t as u32 * 64 + 63 * 32, 0));
        }
    }
}

#[test]
fn a_filtered_texture_read_through_an_object() {
    for mut s in Session::everywhere("language.ptx", LANGUAGE) {
        let texels: Vec<u32> = (0..8).map(|i| (i as f32).to_bits()).collect();
        let base = s.words(&texels);
        let format = Format { kind: ChannelKind::Float, bits: 32, channels: 1 };
        let sampler = Sampler {
            normalized: true,
            filter: Filter::Linear,
            address: [AddressMode::Wrap; 3],
            ..Sampler::default()
        };
        let image =
            s.device.create_image(Image { storage: Storage::pitched(base.0, 4, 2, 16, format), sampler });
        let out = s.zeros(8);
        s.launch("sample", 2, 32, &Args::new().u64(image).ptr(out).i32(4).i32(2))
            .unwrap_or_else(|e| panic!("{e}"));
        let values: Vec<f32> = s.read(out, 8).into_iter().map(f32::from_bits).collect();
        // Half way to the right neighbour, the last column wrapping to the first.
        assert_eq!(values, [0.5, 1.5, 2.5, 1.5, 4.5, 5.5, 6.5, 5.5]);
    }
}

#[test]
fn one_element_past_the_end_is_reported_with_line_thread_and_buffer() {
    let mut s = Session::new("language.ptx", LANGUAGE);
    let out = s.device.alloc_named(4 * 100, "result").expect("room");
    let report = s.fault("past_the_end", 4, 32, &Args::new().ptr(out).i32(100));
    let line = LANGUAGE_CU.lines().position(|l| l.contains("out[i] = 1.0f")).expect("the line") as u32 + 1;
    assert_eq!(report.code, "out-of-bounds");
    assert_eq!((report.block, report.thread), ([3, 0, 0], [4, 0, 0]));
    assert_eq!(report.address, Some(out.0 + 400));
    assert_eq!(report.source.as_ref().map(|p| (p.file.as_str(), p.line)), Some(("language.cu", line)));
    assert!(report.to_string().contains("result"), "{report}");
}
