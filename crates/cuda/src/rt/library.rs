// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that a program loads at run time. Libraries and kernels are those of the driver API.

use std::ffi::c_char;

use crate::driver::library::{
    cuLibraryEnumerateKernels, cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryGetKernelCount,
    cuLibraryGetManaged, cuLibraryGetUnifiedFunction, cuLibraryLoadData, cuLibraryLoadFromFile,
    cuLibraryUnload,
};
use crate::driver::{In, Out, Text};
use crate::rt::api::runtime;
use crate::rt::{pass, with};

runtime! {
    since12 fn cudaLibraryLoadData(
        place: *mut u64, image: *const u8, options: *mut u32, values: *mut u64, count: u32, library_options: *mut u32,
        library_values: *mut u64, library_count: u32,
    ) {
        with(|_| Ok(()))?;
        pass(cuLibraryLoadData(
            Out::at(place as u64), In::at(image as u64), In::at(options as u64), Out::at(values as u64), count,
            In::at(library_options as u64), Out::at(library_values as u64), library_count,
        ))
    }

    since12 fn cudaLibraryLoadFromFile(
        place: *mut u64, path: *const c_char, options: *mut u32, values: *mut u64, count: u32,
        library_options: *mut u32, library_values: *mut u64, library_count: u32,
    ) {
        with(|_| Ok(()))?;
        pass(cuLibraryLoadFromFile(
            Out::at(place as u64), Text::at(path as u64), In::at(options as u64), Out::at(values as u64), count,
            In::at(library_options as u64), Out::at(library_values as u64), library_count,
        ))
    }

    since12 fn cudaLibraryUnload(library: u64) {
        with(|_| Ok(()))?;
        pass(cuLibraryUnload(library))
    }

    since12 fn cudaLibraryGetKernel(place: *mut u64, library: u64, name: *const c_char) {
        with(|_| Ok(()))?;
        pass(cuLibraryGetKernel(Out::at(place as u64), library, Text::at(name as u64)))
    }

    since12 fn cudaLibraryGetKernelCount(place: *mut u32, library: u64) {
        with(|_| Ok(()))?;
        pass(cuLibraryGetKernelCount(Out::at(place as u64), library))
    }

    since12 fn cudaLibraryEnumerateKernels(place: *mut u64, room: u32, library: u64) {
        with(|_| Ok(()))?;
        pass(cuLibraryEnumerateKernels(Out::at(place as u64), room, library))
    }

    since12 fn cudaLibraryGetGlobal(place: *mut u64, bytes: *mut usize, library: u64, name: *const c_char) {
        with(|_| Ok(()))?;
        pass(cuLibraryGetGlobal(Out::at(place as u64), Out::at(bytes as u64), library, Text::at(name as u64)))
    }

    since12 fn cudaLibraryGetManaged(place: *mut u64, bytes: *mut usize, library: u64, name: *const c_char) {
        with(|_| Ok(()))?;
        pass(cuLibraryGetManaged(Out::at(place as u64), Out::at(bytes as u64), library, Text::at(name as u64)))
    }

    since12 fn cudaLibraryGetUnifiedFunction(place: *mut u64, library: u64, name: *const c_char) {
        with(|_| Ok(()))?;
        pass(cuLibraryGetUnifiedFunction(Out::at(place as u64), library, Text::at(name as u64)))
    }
}
