// SPDX-License-Identifier: MIT OR Apache-2.0
//! The small values a host program passes around: pointers, extents, launch configurations, arguments.

use std::fmt;

/// An address in the device's global memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    pub fn offset(self, bytes: u64) -> DevicePtr {
        DevicePtr(self.0.wrapping_add(bytes))
    }
}

impl fmt::Display for DevicePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A loaded module of one device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ModuleId(pub u32);

/// A sequence of commands of one device; see `Device::create_stream`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Stream(pub u32);

impl Stream {
    /// The stream that is always there, and waits for all blocking ones.
    pub const LEGACY: Stream = Stream(0);
}

/// A place in a stream, once it is recorded; see `Device::create_event`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Event(pub u32);

/// The extent of a grid or of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim3 {
    pub fn count(self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }

    pub fn to_array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Dim3 { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Dim3 { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Dim3 { x, y, z }
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Dim3 { x, y, z }
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    /// Bytes of dynamic shared memory per block.
    pub dynamic_shared: u32,
    /// For [`crate::Device::launch`]: on a timed device, kernels of different streams other than 0 may run at the same time. A functional
    /// one runs launches at the call, in order, which is a legal order for any set of streams.
    pub stream: u32,
    /// All blocks are resident at once and may use the grid barrier.
    pub cooperative: bool,
    /// The program prefers L1 to shared memory for this kernel, as with `cudaFuncSetCacheConfig`.
    pub prefer_l1: bool,
}

impl LaunchConfig {
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        LaunchConfig {
            grid: grid.into(),
            block: block.into(),
            dynamic_shared: 0,
            stream: 0,
            cooperative: false,
            prefer_l1: false,
        }
    }

    pub fn shared(self, dynamic_shared: u32) -> Self {
        LaunchConfig { dynamic_shared, ..self }
    }

    pub fn stream(self, stream: u32) -> Self {
        LaunchConfig { stream, ..self }
    }

    pub fn prefer_l1(self) -> Self {
        LaunchConfig { prefer_l1: true, ..self }
    }

    pub fn cooperative(self) -> Self {
        LaunchConfig { cooperative: true, ..self }
    }
}

/// The arguments of a launch, one value per kernel parameter, or all in one block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Args {
    values: Vec<Vec<u8>>,
    block: Option<Vec<u8>>,
}

macro_rules! scalar_arguments {
    ($($name:ident: $ty:ty),*) => {$(
        #[must_use]
        pub fn $name(self, value: $ty) -> Self {
            self.bytes(&value.to_le_bytes())
        }
    )*};
}

impl Args {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn ptr(self, pointer: DevicePtr) -> Self {
        self.u64(pointer.0)
    }

    scalar_arguments!(u8: u8, i8: i8, u16: u16, i16: i16, u32: u32, i32: i32, u64: u64, i64: i64, f32: f32, f64: f64);

    /// A structure passed by value, or any other parameter given as its bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.values.push(bytes.to_vec());
        self
    }

    /// The whole parameter block, each argument at its parameter's offset. Padding at the end may be left out or be too much.
    pub fn packed(block: Vec<u8>) -> Self {
        Args { values: Vec::new(), block: Some(block) }
    }

    /// The parameter block, if that is how the arguments were given.
    pub fn block(&self) -> Option<&[u8]> {
        self.block.as_deref()
    }

    /// The arguments so far, each as its bytes.
    pub fn values(&self) -> &[Vec<u8>] {
        &self.values
    }
}
