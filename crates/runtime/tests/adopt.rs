// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host memory that the device may access. Alone in its file: only the first device of a process has the addresses of the host.

use warpwatt_config::Config;
use warpwatt_runtime::{Args, Device, DevicePtr, Error, LaunchConfig, Mode, Nobody, Options};

const MODULE: &str = r#".version 7.0
.target sm_50
.address_size 64

.visible .entry increment(.param .u64 data)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd3], %r2;
    ret;
}
"#;

#[test]
fn kernels_use_host_memory_at_its_address() {
    let mut config = Config::default();
    (config.gpu.sms, config.gpu.partitions) = (2, 2);
    for options in [Options::default(), Options { mode: Mode::timed(config), ..Options::default() }] {
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        assert!(device.identity(), "the first device of a process, as the one before is gone");
        let module = device.load_module("module.ptx", MODULE).expect("the module loads");
        let mut words = vec![5u32; 64];
        let at = words.as_mut_ptr().expose_provenance() as u64;
        let info = device.memory_info();
        device.adopt(at, 256, "registered").expect("it is ours");
        assert_eq!((device.memory_info(), device.find(at + 255).map(|found| found.base)), (info, Some(at)));
        let run = |device: &mut Device, threads| {
            let args = Args::new().ptr(DevicePtr(at));
            device.launch(module, "increment", &LaunchConfig::new(1, threads), &args)
        };
        run(&mut device, 64).expect("all inside");
        let first = words.as_ptr();
        // SAFETY: the kernel wrote the words, which are still ours.
        assert!((0..64).all(|k| unsafe { first.add(k).read_volatile() } == 6));
        let Err(Error::Fault(report)) = run(&mut device, 65) else { panic!("a thread too many") };
        assert!(report.to_string().contains("`registered`"), "{report}");
        for (at, bytes) in [(at + 8, 8), (at, 256), (at - 8, 16), (0x1000, 8), (info.1, 0)] {
            let error = device.adopt(at, bytes, "again").expect_err("taken, or not possible");
            assert!(error.to_string().contains("cannot be shared"), "{error}");
        }
        assert!(device.free(DevicePtr(at)).is_err(), "it is no memory of the device's own");
        device.abandon(at).expect("it was shared");
        assert!(device.abandon(at).is_err() && device.find(at).is_none());
        let Err(Error::Fault(report)) = run(&mut device, 1) else { panic!("shared no more") };
        assert_eq!(report.code, "use-after-free");
        let own = device.alloc(64).expect("room");
        assert!(device.abandon(own.0).is_err() && device.free(own).is_ok());
    }
}
