// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a function of the runtime API is declared: its name, the versions of libcudart that have it, what it takes and does.
//!
//! Every function is exported as `ww_` and its Rust name, and `.symver` lines give that symbol the name and versions that
//! programs ask for. A name whose ABI changed is declared once for each ABI (`fn cudaMemAdvise_13 as cudaMemAdvise`). The newest
//! version is the default one, which is what `dlsym` and linkers without a version find.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::core::state::{complain, say};
use crate::core::worker::message;
use crate::core::{Code, Result};

thread_local! {
    /// What `cudaGetLastError` answers.
    static LAST: Cell<Code> = const { Cell::new(Code::SUCCESS) };
}

/// Turns the outcome of a call into what C sees, and remembers an error for `cudaGetLastError`.
pub fn answer(name: &str, call: impl FnOnce() -> Result<()>) -> i32 {
    let code = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => Code::from_result(outcome),
        Err(payload) => {
            say(&format!("a bug in warpwatt: {}; please report it", message(payload.as_ref())));
            Code::UNKNOWN
        }
    };
    if code != Code::SUCCESS {
        complain(name, code);
        LAST.set(code);
    }
    code.0
}

/// The thread's last error, which is forgotten if `forget`.
pub fn last_error(forget: bool) -> Code {
    if forget { LAST.replace(Code::SUCCESS) } else { LAST.get() }
}

/// Return value of a function that is not implemented, reported once.
pub fn missing(name: &str, said: &std::sync::atomic::AtomicBool) -> i32 {
    if !said.swap(true, std::sync::atomic::Ordering::Relaxed) {
        say(&format!("{name} is not supported and returns cudaErrorNotSupported (801)"));
    }
    answer(name, || Err(Code::NOT_SUPPORTED))
}

/// Gives the symbol of a Rust function a name and versions: `all`, `since12`, `only13`, `until12`, `only12`, `only11`.
macro_rules! symbol {
    (all $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@libcudart.so.11.0" "@libcudart.so.12" "@@libcudart.so.13");
    };
    (since12 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@libcudart.so.12" "@@libcudart.so.13");
    };
    (only13 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@@libcudart.so.13");
    };
    (until12 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@libcudart.so.11.0" "@@libcudart.so.12");
    };
    // Of a name that 13 has too, with another ABI.
    (before13 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@libcudart.so.11.0" "@libcudart.so.12");
    };
    (only12 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@@libcudart.so.12");
    };
    (in12 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@libcudart.so.12");
    };
    (only11 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@@libcudart.so.11.0");
    };
    (in11 $rust:ident $name:ident) => {
        $crate::rt::api::symbol!(@ $rust $name "@libcudart.so.11.0");
    };
    (@ $rust:ident $name:ident $($version:literal)+) => {
        #[cfg(not(test))]
        ::core::arch::global_asm!(
            $(concat!(".symver ww_", stringify!($rust), ", ", stringify!($name), $version)),+
        );
    };
}

/// Functions that return an error code. `fn name | name_ptsz [per_thread] (…)` declares the twin for programs whose default streams are per thread;
/// the body is compiled for both and gets the version as a parameter.
///
/// A body that uses what the program passes is written `unsafe { … }`. Its caller is a C program, which has to keep what CUDA documents of the function's
/// pointers (null or valid, lists as long as the count beside them), handles and callbacks, as for NVIDIA's library.
macro_rules! runtime {
    () => {};
    ($set:ident fn $rust:ident as $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::rt::api::runtime!(@export $rust $name ($($arg: $ty),*) () $body);
        $crate::rt::api::symbol!($set $rust $name);
        $crate::rt::api::runtime!($($rest)*);
    };
    ($set:ident fn $rust:ident as $name:ident ($($arg:ident: $ty:ty),* $(,)?) unsafe $body:block $($rest:tt)*) => {
        // SAFETY: the program keeps the contract of the function.
        $crate::rt::api::runtime!(@export $rust $name ($($arg: $ty),*) () unsafe { $body });
        $crate::rt::api::symbol!($set $rust $name);
        $crate::rt::api::runtime!($($rest)*);
    };
    ($set:ident fn $rust:ident as $name:ident | $twin:ident as $twin_name:ident [$thread:ident]
        ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::rt::api::runtime!(@export $rust $name ($($arg: $ty),*) ($thread = false) $body);
        $crate::rt::api::runtime!(@export $twin $name ($($arg: $ty),*) ($thread = true) $body);
        $crate::rt::api::symbol!($set $rust $name);
        $crate::rt::api::symbol!($set $twin $twin_name);
        $crate::rt::api::runtime!($($rest)*);
    };
    ($set:ident fn $rust:ident as $name:ident | $twin:ident as $twin_name:ident [$thread:ident]
        ($($arg:ident: $ty:ty),* $(,)?) unsafe $body:block $($rest:tt)*) => {
        // SAFETY: the program keeps the contract of the function.
        $crate::rt::api::runtime!(@export $rust $name ($($arg: $ty),*) ($thread = false) unsafe { $body });
        // SAFETY: the program keeps the contract of the function.
        $crate::rt::api::runtime!(@export $twin $name ($($arg: $ty),*) ($thread = true) unsafe { $body });
        $crate::rt::api::symbol!($set $rust $name);
        $crate::rt::api::symbol!($set $twin $twin_name);
        $crate::rt::api::runtime!($($rest)*);
    };
    (@export $rust:ident $name:ident ($($arg:ident: $ty:ty),*) ($($thread:ident = $per_thread:literal)?) $body:expr) => {
        #[unsafe(export_name = concat!("ww_", stringify!($rust)))]
        pub unsafe extern "C" fn $rust($($arg: $ty),*) -> i32 {
            $(let $thread = $per_thread;)?
            $crate::rt::api::answer(stringify!($name), || -> $crate::core::Result<()> { $body })
        }
    };
    ($set:ident fn $name:ident | $twin:ident $($rest:tt)*) => {
        $crate::rt::api::runtime!($set fn $name as $name | $twin as $twin $($rest)*);
    };
    ($set:ident fn $name:ident $($rest:tt)*) => {
        $crate::rt::api::runtime!($set fn $name as $name $($rest)*);
    };
}

/// Names that programs may import, and that answer "not supported". The arguments do not matter: C callers clean up after
/// themselves.
macro_rules! unsupported {
    ($($set:ident: $($name:ident)+;)+) => {
        $($(
            #[unsafe(export_name = concat!("ww_", stringify!($name)))]
            pub extern "C" fn $name() -> i32 {
                static SAID: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);
                $crate::rt::api::missing(stringify!($name), &SAID)
            }
            $crate::rt::api::symbol!($set $name $name);
        )+)+
    };
}

pub(crate) use {runtime, symbol, unsupported};

/// Writes a result through the program's pointer.
///
/// # Safety
/// `place` is null or can be written.
pub unsafe fn put<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's to vouch for; C programs may pass pointers that are not aligned.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// What a pointer of the program's points to.
///
/// # Safety
/// `place` is null or can be read.
pub unsafe fn get<T: Copy>(place: *const T) -> Result<T> {
    if place.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's to vouch for.
    Ok(unsafe { place.read_unaligned() })
}

/// The elements given by a pointer and a count.
///
/// # Safety
/// `place` is null or holds `count` elements.
pub unsafe fn list<T: Copy>(place: *const T, count: usize) -> Result<Vec<T>> {
    match count {
        0 => Ok(Vec::new()),
        // SAFETY: the caller's to vouch for.
        _ => (0..count).map(|index| unsafe { get(place.wrapping_add(index)) }).collect(),
    }
}

/// A C string's text.
///
/// # Safety
/// `text` is null or ends with a NUL.
pub unsafe fn text(text: *const std::ffi::c_char) -> Result<String> {
    if text.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller's to vouch for.
    Ok(unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
