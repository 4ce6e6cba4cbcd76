// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time on a device, in its core cycles: the host's clock, and the engines that copy between host and device.
//!
//! Host code takes no time; its clock moves when it waits. There is one engine in each direction, which does one copy at a time, beside
//! kernels (CUDA C++ Programming Guide, "Concurrent Data Transfers"). A functional device has cycles of a nanosecond and nominal rates.

use warpwatt_config::Config;

/// What a copy moves bytes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    ToDevice,
    FromDevice,
    /// Within device memory, at the memory's peak rate.
    OnDevice,
    /// Within the host's memory: as fast as the link, without keeping it busy.
    OnHost,
}

/// A copy or a fill, when it is noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySpan {
    /// `to_device`, `from_device`, `on_device` or `on_host`.
    pub way: &'static str,
    pub bytes: u64,
    pub start_cycle: u64,
    pub end_cycle: u64,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::ToDevice => "to_device",
            Way::FromDevice => "from_device",
            Way::OnDevice => "on_device",
            Way::OnHost => "on_host",
        }
    }
}

pub(crate) struct Clock {
    mhz: u64,
    latency_ns: u64,
    /// Megabytes per second between host and device, and of device memory.
    host_mbs: u64,
    device_mbs: u64,
    /// How far the host has seen time pass.
    pub host: u64,
    /// When each engine has done what it was given.
    to_device: u64,
    from_device: u64,
    /// When a functional device has run the kernels it was given.
    kernels: u64,
    /// When timed kernels ended that the host has not waited for, and the delay until a host that waits for one continues.
    kernel_ends: Vec<u64>,
    host_wait: u64,
    /// Copies so far, if they are noted.
    pub copies: Option<Vec<CopySpan>>,
}

impl Clock {
    /// The clock of a timed device.
    pub fn of(config: &Config) -> Clock {
        Clock {
            mhz: config.clock.core_mhz.into(),
            latency_ns: config.pcie.latency_ns.into(),
            host_mbs: config.pcie.bandwidth_mbs.into(),
            device_mbs: config.dram_peak_bytes_per_second() / 1_000_000,
            host_wait: config.gpu.host_wait_cycles.into(),
            ..Clock::nominal()
        }
    }

    /// The clock of a functional device: 5 µs and 6 GB/s for copies, 150 GB/s for device memory.
    pub fn nominal() -> Clock {
        Clock {
            mhz: 1000,
            latency_ns: 5000,
            host_mbs: 6000,
            device_mbs: 150_000,
            host: 0,
            to_device: 0,
            from_device: 0,
            kernels: 0,
            kernel_ends: Vec::new(),
            host_wait: 0,
            copies: None,
        }
    }

    /// The host has waited for what ends at `end`. A kernel, or the event right behind it, is noticed later; the time of a copy has that in it.
    pub fn wait_until(&mut self, end: u64) {
        if end <= self.host {
            return;
        }
        let is_kernel = self.kernel_ends.iter().any(|&kernel| end == kernel || end == kernel + 1);
        self.host = end + if is_kernel { self.host_wait } else { 0 };
        let host = self.host;
        self.kernel_ends.retain(|&kernel| kernel > host);
    }

    /// A timed kernel ends.
    pub fn note_kernel(&mut self, end: u64) {
        self.kernel_ends.push(end);
    }

    pub fn ns(&self, cycles: u64) -> f64 {
        cycles as f64 * 1e3 / self.mhz as f64
    }

    /// When a copy ends that nothing holds up from `ready` on.
    pub fn copy(&mut self, way: Way, bytes: u64, ready: u64) -> u64 {
        let cycles = self.cycles(way, bytes);
        let engine = match way {
            Way::ToDevice => Some(&mut self.to_device),
            Way::FromDevice => Some(&mut self.from_device),
            Way::OnDevice | Way::OnHost => None,
        };
        let start_cycle = engine.as_deref().map_or(ready, |engine| ready.max(*engine));
        let end_cycle = start_cycle.saturating_add(cycles);
        if let Some(engine) = engine {
            *engine = end_cycle;
        }
        if let Some(copies) = &mut self.copies {
            copies.push(CopySpan { way: way.name(), bytes, start_cycle, end_cycle });
        }
        end_cycle
    }

    fn cycles(&self, way: Way, bytes: u64) -> u64 {
        let mhz = u128::from(self.mhz);
        let latency = u128::from(self.latency_ns) * mhz / 1000;
        let rate = if way == Way::OnDevice { self.device_mbs } else { self.host_mbs };
        let cycles = latency + (u128::from(bytes) * mhz).div_ceil(u128::from(rate.max(1)));
        u64::try_from(cycles.max(1)).unwrap_or(u64::MAX >> 1)
    }

    /// When a kernel ends on a functional device: kernels run one after the other, a warp instruction each nanosecond.
    pub fn kernel(&mut self, warp_instructions: u64, ready: u64) -> u64 {
        self.kernels = ready.max(self.kernels).saturating_add(warp_instructions.max(1));
        self.kernels
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Way};

    #[test]
    fn an_engine_does_one_copy_at_a_time_and_the_other_goes_on_meanwhile() {
        let mut clock = Clock::nominal();
        assert_eq!(clock.copy(Way::ToDevice, 6000, 100), 100 + 5000 + 1000);
        assert_eq!(clock.copy(Way::ToDevice, 0, 200), 6100 + 5000);
        assert_eq!(clock.copy(Way::FromDevice, 6, 200), 200 + 5001);
        assert_eq!(clock.copy(Way::OnDevice, 150_000, 200), 200 + 6000);
        assert_eq!((clock.kernel(10, 50), clock.kernel(0, 20)), (60, 61));
    }

    #[test]
    fn a_host_that_waits_for_a_kernel_goes_on_later_than_it_ends() {
        let mut clock = Clock { host_wait: 70, ..Clock::nominal() };
        clock.wait_until(500);
        assert_eq!(clock.host, 500);
        clock.note_kernel(900);
        clock.note_kernel(2000);
        clock.wait_until(901);
        assert_eq!(clock.host, 971);
        clock.wait_until(940);
        assert_eq!(clock.host, 971);
        clock.wait_until(1000);
        assert_eq!(clock.host, 1000);
        clock.wait_until(2000);
        assert_eq!(clock.host, 2070);
    }
}
