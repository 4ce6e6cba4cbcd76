// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device, a turn, and a module to try things with.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use warpwatt_cuda::driver::context::*;
use warpwatt_cuda::driver::entry::cuInit;
use warpwatt_cuda::driver::launch::*;
use warpwatt_cuda::driver::memory::*;
use warpwatt_cuda::driver::module::*;
use warpwatt_cuda::driver::{In, Out, Text};

pub const INVALID_VALUE: i32 = 1;
pub const INVALID_DEVICE: i32 = 101;
pub const INVALID_CONTEXT: i32 = 201;
pub const INVALID_HANDLE: i32 = 400;
pub const NOT_FOUND: i32 = 500;
pub const NOT_SUPPORTED: i32 = 801;

pub const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .u32 counter = 7;
.extern .shared .align 4 .b8 dynamic[];

// p[i] = p[i] * factor + i, for i below n
.visible .entry scale(.param .u64 p, .param .u32 n, .param .u32 factor)
{
    .reg .pred %out;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %out, %r4, %r5;
    @%out bra DONE;
    ld.param.u64 %d1, [p];
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d1, %d1, %d2;
    ld.param.u32 %r6, [factor];
    ld.global.u32 %r7, [%d1];
    mad.lo.u32 %r7, %r7, %r6, %r4;
    st.global.u32 [%d1], %r7;
DONE:
    ret;
}

// writes where it is told to
.visible .entry poke(.param .u64 p)
{
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [p];
    st.global.u32 [%d1], 1;
    ret;
}

.visible .entry count()
{
    .reg .b32 %r<2>;
    .reg .b64 %d<2>;
    mov.u64 %d1, counter;
    atom.global.add.u32 %r1, [%d1], 1;
    ret;
}

// turns a block around by way of dynamic shared memory
.visible .entry reverse(.param .u64 p)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    ld.param.u64 %d1, [p];
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;
    ld.global.u32 %r3, [%d1];
    shl.b32 %r4, %r1, 2;
    mov.u32 %r5, dynamic;
    add.u32 %r4, %r4, %r5;
    st.shared.u32 [%r4], %r3;
    bar.sync 0;
    sub.u32 %r6, %r2, %r1;
    sub.u32 %r6, %r6, 1;
    shl.b32 %r6, %r6, 2;
    add.u32 %r6, %r6, %r5;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%d1], %r7;
    ret;
}
"#;

static TURN: Mutex<()> = Mutex::new(());

/// A device with the primary context current in this thread, for one test at a time.
pub fn ready() -> MutexGuard<'static, ()> {
    static ONCE: Once = Once::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    ONCE.call_once(|| {
        // SAFETY: the other tests wait for their turn.
        unsafe { std::env::set_var("WARPWATT_GPU", "functional") };
        let mut context = 0;
        assert_eq!(cuCtxGetCurrent(Out::from(&mut context)), 3, "nothing works before cuInit");
        assert_eq!(cuInit(1), INVALID_VALUE);
        ok(cuInit(0));
        assert_eq!(cuCtxSynchronize(), INVALID_CONTEXT);
        ok(cuDevicePrimaryCtxRetain(Out::from(&mut context), 0));
    });
    let mut context = 0;
    ok(cuDevicePrimaryCtxRetain(Out::from(&mut context), 0));
    ok(cuCtxSetCurrent(context));
    turn
}

#[track_caller]
pub fn ok(code: i32) {
    assert_eq!(code, 0);
}

/// A module of the text above; as a C string.
pub fn module() -> u64 {
    let text = std::ffi::CString::new(PTX).unwrap();
    let mut module = 0;
    ok(cuModuleLoadData(Out::from(&mut module), In::from(&text.to_bytes()[0])));
    module
}

pub fn function(module: u64, name: &std::ffi::CStr) -> u64 {
    let mut function = 0;
    ok(cuModuleGetFunction(Out::from(&mut function), module, Text::from(name)));
    function
}

/// Device memory with these words in it.
pub fn buffer(words: &[u32]) -> u64 {
    let mut at = 0;
    ok(cuMemAlloc_v2(Out::from(&mut at), 4 * words.len()));
    write(at, words);
    at
}

pub fn write(at: u64, words: &[u32]) {
    ok(warpwatt_cuda::driver::copy::cuMemcpyHtoD_v2(at, words.as_ptr() as u64, 4 * words.len()));
}

pub fn read(at: u64, count: usize) -> Vec<u32> {
    let mut words = vec![0; count];
    ok(warpwatt_cuda::driver::copy::cuMemcpyDtoH_v2(words.as_mut_ptr() as u64, at, 4 * count));
    words
}

/// Pointers to arguments, as launches want them.
pub struct Arguments {
    values: Box<[u64]>,
    pointers: Vec<u64>,
}

impl Arguments {
    pub fn new(values: &[u64]) -> Arguments {
        let values: Box<[u64]> = values.into();
        let pointers = values.iter().map(|value| &raw const *value as u64).collect();
        Arguments { values, pointers }
    }

    pub fn list(&self) -> In<u64> {
        assert!(!self.values.is_empty());
        In::first(&self.pointers)
    }
}

/// Launches over `grid` blocks of `block` threads.
pub fn launch(function: u64, grid: u32, block: u32, stream: u64, arguments: &Arguments) -> i32 {
    cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, arguments.list(), In::NULL)
}
