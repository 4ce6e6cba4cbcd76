// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one device and its properties.

use std::ffi::c_char;

use crate::abi::driver::{DeviceProperties, Uuid};
use crate::core::info::Limits;
use crate::core::{Code, Result, with_faulted};
use crate::driver::attributes::{attribute, linear_texture_width};
use crate::driver::entry::check_initialized;
use crate::driver::{In, Out, Text, api};

pub const PCI_BUS_ID: &str = "0000:01:00.0";

pub(crate) fn check(device: i32) -> Result<()> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

/// What the device is, whatever happened to it.
pub(crate) fn limits() -> Result<Limits> {
    check_initialized()?;
    with_faulted(|core| Ok(core.limits()))
}

/// Writes as much of a text as there is room for, and zeros to the end of the room, on which clients rely.
pub(crate) fn put_text(to: Out<c_char>, room: i32, text: &str) -> Result<()> {
    let room = usize::try_from(room).ok().filter(|&room| room > 0).ok_or(Code::INVALID_VALUE)?;
    let shown = text.bytes().take(room - 1).chain(std::iter::repeat(0)).take(room);
    to.put_all(shown.map(|byte| byte as c_char))
}

api! {
    fn cuDeviceGetCount(count: Out<i32>) {
        check_initialized()?;
        count.put(1)
    }

    fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        check_initialized()?;
        device.check()?;
        check(ordinal)?;
        device.put(0)
    }

    fn cuDeviceGetName(name: Out<c_char>, room: i32, device: i32) {
        let limits = limits()?;
        check(device)?;
        put_text(name, room, &limits.name)
    }

    fn cuDeviceGetUuid_v2 [also cuDeviceGetUuid] (uuid: Out<Uuid>, device: i32) {
        let limits = limits()?;
        check(device)?;
        uuid.put(limits.uuid)
    }

    fn cuDeviceGetLuid(_luid: Out<u64>, _nodes: Out<u32>, device: i32) {
        check_initialized()?;
        check(device)?;
        // Windows has these.
        Err(Code::NOT_SUPPORTED)
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        let limits = limits()?;
        check(device)?;
        bytes.put(limits.total_memory as usize)
    }

    fn cuDeviceTotalMem(bytes: Out<u32>, device: i32) {
        let limits = limits()?;
        check(device)?;
        bytes.put(u32::try_from(limits.total_memory).unwrap_or(u32::MAX))
    }

    fn cuDeviceGetAttribute(value: Out<i32>, number: i32, device: i32) {
        let limits = limits()?;
        value.check()?;
        check(device)?;
        value.put(attribute(&limits, number)?)
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        let limits = limits()?;
        check(device)?;
        major.check()?;
        minor.put(attribute(&limits, 76)?)?;
        major.put(attribute(&limits, 75)?)
    }

    fn cuDeviceGetProperties(properties: Out<DeviceProperties>, device: i32) {
        let limits = limits()?;
        check(device)?;
        let of = |number| attribute(&limits, number);
        properties.put(DeviceProperties {
            max_threads_per_block: of(1)?,
            max_block: [of(2)?, of(3)?, of(4)?],
            max_grid: [of(5)?, of(6)?, of(7)?],
            shared_per_block: of(8)?,
            constant_bytes: of(9)?,
            warp: of(10)?,
            max_pitch: of(11)?,
            registers_per_block: of(12)?,
            clock_khz: of(13)?,
            texture_align: of(14)?,
        })
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(width: Out<usize>, format: u32, channels: u32, device: i32) {
        check_initialized()?;
        check(device)?;
        let format = crate::driver::image::format(format, channels)?;
        width.put(linear_texture_width(u64::from(format.texel_bytes())) as usize)
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, id: Text) {
        check_initialized()?;
        device.check()?;
        let id = id.get()?.to_ascii_lowercase();
        // The domain and the function may be left out.
        if [PCI_BUS_ID, "01:00.0", "0000:01:00", "01:00"].contains(&id.as_str()) {
            return device.put(0);
        }
        Err(Code::INVALID_DEVICE)
    }

    fn cuDeviceGetPCIBusId(id: Out<c_char>, room: i32, device: i32) {
        check_initialized()?;
        check(device)?;
        if room <= PCI_BUS_ID.len() as i32 {
            return Err(Code::INVALID_VALUE);
        }
        put_text(id, room, PCI_BUS_ID)
    }

    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        check_initialized()?;
        can.check()?;
        check(device)?;
        check(peer)?;
        can.put(0)
    }

    fn cuDeviceGetP2PAttribute(value: Out<i32>, number: u32, from: i32, to: i32) {
        check_initialized()?;
        value.check()?;
        check(from)?;
        check(to)?;
        if !(1..=5).contains(&number) {
            return Err(Code::INVALID_VALUE);
        }
        // There is no pair of devices.
        Err(Code::INVALID_DEVICE)
    }

    fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, kind: u32, device: i32) {
        check_initialized()?;
        check(device)?;
        if kind != 0 {
            return Err(Code::INVALID_VALUE);
        }
        supported.put(0)
    }

    fn cuDeviceGetHostAtomicCapabilities(capabilities: Out<u32>, operations: In<u32>, count: u32, device: i32) {
        check_initialized()?;
        check(device)?;
        let operations = operations.list(count as usize)?;
        // The host's memory is the device's: what the device can do there it does as on its own.
        capabilities.put_all(operations.iter().map(|_| 0))
    }

    fn cuDeviceGraphMemTrim(device: i32) {
        check_initialized()?;
        check(device)
    }

    fn cuDeviceGetGraphMemAttribute(device: i32, number: u32, value: Out<u64>) {
        check_initialized()?;
        check(device)?;
        if number > 3 {
            return Err(Code::INVALID_VALUE);
        }
        // Memory of graphs is counted in the pool that it is taken from.
        value.put(0)
    }

    fn cuDeviceSetGraphMemAttribute(device: i32, number: u32, value: In<u64>) {
        check_initialized()?;
        check(device)?;
        // Only high-water marks can be set, and only to 0.
        if !matches!(number, 1 | 3) || value.get()? != 0 {
            return Err(Code::INVALID_VALUE);
        }
        Ok(())
    }
}
