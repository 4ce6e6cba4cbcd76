// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a module declares at its own scope: variables with their initial bytes, constants laid out in bank 3, texture and surface
//! references, functions with their ids (PTX ISA, "State Spaces", "Initializers", "Linking Directives").

use rustc_hash::FxHashMap;
use warpwatt_base::{Span, Sym};
use warpwatt_isa::{Param, bank0};
use warpwatt_ptx::Diagnostic;
use warpwatt_ptx::ast::{Function, Init, Item, Linkage, Module, Scalar, Space, Variable};

use super::types;

/// Bytes that constant bank 3 holds.
pub const CONST_BYTES: u64 = 64 * 1024;
/// Bytes of a variable that we are willing to lay out.
const MOST_BYTES: u64 = 1 << 36;
/// Initial bytes that we are willing to hold: a text cannot spell as many.
const MOST_INIT_BYTES: u64 = 1 << 30;
/// Bytes of parameters a kernel may have (PTX ISA 8.1 raised the limit to this).
pub const MOST_PARAM_BYTES: u64 = 32_764;

/// Eight (or fewer) bytes of a variable that hold the address of a symbol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reloc {
    pub offset: u64,
    /// Bytes to write: 1 to 8.
    pub bytes: u32,
    pub symbol: String,
    pub addend: i64,
    /// `generic(symbol)`: the generic address, where the plain one is relative to its space.
    pub generic: bool,
    /// `0xFF00(symbol)`: the bits of the address that are stored, shifted down to bit 0.
    pub mask: Option<u64>,
}

/// A module-scope variable in global or constant memory.
#[derive(Clone, Debug)]
pub struct ModuleVar {
    pub name: String,
    pub size: u64,
    pub align: u32,
    /// Leading bytes; the rest is zero.
    pub init: Vec<u8>,
    pub relocs: Vec<Reloc>,
    pub managed: bool,
    pub is_extern: bool,
    pub linkage: Linkage,
    /// Offset in bank 3, once placed; 0 for a global.
    pub offset: u32,
    /// A constant that has its place in bank 3: not one that is only declared, or that found no room.
    pub placed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceKind {
    Texture,
    Sampler,
    Surface,
}

/// A `.texref`, `.samplerref` or `.surfref` variable.
#[derive(Clone, Debug)]
pub struct Reference {
    pub name: String,
    pub kind: ReferenceKind,
    /// Attributes of the initialiser, as written.
    pub fields: Vec<(String, u64)>,
}

#[derive(Clone, Debug)]
pub struct SharedVar {
    pub name: String,
    pub size: u64,
    pub align: u32,
    /// Of unknown size: it is at the start of dynamic shared memory.
    pub dynamic: bool,
    /// `.extern`. With a size it reserves its bytes, unless the module defines it.
    pub is_extern: bool,
}

#[derive(Clone, Debug)]
pub struct FunctionInfo {
    pub name: String,
    pub id: u32,
    pub is_kernel: bool,
    /// Index into `Module::items` of the definition, else of a prototype.
    pub item: usize,
    pub has_body: bool,
}

#[derive(Clone, Debug)]
pub struct KernelInfo {
    pub name: String,
    pub params: Vec<Param>,
    pub param_bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symbol {
    Global(u32),
    Const(u32),
    Shared(u32),
    Reference(u32),
    Function(u32),
}

#[derive(Clone, Debug, Default)]
pub struct ModuleLayout {
    pub globals: Vec<ModuleVar>,
    pub consts: Vec<ModuleVar>,
    /// Bytes of bank 3 in use.
    pub const_bytes: u32,
    pub references: Vec<Reference>,
    pub shared: Vec<SharedVar>,
    /// In order of appearance: the position is the id.
    pub functions: Vec<FunctionInfo>,
    pub kernels: Vec<KernelInfo>,
    pub symbols: FxHashMap<Sym, Symbol>,
    /// What cannot be laid out.
    pub diagnostics: Vec<Diagnostic>,
}

impl ModuleLayout {
    pub fn function(&self, name: &str) -> Option<&FunctionInfo> {
        self.functions.iter().find(|f| f.name == name)
    }

    pub fn kernel(&self, name: &str) -> Option<&KernelInfo> {
        self.kernels.iter().find(|k| k.name == name)
    }

    pub fn global(&self, name: &str) -> Option<&ModuleVar> {
        self.globals.iter().find(|g| g.name == name)
    }
}

/// Offsets of variables one after another, each at its alignment, from `start`. Gives the end as well.
pub fn place(vars: &[Variable], start: u64) -> (Vec<u64>, u64) {
    let mut at = start;
    let offsets = vars
        .iter()
        .map(|v| {
            let offset = types::round_up(at, types::align_of(v));
            at = offset.saturating_add(types::size_of(v));
            offset
        })
        .collect();
    (offsets, at)
}

/// Parameters of a kernel: offsets count from the start of the parameter area.
pub fn kernel_params(f: &Function) -> (Vec<Param>, u64) {
    let (offsets, end) = place(&f.params, 0);
    let params = f.params.iter().zip(offsets).map(|(v, offset)| Param {
        offset: offset as u32,
        size: types::size_of(v) as u32,
        align: types::align_of(v),
        ty: (v.dims.is_empty() && v.ty.lanes <= 1 && !types::is_untyped(v.ty.scalar))
            .then(|| types::ty(v.ty.scalar)),
    });
    (params.collect(), end)
}

pub fn layout(module: &Module) -> ModuleLayout {
    let mut out = ModuleLayout::default();
    for (index, item) in module.items.iter().enumerate() {
        match item {
            Item::Function(f) => function(module, &mut out, index, f),
            Item::Var(v) => variable(module, &mut out, v),
            Item::Alias { .. } => {}
        }
    }
    for item in &module.items {
        let Item::Alias { new, old, span } = item else { continue };
        match out.symbols.get(old).copied() {
            Some(symbol) => {
                out.symbols.insert(*new, symbol);
            }
            None => {
                let old = module.names.get(*old);
                out.diagnostics.push(
                    Diagnostic::error(
                        "ptx-unknown-name",
                        *span,
                        format!("`{old}` is not declared in this module"),
                    )
                    .with_help("declare the function before its `.alias`"),
                );
            }
        }
    }
    out
}

pub fn too_many_params(f: &Function, name: &str, end: u64) -> Diagnostic {
    Diagnostic::error("ptx-limit", f.span, format!("`{name}` has {end} bytes of parameters"))
        .with_help(format!("at most {MOST_PARAM_BYTES} fit into the parameter bank"))
}

fn function(module: &Module, out: &mut ModuleLayout, index: usize, f: &Function) {
    let name = module.names.get(f.name);
    if let Some(Symbol::Function(id)) = out.symbols.get(&f.name) {
        let known = &mut out.functions[*id as usize];
        if f.body.is_some() && !known.has_body {
            known.item = index;
            known.has_body = true;
        }
    } else {
        let id = out.functions.len() as u32;
        out.symbols.insert(f.name, Symbol::Function(id));
        out.functions.push(FunctionInfo {
            name: name.to_owned(),
            id,
            is_kernel: f.is_kernel,
            item: index,
            has_body: f.body.is_some(),
        });
    }
    if f.is_kernel && f.body.is_some() && out.kernel(name).is_none() {
        let (params, end) = kernel_params(f);
        if end > MOST_PARAM_BYTES {
            out.diagnostics.push(too_many_params(f, name, end));
        }
        let param_bytes = end.min(MOST_PARAM_BYTES) as u32;
        debug_assert!(u64::from(bank0::PARAMS) + MOST_PARAM_BYTES <= 1 << 16);
        out.kernels.push(KernelInfo { name: name.to_owned(), params, param_bytes });
    }
}

fn variable(module: &Module, out: &mut ModuleLayout, v: &Variable) {
    let kind = match v.ty.scalar {
        Scalar::Texref => Some(ReferenceKind::Texture),
        Scalar::Samplerref => Some(ReferenceKind::Sampler),
        Scalar::Surfref => Some(ReferenceKind::Surface),
        _ => None,
    };
    if let Some(kind) = kind {
        return reference(module, out, v, kind);
    }
    let name = module.names.get(v.name);
    let mut size = types::size_of(v);
    if size > MOST_BYTES {
        out.diagnostics.push(
            Diagnostic::error("ptx-limit", v.span, format!("`{name}` is larger than any device memory"))
                .with_help("check the dimensions of this array"),
        );
        size = 0;
    }
    match v.space {
        Space::Global | Space::Const => device_variable(module, out, v, size),
        Space::Shared => shared_variable(module, out, v, size),
        Space::Local | Space::Param | Space::Tex | Space::Reg | Space::Sreg => out.diagnostics.push(
            Diagnostic::warning(
                "ptx-unsupported",
                v.span,
                format!("`{name}` cannot be declared at module scope"),
            )
            .with_help("declare it inside of the functions that use it"),
        ),
    }
}

/// A texture, sampler or surface reference.
fn reference(module: &Module, out: &mut ModuleLayout, v: &Variable, kind: ReferenceKind) {
    if out.symbols.contains_key(&v.name) {
        return;
    }
    out.symbols.insert(v.name, Symbol::Reference(out.references.len() as u32));
    let fields = v.init.as_ref().map_or(Vec::new(), |init| fields(module, init));
    out.references.push(Reference { name: module.names.get(v.name).to_owned(), kind, fields });
}

/// A variable of global or constant memory. A definition replaces an earlier `.extern` declaration.
fn device_variable(module: &Module, out: &mut ModuleLayout, v: &Variable, mut size: u64) {
    let mut bytes = Bytes::default();
    if let Some(init) = &v.init {
        let limit = if size == 0 { MOST_BYTES } else { size };
        fill(module, &mut bytes, init, v, limit);
        size = size.max(bytes.at);
    }
    let is_extern = v.linkage == Linkage::Extern;
    let var = ModuleVar {
        name: module.names.get(v.name).to_owned(),
        size,
        align: types::align_of(v),
        init: bytes.data,
        relocs: bytes.relocs,
        managed: v.managed,
        is_extern,
        linkage: v.linkage,
        offset: 0,
        placed: false,
    };
    let is_const = v.space == Space::Const;
    match out.symbols.get(&v.name).copied() {
        Some(Symbol::Global(k)) if !is_const => {
            if out.globals[k as usize].is_extern {
                out.globals[k as usize] = var;
            }
        }
        Some(Symbol::Const(k)) if is_const => {
            if out.consts[k as usize].is_extern && !is_extern {
                out.consts[k as usize] = var;
                place_const(out, k as usize, v.span);
            }
        }
        _ if is_const => {
            out.symbols.insert(v.name, Symbol::Const(out.consts.len() as u32));
            out.consts.push(var);
            if !is_extern {
                place_const(out, out.consts.len() - 1, v.span);
            }
        }
        _ => {
            out.symbols.insert(v.name, Symbol::Global(out.globals.len() as u32));
            out.globals.push(var);
        }
    }
}

/// A variable of shared memory. A definition replaces declarations; of declarations, the largest counts.
fn shared_variable(module: &Module, out: &mut ModuleLayout, v: &Variable, size: u64) {
    let dynamic = v.dims.first() == Some(&None);
    let is_extern = v.linkage == Linkage::Extern;
    let name = module.names.get(v.name).to_owned();
    let size = if dynamic { 0 } else { size };
    let var = SharedVar { name, size, align: types::align_of(v), dynamic, is_extern };
    match out.symbols.get(&v.name) {
        Some(Symbol::Shared(k)) => {
            let known = &mut out.shared[*k as usize];
            let declared = known.dynamic || known.is_extern;
            if declared && (!(is_extern || dynamic) || var.size > known.size) {
                *known = var;
            }
        }
        _ => {
            out.symbols.insert(v.name, Symbol::Shared(out.shared.len() as u32));
            out.shared.push(var);
        }
    }
}

fn place_const(out: &mut ModuleLayout, k: usize, span: Span) {
    let var = &mut out.consts[k];
    let offset = types::round_up(u64::from(out.const_bytes), var.align);
    if offset + var.size > CONST_BYTES {
        out.diagnostics.push(
            Diagnostic::error(
                "ptx-limit",
                span,
                "the `.const` variables of this module do not fit into 64 KiB",
            )
            .with_help("move large tables to `.global`"),
        );
        return;
    }
    var.offset = offset as u32;
    var.placed = true;
    out.const_bytes = (offset + var.size) as u32;
}

fn fields(module: &Module, init: &Init) -> Vec<(String, u64)> {
    match init {
        Init::List(list) => list.iter().flat_map(|i| fields(module, i)).collect(),
        Init::Field { name, value } => {
            let value = match **value {
                Init::Int(v) => v,
                _ => 0,
            };
            vec![(module.names.get(*name).to_owned(), value)]
        }
        _ => Vec::new(),
    }
}

/// The initial bytes of a variable, as they are read.
#[derive(Default)]
struct Bytes {
    data: Vec<u8>,
    /// Position of the next element; may be past `data` (zeros).
    at: u64,
    relocs: Vec<Reloc>,
}

impl Bytes {
    fn put(&mut self, value: u64, bytes: u32, limit: u64) {
        let end = self.at + u64::from(bytes);
        if end > limit.min(MOST_INIT_BYTES) {
            return;
        }
        self.data.resize(self.at as usize, 0);
        self.data.extend_from_slice(&value.to_le_bytes()[..bytes as usize]);
        self.at = end;
    }
}

fn fill(module: &Module, out: &mut Bytes, init: &Init, v: &Variable, limit: u64) {
    // Bytes under each level of braces: the outermost list spans the variable, each inner one a row.
    let element = u64::from(types::bytes(v.ty.scalar));
    let mut rows: Vec<u64> = v.dims.iter().map(|d| d.unwrap_or(0)).collect();
    if v.ty.lanes > 1 {
        rows.push(u64::from(v.ty.lanes));
    }
    let mut sizes = vec![element; rows.len() + 1];
    for k in (0..rows.len()).rev() {
        sizes[k] = sizes[k + 1].saturating_mul(rows[k]);
    }
    fill_level(module, out, init, v.ty.scalar, &sizes, limit);
}

fn fill_level(module: &Module, out: &mut Bytes, init: &Init, scalar: Scalar, sizes: &[u64], limit: u64) {
    let bytes = types::bytes(scalar).min(8);
    match init {
        Init::List(list) => {
            let start = out.at;
            let inner = if sizes.len() > 1 { &sizes[1..] } else { sizes };
            for item in list {
                let item_start = out.at;
                fill_level(module, out, item, scalar, inner, limit);
                // A short inner list leaves zeros behind it.
                if matches!(item, Init::List(_)) && inner[0] > out.at - item_start {
                    out.at = (item_start + inner[0]).min(limit);
                }
            }
            debug_assert!(out.at >= start);
        }
        Init::Int(value) => {
            let bits = match scalar {
                Scalar::F32 => u64::from((*value as i64 as f32).to_bits()),
                Scalar::F64 => (*value as i64 as f64).to_bits(),
                _ => *value,
            };
            out.put(bits, bytes, limit);
        }
        Init::F32(raw) => {
            let bits = if scalar == Scalar::F64 {
                f64::from(f32::from_bits(*raw)).to_bits()
            } else {
                u64::from(*raw)
            };
            out.put(bits, bytes, limit);
        }
        Init::F64(raw) => {
            let bits =
                if scalar == Scalar::F32 { u64::from((f64::from_bits(*raw) as f32).to_bits()) } else { *raw };
            out.put(bits, bytes, limit);
        }
        Init::Symbol { name, addend, generic, mask, .. } => {
            if out.at + u64::from(bytes) <= limit {
                out.relocs.push(Reloc {
                    offset: out.at,
                    bytes,
                    symbol: module.names.get(*name).to_owned(),
                    addend: *addend,
                    generic: *generic,
                    mask: *mask,
                });
            }
            out.put(0, bytes, limit);
        }
        Init::Field { value, .. } => fill_level(module, out, value, scalar, sizes, limit),
    }
}
