// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of workloads says what is so: blocks, kernels and the class of data are those of a run.

use std::collections::BTreeSet;

use warpwatt_isa::Op;
use warpwatt_runtime::{Device, ModuleId};
use warpwatt_workloads::{Data, Size, Workload, all};

fn run(workload: &dyn Workload) -> Device {
    let mut device = Device::new().expect("a device");
    workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("it runs");
    device
}

/// Thread instructions that compute in floating point, and with integers.
fn mix(device: &Device) -> (u64, u64) {
    let (mut float, mut integer) = (0, 0);
    for launch in device.log() {
        let program = device.compile(ModuleId(0), &launch.kernel, false).expect("it ran").program;
        for (uop, count) in program.uops.iter().zip(&launch.per_pc) {
            match uop.op {
                Op::Fadd | Op::Fmul | Op::Ffma | Op::Fmnmx | Op::Fsetp | Op::Mufu | Op::Fchk => {
                    float += count.lanes;
                }
                Op::Iadd3
                | Op::Imad
                | Op::ImadHi
                | Op::ImadWide
                | Op::Lea
                | Op::LeaHi
                | Op::Imnmx
                | Op::Iabs
                | Op::Isad
                | Op::Shl
                | Op::Shr
                | Op::Shf
                | Op::Lop3
                | Op::Bfe
                | Op::Bfi
                | Op::Popc
                | Op::Bfind
                | Op::Brev
                | Op::Dp4a
                | Op::Dp2a
                | Op::Isetp
                | Op::IsetpX => integer += count.lanes,
                _ => {}
            }
        }
    }
    (float, integer)
}

#[test]
fn launches_are_as_the_table_says() {
    let mut wrong = Vec::new();
    for workload in all() {
        let info = workload.info();
        let device = run(*workload);
        let launched: BTreeSet<&str> = device.log().iter().map(|launch| launch.kernel.as_str()).collect();
        let listed: BTreeSet<&str> = info.kernels.iter().map(|kernel| kernel.name).collect();
        assert_eq!(launched, listed, "{}", info.name);
        for launch in device.log() {
            let kernel = info.kernel(&launch.kernel).expect("it is listed");
            if kernel.block != launch.block {
                wrong.push(format!("{}: block {:?}, not {:?}", kernel.name, launch.block, kernel.block));
            }
        }
        let (float, integer) = mix(&device);
        let data = Data::of_mix(float, integer);
        if data != info.data {
            wrong.push(format!("{}: {data:?} data ({float} of {})", info.name, float + integer));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn entries_are_complete_and_fit_their_columns() {
    let mut names = BTreeSet::new();
    for workload in all() {
        let info = workload.info();
        assert!(names.insert(info.name), "{} comes twice", info.name);
        assert!(info.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        assert!(info.name.len() <= 14 && info.suite.len() <= 8, "{}", info.name);
        assert!((1..=26).contains(&info.about.len()), "{}: {}", info.name, info.about);
        assert!(info.shape_from.len() > 10 && info.values_from.len() > 10, "{}", info.name);
        assert!(!info.kernels.is_empty() && !info.dims.is_empty());
    }
}
