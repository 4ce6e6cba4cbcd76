// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules and the functions in them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use warpwatt_runtime::{KernelAttributes, ModuleId};

use crate::core::code::{Code, Result};
use crate::core::state::{Core, say};
use crate::fatbin;

/// A loaded module.
pub struct Loaded {
    pub id: ModuleId,
    /// Handles of its requested functions, by name.
    functions: FxHashMap<String, u64>,
    /// It was loaded without a context, as a library, and outlives a reset.
    library: bool,
    /// Architecture that its PTX was made for, 75 for `sm_75`; 0 if the text names none.
    target: u32,
}

/// A kernel that the program may launch.
#[derive(Clone, Debug)]
pub struct Function {
    /// Handle of its module.
    pub module: u64,
    pub id: ModuleId,
    pub name: Arc<str>,
    /// Offset and size of each parameter.
    pub params: Arc<[(u32, u32)]>,
    /// The requested `MAX_DYNAMIC_SHARED_SIZE_BYTES`; 0 if none.
    pub dynamic_shared: u32,
    /// A preference that is remembered and changes nothing.
    pub carveout: i32,
    /// `CUfunc_cache`, by which the on-chip memory is divided into shared memory and L1 for its launches.
    pub cache: i32,
    attributes: Option<KernelAttributes>,
}

impl Core {
    /// Loads what lies at a pointer: PTX text, a fat binary, or machine code, which is refused.
    ///
    /// # Safety
    /// The image is whole, as CUDA demands too: headers give sizes, a text ends with 0.
    pub unsafe fn load_pointer(&mut self, name: &str, image: *const u8) -> Result<u64> {
        if image.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: passed on.
        let texts = unsafe { fatbin::load(image, self.session.capability) };
        self.load_texts(name, texts)
    }

    /// Loads an image of known size.
    pub fn load_bytes(&mut self, name: &str, image: &[u8]) -> Result<u64> {
        let texts = fatbin::load_bytes(image, self.session.capability);
        self.load_texts(name, texts)
    }

    /// Loads the texts of an image: one, or the units of relocatable device code, which are linked.
    fn load_texts(
        &mut self,
        name: &str,
        texts: std::result::Result<Vec<String>, fatbin::LoadError>,
    ) -> Result<u64> {
        let (problem, code) = match texts {
            Ok(texts) => match link(name, &texts) {
                Ok(text) => return self.load_ptx(name, &text),
                Err(problem) => (problem, Code::INVALID_PTX),
            },
            Err(error @ fatbin::LoadError::Image(_)) => (error.to_string(), Code::INVALID_IMAGE),
            Err(error @ fatbin::LoadError::Refused(_)) => (error.to_string(), Code::NO_BINARY_FOR_GPU),
        };
        say(&format!("{name}: {problem}"));
        self.log = problem;
        Err(code)
    }

    pub fn load_ptx(&mut self, name: &str, text: &str) -> Result<u64> {
        self.log.clear();
        let id = self.deeply(|device| device.load_module(name, text))?;
        self.process.loaded(text);
        if let Ok(warnings) = self.device.warnings(id) {
            for warning in warnings.iter().filter(|warning| warning.code == "ptx-version") {
                say(&format!("{name}: {}", warning.message));
            }
        }
        let target = fatbin::target_of(text).0;
        Ok(self.modules.insert(Loaded { id, functions: FxHashMap::default(), library: false, target }))
    }

    /// Marks a module as a library.
    pub fn keep_as_library(&mut self, module: u64) -> Result<()> {
        self.modules.get_mut(module)?.library = true;
        Ok(())
    }

    /// For a reset: forgets all modules but libraries. Those stay under their handles, with variables as new.
    pub(super) fn renew_modules(&mut self) {
        let mut libraries = Vec::new();
        for (handle, loaded) in self.modules.iter() {
            if loaded.library
                && let Ok((name, text)) = self.device.module_text(loaded.id)
            {
                libraries.push((handle, name.to_owned(), text.to_owned()));
            }
            let _ = self.device.unload_module(loaded.id);
        }
        // Memory is given in this order, the same in every run.
        libraries.sort_unstable();
        self.modules.retain(|_, loaded| loaded.library);
        for (handle, name, text) in libraries {
            match (self.device.load_module(&name, &text), self.modules.get_mut(handle)) {
                (Ok(id), Ok(loaded)) => loaded.id = id,
                _ => drop(self.modules.remove(handle)),
            }
        }
        let Core { modules, functions, .. } = self;
        functions.retain(|_, function| {
            modules.get(function.module).is_ok_and(|loaded| {
                function.id = loaded.id;
                true
            })
        });
    }

    pub fn unload(&mut self, module: u64) -> Result<()> {
        let loaded = self.modules.remove(module)?;
        self.functions.retain(|_, function| function.module != module);
        self.deeply(|device| device.unload_module(loaded.id))
    }

    /// A kernel of a module; the same handle every time.
    pub fn function(&mut self, module: u64, name: &str) -> Result<u64> {
        let loaded = self.modules.get(module)?;
        if let Some(&handle) = loaded.functions.get(name) {
            return Ok(handle);
        }
        let id = loaded.id;
        let params = self.device.kernel_params(id, name).map_err(|error| Code::of(&error))?;
        let function = Function {
            module,
            id,
            name: name.into(),
            params: params.into(),
            dynamic_shared: 0,
            carveout: -1,
            cache: 0,
            attributes: None,
        };
        let handle = self.functions.insert(function);
        self.modules.get_mut(module)?.functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// The architecture that a function's PTX was made for, as `ptxVersion` and `binaryVersion` tell it: programs such as CUB choose by it
    /// how to launch what they were compiled to.
    pub fn architecture(&self, function: u64) -> Result<u32> {
        let module = self.functions.get(function)?.module;
        let target = self.modules.get(module)?.target;
        Ok(if target == 0 { self.session.capability } else { target })
    }

    /// Names of a module's kernels, in order of appearance.
    pub fn kernels(&self, module: u64) -> Result<Vec<String>> {
        let id = self.modules.get(module)?.id;
        self.device.kernels(id).map_err(|error| Code::of(&error))
    }

    /// Address and size of a variable of a module.
    pub fn variable(&self, module: u64, name: &str) -> Result<(u64, u64)> {
        let id = self.modules.get(module)?.id;
        let (at, bytes) = self.device.symbol(id, name).map_err(|error| Code::of(&error))?;
        Ok((at.0, bytes))
    }

    /// What compilation found out about a kernel; compiles it at the first call.
    pub fn attributes(&mut self, function: u64) -> Result<KernelAttributes> {
        let of = self.functions.get(function)?;
        if let Some(attributes) = &of.attributes {
            return Ok(attributes.clone());
        }
        let (id, name) = (of.id, Arc::clone(&of.name));
        let attributes = self.deeply(|device| device.attributes(id, &name))?;
        self.functions.get_mut(function)?.attributes = Some(attributes.clone());
        Ok(attributes)
    }

    /// Blocks of a kernel that are alive on one SM at a time.
    pub fn occupancy(&mut self, function: u64, threads: u32, shared: u32) -> Result<u32> {
        self.attributes(function)?;
        let of = self.functions.get(function)?;
        let (id, name) = (of.id, Arc::clone(&of.name));
        let outcome = self.device.occupancy(id, &name, threads, shared);
        self.settle(outcome)
    }
}

/// Several texts as one.
fn link(name: &str, texts: &[String]) -> std::result::Result<String, String> {
    let names: Vec<String> = (1..=texts.len()).map(|number| format!("{name}, unit {number}")).collect();
    let texts: Vec<_> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    warpwatt_ptx::link(&texts).map_err(|problems| {
        let lines: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
        format!("its units cannot be linked: {}", lines.join("; "))
    })
}
