// SPDX-License-Identifier: MIT OR Apache-2.0
//! Once queues and lists have grown, simulating a cycle allocates nothing: a kernel that runs a hundred times as long makes no more
//! allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use warpwatt_config::Config;
use warpwatt_runtime::{Args, Device, LaunchConfig, Mode, Nobody, Options, Timed};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: passed on unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on unchanged.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: passed on unchanged.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Loads and stores of global and shared memory, an atomic, a barrier, special functions and a divergent branch, `n` times over.
const KERNEL: &str = "
.version 7.0
.target sm_50
.address_size 64
.visible .entry busy(.param .u64 data, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, 256, %r2;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    shl.b32 %r5, %r2, 2;
    mov.u32 %r6, tile;
    add.u32 %r7, %r6, %r5;
again:
    ld.global.f32 %f1, [%rd3];
    rcp.approx.f32 %f2, %f1;
    st.shared.f32 [%r7], %f2;
    bar.sync 0;
    ld.shared.f32 %f3, [%r7];
    and.b32 %r8, %r2, 1;
    setp.eq.u32 %p1, %r8, 0;
    @%p1 bra even;
    add.f32 %f3, %f3, 0f3F800000;
even:
    st.global.f32 [%rd3], %f3;
    red.global.add.u32 [%rd1+65536], 1;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra again;
    ret;
}
";

#[test]
fn cycles_allocate_nothing() {
    for with in [None, Some("warped-compression:observe=on")] {
        allocates_nothing(with);
    }
}

fn allocates_nothing(with: Option<&str>) {
    let mut config = Config::default();
    (config.gpu.sms, config.gpu.partitions) = (3, 2);
    let mut timed = Timed::new(config);
    if let Some(text) = with {
        timed.techniques.with(text).expect("it is legal");
    }
    let options = Options { mode: Mode::Timed(Box::new(timed)), verify: false, ..Options::default() };
    let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
    let module = device.load_module("busy.ptx", KERNEL).expect("a module");
    let data = device.alloc(1 << 17).expect("memory");
    let mut run = |iterations: u32| {
        let before = ALLOCATIONS.load(Relaxed);
        let args = Args::new().ptr(data).u32(iterations);
        device.launch(module, "busy", &LaunchConfig::new(24, 256), &args).expect("it runs");
        ALLOCATIONS.load(Relaxed) - before
    };
    run(800);
    // Queues of a launch grow in its first rounds.
    let short = run(200);
    let long = run(800);
    assert!(long <= short + 16, "{short} allocations for 200 rounds, {long} for 800, with {with:?}");
}
