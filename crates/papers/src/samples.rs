// SPDX-License-Identifier: MIT OR Apache-2.0
//! For tests: points made by hand.

use warpwatt_results::{Inputs, Reading, Status, StructureEnergy, Values};

use crate::point::{POINT_SCHEMA, PointEnergy, PointHost, PointRecord};

/// A point of one warp instruction, without counters and energy.
pub fn point(cycles: u64) -> PointRecord {
    PointRecord {
        schema: POINT_SCHEMA.to_owned(),
        key: String::new(),
        status: Status::Complete,
        inputs: Inputs::default(),
        check: None,
        cycles,
        warp_instructions: 1,
        thread_instructions: 32,
        counters: Values::new(),
        energy: PointEnergy::default(),
        kernels: Vec::new(),
        host: PointHost { wall_seconds: 0.0 },
    }
}

/// Counters by name: the buckets of a histogram, or one count.
pub fn counters(counters: &[(&str, &[u64])]) -> Values {
    let reading = |(name, counts): &(&str, &[u64])| {
        let reading = match name.ends_with(".histogram") {
            true => Reading::Histogram(counts.to_vec()),
            false => Reading::Count(counts[0]),
        };
        ((*name).to_owned(), reading)
    };
    counters.iter().map(reading).collect()
}

/// A structure that is a component of its own, with its dynamic and static energy.
pub fn structure(name: &str, dynamic_j: f64, static_j: f64) -> StructureEnergy {
    StructureEnergy { name: name.to_owned(), component: name.to_owned(), dynamic_j, static_j, area_mm2: None }
}
