// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures of the driver API as C lays them out (`cuda.h` 12.9 and 13.4, which agree on these). The tests hold sizes and
//! offsets that a C compiler gave for the real headers.
//!
//! Handles and pointers that are only passed on are plain addresses, so that these structures can be copied and sent freely.

/// An opaque handle or a pointer whose target is read elsewhere.
pub type Address = u64;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcpy2d {
    pub src_x: u64,
    pub src_y: u64,
    pub src_type: u32,
    pub src_host: Address,
    pub src_device: u64,
    pub src_array: Address,
    pub src_pitch: u64,
    pub dst_x: u64,
    pub dst_y: u64,
    pub dst_type: u32,
    pub dst_host: Address,
    pub dst_device: u64,
    pub dst_array: Address,
    pub dst_pitch: u64,
    pub width: u64,
    pub height: u64,
}

/// `CUDA_MEMCPY3D`; `CUDA_MEMCPY3D_PEER` has contexts in the two reserved places.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcpy3d {
    pub src_x: u64,
    pub src_y: u64,
    pub src_z: u64,
    pub src_lod: u64,
    pub src_type: u32,
    pub src_host: Address,
    pub src_device: u64,
    pub src_array: Address,
    pub src_context: Address,
    pub src_pitch: u64,
    pub src_height: u64,
    pub dst_x: u64,
    pub dst_y: u64,
    pub dst_z: u64,
    pub dst_lod: u64,
    pub dst_type: u32,
    pub dst_host: Address,
    pub dst_device: u64,
    pub dst_array: Address,
    pub dst_context: Address,
    pub dst_pitch: u64,
    pub dst_height: u64,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

impl From<Memcpy2d> for Memcpy3d {
    fn from(c: Memcpy2d) -> Memcpy3d {
        Memcpy3d {
            src_x: c.src_x,
            src_y: c.src_y,
            src_type: c.src_type,
            src_host: c.src_host,
            src_device: c.src_device,
            src_array: c.src_array,
            src_pitch: c.src_pitch,
            dst_x: c.dst_x,
            dst_y: c.dst_y,
            dst_type: c.dst_type,
            dst_host: c.dst_host,
            dst_device: c.dst_device,
            dst_array: c.dst_array,
            dst_pitch: c.dst_pitch,
            width: c.width,
            height: c.height,
            depth: 1,
            ..Memcpy3d::default()
        }
    }
}

/// One end of a `CUDA_MEMCPY3D_BATCH_OP`: a pointer (kind 1: address, row length and layer height in elements) or an array
/// (kind 2: handle, offsets).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Operand3d {
    pub kind: u32,
    pub at: u64,
    pub a: u64,
    pub b: u64,
    pub c: u64,
}

/// `CUDA_MEMCPY3D_BATCH_OP`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch3d {
    pub src: Operand3d,
    pub dst: Operand3d,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub order: u32,
    pub flags: u32,
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayDescriptor {
    pub width: u64,
    pub height: u64,
    pub format: u32,
    pub channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Array3dDescriptor {
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// `CUDA_RESOURCE_DESC`: an array (0), a mipmapped array (1), linear memory (2) or pitched memory (3). The union's fields that
/// have a meaning share their places: `at` is a handle or an address, `size` the bytes or the width.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ResourceDesc {
    pub kind: u32,
    pub at: u64,
    pub format: u32,
    pub channels: u32,
    pub size: u64,
    pub height: u64,
    pub pitch: u64,
    pub reserved: [u64; 11],
    pub flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TextureDesc {
    pub address_mode: [u32; 3],
    pub filter_mode: u32,
    pub flags: u32,
    pub max_anisotropy: u32,
    pub mipmap_filter_mode: u32,
    pub mipmap_level_bias: f32,
    pub min_mipmap_level_clamp: f32,
    pub max_mipmap_level_clamp: f32,
    pub border_color: [f32; 4],
    pub reserved: [i32; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceViewDesc {
    pub format: u32,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub first_mipmap_level: u32,
    pub last_mipmap_level: u32,
    pub first_layer: u32,
    pub last_layer: u32,
    pub reserved: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: Address,
    pub attributes: Address,
    pub attribute_count: u32,
}

/// `CUlaunchAttribute`: the value is a union of 64 bytes, of which we read the first words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchAttribute {
    pub id: u32,
    pub pad: u32,
    pub value: [u64; 8],
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`; version 1 ends before `kernel`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelNode {
    pub function: Address,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub params: Address,
    pub extra: Address,
    pub kernel: Address,
    pub context: Address,
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelNodeV1 {
    pub function: Address,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub params: Address,
    pub extra: Address,
}

impl From<KernelNodeV1> for KernelNode {
    fn from(k: KernelNodeV1) -> KernelNode {
        KernelNode {
            function: k.function,
            grid: k.grid,
            block: k.block,
            shared_bytes: k.shared_bytes,
            params: k.params,
            extra: k.extra,
            kernel: 0,
            context: 0,
        }
    }
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MemsetNode {
    pub dst: u64,
    pub pitch: u64,
    pub value: u32,
    pub element: u32,
    pub width: u64,
    pub height: u64,
}

/// `CUDA_HOST_NODE_PARAMS`, of which later versions have more behind it that changes nothing here.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HostNode {
    pub function: Address,
    pub user_data: Address,
}

/// `CUgraphNodeParams`: a kind and a union that starts at byte 16.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeParams {
    pub kind: u32,
    pub reserved: [u32; 3],
    pub body: [u64; 29],
    pub reserved2: u64,
}

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemLocation {
    pub kind: u32,
    pub id: i32,
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessDesc {
    pub location: MemLocation,
    pub flags: u32,
}

/// `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PoolProps {
    pub alloc_type: u32,
    pub handle_types: u32,
    pub location: MemLocation,
    pub security: Address,
    pub max_size: u64,
    pub usage: u16,
    pub reserved: [u8; 54],
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AllocNode {
    pub pool: PoolProps,
    pub access: Address,
    pub access_count: u64,
    pub bytes: u64,
    pub dptr: u64,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct InstantiateParams {
    pub flags: u64,
    pub upload_stream: Address,
    pub error_node: Address,
    pub result: u32,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdateInfo {
    pub result: u32,
    pub error_node: Address,
    pub error_from: Address,
}

/// `CUdevprop`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceProperties {
    pub max_threads_per_block: i32,
    pub max_block: [i32; 3],
    pub max_grid: [i32; 3],
    pub shared_per_block: i32,
    pub constant_bytes: i32,
    pub warp: i32,
    pub max_pitch: i32,
    pub registers_per_block: i32,
    pub clock_khz: i32,
    pub texture_align: i32,
}

/// `CUstreamBatchMemOpParams`: waits and writes; the other kinds share the first field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MemOp {
    pub operation: u32,
    pub address: u64,
    pub value: u64,
    pub flags: u32,
    pub alias: u64,
    pub pad: u64,
}

/// `CUuuid`, and the identifiers of export tables.
pub type Uuid = [u8; 16];

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn sizes_are_those_of_the_header() {
        let got = [
            size_of::<Memcpy2d>(),
            size_of::<Memcpy3d>(),
            size_of::<Batch3d>(),
            size_of::<ArrayDescriptor>(),
            size_of::<Array3dDescriptor>(),
            size_of::<ResourceDesc>(),
            size_of::<TextureDesc>(),
            size_of::<ResourceViewDesc>(),
            size_of::<LaunchConfig>(),
            size_of::<LaunchAttribute>(),
            size_of::<KernelNodeV1>(),
            size_of::<KernelNode>(),
            size_of::<MemsetNode>(),
            size_of::<HostNode>(),
            size_of::<NodeParams>(),
            size_of::<MemLocation>(),
            size_of::<AccessDesc>(),
            size_of::<PoolProps>(),
            size_of::<AllocNode>(),
            size_of::<InstantiateParams>(),
            size_of::<UpdateInfo>(),
            size_of::<DeviceProperties>(),
            size_of::<MemOp>(),
        ];
        let header = [
            128, 200, 112, 24, 40, 144, 104, 112, 56, 72, 56, 72, 40, 16, 256, 8, 12, 88, 120, 32, 24, 56, 48,
        ];
        assert_eq!(got, header);
    }

    #[test]
    fn offsets_are_those_of_the_header() {
        let got = [
            offset_of!(Memcpy2d, src_host),
            offset_of!(Memcpy2d, dst_type),
            offset_of!(Memcpy2d, height),
            offset_of!(Memcpy3d, src_host),
            offset_of!(Memcpy3d, dst_array),
            offset_of!(Memcpy3d, dst_context),
            offset_of!(Memcpy3d, depth),
            offset_of!(Batch3d, dst),
            offset_of!(Batch3d, width),
            offset_of!(Array3dDescriptor, flags),
            offset_of!(ResourceDesc, at),
            offset_of!(ResourceDesc, size),
            offset_of!(ResourceDesc, pitch),
            offset_of!(ResourceDesc, flags),
            offset_of!(TextureDesc, flags),
            offset_of!(TextureDesc, border_color),
            offset_of!(ResourceViewDesc, first_layer),
            offset_of!(LaunchConfig, stream),
            offset_of!(LaunchConfig, attributes),
            offset_of!(LaunchConfig, attribute_count),
            offset_of!(LaunchAttribute, value),
            offset_of!(KernelNode, params),
            offset_of!(KernelNode, kernel),
            offset_of!(MemsetNode, width),
            offset_of!(NodeParams, body),
            offset_of!(NodeParams, reserved2),
            offset_of!(PoolProps, location),
            offset_of!(PoolProps, max_size),
            offset_of!(AllocNode, dptr),
            offset_of!(InstantiateParams, result),
            offset_of!(UpdateInfo, error_node),
            offset_of!(MemOp, value),
            offset_of!(MemOp, flags),
        ];
        let header = [
            24, 72, 120, 40, 144, 152, 192, 40, 80, 32, 8, 24, 40, 136, 16, 40, 40, 32, 40, 48, 8, 40, 56,
            24, 16, 248, 8, 24, 112, 24, 8, 16, 24,
        ];
        assert_eq!(got, header);
    }
}
