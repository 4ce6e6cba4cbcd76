// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cudaDeviceProp` in its three layouts, as a table: where each field is, and which device attribute it repeats. Both come from
//! one source, so that properties and attributes cannot disagree. Offsets are what a C compiler found in the headers of 11.8, 12.9
//! and 13.4.

/// Layouts of the structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// 11.8, and `cudaGetDeviceProperties` of 12 for programs that were built for 11.
    V11,
    V12,
    V13,
}

impl Layout {
    pub fn bytes(self) -> usize {
        match self {
            Layout::V11 => 728,
            Layout::V12 => 1032,
            Layout::V13 => 1008,
        }
    }

    fn column(self) -> usize {
        usize::from(self == Layout::V13)
    }
}

/// What the attributes do not say.
pub struct Identity<'a> {
    pub name: &'a str,
    pub uuid: [u8; 16],
    pub memory_bytes: u64,
}

/// A field that a layout does not have.
const NONE: u16 = u16::MAX;

/// Attribute (`cudaDeviceAttr`), offset up to 12, offset in 13.
static INTS: &[(i32, u16, u16)] = &[
    (12, 304, 304), // regsPerBlock
    (10, 308, 308), // warpSize
    (1, 320, 320),  // maxThreadsPerBlock
    (2, 324, 324),  // maxThreadsDim
    (3, 328, 328),
    (4, 332, 332),
    (5, 336, 336), // maxGridSize
    (6, 340, 340),
    (7, 344, 344),
    (13, 348, NONE), // clockRate
    (75, 360, 360),  // major
    (76, 364, 364),  // minor
    (15, 384, NONE), // deviceOverlap
    (16, 388, 384),  // multiProcessorCount
    (17, 392, NONE), // kernelExecTimeoutEnabled
    (18, 396, 388),  // integrated
    (19, 400, 392),  // canMapHostMemory
    (20, 404, NONE), // computeMode
    (21, 408, 396),  // maxTexture1D
    (77, 412, 400),  // maxTexture1DMipmap
    (69, 416, NONE), // maxTexture1DLinear
    (22, 420, 404),  // maxTexture2D
    (23, 424, 408),
    (73, 428, 412), // maxTexture2DMipmap
    (74, 432, 416),
    (70, 436, 420), // maxTexture2DLinear
    (71, 440, 424),
    (72, 444, 428),
    (45, 448, 432), // maxTexture2DGather
    (46, 452, 436),
    (24, 456, 440), // maxTexture3D
    (25, 460, 444),
    (26, 464, 448),
    (47, 468, 452), // maxTexture3DAlt
    (48, 472, 456),
    (49, 476, 460),
    (52, 480, 464), // maxTextureCubemap
    (42, 484, 468), // maxTexture1DLayered
    (43, 488, 472),
    (27, 492, 476), // maxTexture2DLayered
    (28, 496, 480),
    (29, 500, 484),
    (53, 504, 488), // maxTextureCubemapLayered
    (54, 508, 492),
    (55, 512, 496), // maxSurface1D
    (56, 516, 500), // maxSurface2D
    (57, 520, 504),
    (58, 524, 508), // maxSurface3D
    (59, 528, 512),
    (60, 532, 516),
    (61, 536, 520), // maxSurface1DLayered
    (62, 540, 524),
    (63, 544, 528), // maxSurface2DLayered
    (64, 548, 532),
    (65, 552, 536),
    (66, 556, 540), // maxSurfaceCubemap
    (67, 560, 544), // maxSurfaceCubemapLayered
    (68, 564, 548),
    (31, 576, 560),  // concurrentKernels
    (32, 580, 564),  // ECCEnabled
    (33, 584, 568),  // pciBusID
    (34, 588, 572),  // pciDeviceID
    (50, 592, 576),  // pciDomainID
    (35, 596, 580),  // tccDriver
    (40, 600, 584),  // asyncEngineCount
    (41, 604, 588),  // unifiedAddressing
    (36, 608, NONE), // memoryClockRate
    (37, 612, 592),  // memoryBusWidth
    (38, 616, 596),  // l2CacheSize
    (108, 620, 600), // persistingL2CacheMaxSize
    (39, 624, 604),  // maxThreadsPerMultiProcessor
    (78, 628, 608),  // streamPrioritiesSupported
    (79, 632, 612),  // globalL1CacheSupported
    (80, 636, 616),  // localL1CacheSupported
    (82, 648, 632),  // regsPerMultiprocessor
    (83, 652, 636),  // managedMemory
    (84, 656, 640),  // isMultiGpuBoard
    (85, 660, 644),  // multiGpuBoardGroupID
    (86, 664, 648),  // hostNativeAtomicSupported
    (87, 668, NONE), // singleToDoublePrecisionPerfRatio
    (88, 672, 652),  // pageableMemoryAccess
    (89, 676, 656),  // concurrentManagedAccess
    (90, 680, 660),  // computePreemptionSupported
    (91, 684, 664),  // canUseHostPointerForRegisteredMem
    (95, 688, 668),  // cooperativeLaunch
    (96, 692, NONE), // cooperativeMultiDeviceLaunch
    (100, 704, 680), // pageableMemoryAccessUsesHostPageTables
    (101, 708, 684), // directManagedMemAccessFromHost
    (106, 712, 688), // maxBlocksPerMultiProcessor
    (109, 716, 692), // accessPolicyMaxWindowSize
];

/// Attribute and offsets in both layouts of the fields of type `size_t`.
static SIZES: &[(i32, u16, u16)] = &[
    (8, 296, 296),   // sharedMemPerBlock
    (11, 312, 312),  // memPitch
    (9, 352, 352),   // totalConstMem
    (14, 368, 368),  // textureAlignment
    (51, 376, 376),  // texturePitchAlignment
    (30, 568, 552),  // surfaceAlignment
    (81, 640, 624),  // sharedMemPerMultiprocessor
    (97, 696, 672),  // sharedMemPerBlockOptin
    (111, 720, 696), // reservedSharedMemPerBlock
];

/// Fields that came with 12: attribute, offset in 12, offset in 13.
static SINCE_12: &[(i32, u16, u16)] = &[
    (99, 728, 704),  // hostRegisterSupported
    (112, 732, 708), // sparseCudaArraySupported
    (113, 736, 712), // hostRegisterReadOnlySupported
    (114, 740, 716), // timelineSemaphoreInteropSupported
    (115, 744, 720), // memoryPoolsSupported
    (116, 748, 724), // gpuDirectRDMASupported
    (117, 752, 728), // gpuDirectRDMAFlushWritesOptions
    (118, 756, 732), // gpuDirectRDMAWritesOrdering
    (119, 760, 736), // memoryPoolSupportedHandleTypes
    (121, 764, 740), // deferredMappingCudaArraySupported
    (125, 768, 744), // ipcEventSupported
    (120, 772, 748), // clusterLaunch
    (129, 776, 752), // unifiedFunctionPointers
];

/// Fields that came with 13. Nodes of memory and the numbers of the board are those of a device that has none.
static SINCE_13: &[(i32, u16)] = &[(130, 756), (131, 760), (133, 764), (134, 768)];

/// The structure's bytes. An attribute that the device does not know reads as zero.
pub fn properties(layout: Layout, identity: &Identity, attribute: impl Fn(i32) -> Option<i32>) -> Vec<u8> {
    let mut bytes = vec![0u8; layout.bytes()];
    let mut put = |at: u16, value: &[u8]| {
        if let Some(place) = bytes.get_mut(usize::from(at)..usize::from(at) + value.len()) {
            place.copy_from_slice(value);
        }
    };
    let name: Vec<u8> = identity.name.bytes().take(255).collect();
    put(0, &name);
    put(256, &identity.uuid);
    put(288, &identity.memory_bytes.to_ne_bytes());
    let at = |row: &(i32, u16, u16)| [row.1, row.2][layout.column()];
    let value = |attr: i32| attribute(attr).unwrap_or(0);
    for row in INTS.iter().filter(|row| at(row) != NONE) {
        put(at(row), &value(row.0).to_ne_bytes());
    }
    for row in SIZES {
        put(at(row), &(value(row.0).max(0) as u64).to_ne_bytes());
    }
    if layout != Layout::V11 {
        for row in SINCE_12 {
            put(at(row), &value(row.0).to_ne_bytes());
        }
    }
    if layout == Layout::V13 {
        for &(attr, at) in SINCE_13 {
            put(at, &value(attr).to_ne_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(bytes: &[u8], at: usize) -> i32 {
        i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn every_layout_has_its_fields_where_the_headers_put_them() {
        let identity = Identity { name: "card", uuid: [7; 16], memory_bytes: 1 << 30 };
        let of = |layout| properties(layout, &identity, |attr| Some(1000 + attr));
        for (layout, multiprocessors, blocks) in
            [(Layout::V11, 388, 712), (Layout::V12, 388, 712), (Layout::V13, 384, 688)]
        {
            let bytes = of(layout);
            assert_eq!(bytes.len(), layout.bytes());
            assert_eq!(&bytes[..5], b"card\0");
            assert_eq!(int(&bytes, multiprocessors), 1016, "{layout:?}");
            assert_eq!(int(&bytes, blocks), 1106, "{layout:?}");
            assert_eq!((int(&bytes, 360), int(&bytes, 364)), (1075, 1076), "{layout:?}");
        }
        assert_eq!(int(&of(Layout::V12), 744), 1115);
        assert_eq!(int(&of(Layout::V13), 720), 1115);
        assert_eq!(int(&of(Layout::V13), 780), 0);
    }

    #[test]
    fn no_two_fields_overlap() {
        for layout in [Layout::V12, Layout::V13] {
            let at = |row: &(i32, u16, u16)| [row.1, row.2][layout.column()];
            let mut places: Vec<(u16, u16)> = INTS.iter().chain(SINCE_12).map(|row| (at(row), 4)).collect();
            places.extend(SIZES.iter().map(|row| (at(row), 8)));
            places.extend([(0, 256), (256, 16), (288, 8)]);
            places.retain(|place| place.0 != NONE);
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{layout:?}");
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_terminated() {
        let name = "x".repeat(400);
        let identity = Identity { name: &name, uuid: [0; 16], memory_bytes: 0 };
        let bytes = properties(Layout::V11, &identity, |_| None);
        assert_eq!((bytes[254], bytes[255]), (b'x', 0));
    }
}
