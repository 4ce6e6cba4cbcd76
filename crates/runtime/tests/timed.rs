// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timed device by its behaviour: its clock, streams, limits, and which launches are timed.

use warpwatt_config::Config;
use warpwatt_runtime::{
    Args, Class, Device, DevicePtr, Error, LaunchConfig, Mode, ModuleId, Nobody, Options, Selection,
};

const MODULE: &str = r#".version 7.0
.target sm_50
.address_size 64

// out[tid] = n, after n rounds
.visible .entry rounds(.param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
    mov.u32 %r4, %r2;
again:
    mad.lo.u32 %r4, %r4, 1664525, %r1;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    and.b32 %r5, %r4, 0;
    add.u32 %r5, %r5, %r3;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r5;
    ret;
}

.visible .entry _Z5otherv()
{
    ret;
}

.visible .entry wrong(.param .u64 out)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1+4096], 1;
    ret;
}
"#;

/// A GPU that is quick to simulate.
fn small() -> Config {
    let mut config = Config::default();
    (config.gpu.sms, config.gpu.partitions) = (2, 2);
    config.gpu.host_wait_cycles = 0;
    config
}

fn options() -> Options {
    Options { mode: Mode::timed(small()), ..Options::default() }
}

fn device(options: Options) -> (Device, ModuleId, DevicePtr) {
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let module = device.load_module("module.ptx", MODULE).expect("the module loads");
    let out = device.alloc_named(256, "out").expect("room");
    (device, module, out)
}

fn on(stream: u32) -> LaunchConfig {
    LaunchConfig::new(1, 64).stream(stream)
}

fn rounds(device: &mut Device, m: ModuleId, out: DevicePtr, stream: u32, n: u32) -> Result<(), Error> {
    device.launch(m, "rounds", &on(stream), &Args::new().ptr(out).u32(n))
}

#[test]
fn the_clock_moves_by_kernels_and_copies() {
    let (mut device, module, out) = device(options());
    assert_eq!(device.now_cycles(), Some(0));
    device.write(out, &[0; 256]).expect("a copy");
    let copied = device.now_cycles().expect("a clock");
    // 8000 ns at 700 MHz, and 256 bytes at 5600 MB/s.
    assert_eq!(copied, 5600 + 32);
    rounds(&mut device, module, out, 0, 100).expect("it runs");
    let ran = device.now_cycles().expect("a clock");
    let timed = device.log()[0].timed.as_ref().expect("a timed launch");
    assert_eq!((timed.start_cycle, timed.start_cycle + timed.cycles), (copied, ran));
    assert_eq!(device.kernel_cycles(), Some(timed.cycles));
    let nanoseconds = device.now_ns().expect("a clock");
    assert!((nanoseconds - ran as f64 / 0.7).abs() < 1e-6 * nanoseconds, "{nanoseconds}");
}

#[test]
fn a_functional_device_has_no_clock() {
    let (mut device, module, out) = device(Options::default());
    rounds(&mut device, module, out, 3, 10).expect("it runs at the call, whatever the stream");
    assert_eq!((device.now_cycles(), device.now_ns(), device.log().len()), (None, None, 1));
    assert!(device.log()[0].timed.is_none());
}

#[test]
fn launches_on_streams_wait_for_the_host_to_look() {
    let (mut device, module, out) = device(options());
    rounds(&mut device, module, out, 1, 40).expect("queued");
    assert!(device.log().is_empty());
    let mut word = [0; 4];
    device.read(out, &mut word).expect("a word");
    assert_eq!((u32::from_le_bytes(word), device.log().len()), (40, 1));
    let second = device.alloc(256).expect("room");
    rounds(&mut device, module, out, 1, 400).expect("queued");
    rounds(&mut device, module, second, 2, 400).expect("queued");
    let before = device.now_cycles().expect("a clock");
    device.synchronize().expect("they run");
    let elapsed = device.now_cycles().expect("a clock") - before;
    let alone: Vec<_> =
        device.log()[1..].iter().map(|launch| launch.timed.as_ref().expect("timed").cycles).collect();
    assert!(elapsed < alone.iter().sum::<u64>() * 3 / 4, "{elapsed} against {alone:?}");
    let indices: Vec<_> = device.log().iter().map(|launch| launch.index).collect();
    assert_eq!(indices, [0, 1, 2]);
}

#[test]
fn a_fault_on_a_stream_is_reported_by_the_call_that_waits_for_it() {
    let (mut device, module, out) = device(options());
    device.launch(module, "wrong", &on(1), &Args::new().ptr(out)).expect("queued");
    let Err(Error::Fault(report)) = rounds(&mut device, module, out, 0, 1) else { panic!("a fault") };
    assert_eq!((report.kernel.as_str(), report.launch), ("wrong", 0));
    assert!(!device.log()[0].complete);
    device.synchronize().expect("nothing is left");
}

#[test]
fn only_selected_launches_are_timed() {
    let timed = |pattern: &str, skip| {
        let kernels = Some(regex::Regex::new(pattern).expect("a pattern"));
        let (mut device, module, out) =
            device(Options { selection: Selection { kernels, skip }, ..options() });
        rounds(&mut device, module, out, 0, 5).expect("it runs");
        device.launch(module, "_Z5otherv", &on(0), &Args::new()).expect("it runs");
        device.log().iter().map(|launch| launch.timed.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(timed("^rounds$", 0), [true, false]);
    assert_eq!(timed("^other\\(\\)$", 0), [false, true], "by its name in the source");
    assert_eq!(timed("^(rounds|_Z5otherv)$", 1), [false, true]);
}

#[test]
fn limits_of_cycles_and_instructions_say_which_they_are() {
    let Mode::Timed(mut timed) = Mode::timed(small()) else { panic!("a timed mode") };
    timed.limit_cycles = Some(4_000);
    let (mut first, module, out) = device(Options { mode: Mode::Timed(timed), ..options() });
    let error = rounds(&mut first, module, out, 0, 100_000).expect_err("a limit");
    assert_eq!(error.class(), Class::Limit);
    assert!(error.to_string().contains("the limit of 4000 cycles"), "{error}");
    let (mut second, module, out) = device(Options { max_thread_instructions: Some(5_000), ..options() });
    let error = rounds(&mut second, module, out, 0, 100_000).expect_err("a limit");
    assert!(error.to_string().contains("the limit of 5000 thread instructions"), "{error}");
    assert!(second.log()[0].thread_instructions >= 5_000 && !second.log()[0].complete);
}

#[test]
fn a_block_that_does_not_fit_and_a_gpu_that_cannot_be_are_refused() {
    let mut config = small();
    config.sm.threads = 32;
    let (mut device, module, out) = device(Options { mode: Mode::timed(config), ..options() });
    let error = rounds(&mut device, module, out, 0, 1).expect_err("two warps");
    assert!(error.to_string().contains("a block takes 64 threads, an SM has 32"), "{error}");
    let mut config = small();
    config.dram.banks = 12;
    let refused = Device::with(Options { mode: Mode::timed(config), ..options() }, Box::new(Nobody));
    let Err(Error::Config(message)) = refused else { panic!("no power of two") };
    assert!(message.contains("dram.banks"), "{message}");
}
