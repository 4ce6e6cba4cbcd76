// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error codes. `CUresult` and `cudaError_t` have shared their numbers since CUDA 10.1, so one type serves both APIs; their
//! names and sentences are in `code_names`.

use warpwatt_runtime::Error;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Code(pub i32);

pub type Result<T> = std::result::Result<T, Code>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:expr),* $(,)?) => {
        impl Code {
            $($(#[$doc])* pub const $name: Code = Code($value);)*
        }
    };
}

codes! {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    /// `CUDA_ERROR_NOT_INITIALIZED`, `cudaErrorInitializationError`.
    NOT_INITIALIZED = 3,
    DEINITIALIZED = 4,
    /// Of the runtime API alone; the driver API returns [`Code::INVALID_VALUE`].
    INVALID_CONFIGURATION = 9,
    INVALID_PITCH = 12,
    INVALID_SYMBOL = 13,
    INVALID_TEXTURE = 18,
    INVALID_TEXTURE_BINDING = 19,
    INVALID_CHANNEL_DESCRIPTOR = 20,
    INVALID_COPY_DIRECTION = 21,
    INSUFFICIENT_DRIVER = 35,
    MISSING_CONFIGURATION = 52,
    INVALID_DEVICE_FUNCTION = 98,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    ARRAY_IS_MAPPED = 207,
    NO_BINARY_FOR_GPU = 209,
    NOT_MAPPED_AS_ARRAY = 212,
    INVALID_PTX = 218,
    UNSUPPORTED_PTX_VERSION = 222,
    INVALID_SOURCE = 300,
    FILE_NOT_FOUND = 301,
    OPERATING_SYSTEM = 304,
    INVALID_HANDLE = 400,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_OUT_OF_RESOURCES = 701,
    LAUNCH_TIMEOUT = 702,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    PEER_ACCESS_NOT_ENABLED = 705,
    PRIMARY_CONTEXT_ACTIVE = 708,
    CONTEXT_IS_DESTROYED = 709,
    ASSERT = 710,
    HOST_MEMORY_ALREADY_REGISTERED = 712,
    HOST_MEMORY_NOT_REGISTERED = 713,
    HARDWARE_STACK_ERROR = 714,
    ILLEGAL_INSTRUCTION = 715,
    MISALIGNED_ADDRESS = 716,
    INVALID_ADDRESS_SPACE = 717,
    INVALID_PC = 718,
    LAUNCH_FAILED = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801,
    STREAM_CAPTURE_UNSUPPORTED = 900,
    STREAM_CAPTURE_INVALIDATED = 901,
    STREAM_CAPTURE_UNMATCHED = 903,
    STREAM_CAPTURE_UNJOINED = 904,
    STREAM_CAPTURE_ISOLATION = 905,
    STREAM_CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    STREAM_CAPTURE_WRONG_THREAD = 908,
    GRAPH_EXEC_UPDATE_FAILURE = 910,
    UNKNOWN = 999,
}

impl Code {
    /// The code that hardware answers a device's error with.
    pub fn of(error: &Error) -> Code {
        match error {
            Error::Ptx(refusal) => {
                match refusal.diagnostics.iter().any(|problem| problem.code == "ptx-version") {
                    true => Code::UNSUPPORTED_PTX_VERSION,
                    false => Code::INVALID_PTX,
                }
            }
            Error::UnknownKernel { .. } | Error::UnknownSymbol { .. } => Code::NOT_FOUND,
            Error::UnknownModule(_) | Error::Handle { .. } => Code::INVALID_HANDLE,
            Error::Launch { .. } => Code::LAUNCH_OUT_OF_RESOURCES,
            Error::OutOfMemory(_) => Code::OUT_OF_MEMORY,
            Error::Pointer { .. } => Code::INVALID_VALUE,
            Error::Fault(report) => Code::of_fault(report.code),
            Error::Corrupted(_) => Code::of_fault(error.code()),
            Error::Limit { .. } | Error::Interrupted { .. } | Error::StoppedBefore(_) => Code::LAUNCH_TIMEOUT,
            Error::Config(_) => Code::NO_DEVICE,
            Error::Internal(_) => Code::UNKNOWN,
        }
    }

    fn of_fault(kind: &str) -> Code {
        match kind {
            "out-of-bounds" | "use-after-free" => Code::ILLEGAL_ADDRESS,
            "misaligned" => Code::MISALIGNED_ADDRESS,
            "wrong-space" => Code::INVALID_ADDRESS_SPACE,
            "assert" => Code::ASSERT,
            "stack-overflow" => Code::HARDWARE_STACK_ERROR,
            "invalid-pc" => Code::INVALID_PC,
            "unsupported" => Code::ILLEGAL_INSTRUCTION,
            "barrier-deadlock" | "no-progress" => Code::LAUNCH_TIMEOUT,
            _ => Code::LAUNCH_FAILED,
        }
    }

    /// What a function of either API returns.
    pub fn from_result<T>(result: Result<T>) -> Code {
        match result {
            Ok(_) => Code::SUCCESS,
            Err(code) => code,
        }
    }
}
