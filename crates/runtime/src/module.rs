// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loaded module: its tree, its variables in device memory, its kernels once they are compiled.
//!
//! `.const` variables live in device memory too, as on hardware, where constant bank 3 is a view of it: the host writes them
//! like any other memory, and a launch uses the current bytes of the bank.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use warpwatt_base::Span;
use warpwatt_compiler::Compiled;
use warpwatt_compiler::front::{self, ModuleLayout, ModuleVar, Reloc};
use warpwatt_exec::Image;
use warpwatt_isa::{Program, Ty, window};
use warpwatt_memory::DeviceMemory;
use warpwatt_ptx::ast::{self, Item};
use warpwatt_ptx::{Diagnostic, Severity};

use crate::demangle::demangle;
use crate::device::{Variable, hint};
use crate::error::{Error, Refusal};
use crate::options::{Mode, Options};
use crate::programs::Origin;
use crate::sources::Text;
use crate::types::DevicePtr;

pub(crate) struct Module {
    tree: ast::Module,
    text: Text,
    layout: ModuleLayout,
    /// What the reader and the layout found wrong, in the order of the text.
    diagnostics: Vec<Diagnostic>,
    variables: Vec<Variable>,
    by_name: FxHashMap<String, usize>,
    /// Texture and surface references, with their handles once they are bound.
    references: BTreeMap<String, Option<u64>>,
    /// Start and size of bank 3's bytes in device memory.
    bank3: (u64, u64),
    kernels: FxHashMap<String, Kernel>,
    is_loaded: bool,
}

/// A kernel that was compiled.
struct Kernel {
    demangled: String,
    /// By the most registers a thread may have; `None` for what the module and the options allow.
    builds: Vec<Built>,
    /// The user was notified that it was recompiled.
    noted: bool,
}

/// A kernel as it was compiled for a budget of registers.
struct Built {
    most: Option<u32>,
    image: Arc<Image>,
    /// Why the profile that techniques are given is not for this code, if it is not.
    misfit: Option<String>,
}

/// Targets from this on have 255 registers a thread, earlier ones 63 (CUDA programming guide, compute capabilities).
const FIRST_WITH_255: u32 = 35;

impl Module {
    pub fn load(name: &str, ptx: &str, memory: &mut DeviceMemory) -> Result<Module, Error> {
        let parsed = warpwatt_ptx::parse(name, ptx);
        let layout = front::layout(&parsed.module);
        let mut diagnostics = parsed.diagnostics;
        diagnostics.extend(layout.diagnostics.iter().cloned());
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        let mut module = Module {
            tree: parsed.module,
            text: Text::new(ptx),
            layout,
            diagnostics,
            variables: Vec::new(),
            by_name: FxHashMap::default(),
            references: BTreeMap::new(),
            bank3: (0, 0),
            kernels: FxHashMap::default(),
            is_loaded: true,
        };
        let fatal = module.module_errors();
        if !fatal.is_empty() {
            return Err(module.refusal(None, fatal));
        }
        module.references = module.layout.references.iter().map(|found| (found.name.clone(), None)).collect();
        module.place(memory)?;
        Ok(module)
    }

    /// Errors outside of every function: nothing of such a module can be trusted.
    fn module_errors(&self) -> Vec<Diagnostic> {
        let inside = |span: Span| self.functions().any(|f| within(span, f.extent));
        self.diagnostics.iter().filter(|d| is_error(d) && !inside(d.span)).cloned().collect()
    }

    /// Gives the variables memory and their initial values.
    fn place(&mut self, memory: &mut DeviceMemory) -> Result<(), Error> {
        let full = |error: warpwatt_memory::MemoryError| Error::OutOfMemory(error.to_string());
        let name = &self.tree.name;
        let bank_bytes = u64::from(self.layout.const_bytes);
        if bank_bytes > 0 {
            let base = memory.alloc(bank_bytes, &format!("constants of {name}")).map_err(full)?;
            self.bank3 = (base, bank_bytes);
        }
        let mut variables = Vec::new();
        for var in self.layout.consts.iter().filter(|var| !var.is_extern) {
            let at = DevicePtr(self.bank3.0 + u64::from(var.offset));
            variables.push(Variable { name: var.name.clone(), at, bytes: var.size });
        }
        for var in self.layout.globals.iter().filter(|var| !var.is_extern) {
            let at = DevicePtr(memory.alloc(var.size, &var.name).map_err(full)?);
            variables.push(Variable { name: var.name.clone(), at, bytes: var.size });
        }
        self.by_name = variables.iter().enumerate().map(|(k, var)| (var.name.clone(), k)).collect();
        self.variables = variables;
        for var in self.layout.consts.iter().chain(&self.layout.globals).filter(|var| !var.is_extern) {
            let at = self.variables[self.by_name[&var.name]].at.0;
            let bytes = self.initial_bytes(var)?;
            memory.mark_written(at, var.size);
            memory.write(at, &bytes).map_err(|error| Error::Internal(error.to_string()))?;
        }
        Ok(())
    }

    fn initial_bytes(&self, var: &ModuleVar) -> Result<Vec<u8>, Error> {
        let mut bytes = var.init.clone();
        for reloc in &var.relocs {
            let value = self.resolve(var, reloc)?.to_le_bytes();
            let (start, count) = (reloc.offset as usize, reloc.bytes.min(8) as usize);
            if let Some(target) = bytes.get_mut(start..start + count) {
                target.copy_from_slice(&value[..count]);
            }
        }
        Ok(bytes)
    }

    fn resolve(&self, var: &ModuleVar, reloc: &Reloc) -> Result<u64, Error> {
        let constant = self.layout.consts.iter().find(|var| var.name == reloc.symbol);
        let address = if let Some(constant) = constant {
            u64::from(constant.offset) + if reloc.generic { window::CONST } else { 0 }
        } else if let Some(global) = self.variable(&reloc.symbol) {
            global.at.0
        } else if let Some(function) = self.layout.function(&reloc.symbol) {
            window::FUNCTION + 16 * u64::from(function.id)
        } else {
            let span = self.span_of(&var.name);
            let message = format!(
                "the initial value of `{}` names `{}`, which this module does not define",
                var.name, reloc.symbol
            );
            let problem = Diagnostic::error("ptx-unknown-name", span, message)
                .with_help("only variables and functions of the same module can be named in an initialiser");
            return Err(self.refusal(None, vec![problem]));
        };
        let address = address.wrapping_add_signed(reloc.addend);
        Ok(match reloc.mask {
            Some(mask) if mask != 0 => (address & mask) >> mask.trailing_zeros(),
            _ => address,
        })
    }

    fn span_of(&self, variable: &str) -> Span {
        let is_it = |item: &Item| match item {
            Item::Var(var) if self.tree.names.get(var.name) == variable => Some(var.span),
            _ => None,
        };
        self.tree.items.iter().find_map(is_it).unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        &self.tree.name
    }

    pub fn text(&self) -> &Text {
        &self.text
    }

    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.by_name.get(name).map(|&k| &self.variables[k])
    }

    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter()
    }

    /// Names of the texture and surface references.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.references.keys().map(String::as_str)
    }

    /// A texture or surface reference, and the handle that it is bound to.
    pub fn reference(&self, name: &str) -> Option<Option<u64>> {
        self.references.get(name).copied()
    }

    pub fn reference_mut(&mut self, name: &str) -> Option<&mut Option<u64>> {
        self.references.get_mut(name)
    }

    /// How much of constant bank 3 it has.
    pub fn constant_bytes(&self) -> u32 {
        self.layout.const_bytes
    }

    pub fn has_constants(&self) -> bool {
        self.bank3.1 > 0
    }

    /// The bytes of constant bank 3.
    pub fn constants(&self, memory: &DeviceMemory) -> Result<Vec<u8>, Error> {
        let (base, bytes) = self.bank3;
        let bytes = memory.bytes(base, bytes).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(bytes.to_vec())
    }

    pub fn kernels(&self) -> Vec<String> {
        let kernels = self.functions().filter(|f| f.is_kernel && f.body.is_some());
        kernels.map(|f| self.tree.names.get(f.name).to_owned()).collect()
    }

    pub fn check_kernel(&self, kernel: &str) -> Result<(), Error> {
        if self.kernels.contains_key(kernel) || self.kernel(kernel).is_some() {
            return Ok(());
        }
        let known = self.kernels();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        Err(Error::UnknownKernel {
            module: self.name().to_owned(),
            name: kernel.to_owned(),
            hint: hint(kernel, &known),
        })
    }

    /// The kernel with no more registers a thread than `most`, or than the module and the options allow.
    pub fn image(&mut self, kernel: &str, options: &Options, most: Option<u32>) -> Result<Arc<Image>, Error> {
        let builds = self.kernels.get(kernel).map_or(&[][..], |known| &known.builds);
        if let Some(built) = builds.iter().find(|built| built.most == most) {
            return Ok(built.image.clone());
        }
        let compiled = self.program(kernel, options, most)?;
        let misfit = match &options.mode {
            Mode::Timed(timed) => {
                timed.techniques.profile.as_ref().and_then(|profile| profile.misfit(&compiled))
            }
            Mode::Functional => None,
        };
        let program = match &options.mode {
            Mode::Timed(timed) => timed.techniques.rewrite(&compiled).map_or(compiled, Arc::new),
            Mode::Functional => compiled,
        };
        let image = Image::new(program, options.level)
            .map_err(|error| Error::Internal(format!("`{kernel}` cannot be decoded: {error}")))?;
        let image = Arc::new(image);
        let new = || Kernel { demangled: demangle(kernel), builds: Vec::new(), noted: false };
        let known = self.kernels.entry(kernel.to_owned()).or_insert_with(new);
        known.builds.push(Built { most, image: image.clone(), misfit });
        Ok(image)
    }

    /// A kernel as it is compiled for that, which another device may have done.
    fn program(&self, kernel: &str, options: &Options, most: Option<u32>) -> Result<Arc<Program>, Error> {
        let settings = match most {
            Some(_) => self.settings(&Options { max_registers: most, ..options.clone() }, false),
            None => self.settings(options, false),
        };
        let origin = || Origin {
            module: self.name().to_owned(),
            text: self.text.shared(),
            kernel: kernel.to_owned(),
            settings: (settings.max_registers, settings.verify, settings.predicate),
        };
        options.programs.program(origin, || Ok(self.compile_with(kernel, &settings)?.program))
    }

    /// Refuses a build of a kernel that techniques were given the counts of other code for.
    pub fn check_profile(&self, kernel: &str, image: &Arc<Image>) -> Result<(), Error> {
        let builds = self.kernels.get(kernel).map_or(&[][..], |known| &known.builds);
        let built = builds.iter().find(|built| Arc::ptr_eq(&built.image, image));
        match built.and_then(|built| built.misfit.clone()) {
            Some(reason) => Err(Error::Launch { kernel: kernel.to_owned(), reason }),
            None => Ok(()),
        }
    }

    /// The name of a compiled kernel as in the source.
    pub fn demangled(&self, kernel: &str) -> String {
        self.kernels.get(kernel).map_or_else(|| demangle(kernel), |known| known.demangled.clone())
    }

    /// Whether this is the first note about a kernel.
    pub fn first_note(&mut self, kernel: &str) -> bool {
        self.kernels.get_mut(kernel).is_some_and(|known| !std::mem::replace(&mut known.noted, true))
    }

    /// Offset and size of each parameter of a kernel.
    pub fn params(&self, kernel: &str) -> Result<Vec<(u32, u32)>, Error> {
        self.check_kernel(kernel)?;
        let params = self.layout.kernel(kernel).map_or(&[][..], |info| &info.params);
        Ok(params.iter().map(|param| (param.offset, param.size)).collect())
    }

    /// Types of the parameters of a kernel, where they have one.
    pub fn param_types(&self, kernel: &str) -> Result<Vec<Option<Ty>>, Error> {
        self.check_kernel(kernel)?;
        let params = self.layout.kernel(kernel).map_or(&[][..], |info| &info.params);
        Ok(params.iter().map(|param| param.ty).collect())
    }

    pub fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// Gives back the memory of the variables. The text stays, since reports of launches that were may show lines of it, and so do
    /// compiled kernels: a timed GPU knows code by its address, which must not become that of other code.
    pub fn unload(&mut self, memory: &mut DeviceMemory) -> Result<(), Error> {
        self.is_loaded = false;
        let (bank, bytes) = self.bank3;
        let in_bank = |at: u64| bytes > 0 && bank <= at && at < bank + bytes;
        let globals = self.variables.iter().map(|variable| variable.at.0).filter(|&at| !in_bank(at));
        for at in globals.chain((bytes > 0).then_some(bank)) {
            memory.free(at).map_err(|error| Error::Internal(error.to_string()))?;
        }
        for handle in std::mem::take(&mut self.references).into_values().flatten() {
            memory.images.destroy(handle);
        }
        self.variables.clear();
        self.by_name.clear();
        self.layout = ModuleLayout::default();
        self.tree.items.clear();
        self.tree.text.clear();
        Ok(())
    }

    /// Registers of a thread that the options allow, or else the module's target; the GPU may have fewer.
    pub fn wanted_registers(&self, options: &Options) -> u32 {
        let target = if self.tree.target.sm < FIRST_WITH_255 { 63 } else { 255 };
        options.max_registers.unwrap_or(target)
    }

    pub fn compile(&self, kernel: &str, options: &Options, keep_stages: bool) -> Result<Compiled, Error> {
        self.compile_with(kernel, &self.settings(options, keep_stages))
    }

    /// What the compiler is asked for.
    fn settings(&self, options: &Options, keep_stages: bool) -> warpwatt_compiler::Options {
        warpwatt_compiler::Options {
            max_registers: self.wanted_registers(options).min(options.sm.thread_registers),
            keep_stages,
            verify: options.verify,
            predicate: options.predicate,
            ..Default::default()
        }
    }

    fn compile_with(&self, kernel: &str, settings: &warpwatt_compiler::Options) -> Result<Compiled, Error> {
        self.check_kernel(kernel)?;
        let broken = self.errors_of(kernel);
        if !broken.is_empty() {
            return Err(self.refusal(Some(kernel), broken));
        }
        warpwatt_compiler::compile(&self.tree, &self.layout, kernel, settings)
            .map_err(|problems| self.refusal(Some(kernel), problems))
    }

    /// Warnings and notes about the text.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| !is_error(diagnostic))
    }

    /// What the reader found wrong in a kernel and in the functions that could not be read, which it may call.
    fn errors_of(&self, kernel: &str) -> Vec<Diagnostic> {
        let Some(function) = self.kernel(kernel).filter(|f| f.broken || self.has_layout_error(f)) else {
            return Vec::new();
        };
        let inside = |span: Span| {
            within(span, function.extent)
                || self.functions().any(|f| !f.is_kernel && f.broken && within(span, f.extent))
        };
        self.diagnostics.iter().filter(|d| is_error(d) && inside(d.span)).cloned().collect()
    }

    fn has_layout_error(&self, function: &ast::Function) -> bool {
        self.layout.diagnostics.iter().any(|d| is_error(d) && within(d.span, function.extent))
    }

    fn kernel(&self, name: &str) -> Option<&ast::Function> {
        self.functions().find(|f| f.is_kernel && f.body.is_some() && self.tree.names.get(f.name) == name)
    }

    fn functions(&self) -> impl Iterator<Item = &ast::Function> {
        self.tree.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
    }

    fn refusal(&self, kernel: Option<&str>, diagnostics: Vec<Diagnostic>) -> Error {
        Error::Ptx(Box::new(Refusal {
            kernel: kernel.map(str::to_owned),
            file: self.tree.name.clone(),
            text: self.text.shared(),
            diagnostics,
        }))
    }
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error
}

fn within(span: Span, extent: Span) -> bool {
    extent.start <= span.start && span.start < extent.end.max(extent.start + 1)
}
