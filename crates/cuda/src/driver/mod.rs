// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA driver API (`libcuda.so.1`): every function of `cuda.h`, under every name that programs of CUDA 11 to 13 use.
//!
//! A function here checks what it was given, translates it, calls [`crate::core`], and translates the answer back. [`api!`]
//! declares it together with its twin for the per-thread default stream (`_ptsz`, `_ptds`); `names` maps the names and versions
//! requested from `cuGetProcAddress` to functions; `absent` has what is not implemented.
//! NVIDIA describes the functions in the CUDA Driver API reference manual.

#![allow(non_snake_case)]

pub mod absent;
pub mod array;
pub mod attributes;
pub mod batch;
pub mod context;
pub mod copy;
pub mod device;
pub mod entry;
pub mod event;
pub mod fill;
pub mod function;
pub mod graph;
pub mod graph_exec;
pub mod graph_nodes;
pub mod image;
pub mod launch;
pub mod legacy;
pub mod library;
pub mod link;
pub mod memory;
pub mod module;
mod names;
pub mod occupancy;
pub mod pointer;
pub mod pool;
pub mod stream;
pub mod texture;
pub mod texture_reference;

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::core::state::{complain, say};
use crate::core::stream::PER_THREAD;
use crate::core::worker::message;
use crate::core::{Code, Core, Result};

/// Where a function leaves an answer. The caller vouches for the pointer, as the API demands.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> From<&mut T> for Out<T> {
    fn from(target: &mut T) -> Out<T> {
        Out(target)
    }
}

impl<T> Out<T> {
    pub const NULL: Out<T> = Out(std::ptr::null_mut());

    pub fn at(address: u64) -> Out<T> {
        Out(address as *mut T)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// Refuses a null pointer before anything is done.
    pub fn check(self) -> Result<()> {
        if self.0.is_null() { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    pub fn put(self, value: T) -> Result<()> {
        self.check()?;
        self.put_if(value);
        Ok(())
    }

    /// For results whose pointer may be null.
    pub fn put_if(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, and the caller of the API vouches for the rest.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    pub fn put_all(self, values: impl IntoIterator<Item = T>) -> Result<()> {
        for (k, value) in values.into_iter().enumerate() {
            self.check()?;
            // SAFETY: the caller said how many fit.
            unsafe { self.0.add(k).write_unaligned(value) }
        }
        Ok(())
    }

    pub fn get(self) -> Result<T>
    where
        T: Copy,
    {
        In(self.0.cast_const()).get()
    }
}

/// Parameters that are passed by pointer.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> From<&T> for In<T> {
    fn from(target: &T) -> In<T> {
        In(target)
    }
}

impl<T: Copy> In<T> {
    pub const NULL: In<T> = In(std::ptr::null());

    pub fn at(address: u64) -> In<T> {
        In(address as *const T)
    }

    /// For lists: the first of `values`.
    pub fn first(values: &[T]) -> In<T> {
        In(values.as_ptr())
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub fn address(self) -> u64 {
        self.0 as u64
    }

    pub fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller of the API vouches for the rest.
        Ok(unsafe { self.0.read_unaligned() })
    }

    pub fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller says that there are as many.
        Ok((0..count).map(|k| unsafe { self.0.add(k).read_unaligned() }).collect())
    }
}

/// A C string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl From<&CStr> for Text {
    fn from(text: &CStr) -> Text {
        Text(text.as_ptr())
    }
}

impl Text {
    pub const NULL: Text = Text(std::ptr::null());

    pub fn at(address: u64) -> Text {
        Text(address as *const c_char)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Text that is not UTF-8 names nothing of ours, so its odd bytes are replaced.
    pub fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller of the API vouches that it ends.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }

    pub fn path(self) -> Result<std::path::PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: as above.
        let bytes = unsafe { CStr::from_ptr(self.0) }.to_bytes();
        Ok(std::ffi::OsStr::from_bytes(bytes).into())
    }
}

/// A text with static lifetime, for C programs. Each text is stored once.
pub fn lasting(text: &str) -> u64 {
    use std::collections::BTreeMap;
    use std::ffi::CString;
    use std::sync::{Mutex, PoisonError};
    static TEXTS: Mutex<BTreeMap<String, CString>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = texts
        .entry(text.to_owned())
        .or_insert_with(|| CString::new(text.replace('\0', "?")).unwrap_or_default());
    kept.as_ptr() as u64
}

/// A list that this thread's next such answer may overwrite, as the API allows.
pub fn lasting_list(items: &[u64]) -> u64 {
    use std::cell::RefCell;
    thread_local! {
        static LISTS: RefCell<[Vec<u64>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
    }
    LISTS.with_borrow_mut(|lists| {
        lists.swap(0, 1);
        lists[0] = items.to_vec();
        lists[0].as_ptr() as u64
    })
}

/// Turns what a function found into its return value. A panic is a bug of ours; it must not unwind into C.
pub(crate) fn answer(name: &str, call: impl FnOnce() -> Result<()>) -> i32 {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => {
            let code = Code::from_result(result);
            if code != Code::SUCCESS {
                complain(name, code);
            }
            code.0
        }
        Err(payload) => {
            let text = message(payload.as_ref());
            say(&format!(
                "a bug in warpwatt, in `{name}`: {text}; please report it with the program that shows it"
            ));
            Code::UNKNOWN.0
        }
    }
}

/// Calls that need the driver to be initialised and a context to be current.
pub(crate) fn with<R>(call: impl FnOnce(&mut Core) -> Result<R>) -> Result<R> {
    context::check_current()?;
    crate::core::with(call)
}

/// Calls about a stream or event, which belongs to a context: only the default streams need one to be current.
pub(crate) fn with_stream<R>(stream: u64, call: impl FnOnce(&mut Core) -> Result<R>) -> Result<R> {
    if stream <= PER_THREAD { with(call) } else { with_handle(call) }
}

/// Calls about something that was made in a context, and knows it.
pub(crate) fn with_handle<R>(call: impl FnOnce(&mut Core) -> Result<R>) -> Result<R> {
    entry::check_initialized()?;
    crate::core::with(call)
}

/// The stream that a `_ptsz` function means.
pub(crate) fn per_thread(stream: u64) -> u64 {
    if stream == 0 { PER_THREAD } else { stream }
}

/// Declares functions of the API: `fn name(arguments) { body }`, where the body gives a `Result<()>`.
///
/// `fn name [twin: stream] (…)` also declares the twin for which `stream` 0 is the thread's own default stream;
/// `fn name [twin on s] (…)`, for functions without a stream argument, runs the body with `s` as the one or the other default stream;
/// `fn name [also other] (…)` gives the function a second name.
macro_rules! api {
    ($(fn $name:ident $([$($twin:tt)*])? ($($arguments:tt)*) $body:block)*) => {
        $($crate::driver::declare! { $name [$($($twin)*)?] ($($arguments)*) $body })*
    };
}

macro_rules! declare {
    ($name:ident [] ($($a:ident: $t:ty),* $(,)?) $body:block) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($a: $t),*) -> i32 {
            $crate::driver::answer(stringify!($name), move || $body)
        }
    };
    ($name:ident [also $other:ident] ($($a:ident: $t:ty),* $(,)?) $body:block) => {
        $crate::driver::declare! { $name [] ($($a: $t),*) $body }
        #[unsafe(no_mangle)]
        pub extern "C" fn $other($($a: $t),*) -> i32 {
            $name($($a),*)
        }
    };
    ($name:ident [$twin:ident: $stream:ident] ($($a:ident: $t:ty),* $(,)?) $body:block) => {
        $crate::driver::declare! { $name [] ($($a: $t),*) $body }
        #[unsafe(no_mangle)]
        pub extern "C" fn $twin($($a: $t),*) -> i32 {
            let $stream = $crate::driver::per_thread($stream);
            $name($($a),*)
        }
    };
    ($name:ident [$twin:ident on $stream:ident] ($($a:ident: $t:ty),* $(,)?) $body:block) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($a: $t),*) -> i32 {
            let $stream = 0u64;
            $crate::driver::answer(stringify!($name), move || $body)
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $twin($($a: $t),*) -> i32 {
            let $stream = $crate::core::stream::PER_THREAD;
            $crate::driver::answer(stringify!($name), move || $body)
        }
    };
}

pub(crate) use {api, declare};
