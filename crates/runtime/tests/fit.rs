// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that want more registers than an SM has for their blocks, and what is done about it.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use warpwatt_config::Config;
use warpwatt_runtime::{Args, Device, DevicePtr, LaunchConfig, Mode, Nobody, Observer, Options};

/// A kernel with `live` values that are needed at the end: out[tid] = sum over k of in[k] * tid, with k mixed in.
fn kernel(name: &str, directives: &str, live: usize) -> String {
    let mut text = format!(
        ".visible .entry {name}(.param .u64 out, .param .u64 in)\n{directives}\n{{\n    .reg .b32 %r<{}>;\n    .reg .b64 %rd<8>;\n",
        live + 8
    );
    text += "    ld.param.u64 %rd1, [out];\n    ld.param.u64 %rd2, [in];\n    mov.u32 %r1, %tid.x;\n";
    for k in 0..live {
        let _ = writeln!(text, "    ld.volatile.global.u32 %r{}, [%rd2+{}];", k + 4, 4 * k);
    }
    text += "    mov.u32 %r2, 0;\n    bar.sync 0;\n";
    for k in 0..live {
        let _ = writeln!(text, "    mad.lo.u32 %r2, %r{}, %r1, %r2;\n    xor.b32 %r2, %r2, {k};", k + 4);
    }
    text + "    mul.wide.u32 %rd3, %r1, 4;\n    add.u64 %rd4, %rd1, %rd3;\n    st.global.u32 [%rd4], %r2;\n    ret;\n}\n"
}

const LIVE: usize = 90;

fn module() -> String {
    let head = ".version 7.0\n.target sm_75\n.address_size 64\n";
    let plain = kernel("hungry", "", LIVE);
    head.to_owned() + &plain + &kernel("bounded", ".maxntid 512, 1, 1\n.minnctapersm 2", LIVE)
}

fn right(tid: u32) -> u32 {
    (0..LIVE as u32).fold(0u32, |sum, k| (k + 7).wrapping_mul(tid).wrapping_add(sum) ^ k)
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Observer for Notes {
    fn note(&mut self, text: &str) {
        self.0.lock().expect("whole").push(text.to_owned());
    }
}

fn timed(registers: u32) -> Options {
    let mut config = Config::default();
    (config.gpu.sms, config.gpu.partitions, config.sm.registers) = (2, 2, registers);
    Options { mode: Mode::timed(config), ..Options::default() }
}

fn run(options: Options, kernel: &str, threads: u32) -> (Vec<u32>, Vec<String>) {
    let notes = Notes::default();
    let mut device = Device::with(options, Box::new(notes.clone())).expect("a device");
    let module = device.load_module("module.ptx", &module()).expect("the module loads");
    let (out, input) = (device.alloc(4096).expect("room"), device.alloc(4 * LIVE as u64).expect("room"));
    let words: Vec<u8> = (0..LIVE as u32).flat_map(|k| (k + 7).to_le_bytes()).collect();
    device.write(input, &words).expect("a copy");
    for threads in [threads, threads, 32] {
        device.memset(out, 0, 4096).expect("a fill");
        let args = Args::new().ptr(out).ptr(input);
        device.launch(module, kernel, &LaunchConfig::new(1, threads), &args).expect("it fits");
        let mut bytes = vec![0; 4 * threads as usize];
        device.read(out, &mut bytes).expect("a copy");
        for (tid, word) in bytes.chunks_exact(4).enumerate() {
            assert_eq!(word, right(tid as u32).to_le_bytes(), "{kernel}, thread {tid}");
        }
    }
    let registers = device.log().iter().map(|launch| launch.registers).collect();
    (registers, notes.0.lock().expect("whole").clone())
}

#[test]
fn a_block_that_lacks_registers_is_compiled_for() {
    for options in [timed(32768), Options::default()] {
        let (registers, notes) = run(options, "hungry", 1024);
        assert!(registers[2] > LIVE as u32, "a small block has all it wants: {registers:?}");
        assert!((25..=32).contains(&registers[0]), "32768 for 1024 threads: {registers:?}");
        assert_eq!(registers[0], registers[1]);
        assert_eq!(notes.len(), 1, "said once: {notes:?}");
        assert!(notes[0].contains("`hungry`") && notes[0].contains("1024 threads"), "{notes:?}");
    }
    let (registers, notes) = run(timed(1 << 17), "hungry", 1024);
    assert_eq!((registers[0], notes.len()), (registers[2], 0), "where there are enough, nothing happens");
}

#[test]
fn launch_bounds_are_those_of_the_gpu_that_is_simulated() {
    let (registers, notes) = run(timed(32768), "bounded", 512);
    let within = |range: std::ops::RangeInclusive<u32>| move |count: &u32| range.contains(count);
    assert!(registers.iter().all(within(25..=32)), "two blocks of 512 threads: {registers:?}");
    assert!(notes.is_empty(), "as any compiler does: {notes:?}");
    let (registers, _) = run(timed(65536), "bounded", 512);
    assert!(registers.iter().all(within(57..=64)), "{registers:?}");
}

#[test]
fn what_never_fits_is_still_refused() {
    let mut device = Device::with(timed(8192), Box::new(Nobody)).expect("a device");
    let module = device.load_module("module.ptx", &module()).expect("the module loads");
    let args = Args::new().ptr(DevicePtr(0)).ptr(DevicePtr(0));
    let error = device.launch(module, "hungry", &LaunchConfig::new(1, 1024), &args).expect_err("8 registers");
    assert!(error.to_string().contains("an SM has 8192"), "{error}");
}

/// The kernel with its values needed in the opposite order, so that all of them are live at once.
fn late() -> String {
    let text = kernel("late", "", LIVE);
    let is_sum = |line: &&str| line.trim_start().starts_with("mad.lo");
    let mut sums = text.lines().filter(is_sum).rev();
    let lines = text.lines().map(|line| if is_sum(&line) { sums.next().unwrap_or(line) } else { line });
    lines.fold(".version 7.0\n.target sm_75\n.address_size 64\n".to_owned(), |all, line| all + line + "\n")
}

#[test]
fn a_gpu_with_few_registers_a_thread_makes_kernels_spill_and_says_so() {
    let mut config = Config::default();
    config.sm.thread_registers = 63;
    let mut functional = Options::default();
    functional.limit_to(&config);
    for options in [Options { mode: Mode::timed(config), ..Options::default() }, functional] {
        let notes = Notes::default();
        let mut device = Device::with(options, Box::new(notes.clone())).expect("a device");
        let module = device.load_module("late.ptx", &late()).expect("the module loads");
        let found = device.attributes(module, "late").expect("it compiles");
        assert!(found.registers <= 63 && found.spill_bytes > 0, "{found:?}");
        let notes = notes.0.lock().expect("whole").clone();
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(
            note.starts_with("`late` spills ") && note.contains("at most 63 registers a thread"),
            "{note}"
        );
    }
}

#[test]
fn blocks_larger_than_a_gpu_allows_are_refused() {
    let mut config = Config::default();
    config.sm.block_threads = 512;
    let mut functional = Options::default();
    functional.limit_to(&config);
    for options in [Options { mode: Mode::timed(config), ..Options::default() }, functional] {
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let module = device.load_module("module.ptx", &module()).expect("the module loads");
        assert_eq!(device.attributes(module, "hungry").expect("it compiles").max_threads, 512);
        let args = Args::new().ptr(DevicePtr(0)).ptr(DevicePtr(0));
        let error = device.launch(module, "hungry", &LaunchConfig::new(1, 513), &args).expect_err("too many");
        assert!(error.to_string().contains("a block of 513 threads; the maximum is 512"), "{error}");
    }
}
