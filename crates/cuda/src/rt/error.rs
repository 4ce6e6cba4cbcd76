// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors: the last one of a thread, and what codes are called.

use std::ffi::{CStr, c_char};

use crate::core::state::{is_initialized, sentence};
use crate::core::{Code, with_faulted};
use crate::rt::api::{last_error, symbol};

/// An error of the thread's own, or the fault that no call gets around.
fn error(forget: bool) -> i32 {
    let own = last_error(forget);
    if own != Code::SUCCESS || !is_initialized() {
        return own.0;
    }
    with_faulted(|core| Ok(core.faulted())).ok().flatten().unwrap_or(Code::SUCCESS).0
}

#[unsafe(export_name = "ww_cudaGetLastError")]
pub extern "C" fn cudaGetLastError() -> i32 {
    error(true)
}
symbol!(all cudaGetLastError cudaGetLastError);

#[unsafe(export_name = "ww_cudaPeekAtLastError")]
pub extern "C" fn cudaPeekAtLastError() -> i32 {
    error(false)
}
symbol!(all cudaPeekAtLastError cudaPeekAtLastError);

#[unsafe(export_name = "ww_cudaGetErrorName")]
pub extern "C" fn cudaGetErrorName(code: i32) -> *const c_char {
    words(Code(code).runtime_name())
}
symbol!(all cudaGetErrorName cudaGetErrorName);

#[unsafe(export_name = "ww_cudaGetErrorString")]
pub extern "C" fn cudaGetErrorString(code: i32) -> *const c_char {
    let code = Code(code);
    words(code.runtime_name().and_then(|_| sentence(code)))
}
symbol!(all cudaGetErrorString cudaGetErrorString);

fn words(found: Option<&'static CStr>) -> *const c_char {
    found.unwrap_or(c"unrecognized error code").as_ptr()
}
