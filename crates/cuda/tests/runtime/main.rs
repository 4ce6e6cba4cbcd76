// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime API, called as a compiled program calls it: start-up code registers a module, then every group of functions is used
//! once, bad arguments included. A process has one device, so the tests take turns.

// Pointers that the tests pass are local variables, null, or deliberately wrong ones that the API has to refuse.
#![allow(clippy::undocumented_unsafe_blocks)]

mod copies;
mod errors;
mod graphs;
mod launches;
mod memory;
mod streams;
mod textures;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use warpwatt_cuda::rt::register::{
    __cudaRegisterFatBinary, __cudaRegisterFatBinaryEnd, __cudaRegisterFunction, __cudaRegisterManagedVar,
    __cudaRegisterTexture, __cudaRegisterVar,
};

pub const OK: i32 = 0;
pub const INVALID_VALUE: i32 = 1;
pub const INVALID_CONFIGURATION: i32 = 9;
pub const INVALID_HANDLE: i32 = 400;

pub const TO_DEVICE: i32 = 1;
pub const TO_HOST: i32 = 2;
pub const ON_DEVICE: i32 = 3;
pub const ANY: i32 = 4;

const PTX: &CStr = c"
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter[4] = {5, 6, 7, 8};
.visible .const .align 4 .u32 scale = 3;
.visible .global .attribute(.managed) .align 4 .u32 shared_by_both = 11;
.visible .global .texref picture;

// p[i] = p[i] * scale + n
.visible .entry add(.param .u64 p, .param .u32 n)
{
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p];
    ld.param.u32 %r1, [n];
    cvta.to.global.u64 %d1, %d1;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r3, [%d3];
    ld.const.u32 %r4, [scale];
    mad.lo.u32 %r5, %r3, %r4, %r1;
    st.global.u32 [%d3], %r5;
    ret;
}

// p[i] = texel i of an object
.visible .entry fetch(.param .u64 p, .param .u64 t)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<5>;
    ld.param.u64 %d1, [p];
    ld.param.u64 %d4, [t];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d4, {%r1}];
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r2;
    ret;
}

// p[i] = texel i of the reference
.visible .entry fetch_reference(.param .u64 p)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [picture, {%r1}];
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r2;
    ret;
}

// *p = 1, wherever p points
.visible .entry poke(.param .u64 p)
{
    .reg .b32 %r<2>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, 1;
    st.global.u32 [%d1], %r1;
    ret;
}
";

/// Host addresses that stand for things of the module, as a compiler would make them.
#[repr(C)]
pub struct Host {
    add: u8,
    fetch: u8,
    fetch_reference: u8,
    poke: u8,
    missing: u8,
    stranger: u8,
    counter: u32,
    scale: u32,
    picture: [i32; 31],
}

pub static HOST: Host = Host {
    add: 0,
    fetch: 0,
    fetch_reference: 0,
    poke: 0,
    missing: 0,
    stranger: 0,
    counter: 0,
    scale: 0,
    picture: [0; 31],
};
/// Where host code finds the managed variable.
pub static mut SHARED_BY_BOTH: *mut u32 = null_mut();

macro_rules! host {
    ($name:ident) => {
        (&raw const $crate::HOST.$name) as u64
    };
}
pub(crate) use host;

#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const c_char,
    name: *const c_char,
}

static mut WRAPPER: Wrapper = Wrapper { magic: 0x4662_43B1, version: 1, data: PTX.as_ptr(), name: null() };
static mut UNIT: *mut *mut c_void = null_mut();

/// The device for one test; registers the module before the first one.
pub fn device() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    static START: Once = Once::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    START.call_once(|| unsafe {
        let unit = __cudaRegisterFatBinary((&raw mut WRAPPER).cast());
        let kernel = |host: u64, name: &CStr| {
            let (none, name) = (null_mut(), name.as_ptr());
            __cudaRegisterFunction(
                unit,
                host as *const c_void,
                none,
                name,
                -1,
                none.cast(),
                none.cast(),
                none.cast(),
                none.cast(),
                null_mut(),
            );
        };
        kernel(host!(add), c"add");
        kernel(host!(fetch), c"fetch");
        kernel(host!(fetch_reference), c"fetch_reference");
        kernel(host!(poke), c"poke");
        kernel(host!(missing), c"missing");
        let variable = |host: u64, name: &CStr| {
            __cudaRegisterVar(unit, host as *mut c_void, null_mut(), name.as_ptr(), 0, 4, 0, 0);
        };
        variable(host!(counter), c"counter");
        variable(host!(scale), c"scale");
        let pointer = (&raw mut SHARED_BY_BOTH).cast();
        __cudaRegisterManagedVar(unit, pointer, null_mut(), c"shared_by_both".as_ptr(), 0, 4, 0, 0);
        __cudaRegisterTexture(
            unit,
            host!(picture) as *const c_void,
            null_mut(),
            c"picture".as_ptr(),
            1,
            0,
            0,
        );
        __cudaRegisterFatBinaryEnd(unit);
        UNIT = unit;
    });
    turn
}

/// The registered fat binary.
pub fn unit() -> *mut *mut c_void {
    unsafe { UNIT }
}
