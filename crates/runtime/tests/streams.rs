// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams and events: what waits for what, what may overlap, and when things happen (rules in `queue`, `plan`, `drain` and `clock`).

use std::sync::{Arc, Mutex};

use warpwatt_config::Config;
use warpwatt_runtime::{
    Args, CopyBox, Device, DevicePtr, End, Error, Event, FillBox, HostPtr, LaunchConfig, Mode, ModuleId,
    Nobody, Options, Selection, Side, Stream, Until,
};

const MODULE: &str = r#".version 7.0
.target sm_50
.address_size 64

.const .align 4 .u32 factor = 1;

// out[0] = out[0] * factor + n, after n rounds
.visible .entry rounds(.param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    ld.const.u32 %r6, [factor];
    mov.u32 %r3, 0;
again:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    ld.global.u32 %r4, [%rd1];
    mad.lo.u32 %r4, %r4, %r6, %r3;
    st.global.u32 [%rd1], %r4;
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

fn small() -> Config {
    let mut config = Config::default();
    (config.gpu.sms, config.gpu.partitions) = (2, 2);
    config.gpu.host_wait_cycles = 0;
    config
}

fn timed() -> Options {
    Options { mode: Mode::timed(small()), ..Options::default() }
}

fn device(options: Options) -> (Device, ModuleId, DevicePtr) {
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let module = device.load_module("module.ptx", MODULE).expect("the module loads");
    let out = device.alloc_named(256, "out").expect("room");
    (device, module, out)
}

fn rounds(device: &mut Device, stream: Stream, m: ModuleId, out: DevicePtr, n: u32) {
    let args = Args::new().ptr(out).u32(n);
    device.queue_launch(stream, m, "rounds", &LaunchConfig::new(1, 1), &args).expect("it is queued");
}

fn word(device: &mut Device, at: DevicePtr) -> u32 {
    let mut bytes = [0; 4];
    device.read(at, &mut bytes).expect("a word");
    u32::from_le_bytes(bytes)
}

fn to_device(at: DevicePtr, bytes: usize) -> CopyBox {
    CopyBox::flat(End::Device(at.0), End::Bytes(vec![0; bytes]), bytes as u64)
}

/// Start and end of each launch.
fn spans(device: &Device) -> Vec<(u64, u64)> {
    let span = |timed: &warpwatt_runtime::TimedRecord| (timed.start_cycle, timed.start_cycle + timed.cycles);
    device.log().iter().map(|launch| span(launch.timed.as_ref().expect("timed"))).collect()
}

#[test]
fn a_device_can_go_to_another_thread() {
    fn sends<T: Send>(_: &T) {}
    sends(&device(timed()).0);
}

#[test]
fn nothing_runs_before_the_host_waits_or_the_queue_is_long() {
    for options in [Options::default(), timed()] {
        let (mut device, module, out) = device(options);
        let stream = device.create_stream(true);
        let event = device.create_event();
        rounds(&mut device, stream, module, out, 3);
        device.queue_record(stream, event).expect("queued");
        assert_eq!((device.queued(), device.log().len(), device.event_ns(event)), (2, 0, None));
        let all = [Until::Everything, Until::Stream(stream), Until::Event(event)];
        assert!(all.iter().all(|&until| !device.is_done(until)));
        assert!(!device.is_done(Until::Stream(Stream::LEGACY)), "the legacy stream waits for a blocking one");
        device.finish(Until::Event(event)).expect("it runs");
        assert!(all.iter().all(|&until| device.is_done(until)));
        assert!(device.event_ns(event).is_some_and(|ns| ns > 0.0));
        let before = device.log().len();
        for _ in 0..1025 {
            rounds(&mut device, stream, module, out, 1);
        }
        assert_eq!((device.queued(), device.log().len() - before), (1, 1024));
        assert_eq!(word(&mut device, out), 3 + 1025);
    }
}

#[test]
fn commands_see_memory_as_it_is_when_they_run() {
    for options in [Options::default(), timed()] {
        let (mut device, module, out) = device(options);
        let (factor, _) = device.symbol(module, "factor").expect("a variable");
        let stream = device.create_stream(false);
        let mut host = 10u32.to_le_bytes();
        let mut back = [0u8; 4];
        let from = End::Host(HostPtr(host.as_mut_ptr()));
        device.queue_copy(stream, CopyBox::flat(End::Device(out.0), from, 4)).expect("queued");
        let five = End::Bytes(5u32.to_le_bytes().to_vec());
        device.queue_copy(stream, CopyBox::flat(End::Device(factor.0), five, 4)).expect("queued");
        rounds(&mut device, stream, module, out, 2);
        let to = End::Host(HostPtr(back.as_mut_ptr()));
        device.queue_copy(stream, CopyBox::flat(to, End::Device(out.0), 4)).expect("queued");
        let called = Arc::new(Mutex::new(0));
        let sees = called.clone();
        let at = HostPtr(back.as_mut_ptr());
        let call = move || {
            let at = at;
            // SAFETY: the array outlives the command, and nobody else looks at it now.
            *sees.lock().expect("whole") =
                u32::from_le_bytes(unsafe { at.0.cast::<[u8; 4]>().read_volatile() });
        };
        device.queue_call(stream, Box::new(call)).expect("queued");
        device.queue_free(stream, out).expect("queued");
        host[0] = 20;
        assert!(device.find(out.0).is_some());
        device.finish(Until::Stream(stream)).expect("all of it");
        assert_eq!((*called.lock().expect("whole"), host[0]), (20 * 5 + 2, 20));
        assert!(device.find(out.0).is_none());
        let error = device.queue_free(stream, out).expect_err("it is gone");
        assert!(error.to_string().contains("which was freed"), "{error}");
    }
}

#[test]
fn boxes_go_row_by_row() {
    let (mut device, ..) = device(Options::default());
    let at = device.alloc(4096).expect("room");
    let bytes: Vec<u8> = (0..60).collect();
    let side = |at, pitch, slice| Side { at, pitch, slice };
    // 2 slices of 3 rows of 5 bytes, out of rows of 10.
    let copy = CopyBox {
        to: side(End::Device(at.0), 16, 100),
        from: side(End::Bytes(bytes), 10, 30),
        width: 5,
        height: 3,
        depth: 2,
    };
    device.queue_copy(Stream::LEGACY, copy.clone()).expect("queued");
    let fill = FillBox { at: at.0 + 1000, pitch: 8, value: 0x0102_0304, element: 2, width: 3, height: 2 };
    device.queue_fill(Stream::LEGACY, fill).expect("queued");
    let mut out = vec![0; 1020];
    device.read(at, &mut out).expect("all");
    for (slice, row) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let (to, from) = (slice * 100 + row * 16, (slice * 30 + row * 10) as u8);
        assert_eq!(out[to..to + 6], [from, from + 1, from + 2, from + 3, from + 4, 0], "{slice} {row}");
    }
    assert_eq!(out[1000..1016], [4, 3, 4, 3, 4, 3, 0, 0, 4, 3, 4, 3, 4, 3, 0, 0]);
    let short = CopyBox { to: side(End::Device(at.0 + 3980), 16, 100), ..copy };
    let error = device.queue_copy(Stream::LEGACY, short).expect_err("137 bytes do not fit");
    assert!(matches!(error, Error::Pointer { bytes: 137, .. }), "{error}");
    let odd = FillBox { element: 3, ..fill };
    assert!(device.queue_fill(Stream::LEGACY, odd).is_err_and(|e| e.to_string().contains("1, 2 or 4")));
    let nowhere = End::Host(HostPtr(std::ptr::null_mut()));
    let error = device.queue_copy(Stream::LEGACY, CopyBox::flat(nowhere, End::Device(at.0), 1));
    assert!(error.is_err_and(|error| error.to_string().contains("null")));
    assert_eq!(device.queued(), 0);
}

/// Ends of two kernels and a copy on streams of these kinds, `None` for the legacy stream: kernel, then copy, then kernel.
fn three(first: Option<bool>, second: Option<bool>, third: Option<bool>) -> (Vec<(u64, u64)>, f64) {
    let (mut device, module, out) = device(timed());
    let room = device.alloc(4 << 20).expect("room");
    let other = device.alloc(4).expect("room");
    let mut stream =
        |kind: Option<bool>| kind.map_or(Stream::LEGACY, |blocking| device.create_stream(blocking));
    let (first, second, third) = (stream(first), stream(second), stream(third));
    let copied = device.create_event();
    rounds(&mut device, first, module, out, 1000);
    device.queue_copy(second, to_device(room, 8192)).expect("queued");
    device.queue_record(second, copied).expect("queued");
    rounds(&mut device, third, module, other, 1000);
    device.finish(Until::Everything).expect("all of it");
    (spans(&device), device.event_ns(copied).expect("reached") * 0.7)
}

#[test]
fn the_legacy_stream_and_blocking_ones_wait_for_each_other() {
    let (blocking, other, legacy) = (Some(true), Some(false), None);
    // The copy takes 5600 + 1024 cycles, and its event one.
    let copy = 6625.0;
    let (kernels, copied) = three(blocking, legacy, blocking);
    assert_eq!(copied.round(), kernels[0].1 as f64 + copy, "after the first kernel");
    assert_eq!(kernels[1].0 as f64, copied.round(), "after the copy and its event");
    let (kernels, copied) = three(legacy, blocking, legacy);
    assert_eq!((copied.round(), kernels[1].0 as f64), (kernels[0].1 as f64 + copy, copied.round()));
    let (kernels, copied) = three(blocking, blocking, blocking);
    assert_eq!((copied.round(), kernels[0].0, kernels[1].0), (copy, 0, 0), "all together");
    let (kernels, copied) = three(other, legacy, other);
    assert_eq!((copied.round(), kernels[0].0, kernels[1].0), (copy, 0, 0), "all together");
    let (kernels, copied) = three(legacy, other, legacy);
    assert_eq!((copied.round(), kernels[1].0), (copy, kernels[0].1), "the copy beside the kernels");
}

#[test]
fn a_copy_beside_a_kernel_is_free() {
    let time = |same: bool| {
        let (mut device, module, out) = device(timed());
        let room = device.alloc(1 << 20).expect("room");
        let first = device.create_stream(false);
        let second = if same { first } else { device.create_stream(false) };
        rounds(&mut device, first, module, out, 2000);
        device.queue_copy(second, to_device(room, 100_000)).expect("queued");
        device.finish(Until::Everything).expect("both");
        (device.now_cycles().expect("a clock"), spans(&device)[0].1)
    };
    let ((together, kernel), (one_by_one, _)) = (time(false), time(true));
    let copy = 5600 + 12_500;
    assert_eq!((together, one_by_one), (copy.max(kernel), copy + kernel));
}

#[test]
fn a_pipeline_of_copies_and_kernels_overlaps() {
    let (mut device, module, _) = device(timed());
    let room = device.alloc(1 << 20).expect("room");
    let mut back = vec![0u8; 40_000];
    for part in 0..4 {
        let stream = device.create_stream(true);
        let at = room.offset(part * 40_000);
        device.queue_copy(stream, to_device(at, 40_000)).expect("queued");
        rounds(&mut device, stream, module, at, 1500);
        let to = End::Host(HostPtr(back.as_mut_ptr()));
        device.queue_copy(stream, CopyBox::flat(to, End::Device(at.0), 40_000)).expect("queued");
    }
    device.finish(Until::Everything).expect("all");
    let copy = 5600 + 5000;
    let kernels = spans(&device);
    for (part, (start, _)) in kernels.iter().enumerate() {
        assert_eq!(*start, copy * (part as u64 + 1), "as soon as its bytes are there");
    }
    assert_eq!(device.now_cycles(), Some(kernels[3].1.max(kernels[0].1 + 3 * copy) + copy));
}

#[test]
fn events_are_in_order_and_never_at_the_same_time() {
    for options in [Options::default(), timed()] {
        let (mut device, module, out) = device(options);
        let events: Vec<Event> = (0..6).map(|_| device.create_event()).collect();
        let record = |device: &mut Device, k: usize| {
            device.queue_record(Stream::LEGACY, events[k]).expect("queued");
        };
        record(&mut device, 0);
        record(&mut device, 1);
        rounds(&mut device, Stream::LEGACY, module, out, 100);
        record(&mut device, 2);
        rounds(&mut device, Stream::LEGACY, module, out, 1000);
        record(&mut device, 3);
        device.queue_copy(Stream::LEGACY, to_device(out, 4)).expect("queued");
        record(&mut device, 4);
        device.finish(Until::Everything).expect("all");
        record(&mut device, 5);
        device.finish(Until::Event(events[5])).expect("the last");
        let at: Vec<f64> = events.iter().map(|&event| device.event_ns(event).expect("reached")).collect();
        assert!(at.windows(2).all(|pair| pair[0] < pair[1]), "{at:?}");
        assert!(at[3] - at[2] > 3.0 * (at[2] - at[1]), "a kernel that is ten times as long: {at:?}");
        // Recorded again, it is not reached until that has run.
        record(&mut device, 0);
        assert_eq!(device.event_ns(events[0]), None);
        device.finish(Until::Event(events[0])).expect("again");
        assert!(device.event_ns(events[0]) > Some(at[5]));
    }
}

#[test]
fn a_wait_holds_up_its_stream_alone() {
    let (mut device, module, out) = device(timed());
    let cells: Vec<_> = (0..3).map(|_| device.alloc(4).expect("room")).collect();
    let streams: Vec<_> = (0..3).map(|_| device.create_stream(false)).collect();
    let (event, never) = (device.create_event(), device.create_event());
    rounds(&mut device, streams[0], module, out, 3000);
    device.queue_record(streams[0], event).expect("queued");
    device.queue_wait(streams[1], event).expect("queued");
    device.queue_wait(streams[2], never).expect("no wait");
    rounds(&mut device, streams[1], module, cells[1], 500);
    rounds(&mut device, streams[2], module, cells[2], 500);
    device.finish(Until::Stream(streams[2])).expect("all");
    let kernels = spans(&device);
    assert_eq!(kernels[1].0, kernels[0].1 + 1, "right after the event");
    assert_eq!(kernels[2].0, 0);
    assert_eq!(device.now_cycles(), Some(kernels[2].1), "the host waited for the third stream only");
    device.finish(Until::Event(event)).expect("nothing to run");
    assert_eq!(device.now_cycles(), Some(kernels[0].1 + 1));
}

#[test]
fn streams_and_events_end_but_their_work_does_not() {
    let (mut device, module, out) = device(timed());
    let stream = device.create_stream(true);
    rounds(&mut device, stream, module, out, 7);
    let event = device.create_event();
    device.queue_record(stream, event).expect("queued");
    device.destroy_stream(stream).expect("it is there");
    device.destroy_event(event).expect("it is there");
    let again = device.destroy_stream(stream).expect_err("it is gone");
    assert_eq!(again.to_string(), "there is no stream 1 on this device");
    assert!(device.destroy_event(event).is_err() && device.destroy_stream(Stream::LEGACY).is_err());
    assert!(device.queue_record(stream, event).is_err() && device.queue_wait(Stream::LEGACY, event).is_err());
    assert_eq!(word(&mut device, out), 7, "the legacy stream still comes after it");
    assert_ne!(device.create_stream(true), stream);
    assert!(device.finish(Until::Stream(stream)).is_err() && device.finish(Until::Event(event)).is_err());
}

#[test]
fn a_fault_is_told_once_and_ends_what_is_queued() {
    for options in [Options::default(), timed()] {
        let (mut device, module, out) = device(options);
        let other = device.alloc(4).expect("room");
        let streams = [device.create_stream(false), device.create_stream(false)];
        let event = device.create_event();
        rounds(&mut device, streams[0], module, other, 1);
        device.finish(Until::Everything).expect("the first");
        let args = Args::new().ptr(out);
        rounds(&mut device, streams[1], module, other, 2);
        device.queue_launch(streams[0], module, "wrong", &LaunchConfig::new(1, 1), &args).expect("queued");
        rounds(&mut device, streams[0], module, out, 5);
        device.queue_record(streams[0], event).expect("queued");
        let Err(Error::Fault(report)) = device.finish(Until::Everything) else { panic!("a fault") };
        assert_eq!((report.kernel.as_str(), report.launch), ("wrong", 2));
        assert_eq!((device.queued(), device.event_ns(event)), (0, None));
        device.finish(Until::Event(event)).expect("told once");
        assert!(device.log()[0].complete && device.log().iter().any(|launch| launch.index == 2));
        assert_eq!(word(&mut device, out), 0);
        // The machine goes on: what errors mean for a program is not its business.
        rounds(&mut device, streams[0], module, out, 5);
        assert_eq!((device.finish(Until::Everything).is_ok(), word(&mut device, out)), (true, 5));
    }
}

#[test]
fn kernels_that_are_not_timed_keep_their_place() {
    let selection = Selection { kernels: None, skip: 1 };
    let (mut device, module, out) = device(Options { selection, ..timed() });
    let streams = [device.create_stream(false), device.create_stream(false)];
    let event = device.create_event();
    rounds(&mut device, streams[0], module, out, 3);
    device.queue_record(streams[0], event).expect("queued");
    device.queue_wait(streams[1], event).expect("queued");
    rounds(&mut device, streams[1], module, out, 4);
    device.finish(Until::Everything).expect("both");
    assert_eq!(word(&mut device, out), 7);
    assert_eq!(device.log()[0].timed, None);
    assert_eq!(device.log()[1].timed.as_ref().map(|timed| timed.start_cycle), Some(1));
}

#[test]
fn arguments_in_a_block() {
    let (mut device, module, out) = device(Options::default());
    assert_eq!(device.kernel_params(module, "rounds").expect("a kernel"), [(0, 8), (8, 4)]);
    let block = |bytes: usize| {
        let mut block = out.0.to_le_bytes().to_vec();
        block.extend(9u32.to_le_bytes());
        block.resize(bytes, 0);
        Args::packed(block)
    };
    for (bytes, fits) in [(11, false), (12, true), (16, true), (17, false)] {
        let outcome =
            device.queue_launch(Stream::LEGACY, module, "rounds", &LaunchConfig::new(1, 1), &block(bytes));
        assert_eq!(outcome.is_ok(), fits, "{bytes}: {outcome:?}");
    }
    assert_eq!(word(&mut device, out), 18);
}

#[test]
fn an_unloaded_module_is_gone_with_its_memory() {
    let (mut device, module, out) = device(Options::default());
    rounds(&mut device, Stream::LEGACY, module, out, 3);
    let (free, total) = device.memory_info();
    device.unload_module(module).expect("it is there");
    assert_eq!(device.log().len(), 1, "what was queued ran");
    assert_eq!(device.memory_info(), (free + 4, total));
    assert!(matches!(device.unload_module(module), Err(Error::UnknownModule(0))));
    assert!(matches!(device.symbol(module, "factor"), Err(Error::UnknownModule(0))));
    let again = device.load_module("module.ptx", MODULE).expect("the module loads");
    assert_ne!(again, module);
    rounds(&mut device, Stream::LEGACY, again, out, 3);
    assert_eq!(word(&mut device, out), 6);
}

#[test]
fn a_kernel_may_write_the_constants_of_the_next() {
    for options in [Options::default(), timed()] {
        let (mut device, module, out) = device(options);
        let (factor, _) = device.symbol(module, "factor").expect("a variable");
        let (first, second) = (device.create_stream(false), device.create_stream(false));
        let cell = device.alloc(4).expect("room");
        rounds(&mut device, second, module, cell, 500);
        rounds(&mut device, first, module, out, 3);
        // factor = 1 * factor + 4
        rounds(&mut device, first, module, factor, 4);
        rounds(&mut device, first, module, out, 1);
        device.finish(Until::Everything).expect("all");
        assert_eq!(word(&mut device, out), 3 * 5 + 1);
    }
}

#[test]
fn a_call_that_panics_leaves_nothing_half_done() {
    let (mut device, module, out) = device(timed());
    let (stream, event) = (device.create_stream(true), device.create_event());
    device
        .queue_call(stream, Box::new(|| std::panic::resume_unwind(Box::new("on purpose"))))
        .expect("queued");
    rounds(&mut device, stream, module, out, 2);
    device.queue_record(stream, event).expect("queued");
    let finish = std::panic::AssertUnwindSafe(|| device.finish(Until::Everything));
    assert!(std::panic::catch_unwind(finish).is_err());
    assert!(device.is_done(Until::Event(event)) && device.is_done(Until::Stream(stream)));
    rounds(&mut device, stream, module, out, 5);
    assert_eq!(word(&mut device, out), 5);
}
