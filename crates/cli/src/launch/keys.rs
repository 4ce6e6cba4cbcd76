// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every key of a launch file, declared once: the reader's advice about unknown keys, the JSON schema and the documentation
//! all come from here.

/// What a key's value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    Text,
    /// Not negative.
    Count,
    Number,
    Switch,
    /// A number, or a list of one to three.
    Extent,
    Numbers,
    Args,
    Random,
    Iota,
}

#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: ValueKind,
    pub doc: &'static str,
}

/// One kind of table.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub name: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
}

pub const fn key(name: &'static str, kind: ValueKind, doc: &'static str) -> Key {
    Key { name, kind, doc }
}

const TYPE: Key = key(
    "type",
    ValueKind::Text,
    "Element type: u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32 or f64.",
);
const COUNT: Key = key("count", ValueKind::Count, "Number of elements.");
const FILL: Key = key("fill", ValueKind::Number, "Every element has this value.");
const VALUES: Key =
    key("values", ValueKind::Numbers, "The elements, one by one; those after the last are zero.");
const FILE: Key =
    key("file", ValueKind::Text, "A file with the raw little-endian elements, relative to the launch file.");
const RANDOM: Key =
    key("random", ValueKind::Random, "Uniform random elements in [lo, hi): { seed, lo, hi }.");
const IOTA: Key =
    key("iota", ValueKind::Iota, "start, start + step, start + 2 step and so on: { start, step }.");
const OFFSET: Key = key("offset", ValueKind::Count, "Bytes from the start of the buffer or variable.");
const BYTES: Key = key("bytes", ValueKind::Count, "How many bytes; to the end when left out.");

pub const TOP: Section = Section {
    name: "launch file",
    doc: "The whole file.",
    keys: &[
        key(
            "ptx",
            ValueKind::Text,
            "The PTX file to load, or CUDA C++ (.cu) where NVRTC is installed, relative to this file; `--ptx` takes precedence.",
        ),
        key(
            "buffer",
            ValueKind::Args,
            "`[[buffer]]`: device memory, taken in this order before the first step.",
        ),
        key("texture", ValueKind::Args, "`[[texture]]`: textures and surfaces over buffers."),
        key("step", ValueKind::Args, "`[[step]]`: what the host does, in this order."),
    ],
};

pub const BUFFER: Section = Section {
    name: "buffer",
    doc: "Device memory with its first contents: zero, or one of fill, values, file, random and iota.",
    keys: &[
        key("name", ValueKind::Text, "What steps and fault reports call it."),
        TYPE,
        COUNT,
        key("bytes", ValueKind::Count, "Size in bytes, instead of type and count."),
        FILL,
        VALUES,
        FILE,
        RANDOM,
        IOTA,
        key(
            "address",
            ValueKind::Count,
            "Device address that another run had it at; written by reproducers.",
        ),
    ],
};

pub const TEXTURE: Section = Section {
    name: "texture",
    doc: "A texture or surface whose texels are the contents of a buffer, row by row.",
    keys: &[
        key("name", ValueKind::Text, "What arguments call it."),
        key("buffer", ValueKind::Text, "The buffer that holds its texels."),
        key(
            "shape",
            ValueKind::Text,
            "`linear`, `1d`, `2d`, `3d`, `layered-1d`, `layered-2d` or `cube`; `2d` when left out.",
        ),
        key("extent", ValueKind::Extent, "Width, height, and depth, layers or faces."),
        key(
            "format",
            ValueKind::Text,
            "Channel type and number of channels, such as `f32`, `u8x4` or `f16x2`.",
        ),
        key("filter", ValueKind::Text, "`point` (the default) or `linear`."),
        key(
            "address",
            ValueKind::Text,
            "Outside of the texture: `clamp` (the default), `wrap`, `mirror` or `border`.",
        ),
        key("normalized", ValueKind::Switch, "Coordinates run from 0 to 1."),
        key("unit_range", ValueKind::Switch, "8- and 16-bit integers read as floats in [0, 1] or [-1, 1]."),
        key("reference", ValueKind::Text, "The `.texref` or `.surfref` of the module that it is bound to."),
    ],
};

pub const LAUNCH: Section = Section {
    name: "launch step",
    doc: "Runs a kernel.",
    keys: &[
        key(
            "launch",
            ValueKind::Text,
            "Name of the kernel: as in the PTX text, or as in the source where only one kernel is called so.",
        ),
        key("grid", ValueKind::Extent, "Blocks: a number or a list of up to three."),
        key("block", ValueKind::Extent, "Threads per block: a number or a list of up to three."),
        key("shared", ValueKind::Count, "Bytes of dynamic shared memory per block; 0 when left out."),
        key(
            "stream",
            ValueKind::Count,
            "Stream number; 0 when left out. In a timed run, kernels of different streams other than 0 run at the same time.",
        ),
        key("cooperative", ValueKind::Switch, "All blocks resident at once, as grid-wide barriers need."),
        key(
            "prefer_l1",
            ValueKind::Switch,
            "The kernel prefers L1 to shared memory, as with cudaFuncSetCacheConfig.",
        ),
        key(
            "args",
            ValueKind::Args,
            "One per parameter: \"buf:NAME\", { ptr = NAME, offset = N }, { symbol = NAME, offset = N }, { texture = NAME }, { u32 = 5 } (any element type), { bytes = [..] }.",
        ),
    ],
};

pub const WRITE: Section = Section {
    name: "write step",
    doc: "Copies new contents into a buffer.",
    keys: &[
        key("write", ValueKind::Text, "Name of the buffer."),
        OFFSET,
        TYPE,
        COUNT,
        FILL,
        VALUES,
        FILE,
        RANDOM,
        IOTA,
    ],
};

pub const SYMBOL: Section = Section {
    name: "symbol step",
    doc: "Sets a `.global` or `.const` variable of the module.",
    keys: &[
        key("symbol", ValueKind::Text, "Name of the variable, as in the PTX text."),
        OFFSET,
        TYPE,
        COUNT,
        FILL,
        VALUES,
        FILE,
        RANDOM,
        IOTA,
    ],
};

pub const MEMSET: Section = Section {
    name: "memset step",
    doc: "Sets bytes of a buffer.",
    keys: &[
        key("memset", ValueKind::Text, "Name of the buffer."),
        key("value", ValueKind::Count, "The byte, 0 to 255; 0 when left out."),
        OFFSET,
        BYTES,
    ],
};

pub const COPY: Section = Section {
    name: "copy step",
    doc: "Copies from buffer to buffer.",
    keys: &[
        key("copy", ValueKind::Text, "Name of the buffer that is written."),
        OFFSET,
        key("from", ValueKind::Text, "Name of the buffer that is read."),
        key("from_offset", ValueKind::Count, "Bytes from the start of the buffer that is read."),
        BYTES,
    ],
};

pub const DUMP: Section = Section {
    name: "dump step",
    doc: "Writes a buffer to a file.",
    keys: &[
        key("dump", ValueKind::Text, "Name of the buffer."),
        OFFSET,
        BYTES,
        key("file", ValueKind::Text, "The file to write, relative to the launch file."),
        key("format", ValueKind::Text, "`raw` (the bytes, the default) or `text` (one element a line)."),
    ],
};

pub const COMPARE: Section = Section {
    name: "compare step",
    doc: "Compares a buffer with what it should hold. An element passes if it is equal, or off by at most abs + rel x |expected|.",
    keys: &[
        key("compare", ValueKind::Text, "Name of the buffer."),
        OFFSET,
        TYPE,
        COUNT,
        FILL,
        VALUES,
        FILE,
        RANDOM,
        IOTA,
        key("abs", ValueKind::Number, "Absolute tolerance; 0 when left out."),
        key("rel", ValueKind::Number, "Relative tolerance; 0 when left out."),
    ],
};

pub const FREE: Section = Section {
    name: "free step",
    doc: "Gives a buffer back.",
    keys: &[key("free", ValueKind::Text, "Name of the buffer.")],
};

/// The kinds of steps; the first key of each says which one a table is.
pub const STEPS: &[Section] = &[LAUNCH, WRITE, SYMBOL, MEMSET, COPY, DUMP, COMPARE, FREE];

/// All tables of a launch file.
pub const SECTIONS: &[Section] =
    &[TOP, BUFFER, TEXTURE, LAUNCH, WRITE, SYMBOL, MEMSET, COPY, DUMP, COMPARE, FREE];
