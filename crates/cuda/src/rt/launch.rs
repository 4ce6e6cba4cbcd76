// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of kernels, which are named by the host function of the same name, or by a handle.

use std::ffi::c_void;

use crate::abi::runtime::{Dim3, LaunchAttribute, LaunchConfig, StreamHandle};
use crate::core::launch::{Arguments, Launch};
use crate::core::{Code, Result};
use crate::rt::api::{get, list, runtime};
use crate::rt::{registry, with};

/// How a kernel is to be launched.
struct Request {
    function: u64,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: StreamHandle,
    per_thread: bool,
    cooperative: bool,
}

/// `cudaLaunchParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LaunchParams {
    function: u64,
    grid: Dim3,
    block: Dim3,
    args: *const *const c_void,
    shared: usize,
    stream: StreamHandle,
}

/// The attributes of a launch that have an effect.
#[derive(Default)]
struct Requested {
    cooperative: bool,
    /// Events that are to be recorded when the kernel is done or under way.
    events: Vec<u64>,
}

/// `cudaLaunchAttributeID`: cooperative 2, cluster dimension 4, programmatic event 7, launch completion event 12. The others are
/// hints about caches, priority and overlap.
fn requested(attributes: &[LaunchAttribute]) -> Result<Requested> {
    let mut requested = Requested::default();
    for attribute in attributes {
        let first = attribute.value[0];
        match attribute.id {
            2 => requested.cooperative = first as u32 != 0,
            4 => {
                let cluster = [first as u32, (first >> 32) as u32, attribute.value[1] as u32];
                if cluster.iter().any(|&n| n > 1) {
                    // `cudaErrorInvalidClusterSize`: devices of this capability have no clusters.
                    return Err(Code(912));
                }
            }
            7 | 12 => requested.events.push(first),
            0 | 1 | 3 | 5 | 6 | 8..=11 | 13..=18 => (),
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    Ok(requested)
}

pub(super) fn dims(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}

/// # Safety
/// `args` leads to one value for each of the kernel's parameters.
unsafe fn launch(request: &Request, args: *const *const c_void, events: &[u64]) -> Result<()> {
    let shared = u32::try_from(request.shared).map_err(|_| Code::INVALID_VALUE)?;
    with(|core| {
        let function = registry::function(core, request.function)?;
        let stream = core.stream(request.stream, request.per_thread)?;
        // SAFETY: as the caller vouches.
        let args = unsafe { core.arguments(function, Arguments::Pointers(args)) }?;
        let (grid, block) = (dims(request.grid), dims(request.block));
        let cooperative = request.cooperative;
        core.launch(stream, Launch { function, grid, block, shared, cooperative, args })?;
        events.iter().try_for_each(|&event| core.record(event, stream))
    })
}

runtime! {
    all fn cudaLaunchKernel | cudaLaunchKernel_ptsz [per_thread] (
        function: u64, grid: Dim3, block: Dim3, args: *const *const c_void, shared: usize, stream: StreamHandle,
    ) unsafe {
        let request = Request { function, grid, block, shared, stream, per_thread, cooperative: false };
        launch(&request, args, &[])
    }

    since12 fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz [per_thread] (
        function: u64, grid: Dim3, block: Dim3, args: *const *const c_void, shared: usize, stream: StreamHandle,
    ) unsafe {
        let request = Request { function, grid, block, shared, stream, per_thread, cooperative: false };
        launch(&request, args, &[])
    }

    all fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz [per_thread] (
        function: u64, grid: Dim3, block: Dim3, args: *const *const c_void, shared: usize, stream: StreamHandle,
    ) unsafe {
        let request = Request { function, grid, block, shared, stream, per_thread, cooperative: true };
        launch(&request, args, &[])
    }

    // One device is all there is, and its part of such a launch is an ordinary cooperative one.
    until12 fn cudaLaunchCooperativeKernelMultiDevice(list_of: *const LaunchParams, count: u32, flags: u32) unsafe {
        if flags & !3 != 0 || count != 1 {
            return Err(Code::INVALID_VALUE);
        }
        let LaunchParams { function, grid, block, args, shared, stream } = get(list_of)?;
        let request = Request { function, grid, block, shared, stream, per_thread: false, cooperative: true };
        launch(&request, args, &[])
    }

    all fn cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz [per_thread] (
        config: *const LaunchConfig, function: u64, args: *const *const c_void,
    ) unsafe {
        let config = get(config)?;
        let Requested { cooperative, events } = requested(&list(config.attributes, config.count as usize)?)?;
        let LaunchConfig { grid, block, shared, stream, .. } = config;
        let request = Request { function, grid, block, shared, stream, per_thread, cooperative };
        launch(&request, args, &events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_matter_are_seen_and_clusters_refused() {
        let attribute = |id, value: [u64; 2]| {
            let mut words = [0; 8];
            words[..2].copy_from_slice(&value);
            LaunchAttribute { id, pad: 0, value: words }
        };
        let seen = requested(&[attribute(2, [1, 0]), attribute(7, [99, 0]), attribute(6, [1, 0])]).unwrap();
        assert!(seen.cooperative);
        assert_eq!(seen.events, [99]);
        assert!(requested(&[attribute(4, [1 | (1 << 32), 1])]).is_ok());
        assert_eq!(requested(&[attribute(4, [2 | (1 << 32), 1])]).err(), Some(Code(912)));
        assert_eq!(requested(&[attribute(77, [0, 0])]).err(), Some(Code::INVALID_VALUE));
    }
}
