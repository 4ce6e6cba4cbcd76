// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every function of the runtime API, of every version, called with nothing but zeros: it answers with a code that the API knows
//! and does not follow a null pointer.

use std::ffi::{CStr, CString, c_char};

/// As many arguments as any function takes in registers and on the stack; those that take fewer ignore the rest.
type Function = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> i32;

/// Functions that return something else than a code.
const OTHERS: [&str; 3] = ["cudaCreateChannelDesc", "cudaGetErrorName", "cudaGetErrorString"];

#[test]
fn zeros_are_answered_with_a_code() {
    let library = std::env::current_exe().expect("the test has a path").with_file_name("libwarpwatt_cuda.so");
    let library = CString::new(library.into_os_string().into_encoded_bytes()).expect("a path");
    // SAFETY: a library of ours, whose functions have these types.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null(), "{}", CStr::from_ptr(libc::dlerror()).to_string_lossy());
        let name_of = libc::dlsym(handle, c"cudaGetErrorName".as_ptr());
        assert!(!name_of.is_null(), "names without a version are found");
        let name_of: unsafe extern "C" fn(i32) -> *const c_char = std::mem::transmute(name_of);
        let mut called = 0;
        for version in ["libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"] {
            let list = format!("{}/tests/names/{version}.txt", env!("CARGO_MANIFEST_DIR"));
            let list = std::fs::read_to_string(&list).unwrap_or_else(|error| panic!("{list}: {error}"));
            let version = CString::new(version).expect("no NUL");
            for name in list.lines().filter(|name| !name.starts_with("__") && !OTHERS.contains(name)) {
                let symbol = CString::new(name).expect("no NUL");
                let function = libc::dlvsym(handle, symbol.as_ptr(), version.as_ptr());
                assert!(!function.is_null(), "{name} of {version:?}");
                let function: Function = std::mem::transmute(function);
                let code = function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
                assert_ne!(
                    CStr::from_ptr(name_of(code)),
                    c"unrecognized error code",
                    "{name} answers {code}"
                );
                assert_ne!(code, 999, "{name} has a bug");
                called += 1;
            }
        }
        assert!(called > 1200, "{called}");
    }
}
