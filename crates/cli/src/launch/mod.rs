// SPDX-License-Identifier: MIT OR Apache-2.0
//! The launch file: a TOML text that replaces a small host program. It gives buffers with their contents and a list of steps:
//! write, launch, copy, compare, dump. docs/launch-file.md describes it.
//!
//! `keys` declares what may be written, `read` turns a text into a [`LaunchFile`] or into diagnostics, `play` carries it out.

mod content;
mod init;
pub(crate) mod keys;
mod play;
mod read;
mod schema;
pub(crate) mod table;
mod texture;

use std::path::PathBuf;

use warpwatt_runtime::texture::{Format, Sampler, Shape};

pub(crate) use init::init;

pub use content::{Content, Element, Number};
pub use keys::{SECTIONS, Section};
pub use play::{Outcome, PlayError, play};
pub use read::read;
pub use schema::launch_schema;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchFile {
    /// The PTX text to load, unless the command line names one.
    pub ptx: Option<PathBuf>,
    pub buffers: Vec<Buffer>,
    pub textures: Vec<Texture>,
    pub steps: Vec<Step>,
}

/// Device memory with its first contents.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    pub name: String,
    pub element: Element,
    /// Elements; `None` when the file's size decides.
    pub count: Option<u64>,
    pub content: Content,
    /// The address that another run had it at.
    pub address: Option<u64>,
    /// Line in the launch file.
    pub line: u32,
}

/// A texture or surface over a buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    pub name: String,
    pub buffer: String,
    pub shape: Shape,
    pub extent: [u32; 3],
    pub format: Format,
    pub sampler: Sampler,
    /// The reference of the module that it is bound to.
    pub reference: Option<String>,
    /// Line in the launch file.
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub action: Action,
    /// Line in the launch file.
    pub line: u32,
}

/// A place in a buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferOffset {
    pub buffer: String,
    pub offset: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    Launch(Launch),
    /// Writes new contents into a buffer.
    Write {
        to: BufferOffset,
        element: Element,
        count: Option<u64>,
        content: Content,
    },
    /// Writes a variable of the module.
    Symbol {
        name: String,
        offset: u64,
        element: Element,
        count: Option<u64>,
        content: Content,
    },
    Memset {
        to: BufferOffset,
        value: u8,
        bytes: Option<u64>,
    },
    Copy {
        to: BufferOffset,
        from: BufferOffset,
        bytes: Option<u64>,
    },
    Dump {
        from: BufferOffset,
        bytes: Option<u64>,
        file: PathBuf,
        text: bool,
    },
    Compare {
        with: BufferOffset,
        element: Element,
        count: Option<u64>,
        expected: Content,
        abs: f64,
        rel: f64,
    },
    Free(String),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: u32,
    pub cooperative: bool,
    pub prefer_l1: bool,
    pub args: Vec<Arg>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// The address of a buffer, some bytes on.
    Buffer(BufferOffset),
    /// The address of a variable of the module, some bytes on.
    Symbol {
        name: String,
        offset: u64,
    },
    /// The handle of a texture or surface.
    Texture(String),
    Bytes(Vec<u8>),
    Number(Element, Vec<u8>),
}
