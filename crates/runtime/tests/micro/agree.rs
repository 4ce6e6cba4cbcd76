// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a run is simulated does not show: threads, skipping of idle cycles and the host's vector instructions change neither values nor
//! any counter, whatever the GPU, and whatever technique keeps its registers. `WARPWATT_CASES` sets the number of random GPUs.

use warpwatt_config::{Config, random};
use warpwatt_runtime::Level;

use crate::bench::How;
use crate::jobs::{JOBS, Job};
use crate::technique;

#[test]
fn random_gpus_do_the_same_however_they_are_simulated() {
    let cases = std::env::var("WARPWATT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20u64);
    let right: Vec<_> = JOBS.iter().map(|job| job.run(None, How::default()).output).collect();
    let mut wrong: Vec<String> = Vec::new();
    for seed in 0..cases {
        let mut config = random(seed);
        // Copies at a megabyte a second would be most of what is stepped through.
        config.pcie = Config::default().pcie;
        let techniques = technique::random(seed, &mut config);
        let with = techniques.canonical().join(" ");
        for (job, right) in JOBS.iter().zip(&right) {
            let plain = job.run_with(Some(&config), &techniques, How::default());
            assert!(
                plain.output == *right,
                "{} on GPU {seed} {with} computes something else than functionally",
                job.name
            );
            let ways = [
                How { threads: 2, ..How::default() },
                How { threads: 3, ..How::default() },
                How { step: true, ..How::default() },
                How { level: Level::Plain, ..How::default() },
            ];
            for how in ways {
                let other = job.run_with(Some(&config), &techniques, how);
                assert!(
                    other.output == plain.output,
                    "{} on GPU {seed} {with} computes something else with {how:?}",
                    job.name
                );
                let differs: Vec<_> = plain
                    .counts
                    .iter()
                    .zip(&other.counts)
                    .filter(|(one, other)| one != other)
                    .take(5)
                    .collect();
                if !differs.is_empty() || plain.counts.len() != other.counts.len() {
                    wrong.push(format!(
                        "{} on GPU {seed} {with} counts otherwise with {how:?}: {differs:?}",
                        job.name
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Warps on ways of their own through one or two lines: each takes its turn, however often lines make room for each other.
#[test]
fn an_instruction_cache_of_two_lines_is_slow_but_gets_there() {
    let job = Job::named("code");
    let right = job.run(None, How::default()).output;
    for ways in 1..=2 {
        let mut config = random(0);
        (config.icache.sets, config.icache.ways, config.icache.mshrs) = (1, ways, 4);
        assert!(job.run(Some(&config), How::default()).output == right);
    }
}
