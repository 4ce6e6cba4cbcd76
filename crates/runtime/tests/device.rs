// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device by its behaviour: memory, modules with initial values, launches and their log, faults.

use std::sync::{Arc, Mutex};

use warpwatt_runtime::texture::{ChannelKind, Format, Image, Sampler, Storage};
use warpwatt_runtime::{Args, Class, Device, DevicePtr, Error, LaunchConfig, Nobody, Observer, Options};

const MODULE: &str = r#".version 7.0
.target sm_50
.address_size 64

.global .align 4 .u32 counter = 7;
.global .align 8 .u64 pointer = counter;
.global .align 8 .u64 further = generic(counter) + 4;
.const .align 4 .f32 scale[2] = { 0f40000000, 0f3F000000 };
.extern .global .align 4 .u32 elsewhere;

// out[tid] = tid * scale[which] and counter += 1
.visible .entry multiply(.param .u64 out, .param .u32 which)
{
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [which];
    mul.wide.u32 %rd2, %r1, 4;
    mov.u64 %rd3, scale;
    add.u64 %rd4, %rd3, %rd2;
    ld.const.f32 %f1, [%rd4];
    mov.u32 %r2, %tid.x;
    cvt.rn.f32.u32 %f2, %r2;
    mul.f32 %f3, %f2, %f1;
    mul.wide.u32 %rd5, %r2, 4;
    add.u64 %rd6, %rd1, %rd5;
    st.global.f32 [%rd6], %f3;
    red.global.add.u32 [counter], 1;
    ret;
}

// *pointer = 99, through the address that the initial value holds
.visible .entry follow()
{
    .reg .b64 %rd<2>;
    ld.global.u64 %rd1, [pointer];
    st.u32 [%rd1], 99;
    ret;
}

.visible .entry outside()
{
    .reg .b32 %r<2>;
    ld.global.u32 %r1, [elsewhere];
    st.global.u32 [counter], %r1;
    ret;
}

.visible .entry limited() .reqntid 64, 1, 1
{
    ret;
}

.visible .entry tensor()
{
    .reg .b32 %r<2>;
    wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%r1];
    ret;
}
"#;

fn device() -> (Device, warpwatt_runtime::ModuleId) {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("module.ptx", MODULE).expect("the module loads");
    (device, module)
}

fn word(device: &mut Device, at: DevicePtr) -> u32 {
    let mut bytes = [0; 4];
    device.read(at, &mut bytes).expect("a word");
    u32::from_le_bytes(bytes)
}

fn floats(device: &mut Device, at: DevicePtr, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * count];
    device.read(at, &mut bytes).expect("floats");
    bytes.chunks(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

#[test]
fn variables_have_their_initial_values_and_addresses_of_each_other() {
    let (mut device, module) = device();
    let (counter, size) = device.symbol(module, "counter").expect("a variable");
    assert_eq!((word(&mut device, counter), size), (7, 4));
    let mut address = [0; 8];
    for (name, offset) in [("pointer", 0), ("further", 4)] {
        let (at, _) = device.symbol(module, name).expect("a variable");
        device.read(at, &mut address).expect("a pointer");
        assert_eq!(u64::from_le_bytes(address), counter.0 + offset, "{name}");
    }
    device.launch(module, "follow", &LaunchConfig::new(1, 1), &Args::new()).expect("it runs");
    assert_eq!(word(&mut device, counter), 99);
}

#[test]
fn constants_can_be_set_between_launches() {
    let (mut device, module) = device();
    let out = device.alloc(16).expect("room");
    let run = |device: &mut Device, which| {
        let args = Args::new().ptr(out).u32(which);
        device.launch(module, "multiply", &LaunchConfig::new(1, 4), &args).expect("it runs");
        floats(device, out, 4)
    };
    assert_eq!(run(&mut device, 0), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!(run(&mut device, 1), [0.0, 0.5, 1.0, 1.5]);
    let (scale, bytes) = device.symbol(module, "scale").expect("a constant");
    assert_eq!(bytes, 8);
    device.write(scale.offset(4), &(-1.0_f32).to_le_bytes()).expect("constants are the host's to write");
    assert_eq!(run(&mut device, 1), [0.0, -1.0, -2.0, -3.0]);
    let (counter, _) = device.symbol(module, "counter").expect("a variable");
    assert_eq!(word(&mut device, counter), 7 + 12);
}

#[test]
fn the_log_has_an_entry_per_launch_with_its_lines() {
    let (mut device, module) = device();
    let out = device.alloc(256).expect("room");
    let config = LaunchConfig::new(2, 64).stream(3);
    device.launch(module, "multiply", &config, &Args::new().ptr(out).u32(0)).expect("it runs");
    device.launch(module, "follow", &LaunchConfig::new(1, 1), &Args::new()).expect("it runs");
    let [first, second] = device.log() else { panic!("two launches") };
    assert_eq!((first.index, first.stream, first.grid, first.block), (0, 3, [2, 1, 1], [64, 1, 1]));
    assert_eq!((second.index, second.kernel.as_str(), second.complete), (1, "follow", true));
    assert_eq!(first.lines.iter().map(|line| line.warp_instructions).sum::<u64>(), first.warp_instructions);
    assert_eq!(first.thread_instructions, 32 * first.warp_instructions, "no lane was idle");
    assert!(
        first.lines.iter().all(|line| &*line.file == "module.ptx"),
        "without a line table, lines are those of the PTX"
    );
}

#[test]
fn a_kernel_is_refused_when_it_is_launched_and_not_before() {
    let (mut device, module) = device();
    let launch = |device: &mut Device, kernel: &str| {
        device.launch(module, kernel, &LaunchConfig::new(1, 1), &Args::new()).expect_err("it is refused")
    };
    let error = launch(&mut device, "tensor");
    let Error::Ptx(refusal) = &error else { panic!("{error}") };
    assert_eq!((error.class(), refusal.kernel.as_deref()), (Class::BadInput, Some("tensor")));
    let line = MODULE.lines().position(|line| line.contains("wmma")).expect("the line") as u32 + 1;
    assert!(refusal.problems().iter().any(|problem| problem.line == line), "{error}");
    let error = launch(&mut device, "outside");
    assert!(error.to_string().contains("`elsewhere`, which no loaded module defines"), "{error}");
    let error = launch(&mut device, "limited");
    assert!(error.to_string().contains("requires blocks of (64, 1, 1)"), "{error}");
    let error = launch(&mut device, "multipy");
    assert!(error.to_string().contains("did you mean `multiply`?"), "{error}");
    device.launch(module, "limited", &LaunchConfig::new(1, 64), &Args::new()).expect("it runs");
}

#[test]
fn variables_are_found_in_other_modules() {
    let (mut device, module) = device();
    let other =
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .global .align 4 .u32 elsewhere = 1234;\n";
    device.load_module("other.ptx", other).expect("it loads");
    device.launch(module, "outside", &LaunchConfig::new(1, 1), &Args::new()).expect("it runs");
    let (counter, _) = device.symbol(module, "counter").expect("a variable");
    assert_eq!(word(&mut device, counter), 1234);
}

#[test]
fn host_accesses_are_checked_to_the_byte() {
    let (mut device, _) = device();
    let at = device.alloc_named(10, "ten").expect("room");
    device.write(at, &[1; 10]).expect("it fits");
    let error = device.write(at, &[1; 11]).expect_err("one too many");
    assert!(error.to_string().contains("`ten` (10 bytes"), "{error}");
    device.memset(at.offset(4), 9, 6).expect("it fits");
    let other = device.alloc(10).expect("room");
    device.copy(other, at, 10).expect("it fits");
    let mut bytes = [0; 10];
    device.read(other, &mut bytes).expect("it fits");
    assert_eq!(bytes, [1, 1, 1, 1, 9, 9, 9, 9, 9, 9]);
    device.free(at).expect("it was taken");
    let error = device.read(at, &mut bytes).expect_err("it is freed");
    assert!(error.to_string().contains("which was freed"), "{error}");
    assert!(device.free(at).is_err(), "freeing twice");
    assert!(device.free(other.offset(1)).is_err(), "freeing the middle");
    assert!(matches!(device.alloc(u64::MAX), Err(Error::OutOfMemory(_))));
}

#[test]
fn a_run_can_be_stopped_before_a_launch() {
    let options = Options { stop_before_launch: Some(1), ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let module = device.load_module("module.ptx", MODULE).expect("it loads");
    let out = device.alloc(16).expect("room");
    let args = Args::new().ptr(out).u32(1);
    device.launch(module, "multiply", &LaunchConfig::new(1, 4), &args).expect("launch 0 runs");
    let error =
        device.launch(module, "multiply", &LaunchConfig::new(1, 2), &args).expect_err("launch 1 does not");
    assert!(matches!(error, Error::StoppedBefore(1)));
    let pending = device.pending().expect("it is kept");
    assert_eq!((pending.kernel.as_str(), pending.config.block.x, &pending.args), ("multiply", 2, &args));
    assert_eq!(floats(&mut device, out, 4), [0.0, 0.5, 1.0, 1.5]);
}

#[test]
fn attributes_and_occupancy_follow_from_the_kernel() {
    let (mut device, module) = device();
    let needs = device.attributes(module, "limited").expect("it compiles");
    assert_eq!((needs.max_threads, needs.param_bytes, needs.shared_bytes), (64, 0, 0));
    assert_eq!(device.attributes(module, "multiply").expect("it compiles").param_bytes, 12);
    assert_eq!(device.occupancy(module, "limited", 64, 0).expect("it compiles"), 8);
    assert_eq!(device.occupancy(module, "limited", 64, 20 << 10).expect("it compiles"), 2);
}

#[test]
fn an_observer_sees_launches_and_blocks() {
    #[derive(Default)]
    struct Seen {
        launches: Vec<(u64, String)>,
        done: (u64, u64),
    }
    struct Watcher(Arc<Mutex<Seen>>);
    impl Observer for Watcher {
        fn launch(&mut self, index: u64, kernel: &str) {
            self.0.lock().expect("whole").launches.push((index, kernel.to_owned()));
        }
        fn progress(&mut self, done: u64, total: u64) {
            self.0.lock().expect("whole").done = (done, total);
        }
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut device = Device::with(Options::default(), Box::new(Watcher(seen.clone()))).expect("a device");
    let module = device.load_module("module.ptx", MODULE).expect("it loads");
    device.launch(module, "follow", &LaunchConfig::new(500, 32), &Args::new()).expect("it runs");
    assert_eq!(seen.lock().expect("whole").launches, [(0, "follow".to_owned())]);
    assert_eq!(seen.lock().expect("whole").done, (500, 500));
}

#[test]
fn the_instruction_limit_covers_all_launches_together() {
    let options = Options { max_thread_instructions: Some(100_000), ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let module = device.load_module("module.ptx", MODULE).expect("it loads");
    let launch = LaunchConfig::new(64, 64);
    let error = (0..100).find_map(|_| device.launch(module, "follow", &launch, &Args::new()).err());
    assert!(matches!(error, Some(Error::Limit { limit: 100_000, .. })), "{error:?}");
    assert!(device.log().len() > 1, "several launches fit");
    assert!(!device.log().last().expect("an entry").complete);
}

#[test]
fn text_that_is_no_module_is_refused_as_a_whole() {
    let mut device = Device::new().expect("a device");
    let error = device.load_module("garbage.ptx", "what is this?").expect_err("it is refused");
    let Error::Ptx(refusal) = &error else { panic!("{error}") };
    assert!(refusal.kernel.is_none() && !refusal.diagnostics.is_empty());
    assert!(error.to_string().contains("garbage.ptx:1:1"), "{error}");
}

const TEXTURE: &str = r#".version 7.0
.target sm_50
.address_size 64

.global .texref bound;

// out[tid] = object[tid] + 100 * bound[tid]
.visible .entry fetch(.param .u64 out, .param .u64 object)
{
    .reg .b32 %r<12>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd2, {%r1}];
    tex.1d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [bound, {%r1}];
    mad.lo.u32 %r10, %r6, 100, %r2;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r10;
    ret;
}
"#;

#[test]
fn textures_are_passed_as_objects_and_bound_to_references() {
    let mut device = Device::new().expect("a device");
    let module = device.load_module("texture.ptx", TEXTURE).expect("it loads");
    let format = Format { kind: ChannelKind::Unsigned, bits: 32, channels: 1 };
    let image = |device: &mut Device, values: [u32; 4]| {
        let at = device.alloc(16).expect("room");
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        device.write(at, &bytes).expect("it fits");
        Image { storage: Storage::linear(at.0, 16, format), sampler: Sampler::default() }
    };
    let (first, second) = (image(&mut device, [1, 2, 3, 4]), image(&mut device, [5, 6, 7, 8]));
    let object = device.create_image(first);
    let out = device.alloc(16).expect("room");
    let args = Args::new().ptr(out).u64(object);
    let config = LaunchConfig::new(1, 4);
    let error = device.launch(module, "fetch", &config, &args).expect_err("a reference has to be bound");
    assert!(error.to_string().contains("is not bound"), "{error}");
    assert!(device.bind(module, "bond", second.clone()).expect_err("a typo").to_string().contains("`bound`"));
    device.bind(module, "bound", second).expect("it is a reference");
    device.launch(module, "fetch", &config, &args).expect("it runs");
    let found: Vec<u32> = (0..4).map(|k| word(&mut device, out.offset(4 * k))).collect();
    assert_eq!(found, [501, 602, 703, 804]);
    device.destroy_image(object).expect("it was created");
    assert!(device.destroy_image(object).is_err());
    assert!(
        matches!(device.launch(module, "fetch", &config, &args), Err(Error::Fault(_))),
        "the handle is stale"
    );
}
