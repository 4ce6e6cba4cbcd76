// SPDX-License-Identifier: MIT OR Apache-2.0
//! What codes are called in both APIs, and a sentence for each (`cudaGetErrorName`, `cudaGetErrorString`, `cuGetErrorName`,
//! `cuGetErrorString`). Names are those of `cudaError_t` and `CUresult` of CUDA 11.8 to 13.4; a dash says that an API has none.

use std::ffi::CStr;

use crate::core::code::Code;

struct Row {
    code: i32,
    runtime: Option<&'static CStr>,
    driver: Option<&'static CStr>,
    sentence: &'static CStr,
}

macro_rules! name {
    (-) => {
        None
    };
    ($name:literal) => {
        Some($name)
    };
}

macro_rules! rows {
    ($($code:literal $runtime:tt $driver:tt $sentence:literal;)*) => {
        &[$(Row { code: $code, runtime: name!($runtime), driver: name!($driver), sentence: $sentence }),*]
    };
}

/// Sorted by code.
static ROWS: &[Row] = rows! {
    0 c"cudaSuccess" c"CUDA_SUCCESS" c"no error";
    1 c"cudaErrorInvalidValue" c"CUDA_ERROR_INVALID_VALUE" c"invalid argument";
    2 c"cudaErrorMemoryAllocation" c"CUDA_ERROR_OUT_OF_MEMORY" c"out of memory";
    3 c"cudaErrorInitializationError" c"CUDA_ERROR_NOT_INITIALIZED" c"initialization error";
    4 c"cudaErrorCudartUnloading" c"CUDA_ERROR_DEINITIALIZED" c"driver shutting down";
    5 c"cudaErrorProfilerDisabled" c"CUDA_ERROR_PROFILER_DISABLED" c"profiler disabled";
    6 c"cudaErrorProfilerNotInitialized" c"CUDA_ERROR_PROFILER_NOT_INITIALIZED" c"profiler not initialized";
    7 c"cudaErrorProfilerAlreadyStarted" c"CUDA_ERROR_PROFILER_ALREADY_STARTED" c"profiler already started";
    8 c"cudaErrorProfilerAlreadyStopped" c"CUDA_ERROR_PROFILER_ALREADY_STOPPED" c"profiler already stopped";
    9 c"cudaErrorInvalidConfiguration" - c"invalid configuration argument";
    10 c"cudaErrorVersionTranslation" - c"no translation between these versions";
    12 c"cudaErrorInvalidPitchValue" - c"invalid pitch argument";
    13 c"cudaErrorInvalidSymbol" - c"invalid device symbol";
    16 c"cudaErrorInvalidHostPointer" - c"invalid host pointer";
    17 c"cudaErrorInvalidDevicePointer" - c"invalid device pointer";
    18 c"cudaErrorInvalidTexture" - c"invalid texture reference";
    19 c"cudaErrorInvalidTextureBinding" - c"texture is not bound to a pointer";
    20 c"cudaErrorInvalidChannelDescriptor" - c"invalid channel descriptor";
    21 c"cudaErrorInvalidMemcpyDirection" - c"invalid copy direction for memcpy";
    22 c"cudaErrorAddressOfConstant" - c"invalid address of constant";
    23 c"cudaErrorTextureFetchFailed" - c"fetch from texture failed";
    24 c"cudaErrorTextureNotBound" - c"texture not bound";
    25 c"cudaErrorSynchronizationError" - c"synchronization failed";
    26 c"cudaErrorInvalidFilterSetting" - c"filter mode does not fit the texture";
    27 c"cudaErrorInvalidNormSetting" - c"read mode does not fit the texture";
    28 c"cudaErrorMixedDeviceExecution" - c"device and emulated execution mixed";
    31 c"cudaErrorNotYetImplemented" - c"feature not yet implemented";
    32 c"cudaErrorMemoryValueTooLarge" - c"memory value too large";
    34 c"cudaErrorStubLibrary" c"CUDA_ERROR_STUB_LIBRARY" c"the driver is a stub library";
    35 c"cudaErrorInsufficientDriver" - c"driver version is older than the runtime needs";
    36 c"cudaErrorCallRequiresNewerDriver" c"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER" c"the call needs a newer driver";
    37 c"cudaErrorInvalidSurface" - c"invalid surface reference";
    43 c"cudaErrorDuplicateVariableName" - c"two variables have this name";
    44 c"cudaErrorDuplicateTextureName" - c"two textures have this name";
    45 c"cudaErrorDuplicateSurfaceName" - c"two surfaces have this name";
    46 c"cudaErrorDevicesUnavailable" c"CUDA_ERROR_DEVICE_UNAVAILABLE" c"device is busy or unavailable";
    47 - c"CUDA_ERROR_MULTICAST_RESOURCE_FULL" c"no multicast resources left";
    49 c"cudaErrorIncompatibleDriverContext" - c"incompatible driver context";
    52 c"cudaErrorMissingConfiguration" - c"no launch configuration was set";
    53 c"cudaErrorPriorLaunchFailure" - c"a previous launch failed";
    65 c"cudaErrorLaunchMaxDepthExceeded" - c"launches are nested too deeply";
    66 c"cudaErrorLaunchFileScopedTex" - c"a nested launch uses a texture of file scope";
    67 c"cudaErrorLaunchFileScopedSurf" - c"a nested launch uses a surface of file scope";
    68 c"cudaErrorSyncDepthExceeded" - c"device synchronization is nested too deeply";
    69 c"cudaErrorLaunchPendingCountExceeded" - c"too many pending nested launches";
    98 c"cudaErrorInvalidDeviceFunction" - c"invalid device function";
    100 c"cudaErrorNoDevice" c"CUDA_ERROR_NO_DEVICE" c"no CUDA-capable device is detected";
    101 c"cudaErrorInvalidDevice" c"CUDA_ERROR_INVALID_DEVICE" c"invalid device ordinal";
    102 c"cudaErrorDeviceNotLicensed" c"CUDA_ERROR_DEVICE_NOT_LICENSED" c"device has no licence for this";
    103 c"cudaErrorSoftwareValidityNotEstablished" - c"integrity checks failed";
    127 c"cudaErrorStartupFailure" - c"startup failure in the runtime";
    200 c"cudaErrorInvalidKernelImage" c"CUDA_ERROR_INVALID_IMAGE" c"device kernel image is invalid";
    201 c"cudaErrorDeviceUninitialized" c"CUDA_ERROR_INVALID_CONTEXT" c"invalid device context";
    202 - c"CUDA_ERROR_CONTEXT_ALREADY_CURRENT" c"context is already current";
    205 c"cudaErrorMapBufferObjectFailed" c"CUDA_ERROR_MAP_FAILED" c"mapping of a buffer failed";
    206 c"cudaErrorUnmapBufferObjectFailed" c"CUDA_ERROR_UNMAP_FAILED" c"unmapping of a buffer failed";
    207 c"cudaErrorArrayIsMapped" c"CUDA_ERROR_ARRAY_IS_MAPPED" c"array is mapped";
    208 c"cudaErrorAlreadyMapped" c"CUDA_ERROR_ALREADY_MAPPED" c"resource already mapped";
    209 c"cudaErrorNoKernelImageForDevice" c"CUDA_ERROR_NO_BINARY_FOR_GPU"
        c"no kernel image is available for execution on the device";
    210 c"cudaErrorAlreadyAcquired" c"CUDA_ERROR_ALREADY_ACQUIRED" c"resource already acquired";
    211 c"cudaErrorNotMapped" c"CUDA_ERROR_NOT_MAPPED" c"resource not mapped";
    212 c"cudaErrorNotMappedAsArray" c"CUDA_ERROR_NOT_MAPPED_AS_ARRAY" c"resource not mapped as array";
    213 c"cudaErrorNotMappedAsPointer" c"CUDA_ERROR_NOT_MAPPED_AS_POINTER" c"resource not mapped as pointer";
    214 c"cudaErrorECCUncorrectable" c"CUDA_ERROR_ECC_UNCORRECTABLE" c"uncorrectable memory error";
    215 c"cudaErrorUnsupportedLimit" c"CUDA_ERROR_UNSUPPORTED_LIMIT" c"limit is not supported";
    216 c"cudaErrorDeviceAlreadyInUse" c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE" c"another thread uses the device exclusively";
    217 c"cudaErrorPeerAccessUnsupported" c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" c"no peer access between these devices";
    218 c"cudaErrorInvalidPtx" c"CUDA_ERROR_INVALID_PTX" c"a PTX JIT compilation failed";
    219 c"cudaErrorInvalidGraphicsContext" c"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT" c"invalid graphics context";
    220 c"cudaErrorNvlinkUncorrectable" c"CUDA_ERROR_NVLINK_UNCORRECTABLE" c"uncorrectable link error";
    221 c"cudaErrorJitCompilerNotFound" c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND" c"PTX compiler not found";
    222 c"cudaErrorUnsupportedPtxVersion" c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        c"the provided PTX was compiled with an unsupported toolchain.";
    223 c"cudaErrorJitCompilationDisabled" c"CUDA_ERROR_JIT_COMPILATION_DISABLED" c"PTX compilation is switched off";
    224 c"cudaErrorUnsupportedExecAffinity" c"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY" c"affinity is not supported";
    225 c"cudaErrorUnsupportedDevSideSync" c"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC" c"device code calls cudaDeviceSynchronize";
    226 c"cudaErrorContained" c"CUDA_ERROR_CONTAINED" c"contained memory error";
    227 c"cudaErrorInsufficientLoaderVersion" c"CUDA_ERROR_INSUFFICIENT_LOADER_VERSION" c"the loader is too old";
    300 c"cudaErrorInvalidSource" c"CUDA_ERROR_INVALID_SOURCE" c"device kernel source is invalid";
    301 c"cudaErrorFileNotFound" c"CUDA_ERROR_FILE_NOT_FOUND" c"file not found";
    302 c"cudaErrorSharedObjectSymbolNotFound" c"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"
        c"symbol of a shared object not found";
    303 c"cudaErrorSharedObjectInitFailed" c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED" c"shared object failed to start";
    304 c"cudaErrorOperatingSystem" c"CUDA_ERROR_OPERATING_SYSTEM" c"a call of the operating system failed";
    400 c"cudaErrorInvalidResourceHandle" c"CUDA_ERROR_INVALID_HANDLE" c"invalid resource handle";
    401 c"cudaErrorIllegalState" c"CUDA_ERROR_ILLEGAL_STATE" c"the operation cannot be done in the present state";
    402 c"cudaErrorLossyQuery" c"CUDA_ERROR_LOSSY_QUERY" c"the query would lose information";
    500 c"cudaErrorSymbolNotFound" c"CUDA_ERROR_NOT_FOUND" c"named symbol not found";
    600 c"cudaErrorNotReady" c"CUDA_ERROR_NOT_READY" c"device not ready";
    700 c"cudaErrorIllegalAddress" c"CUDA_ERROR_ILLEGAL_ADDRESS" c"an illegal memory access was encountered";
    701 c"cudaErrorLaunchOutOfResources" c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" c"too many resources requested for launch";
    702 c"cudaErrorLaunchTimeout" c"CUDA_ERROR_LAUNCH_TIMEOUT" c"the launch timed out and was terminated";
    703 c"cudaErrorLaunchIncompatibleTexturing" c"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING"
        c"launch with incompatible texturing mode";
    704 c"cudaErrorPeerAccessAlreadyEnabled" c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" c"peer access is already enabled";
    705 c"cudaErrorPeerAccessNotEnabled" c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" c"peer access has not been enabled";
    708 c"cudaErrorSetOnActiveProcess" c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" c"cannot be set while the process is active";
    709 c"cudaErrorContextIsDestroyed" c"CUDA_ERROR_CONTEXT_IS_DESTROYED" c"context is destroyed";
    710 c"cudaErrorAssert" c"CUDA_ERROR_ASSERT" c"device-side assert triggered";
    711 c"cudaErrorTooManyPeers" c"CUDA_ERROR_TOO_MANY_PEERS" c"peer resources are exhausted";
    712 c"cudaErrorHostMemoryAlreadyRegistered" c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"
        c"part or all of the requested memory range is already mapped";
    713 c"cudaErrorHostMemoryNotRegistered" c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"
        c"pointer does not correspond to a registered memory region";
    714 c"cudaErrorHardwareStackError" c"CUDA_ERROR_HARDWARE_STACK_ERROR" c"hardware stack error";
    715 c"cudaErrorIllegalInstruction" c"CUDA_ERROR_ILLEGAL_INSTRUCTION" c"an illegal instruction was encountered";
    716 c"cudaErrorMisalignedAddress" c"CUDA_ERROR_MISALIGNED_ADDRESS" c"misaligned address";
    717 c"cudaErrorInvalidAddressSpace" c"CUDA_ERROR_INVALID_ADDRESS_SPACE"
        c"operation not supported on global/shared address space";
    718 c"cudaErrorInvalidPc" c"CUDA_ERROR_INVALID_PC" c"invalid program counter";
    719 c"cudaErrorLaunchFailure" c"CUDA_ERROR_LAUNCH_FAILED" c"unspecified launch failure";
    720 c"cudaErrorCooperativeLaunchTooLarge" c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
        c"too many blocks in cooperative launch";
    721 c"cudaErrorTensorMemoryLeak" c"CUDA_ERROR_TENSOR_MEMORY_LEAK" c"tensor memory was not freed";
    800 c"cudaErrorNotPermitted" c"CUDA_ERROR_NOT_PERMITTED" c"operation not permitted";
    801 c"cudaErrorNotSupported" c"CUDA_ERROR_NOT_SUPPORTED" c"operation not supported";
    802 c"cudaErrorSystemNotReady" c"CUDA_ERROR_SYSTEM_NOT_READY" c"system not yet initialized";
    803 c"cudaErrorSystemDriverMismatch" c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" c"driver and kernel module differ";
    804 c"cudaErrorCompatNotSupportedOnDevice" c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"
        c"forward compatibility is not supported on this device";
    805 c"cudaErrorMpsConnectionFailed" c"CUDA_ERROR_MPS_CONNECTION_FAILED" c"no connection to the MPS server";
    806 c"cudaErrorMpsRpcFailure" c"CUDA_ERROR_MPS_RPC_FAILURE" c"call to the MPS server failed";
    807 c"cudaErrorMpsServerNotReady" c"CUDA_ERROR_MPS_SERVER_NOT_READY" c"MPS server is not ready";
    808 c"cudaErrorMpsMaxClientsReached" c"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED" c"MPS server has too many clients";
    809 c"cudaErrorMpsMaxConnectionsReached" c"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"
        c"MPS server has too many connections";
    810 c"cudaErrorMpsClientTerminated" c"CUDA_ERROR_MPS_CLIENT_TERMINATED" c"MPS server ended this client";
    811 c"cudaErrorCdpNotSupported" c"CUDA_ERROR_CDP_NOT_SUPPORTED" c"dynamic parallelism is not supported";
    812 c"cudaErrorCdpVersionMismatch" c"CUDA_ERROR_CDP_VERSION_MISMATCH" c"versions of nested launches do not mix";
    900 c"cudaErrorStreamCaptureUnsupported" c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
        c"operation not permitted when stream is capturing";
    901 c"cudaErrorStreamCaptureInvalidated" c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
        c"operation failed due to a previous error during capture";
    902 c"cudaErrorStreamCaptureMerge" c"CUDA_ERROR_STREAM_CAPTURE_MERGE" c"two captures would merge";
    903 c"cudaErrorStreamCaptureUnmatched" c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" c"capture was not begun in this stream";
    904 c"cudaErrorStreamCaptureUnjoined" c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
        c"capture has streams that did not join its first one";
    905 c"cudaErrorStreamCaptureIsolation" c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
        c"capture would depend on work that is not captured";
    906 c"cudaErrorStreamCaptureImplicit" c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
        c"operation would make the legacy stream depend on a capturing blocking stream";
    907 c"cudaErrorCapturedEvent" c"CUDA_ERROR_CAPTURED_EVENT" c"event was last recorded in a capturing stream";
    908 c"cudaErrorStreamCaptureWrongThread" c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"
        c"capture was begun by another thread";
    909 c"cudaErrorTimeout" c"CUDA_ERROR_TIMEOUT" c"wait operation timed out";
    910 c"cudaErrorGraphExecUpdateFailure" c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"
        c"the graph update was not performed because it changes what cannot be updated";
    911 c"cudaErrorExternalDevice" c"CUDA_ERROR_EXTERNAL_DEVICE" c"error of a device outside of CUDA";
    912 c"cudaErrorInvalidClusterSize" c"CUDA_ERROR_INVALID_CLUSTER_SIZE" c"invalid cluster size";
    913 c"cudaErrorFunctionNotLoaded" c"CUDA_ERROR_FUNCTION_NOT_LOADED" c"function is not loaded";
    914 c"cudaErrorInvalidResourceType" c"CUDA_ERROR_INVALID_RESOURCE_TYPE" c"resources are of the wrong type";
    915 c"cudaErrorInvalidResourceConfiguration" c"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"
        c"resources are too few or do not fit together";
    916 - c"CUDA_ERROR_KEY_ROTATION" c"keys are being exchanged";
    917 c"cudaErrorStreamDetached" c"CUDA_ERROR_STREAM_DETACHED" c"stream is detached from its context";
    918 c"cudaErrorGraphRecaptureFailure" c"CUDA_ERROR_GRAPH_RECAPTURE_FAILURE" c"capture into the graph again failed";
    919 c"cudaErrorFabricNotReady" c"CUDA_ERROR_FABRIC_NOT_READY" c"fabric is not ready";
    999 c"cudaErrorUnknown" c"CUDA_ERROR_UNKNOWN" c"unknown error";
    10000 c"cudaErrorApiFailureBase" - c"api failure base";
};

fn row(code: i32) -> Option<&'static Row> {
    ROWS.binary_search_by_key(&code, |row| row.code).ok().map(|index| &ROWS[index])
}

impl Code {
    /// As in `cudaError_t`; `None` for a number that the runtime API does not have.
    pub fn runtime_name(self) -> Option<&'static CStr> {
        row(self.0)?.runtime
    }

    /// As in `CUresult`.
    pub fn driver_name(self) -> Option<&'static CStr> {
        row(self.0)?.driver
    }

    /// The description of the code; `None` for a number that neither API has.
    pub fn sentence(self) -> Option<&'static CStr> {
        row(self.0).map(|row| row.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_every_code_of_ours_has_a_name() {
        assert!(ROWS.windows(2).all(|pair| pair[0].code < pair[1].code));
        for code in [Code::NOT_SUPPORTED, Code::ILLEGAL_ADDRESS, Code::INVALID_CONFIGURATION, Code::UNKNOWN] {
            assert!(code.runtime_name().is_some() && code.sentence().is_some(), "{code:?}");
        }
        assert_eq!(Code::INVALID_HANDLE.runtime_name(), Some(c"cudaErrorInvalidResourceHandle"));
        assert_eq!(Code::INVALID_HANDLE.driver_name(), Some(c"CUDA_ERROR_INVALID_HANDLE"));
        assert_eq!(Code::INVALID_CONFIGURATION.driver_name(), None, "every code exists in the driver API");
        assert_eq!(Code(12345).sentence(), None);
    }
}
