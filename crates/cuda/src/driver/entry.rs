// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initialisation, versions, errors in words, and the functions by which programs find the others.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::driver::Uuid;
use crate::core::state::{say, sentence};
use crate::core::{Code, Result, with_faulted};
use crate::driver::names::{self, Lookup};
use crate::driver::{In, Out, Text, api};

/// CUDA 13.4.
pub const VERSION: i32 = 13040;

static INITIALIZED: AtomicBool = AtomicBool::new(false);

pub(crate) fn initialize() -> Result<()> {
    if !INITIALIZED.load(Ordering::Acquire) {
        with_faulted(|_| Ok(()))?;
        INITIALIZED.store(true, Ordering::Release);
    }
    Ok(())
}

/// Almost every function must be called after `cuInit`.
pub(crate) fn check_initialized() -> Result<()> {
    if INITIALIZED.load(Ordering::Acquire) { Ok(()) } else { Err(Code::NOT_INITIALIZED) }
}

/// The export table by which NVIDIA's own runtime library recognises NVIDIA's own driver.
const RUNTIME_HANDSHAKE: Uuid =
    [0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9];

fn find(symbol: Text, function: Out<u64>, version: i32, flags: u64) -> Result<Lookup> {
    let name = symbol.get()?;
    function.check()?;
    if flags > 2 || version > VERSION {
        return Err(Code::INVALID_VALUE);
    }
    let found = names::find(&name, version, flags == 2);
    function.put(match found {
        Lookup::Found(address) => address,
        Lookup::Unknown | Lookup::TooOld => 0,
    })?;
    Ok(found)
}

fn words(code: i32, text: Out<u64>, look_up: impl FnOnce(Code) -> Option<&'static CStr>) -> Result<()> {
    text.check()?;
    let found = look_up(Code(code));
    text.put(found.map_or(0, |words| words.as_ptr() as u64))?;
    found.map(|_| ()).ok_or(Code::INVALID_VALUE)
}

api! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        initialize()
    }

    fn cuDriverGetVersion(version: Out<i32>) {
        version.put(VERSION)
    }

    fn cuGetErrorName(code: i32, text: Out<u64>) {
        words(code, text, Code::driver_name)
    }

    fn cuGetErrorString(code: i32, text: Out<u64>) {
        words(code, text, |code| code.driver_name().and_then(|_| sentence(code)))
    }

    fn cuGetProcAddress(symbol: Text, function: Out<u64>, version: i32, flags: u64) {
        match find(symbol, function, version, flags)? {
            Lookup::Found(_) => Ok(()),
            Lookup::Unknown | Lookup::TooOld => Err(Code::NOT_FOUND),
        }
    }

    fn cuGetProcAddress_v2(symbol: Text, function: Out<u64>, version: i32, flags: u64, status: Out<u32>) {
        let found = find(symbol, function, version, flags)?;
        status.put_if(match found {
            Lookup::Found(_) => 0,
            Lookup::Unknown => 1,
            Lookup::TooOld => 2,
        });
        Ok(())
    }

    fn cuGetExportTable(table: Out<u64>, id: In<Uuid>) {
        let id = id.get()?;
        table.put(0)?;
        static SAID: AtomicBool = AtomicBool::new(false);
        if id == RUNTIME_HANDSHAKE && !SAID.swap(true, Ordering::Relaxed) {
            say("this program contains NVIDIA's own CUDA runtime, which works with NVIDIA's own driver only; \
                 link it with `nvcc -cudart shared` (clang: `-lcudart` in place of `-lcudart_static`)");
        }
        Err(Code::NOT_FOUND)
    }

    fn cuProfilerInitialize(_config: Text, _output: Text, _mode: u32) {
        check_initialized()
    }

    fn cuProfilerStart() {
        check_initialized()
    }

    fn cuProfilerStop() {
        check_initialized()
    }

    fn cuModuleGetLoadingMode(mode: Out<u32>) {
        // Lazy: kernels are compiled at their first launch.
        mode.put(2)
    }
}

/// Libraries that must not be found elsewhere: a client that finds NVIDIA's nvJitLink makes machine code with it, for a GPU that
/// is not there, and does well without. So names of it that stand beside us, and are us, are loaded in advance.
extern "C" fn claim_names() {
    // SAFETY: `dladdr` fills a plain structure about an address of our own; names passed on end with 0.
    unsafe {
        let mut about: libc::Dl_info = std::mem::zeroed();
        let here = claim_names as *const c_void;
        if libc::dladdr(here, &mut about) == 0 || about.dli_fname.is_null() {
            return;
        }
        let path = CStr::from_ptr(about.dli_fname).to_bytes();
        let folder = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        for name in [c"libnvJitLink.so.12", c"libnvJitLink.so.13"] {
            let mut beside = path[..folder].to_vec();
            beside.extend_from_slice(name.to_bytes_with_nul());
            if libc::access(beside.as_ptr().cast::<c_char>(), libc::R_OK) == 0 {
                libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            }
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CLAIM_NAMES: extern "C" fn() = claim_names;
