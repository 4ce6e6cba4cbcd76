// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the code that `nvcc` and `clang` put into programs calls before `main` and around `<<< >>>` (`crt/host_runtime.h`).
//! None of these functions decodes or simulates anything, but for `__cudaInitModule` and launches.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};

use crate::abi::runtime::{Dim3, StreamHandle};
use crate::core::Code;
use crate::core::state::is_initialized;
use crate::rt::api::{put, runtime, symbol, text};
use crate::rt::registry::{self, Reference, Unit};
use crate::rt::with;

/// What `__cudaRegisterFatBinary` gives: a pointer to the unit's number, kept for ever, since units are few and programs may
/// unregister them late.
unsafe fn unit(handle: *mut *mut c_void) -> Option<Unit> {
    // SAFETY: the program passes back what we gave it, or null.
    unsafe { handle.cast::<Unit>().as_ref() }.copied()
}

/// Declares functions that do not return an error code.
macro_rules! plain {
    ($($set:ident fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {
        $(
            #[unsafe(export_name = concat!("ww_", stringify!($name)))]
            pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? $body
            symbol!($set $name $name);
        )*
    };
}

plain! {
    all fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> *mut *mut c_void {
        Box::into_raw(Box::new(registry::add_unit(wrapper as usize))).cast()
    }

    all fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

    all fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
        // SAFETY: as `unit` demands.
        let Some(unit) = (unsafe { unit(handle) }) else { return };
        // At the end of the program the device is gone already, and the module with it.
        if let Some(module) = registry::remove_unit(unit).filter(|_| is_initialized()) {
            let _ = with(|core| core.unload(module));
        }
    }

    all fn __cudaRegisterFunction(
        handle: *mut *mut c_void, host: *const c_void, _device: *mut c_char, name: *const c_char, _threads: i32,
        _tid: *mut c_void, _bid: *mut c_void, _block: *mut c_void, _grid: *mut c_void, _warp: *mut i32,
    ) {
        // SAFETY: the compiler passes a handle of ours and a string.
        if let (Some(unit), Ok(name)) = unsafe { (unit(handle), text(name)) } {
            registry::add_kernel(unit, host as u64, &name);
        }
    }

    all fn __cudaRegisterVar(
        handle: *mut *mut c_void, host: *mut c_void, _device: *mut c_char, name: *const c_char, _ext: i32, _size: usize,
        _constant: i32, _global: i32,
    ) {
        // SAFETY: as above.
        if let (Some(unit), Ok(name)) = unsafe { (unit(handle), text(name)) } {
            registry::add_variable(unit, host as u64, &name);
        }
    }

    all fn __cudaRegisterManagedVar(
        handle: *mut *mut c_void, pointer: *mut *mut c_void, _device: *mut c_char, name: *const c_char, _ext: i32,
        _size: usize, _constant: i32, _global: i32,
    ) {
        // SAFETY: as above.
        if let (Some(unit), Ok(name)) = unsafe { (unit(handle), text(name)) } {
            registry::add_managed(unit, pointer as usize, &name);
        }
    }

    // A host variable that device code may use where the device reads the host's memory; ours finds it at its address.
    all fn __cudaRegisterHostVar(_handle: *mut *mut c_void, _name: *const c_char, _host: *mut c_char, _size: usize) {}

    only11 fn __cudaRegisterTexture(
        handle: *mut *mut c_void, host: *const c_void, _device: *mut *const c_void, name: *const c_char, _dim: i32,
        norm: i32, _ext: i32,
    ) {
        // SAFETY: as above.
        if let (Some(unit), Ok(name)) = unsafe { (unit(handle), text(name)) } {
            let reference = Reference { unit, name: name.into(), normalized_read: norm != 0, surface: false };
            registry::add_reference(host as u64, reference);
        }
    }

    only11 fn __cudaRegisterSurface(
        handle: *mut *mut c_void, host: *const c_void, _device: *mut *const c_void, name: *const c_char, _dim: i32,
        _ext: i32,
    ) {
        // SAFETY: as above.
        if let (Some(unit), Ok(name)) = unsafe { (unit(handle), text(name)) } {
            let reference = Reference { unit, name: name.into(), normalized_read: false, surface: true };
            registry::add_reference(host as u64, reference);
        }
    }

    // Host code is about to use a managed variable: its pointer is set when the module is loaded.
    all fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
        // SAFETY: as `unit` demands.
        let Some(unit) = (unsafe { unit(handle) }) else { return 0 };
        c_char::from(with(|core| registry::module(core, unit)).is_ok())
    }

    all fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: StreamHandle) -> u32 {
        // A thread that is ending has none; the launch then fails with an error.
        let _ = CONFIGURATIONS.try_with(|stack| stack.borrow_mut().push((grid, block, shared, stream)));
        0
    }
}

type Configuration = (Dim3, Dim3, usize, StreamHandle);

thread_local! {
    /// What `<<< >>>` asked for; launches nest when an argument of one launches itself.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

runtime! {
    all fn __cudaPopCallConfiguration(grid: *mut Dim3, block: *mut Dim3, shared: *mut usize, stream: *mut StreamHandle) unsafe {
        let top = CONFIGURATIONS.try_with(|stack| stack.borrow_mut().pop()).ok().flatten();
        let top = top.ok_or(Code::MISSING_CONFIGURATION)?;
        put(grid, top.0)?;
        put(block, top.1)?;
        put(shared, top.2)?;
        put(stream, top.3)
    }

    // The host's address is the handle: programs keep it for ever, through resets of the device.
    since12 fn __cudaGetKernel(kernel: *mut u64, host: u64) unsafe {
        if !registry::is_kernel(host) {
            return Err(Code::INVALID_DEVICE_FUNCTION);
        }
        put(kernel, host)
    }
}
