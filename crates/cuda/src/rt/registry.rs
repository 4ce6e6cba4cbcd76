// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program's start-up code registers: fat binaries, and which host addresses refer to which kernels, variables and
//! texture references in them. Nothing is decoded before it is needed, so that programs with thousands of kernels start at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::core::memory::Pointed;
use crate::core::state::because;
use crate::core::{Code, Core, Result};

/// A fat binary, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit(usize);

struct Image {
    /// Address of the program's wrapper; 0 once it is unregistered.
    at: usize,
    /// Handle of the module, once loaded.
    module: Option<u64>,
    /// The reason why it cannot be loaded: reported once, not at every launch.
    refused: Option<Code>,
}

#[derive(Clone)]
struct Entry {
    unit: Unit,
    name: Arc<str>,
    /// Handle of the function, once requested.
    function: u64,
}

#[derive(Clone)]
pub struct Variable {
    pub unit: Unit,
    pub name: Arc<str>,
}

/// A texture or surface reference.
#[derive(Clone)]
pub struct Reference {
    pub unit: Unit,
    pub name: Arc<str>,
    /// Integers are read as floats between 0 and 1, or -1 and 1.
    pub normalized_read: bool,
    pub surface: bool,
}

/// A variable that host code reaches through a pointer that we set.
struct Managed {
    unit: Unit,
    /// Where the program keeps the pointer.
    pointer: usize,
    name: Arc<str>,
}

#[derive(Default)]
struct Registry {
    units: Vec<Image>,
    kernels: FxHashMap<u64, Entry>,
    variables: FxHashMap<u64, Variable>,
    references: FxHashMap<u64, Reference>,
    managed: Vec<Managed>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Registry>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn registry<R>(call: impl FnOnce(&mut Registry) -> R) -> R {
    call(lock().get_or_insert_default())
}

/// Remembers a fat binary, given by the address of its wrapper.
pub fn add_unit(wrapper: usize) -> Unit {
    registry(|registry| {
        registry.units.push(Image { at: wrapper, module: None, refused: None });
        Unit(registry.units.len() - 1)
    })
}

/// Forgets a fat binary and everything in it: its program, or the shared object that it is in, goes away.
pub fn remove_unit(unit: Unit) -> Option<u64> {
    registry(|registry| {
        registry.kernels.retain(|_, entry| entry.unit != unit);
        registry.variables.retain(|_, variable| variable.unit != unit);
        registry.references.retain(|_, reference| reference.unit != unit);
        registry.managed.retain(|managed| managed.unit != unit);
        let image = registry.units.get_mut(unit.0)?;
        image.at = 0;
        image.module.take()
    })
}

/// The first translation unit to register an address keeps it: the others have the same kernel.
pub fn add_kernel(unit: Unit, host: u64, name: &str) {
    registry(|registry| {
        registry.kernels.entry(host).or_insert_with(|| Entry { unit, name: name.into(), function: 0 });
    });
}

pub fn add_variable(unit: Unit, host: u64, name: &str) {
    registry(|registry| {
        registry.variables.entry(host).or_insert_with(|| Variable { unit, name: name.into() });
    });
}

pub fn add_managed(unit: Unit, pointer: usize, name: &str) {
    registry(|registry| registry.managed.push(Managed { unit, pointer, name: name.into() }));
}

pub fn add_reference(host: u64, reference: Reference) {
    registry(|registry| {
        registry.references.entry(host).or_insert(reference);
    });
}

/// The module of a fat binary, loaded if it is not, or not any more after a reset.
pub fn module(core: &mut Core, unit: Unit) -> Result<u64> {
    let found =
        registry(|registry| registry.units.get(unit.0).map(|image| (image.at, image.module, image.refused)));
    let Some((at, module, refused)) = found else { return Err(Code::INVALID_HANDLE) };
    if let Some(code) = refused {
        return Err(code);
    }
    if let Some(module) = module.filter(|&module| core.modules.contains(module)) {
        return Ok(module);
    }
    if at == 0 {
        return Err(Code::INVALID_HANDLE);
    }
    // SAFETY: the compiler's start-up code registered the wrapper, and has not taken it back.
    let loaded = unsafe { core.load_pointer(&format!("fatbin-{}", unit.0 + 1), at as *const u8) };
    let module = loaded.inspect_err(|&code| {
        let for_ever =
            [Code::INVALID_IMAGE, Code::NO_BINARY_FOR_GPU, Code::INVALID_PTX, Code::UNSUPPORTED_PTX_VERSION];
        registry(|registry| registry.units[unit.0].refused = for_ever.contains(&code).then_some(code));
    })?;
    let pointers = registry(|registry| {
        if let Some(image) = registry.units.get_mut(unit.0) {
            image.module = Some(module);
        }
        let of_unit = registry.managed.iter().filter(|managed| managed.unit == unit);
        of_unit.map(|managed| (managed.pointer, Arc::clone(&managed.name))).collect::<Vec<_>>()
    });
    for (pointer, name) in pointers {
        // A managed variable that no kernel uses may be missing from the PTX.
        if let Ok((address, _)) = core.variable(module, &name) {
            // SAFETY: the compiler registered the place of this pointer.
            unsafe { (pointer as *mut u64).write_unaligned(address) };
        }
    }
    Ok(module)
}

/// The function that a host address refers to, or whose handle it is.
pub fn function(core: &mut Core, host: u64) -> Result<u64> {
    let entry = registry(|registry| registry.kernels.get(&host).cloned());
    let Some(entry) = entry else {
        return if core.functions.contains(host) { Ok(host) } else { Err(Code::INVALID_DEVICE_FUNCTION) };
    };
    if core.functions.contains(entry.function) {
        return Ok(entry.function);
    }
    let module = module(core, entry.unit)?;
    let function = core.function(module, &entry.name).map_err(|code| match code {
        Code::NOT_FOUND => Code::INVALID_DEVICE_FUNCTION,
        code => code,
    })?;
    registry(|registry| {
        if let Some(entry) = registry.kernels.get_mut(&host) {
            entry.function = function;
        }
    });
    Ok(function)
}

/// Whether a host address was registered as a kernel, which needs no device to find out.
pub fn is_kernel(host: u64) -> bool {
    registry(|registry| registry.kernels.contains_key(&host))
}

/// Address and size of the variable that a host address refers to.
pub fn variable(core: &mut Core, host: u64) -> Result<(u64, u64)> {
    let found = registry(|registry| {
        let managed = || {
            let found = registry.managed.iter().find(|managed| managed.pointer as u64 == host);
            found.map(|managed| Variable { unit: managed.unit, name: Arc::clone(&managed.name) })
        };
        registry.variables.get(&host).cloned().or_else(managed)
    });
    let Some(found) = found else {
        // Host code names a managed variable by where it is.
        return match core.pointed(host) {
            Pointed::Variable { base, bytes } if base == host => Ok((base, bytes)),
            _ => {
                because(
                    "this is not a device variable; CUDA before 5.0 accepted its name as a string, now pass the variable itself",
                );
                Err(Code::INVALID_SYMBOL)
            }
        };
    };
    let module = module(core, found.unit)?;
    core.variable(module, &found.name).map_err(|code| match code {
        Code::NOT_FOUND => Code::INVALID_SYMBOL,
        code => code,
    })
}

/// The texture or surface reference that a host variable refers to.
pub fn reference(host: u64) -> Option<Reference> {
    registry(|registry| registry.references.get(&host).cloned())
}
