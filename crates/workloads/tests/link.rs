// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linked texts do what each does alone: all workloads run from one text that is linked of theirs.

use warpwatt_runtime::{Device, Error};
use warpwatt_workloads::{Size, Workload, all};

/// Whether the workload passed, and what each of its launches executed.
type Counts = (bool, Vec<(String, u64, u64)>);

fn counts(workload: &dyn Workload, ptx: &str) -> Result<Counts, Error> {
    let mut device = Device::new()?;
    let check = workload.run(&mut device, ptx, Size::Tiny, 1)?;
    device.synchronize()?;
    let launches = device.log().iter();
    let counts = launches
        .map(|launch| (launch.kernel.clone(), launch.warp_instructions, launch.thread_instructions))
        .collect();
    Ok((check.passed, counts))
}

#[test]
fn workloads_run_the_same_from_one_linked_text() {
    let texts: Vec<_> = all().iter().map(|workload| (workload.info().name, workload.ptx())).collect();
    let linked = warpwatt_ptx::link(&texts).expect("their names are their own");
    for workload in all() {
        let name = workload.info().name;
        let alone = counts(*workload, workload.ptx()).expect("it runs alone");
        let together = counts(*workload, &linked).expect("it runs linked");
        assert!(together.0, "{name}");
        assert_eq!(together.1, alone.1, "{name}");
    }
}
