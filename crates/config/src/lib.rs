// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parameter of a GPU, declared once: type, default, range, unit, meaning. GPU files, presets, settings on the command line,
//! schema and documentation come from the declarations in `parameters.rs`.

mod declare;
mod derived;
mod error;
mod file;
mod import;
mod listing;
mod memories;
mod parameters;
mod presets;
mod random;
mod reasons;
mod reference;
mod rules;
mod schema;
mod sizes;
mod value;
mod write;

pub use declare::{Parameter, Refusal, Section, Settings};
pub use derived::LINE_BYTES;
pub use error::{Error, Explain, FilePosition, Located, Problem};
pub use file::GpuFile;
pub use import::{Imported, Unmapped, import};
pub use listing::{Difference, apply, apply_all, differences, listing, sha256, values};
pub use memories::{MEMORIES, Memory};
pub use parameters::*;
pub use presets::{PRESETS, Preset};
pub use random::random;
pub use reasons::{Basis, Reason};
pub use reference::reference;
pub use rules::validate;
pub use schema::gpu_schema;
pub use value::{FileName, ParameterKind, Value};
pub use write::to_toml;
