// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: loading with its options, and what is in them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::core::{Code, Core, Result};
use crate::driver::{In, Out, Text, api, with};

/// Options of the just-in-time compiler: pairs of a number and a value, some of which are buffers for texts, and some of which are
/// answers. All others are ways to compile that we need not know of.
pub(crate) struct JitOptions {
    numbers: Vec<u32>,
    values: Out<u64>,
}

const MAX_REGISTERS: u32 = 0;
const WALL_TIME: u32 = 2;
const INFO_LOG: u32 = 3;
const INFO_LOG_SIZE: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;

impl JitOptions {
    pub fn read(count: u32, numbers: In<u32>, values: Out<u64>) -> Result<JitOptions> {
        if count > 0 && values.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(JitOptions { numbers: numbers.list(count as usize)?, values })
    }

    fn value(&self, number: u32) -> Option<(usize, u64)> {
        let place = self.numbers.iter().position(|&n| n == number)?;
        let value = Out::<u64>::at(self.slot(place)).get().ok()?;
        Some((place, value))
    }

    /// Maximum number of registers of a thread, if given.
    pub fn max_registers(&self) -> Option<u32> {
        self.value(MAX_REGISTERS).map(|(_, most)| most as u32).filter(|&most| most > 0)
    }

    fn slot(&self, place: usize) -> u64 {
        self.values.address() + 8 * place as u64
    }

    /// Returns the log to the caller: problems, or nothing.
    pub fn report<T>(&self, result: &Result<T>, log: &str) {
        let (errors, notes) = if result.is_err() { (log, "") } else { ("", log) };
        self.write(INFO_LOG, INFO_LOG_SIZE, notes);
        self.write(ERROR_LOG, ERROR_LOG_SIZE, errors);
        if let Some((place, _)) = self.value(WALL_TIME) {
            Out::<f32>::at(self.slot(place)).put_if(0.0);
        }
    }

    fn write(&self, buffer: u32, size: u32, text: &str) {
        let (Some((_, buffer)), Some((place, room))) = (self.value(buffer), self.value(size)) else { return };
        // The size is an `unsigned int` in a place for a pointer.
        let room = room as u32 as usize;
        if buffer == 0 || room == 0 {
            return;
        }
        let shown = &text.as_bytes()[..text.len().min(room - 1)];
        let bytes = shown.iter().copied().chain([0]);
        if Out::<u8>::at(buffer).put_all(bytes).is_ok() {
            Out::<u64>::at(self.slot(place)).put_if(shown.len() as u64);
        }
    }
}

/// A name for a module that has none, for messages.
pub(crate) fn name() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    format!("module-{}.ptx", MADE.fetch_add(1, Ordering::Relaxed) + 1)
}

pub(crate) fn file(path: Text) -> Result<(String, Vec<u8>)> {
    let path = path.path()?;
    let bytes = std::fs::read(&path).map_err(|_| Code::FILE_NOT_FOUND)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok((name, bytes))
}

/// Loads an image that a pointer leads to.
pub(crate) fn load(core: &mut Core, image: In<u8>) -> Result<u64> {
    // SAFETY: the caller of the API vouches for a whole image.
    unsafe { core.load_pointer(&name(), image.address() as *const u8) }
}

/// Loads an image, and writes the log to the buffers given in the options.
pub(crate) fn load_with(
    core: &mut Core,
    options: &JitOptions,
    load: impl FnOnce(&mut Core) -> Result<u64>,
) -> Result<u64> {
    core.log.clear();
    let loaded = load(core);
    options.report(&loaded, &core.log);
    loaded
}

api! {
    fn cuModuleLoad(module: Out<u64>, path: Text) {
        module.check()?;
        let (name, bytes) = file(path)?;
        module.put(with(|core| core.load_bytes(&name, &bytes))?)
    }

    fn cuModuleLoadData(module: Out<u64>, image: In<u8>) {
        module.check()?;
        module.put(with(|core| load(core, image))?)
    }

    fn cuModuleLoadDataEx(module: Out<u64>, image: In<u8>, count: u32, options: In<u32>, values: Out<u64>) {
        module.check()?;
        let options = JitOptions::read(count, options, values)?;
        module.put(with(|core| load_with(core, &options, |core| load(core, image)))?)
    }

    fn cuModuleLoadFatBinary(module: Out<u64>, image: In<u8>) {
        module.check()?;
        module.put(with(|core| load(core, image))?)
    }

    fn cuModuleUnload(module: u64) {
        with(|core| core.unload(module))
    }

    fn cuModuleGetFunction(function: Out<u64>, module: u64, name: Text) {
        function.check()?;
        let name = name.get()?;
        function.put(with(|core| core.function(module, &name))?)
    }

    fn cuModuleGetFunctionCount(count: Out<u32>, module: u64) {
        count.check()?;
        count.put(with(|core| core.kernels(module))?.len() as u32)
    }

    fn cuModuleEnumerateFunctions(functions: Out<u64>, room: u32, module: u64) {
        with(|core| enumerate(core, functions, room, module))
    }

    fn cuModuleGetGlobal_v2(at: Out<u64>, bytes: Out<usize>, module: u64, name: Text) {
        let name = name.get()?;
        let (address, size) = with(|core| core.variable(module, &name))?;
        at.put_if(address);
        bytes.put_if(size as usize);
        Ok(())
    }
}

/// Handles of the kernels of a module, as many as there is room for.
pub(crate) fn enumerate(core: &mut Core, functions: Out<u64>, room: u32, module: u64) -> Result<()> {
    let names = core.kernels(module)?;
    let handles: Result<Vec<u64>> =
        names.iter().take(room as usize).map(|name| core.function(module, name)).collect();
    functions.put_all(handles?)
}
