// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures of `driver_types.h` and its neighbours as the runtime API passes them. A structure whose layout changed has one
//! type for each layout; the tests hold sizes and offsets that a C compiler found in the headers of 11.8, 12.9 and 13.4.

use std::ffi::c_void;

pub type StreamHandle = u64;
pub type EventHandle = u64;
pub type ArrayHandle = u64;
pub type GraphHandle = u64;
pub type NodeHandle = u64;
pub type ExecHandle = u64;
pub type HostFn = unsafe extern "C" fn(*mut c_void);
pub type StreamCallback = unsafe extern "C" fn(StreamHandle, i32, *mut c_void);

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            pub struct $name { $(pub $field: $ty),* }
        )*
    };
}

structures! {
    Dim3 { x: u32, y: u32, z: u32 }
    /// `cudaChannelFormatDesc`: bits of each channel, and their kind.
    ChannelDesc { x: i32, y: i32, z: i32, w: i32, f: i32 }
    /// `cudaExtent`: in texels where an array takes part, else in bytes.
    Extent { width: usize, height: usize, depth: usize }
    Pos { x: usize, y: usize, z: usize }
    PitchedPtr { ptr: u64, pitch: usize, xsize: usize, ysize: usize }
    Memcpy3d {
        src_array: ArrayHandle, src_pos: Pos, src_ptr: PitchedPtr,
        dst_array: ArrayHandle, dst_pos: Pos, dst_ptr: PitchedPtr,
        extent: Extent, kind: i32,
    }
    Memcpy3dPeer {
        src_array: ArrayHandle, src_pos: Pos, src_ptr: PitchedPtr, src_device: i32,
        dst_array: ArrayHandle, dst_pos: Pos, dst_ptr: PitchedPtr, dst_device: i32,
        extent: Extent,
    }
    /// `cudaResourceDesc` up to 12: the arms of its union overlap from `handle` on.
    ResourceDesc {
        kind: i32, handle: u64, desc: ChannelDesc, bytes_or_width: usize, height: usize, pitch: usize,
    }
    /// `cudaResourceDesc` of 13: room for more arms, and flags.
    ResourceDesc13 { head: ResourceDesc, reserved: [i32; 18], flags: u32 }
    ResourceViewDesc {
        format: i32, width: usize, height: usize, depth: usize,
        first_level: u32, last_level: u32, first_layer: u32, last_layer: u32,
    }
    ResourceViewDesc13 { head: ResourceViewDesc, reserved: [u32; 16] }
    /// `cudaTextureDesc` of 11, and the start of the one since 12.
    TextureDesc {
        address: [i32; 3], filter: i32, read: i32, srgb: i32, border: [f32; 4], normalized: i32, anisotropy: u32,
        mip_filter: i32, mip_bias: f32, mip_min: f32, mip_max: f32, disable_trilinear: i32,
    }
    TextureDesc12 { head: TextureDesc, seamless_cubemap: i32 }
    /// `textureReference` of 11: a variable of the program's that says how its texture is read.
    TextureReference {
        normalized: i32, filter: i32, address: [i32; 3], channels: ChannelDesc, srgb: i32, anisotropy: u32,
        mip_filter: i32, mip_bias: f32, mip_min: f32, mip_max: f32, disable_trilinear: i32, reserved: [i32; 14],
    }
    PointerAttributes { kind: i32, device: i32, device_pointer: u64, host_pointer: u64 }
    PointerAttributes13 { head: PointerAttributes, reserved: [i64; 8] }
    FuncAttributes {
        shared: usize, constant: usize, local: usize, max_threads: i32, registers: i32, ptx_version: i32,
        binary_version: i32, cache_mode_ca: i32, max_dynamic_shared: i32, carveout: i32,
    }
    /// Since 12, with what clusters need.
    FuncAttributes12 {
        shared: usize, constant: usize, local: usize, max_threads: i32, registers: i32, ptx_version: i32,
        binary_version: i32, cache_mode_ca: i32, max_dynamic_shared: i32, carveout: i32, cluster_must_be_set: i32,
        cluster: [i32; 3], cluster_policy: i32, non_portable_cluster: i32, reserved: [i32; 16],
    }
    MemLocation { kind: i32, id: i32 }
    MemAccess { location: MemLocation, flags: i32 }
    MemPoolProps {
        alloc_type: i32, handle_types: i32, location: MemLocation, security: *mut c_void, max_size: usize, rest: [u8; 56],
    }
    MemcpyAttributes { order: i32, src: MemLocation, dst: MemLocation, flags: u32 }
    /// A pointer with its row length and layer height, or an array with an offset.
    BatchOperand { kind: i32, place: u64, a: usize, b: usize, c: usize }
    BatchOp { src: BatchOperand, dst: BatchOperand, extent: Extent, order: i32, flags: u32 }
    LaunchAttribute { id: i32, pad: i32, value: [u64; 8] }
    LaunchConfig {
        grid: Dim3, block: Dim3, shared: usize, stream: StreamHandle, attributes: *const LaunchAttribute, count: u32,
    }
    KernelNodeParams {
        func: u64, grid: Dim3, block: Dim3, shared: u32, params: *mut *mut c_void, extra: *mut *mut c_void,
    }
    MemsetParams { dst: u64, pitch: usize, value: u32, element: u32, width: usize, height: usize }
    HostNodeParams { call: Option<HostFn>, data: *mut c_void }
    /// `cudaGraphNodeParams`: a kind, and as many bytes as the largest parameters need.
    GraphNodeParams { kind: i32, reserved: [i32; 3], body: [u64; 29], tail: i64 }
    EdgeData { from_port: u8, to_port: u8, kind: u8, reserved: [u8; 5] }
    InstantiateParams { flags: u64, upload: StreamHandle, error_node: NodeHandle, result: i32 }
    UpdateResult { result: i32, error_node: NodeHandle, error_from: NodeHandle }
    ArraySparse { tile: [u32; 3], first_level: u32, tail_bytes: u64, flags: u32, reserved: [u32; 4] }
    ArrayRequirements { size: usize, alignment: usize, reserved: [u32; 4] }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn sizes_are_those_of_the_headers() {
        assert_eq!(size_of::<ChannelDesc>(), 20);
        assert_eq!(size_of::<PitchedPtr>(), 32);
        assert_eq!((size_of::<Memcpy3d>(), size_of::<Memcpy3dPeer>()), (160, 168));
        assert_eq!((size_of::<ResourceDesc>(), size_of::<ResourceDesc13>()), (64, 144));
        assert_eq!((size_of::<ResourceViewDesc>(), size_of::<ResourceViewDesc13>()), (48, 112));
        assert_eq!((size_of::<TextureDesc>(), size_of::<TextureDesc12>()), (68, 72));
        assert_eq!(size_of::<TextureReference>(), 124);
        assert_eq!((size_of::<PointerAttributes>(), size_of::<PointerAttributes13>()), (24, 88));
        assert_eq!((size_of::<FuncAttributes>(), size_of::<FuncAttributes12>()), (56, 144));
        assert_eq!(
            (size_of::<MemLocation>(), size_of::<MemAccess>(), size_of::<MemPoolProps>()),
            (8, 12, 88)
        );
        assert_eq!((size_of::<MemcpyAttributes>(), size_of::<BatchOp>()), (24, 112));
        assert_eq!((size_of::<LaunchAttribute>(), size_of::<LaunchConfig>()), (72, 56));
        assert_eq!(
            (size_of::<KernelNodeParams>(), size_of::<MemsetParams>(), size_of::<HostNodeParams>()),
            (56, 40, 16)
        );
        assert_eq!((size_of::<GraphNodeParams>(), size_of::<EdgeData>()), (256, 8));
        assert_eq!((size_of::<InstantiateParams>(), size_of::<UpdateResult>()), (32, 24));
        assert_eq!((size_of::<ArraySparse>(), size_of::<ArrayRequirements>()), (48, 32));
    }

    #[test]
    fn offsets_are_those_of_the_headers() {
        assert_eq!(offset_of!(Memcpy3d, dst_array), 64);
        assert_eq!((offset_of!(Memcpy3d, extent), offset_of!(Memcpy3d, kind)), (128, 152));
        assert_eq!((offset_of!(Memcpy3dPeer, dst_array), offset_of!(Memcpy3dPeer, extent)), (72, 144));
        assert_eq!((offset_of!(ResourceDesc, desc), offset_of!(ResourceDesc, bytes_or_width)), (16, 40));
        assert_eq!((offset_of!(ResourceDesc, pitch), offset_of!(ResourceDesc13, flags)), (56, 136));
        assert_eq!((offset_of!(TextureDesc, border), offset_of!(TextureDesc, mip_filter)), (24, 48));
        assert_eq!((offset_of!(TextureReference, channels), offset_of!(TextureReference, srgb)), (20, 40));
        assert_eq!((offset_of!(FuncAttributes, registers), offset_of!(FuncAttributes12, reserved)), (28, 76));
        assert_eq!((offset_of!(LaunchConfig, stream), offset_of!(LaunchConfig, count)), (32, 48));
        assert_eq!((offset_of!(KernelNodeParams, params), offset_of!(GraphNodeParams, body)), (40, 16));
        assert_eq!(
            (offset_of!(BatchOp, dst), offset_of!(BatchOp, extent), offset_of!(BatchOp, order)),
            (40, 80, 104)
        );
    }
}
