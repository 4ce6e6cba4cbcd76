// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of workloads says what is so: blocks and kernels are those of a run.

use std::collections::BTreeSet;

use warpwatt_runtime::Device;
use warpwatt_workloads::{Size, Workload, all};

fn run(workload: &dyn Workload) -> Device {
    let mut device = Device::new().expect("a device");
    workload.run(&mut device, workload.ptx(), Size::Tiny, 1).expect("it runs");
    device
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
