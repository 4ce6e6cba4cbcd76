// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs of the size of today's: hundreds of SMs, dozens of memory partitions that are no power of two, more memory than 32 bits address.

use warpwatt_config::{Config, apply};
use warpwatt_runtime::{
    Args, Device, DevicePtr, Error, LaunchConfig, LaunchRecord, Mode, ModuleId, Nobody, Options, Timed,
};

const PTX: &str = ".version 7.8\n.target sm_75\n.address_size 64\n
.visible .entry scatter(.param .u64 far, .param .u64 stride)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [far];
  ld.param.u64 %rd2, [stride];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd3, %r4;
  mad.lo.u64 %rd4, %rd3, %rd2, %rd1;
  st.global.u64 [%rd4], %rd4;
  ret;
}
.visible .entry gather(.param .u64 far, .param .u64 stride, .param .u64 near)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [far];
  ld.param.u64 %rd2, [stride];
  ld.param.u64 %rd3, [near];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd4, %r4;
  mad.lo.u64 %rd5, %rd4, %rd2, %rd1;
  ld.global.u64 %rd6, [%rd5];
  mul.wide.u32 %rd7, %r4, 8;
  add.u64 %rd8, %rd3, %rd7;
  st.global.u64 [%rd8], %rd6;
  ret;
}
.visible .entry where(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %smid;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}
.visible .entry spin(.param .u64 out, .param .u32 turns)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [turns];
  mov.u32 %r2, 0;
again:
  add.u32 %r2, %r2, %r1;
  xor.b32 %r2, %r2, 77;
  st.global.u32 [%rd1], %r2;
  ld.global.u32 %r2, [%rd1];
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra again;
  ret;
}
";

fn config(settings: &[&str]) -> Config {
    let mut config = Config::default();
    settings.iter().for_each(|setting| apply(&mut config, setting).expect("it is legal"));
    config
}

fn device(mode: Mode) -> (Device, ModuleId) {
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    let module = device.load_module("large.ptx", PTX).expect("the text is PTX");
    (device, module)
}

/// The log, without what differs from run to run.
fn log(device: &Device) -> Vec<LaunchRecord> {
    let mut log = device.log().to_vec();
    log.iter_mut().for_each(|launch| launch.host_seconds = 0.0);
    log
}

/// Writes and reads places that are far apart in one large allocation. Gives what was read.
fn far_apart(mode: Mode) -> (Vec<LaunchRecord>, Vec<u64>, DevicePtr) {
    const THREADS: u32 = 32 * 40;
    const STRIDE: u64 = (60 << 30) / THREADS as u64 / 8 * 8;
    let (mut device, module) = device(mode);
    let far = device.alloc(60 << 30).expect("there is room");
    let near = device.alloc(8 * u64::from(THREADS)).expect("there is room");
    let shape = LaunchConfig::new(THREADS / 32, 32);
    device.launch(module, "scatter", &shape, &Args::new().ptr(far).u64(STRIDE)).expect("it runs");
    device.launch(module, "gather", &shape, &Args::new().ptr(far).u64(STRIDE).ptr(near)).expect("it runs");
    let mut bytes = vec![0; 8 * THREADS as usize];
    device.read(near, &mut bytes).expect("it can be read");
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
    let expected: Vec<u64> = (0..u64::from(THREADS)).map(|thread| far.0 + thread * STRIDE).collect();
    assert_eq!(words, expected, "every thread finds what it stored, beyond 4 GB as well");
    (log(&device), words, far)
}

#[test]
fn a_gpu_with_132_sms_and_80_gb_computes_the_same_on_any_number_of_threads() {
    let config = config(&["gpu.sms=132", "gpu.partitions=50", "gpu.memory_mb=81920"]);
    let timed = |threads, step_every_cycle| {
        let timed = Timed { threads, step_every_cycle, ..Timed::new(config.clone()) };
        far_apart(Mode::Timed(Box::new(timed)))
    };
    let one = timed(1, false);
    assert_eq!(timed(3, false), one);
    assert_eq!(timed(2, true), one, "stepping through every cycle changes nothing");
    let mut options = Options::default();
    options.limit_to(&config);
    assert_eq!(options.memory_bytes, Some(80 << 30));
}

#[test]
fn memory_is_as_large_as_the_gpu_says() {
    let (mut device, _) = device(Mode::timed(config(&["gpu.memory_mb=70000"])));
    assert_eq!(device.memory_info().1, 70_000 << 20);
    assert!(device.alloc(69_999 << 20).is_ok());
    assert!(matches!(device.alloc(2 << 20), Err(Error::OutOfMemory(_))));
}

#[test]
fn blocks_go_to_every_one_of_1024_sms_over_crossbar_and_mesh() {
    for topology in ["crossbar", "mesh"] {
        let topology = format!("noc.topology={topology}");
        let largest = config(&["gpu.sms=1024", "gpu.partitions=128", "noc.mesh_columns=32", &topology]);
        let (mut device, module) = device(Mode::timed(largest));
        let out = device.alloc(4 * 1024).expect("there is room");
        device.launch(module, "where", &LaunchConfig::new(1024, 32), &Args::new().ptr(out)).expect("it runs");
        let mut bytes = vec![0; 4 * 1024];
        device.read(out, &mut bytes).expect("it can be read");
        let mut sms: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect();
        sms.sort_unstable();
        assert_eq!(sms, (0..1024).collect::<Vec<_>>(), "{topology}");
        let timed = device.log()[0].timed.as_ref().expect("it is timed");
        assert!(timed.per_sm.iter().all(|sm| sm.issue.issued == 7), "one warp each");
    }
}

/// Processor seconds of this thread.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a plain C call that fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn sms_that_have_nothing_to_do_cost_next_to_nothing() {
    let seconds = |sms: &str| {
        let (mut device, module) = device(Mode::timed(config(&[sms])));
        let out = device.alloc(4).expect("there is room");
        let mut run = |turns: u32| {
            let before = processor_seconds();
            let args = Args::new().ptr(out).u32(turns);
            device.launch(module, "spin", &LaunchConfig::new(1, 32), &args).expect("it runs");
            device.synchronize().expect("it ends");
            processor_seconds() - before
        };
        run(10);
        // What a launch takes whatever its length is not what this is about.
        (0..3).map(|_| run(2200) - run(200)).fold(f64::MAX, f64::min)
    };
    let (few, many) = (seconds("gpu.sms=15"), seconds("gpu.sms=132"));
    assert!(many < 2.0 * few, "{few} s with 15 SMs and {many} s with 132");
}
