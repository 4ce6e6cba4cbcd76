// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a kernel on a timed device and hands back what it took. Every run is checked for conservation.

use warpwatt_config::{Config, GpuFile};
use warpwatt_runtime::{
    Args, Device, DevicePtr, LaunchConfig, LaunchRecord, Level, Mode, ModuleId, Nobody, Options, Timed,
};

use warpwatt_testing::conserve;

/// How a run is simulated, which must not show in its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    pub threads: u32,
    pub step: bool,
    pub level: Level,
}

impl Default for How {
    fn default() -> How {
        How { threads: 1, step: false, level: Level::detect() }
    }
}

/// A device with one module.
pub struct Bench {
    pub device: Device,
    pub module: ModuleId,
    pub config: Config,
}

/// What one launch took.
pub struct Ran {
    pub cycles: u64,
    pub record: LaunchRecord,
}

/// A built-in GPU with some settings.
pub fn gpu(name: &str, settings: &[&str]) -> Config {
    let mut config = GpuFile::preset(name).expect("a preset").config;
    for setting in settings {
        warpwatt_config::apply(&mut config, setting).unwrap_or_else(|error| panic!("{setting}: {error:?}"));
    }
    config
}

/// One SM of a GTX 480: what happens in an SM does not depend on the others.
pub fn one_sm() -> Config {
    gpu("gtx480", &["gpu.sms=1"])
}

impl Bench {
    pub fn new(config: &Config, ptx: &str) -> Bench {
        Bench::with(config, ptx, How::default())
    }

    pub fn with(config: &Config, ptx: &str, how: How) -> Bench {
        let timed = Timed {
            threads: how.threads,
            step_every_cycle: how.step,
            limit_cycles: Some(200_000_000),
            ..Timed::new(config.clone())
        };
        let options = Options { mode: Mode::Timed(Box::new(timed)), level: how.level, ..Options::default() };
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let module = device.load_module("micro.ptx", ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        Bench { device, module, config: config.clone() }
    }

    pub fn alloc(&mut self, bytes: u64) -> DevicePtr {
        self.device.alloc(bytes).expect("room")
    }

    /// Runs kernel `k`.
    pub fn run(&mut self, launch: LaunchConfig, args: &Args) -> Ran {
        self.run_named("k", launch, args)
    }

    pub fn run_named(&mut self, kernel: &str, launch: LaunchConfig, args: &Args) -> Ran {
        self.device.launch(self.module, kernel, &launch, args).unwrap_or_else(|error| panic!("{error}"));
        self.last()
    }

    /// The latest launch.
    pub fn last(&self) -> Ran {
        let record = self.device.log().last().expect("a launch").clone();
        let compiled = self.device.compile(self.module, &record.kernel, false).expect("it ran");
        conserve::check(&record, &compiled.program, &self.config);
        Ran { cycles: record.timed.as_ref().expect("the launch was timed").cycles, record }
    }

    /// Writes a ring of pointers: each of `count` places, `stride` bytes apart, points to the next, the last to the first.
    pub fn ring(&mut self, at: DevicePtr, count: u64, stride: u64) {
        let mut bytes = vec![0; (count * stride) as usize];
        for i in 0..count {
            let next = at.offset((i + 1) % count * stride).0;
            bytes[(i * stride) as usize..][..8].copy_from_slice(&next.to_le_bytes());
        }
        self.device.write(at, &bytes).expect("it fits");
    }
}
