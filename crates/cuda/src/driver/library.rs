// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries and kernels, which are modules and functions without a context. There is one device, so they are the same things here
//! under the same handles; but a reset leaves them.

use crate::core::{Code, Core, Result, with};
use crate::driver::entry::check_initialized;
use crate::driver::module::{self, JitOptions, load_with};
use crate::driver::{In, Out, Text, api, device, function};

/// Loads a library. It belongs to no context, so that a reset leaves it.
fn kept(core: &mut Core, options: &JitOptions, load: impl FnOnce(&mut Core) -> Result<u64>) -> Result<u64> {
    let library = load_with(core, options, load)?;
    core.keep_as_library(library)?;
    Ok(library)
}

api! {
    fn cuLibraryLoadData(
        library: Out<u64>,
        image: In<u8>,
        options: In<u32>,
        values: Out<u64>,
        count: u32,
        _library_options: In<u32>,
        _library_values: Out<u64>,
        _library_count: u32,
    ) {
        check_initialized()?;
        library.check()?;
        let options = JitOptions::read(count, options, values)?;
        library.put(with(|core| kept(core, &options, |core| module::load(core, image)))?)
    }

    fn cuLibraryLoadFromFile(
        library: Out<u64>,
        path: Text,
        options: In<u32>,
        values: Out<u64>,
        count: u32,
        _library_options: In<u32>,
        _library_values: Out<u64>,
        _library_count: u32,
    ) {
        check_initialized()?;
        library.check()?;
        let options = JitOptions::read(count, options, values)?;
        let (name, bytes) = module::file(path)?;
        library.put(with(|core| kept(core, &options, |core| core.load_bytes(&name, &bytes)))?)
    }

    fn cuLibraryUnload(library: u64) {
        check_initialized()?;
        with(|core| core.unload(library))
    }

    fn cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text) {
        check_initialized()?;
        kernel.check()?;
        let name = name.get()?;
        kernel.put(with(|core| core.function(library, &name))?)
    }

    fn cuLibraryGetKernelCount(count: Out<u32>, library: u64) {
        check_initialized()?;
        count.check()?;
        count.put(with(|core| core.kernels(library))?.len() as u32)
    }

    fn cuLibraryEnumerateKernels(kernels: Out<u64>, room: u32, library: u64) {
        check_initialized()?;
        with(|core| module::enumerate(core, kernels, room, library))
    }

    fn cuLibraryGetModule(module: Out<u64>, library: u64) {
        check_initialized()?;
        module.check()?;
        with(|core| core.modules.get(library).map(|_| ()))?;
        module.put(library)
    }

    fn cuLibraryGetGlobal(at: Out<u64>, bytes: Out<usize>, library: u64, name: Text) {
        check_initialized()?;
        let name = name.get()?;
        let (address, size) = with(|core| core.variable(library, &name))?;
        at.put_if(address);
        bytes.put_if(size as usize);
        Ok(())
    }

    fn cuLibraryGetManaged(at: Out<u64>, bytes: Out<usize>, library: u64, name: Text) {
        check_initialized()?;
        let name = name.get()?;
        let (address, size) = with(|core| core.variable(library, &name))?;
        at.put_if(address);
        bytes.put_if(size as usize);
        Ok(())
    }

    fn cuLibraryGetUnifiedFunction(function: Out<u64>, library: u64, name: Text) {
        check_initialized()?;
        function.check()?;
        name.get()?;
        with(|core| core.modules.get(library).map(|_| ()))?;
        // The device attribute reports that there are none.
        Err(Code::NOT_FOUND)
    }

    fn cuKernelGetFunction(function: Out<u64>, kernel: u64) {
        check_initialized()?;
        function.check()?;
        with(|core| core.functions.get(kernel).map(|_| ()))?;
        function.put(kernel)
    }

    fn cuKernelGetLibrary(library: Out<u64>, kernel: u64) {
        check_initialized()?;
        library.check()?;
        library.put(with(|core| Ok(core.functions.get(kernel)?.module))?)
    }

    fn cuKernelGetAttribute(value: Out<i32>, number: u32, kernel: u64, device: i32) {
        check_initialized()?;
        value.check()?;
        device::check(device)?;
        value.put(with(|core| function::attribute(core, kernel, number))?)
    }

    fn cuKernelSetAttribute(number: u32, value: i32, kernel: u64, device: i32) {
        check_initialized()?;
        device::check(device)?;
        with(|core| function::set_attribute(core, kernel, number, value))
    }

    fn cuKernelSetCacheConfig(kernel: u64, config: u32, device: i32) {
        check_initialized()?;
        device::check(device)?;
        with(|core| function::set_cache(core, kernel, config))
    }

    fn cuKernelGetName(name: Out<u64>, kernel: u64) {
        check_initialized()?;
        name.check()?;
        name.put(with(|core| function::lasting_name(core, kernel))?)
    }

    fn cuKernelGetParamInfo(kernel: u64, index: usize, offset: Out<usize>, size: Out<usize>) {
        check_initialized()?;
        with(|core| function::parameter(core, kernel, index, offset, size))
    }

    fn cuKernelGetParamCount(kernel: u64, count: Out<usize>) {
        check_initialized()?;
        count.check()?;
        count.put(with(|core| Ok(core.functions.get(kernel)?.params.len()))?)
    }
}
