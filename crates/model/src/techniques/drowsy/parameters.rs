// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be chosen about drowsy regions: what the thesis varies, and the earlier work that it compares itself with.

use warpwatt_config::{Config, Policy, Settings, choice, technique_parameters};

use crate::cache::{Array, ArrayShape};
use crate::techniques::TechniqueError;
use crate::techniques::kit::regions::{Layout, Numbering, Sleep};

choice! {
    /// When a region goes to sleep.
    When {
        /// When an access goes to another region.
        Left = "left",
        /// After each access, as in the earlier work.
        Immediate = "immediate",
    }
}

choice! {
    /// Which blocks are contiguous.
    Index {
        /// Blocks of one set lie side by side.
        SetMajor = "set-major",
        /// Sets of one way lie side by side.
        WayMajor = "way-major",
    }
}

technique_parameters! {
    /// Parameters of drowsy regions.
    Parameters = "drowsy" {
        region: u32 = 1, 1..=1048576, "blocks", "Size of a region: contiguous blocks that sleep and wake together, a power of two; a larger number than the cache has means the whole cache.";
        millivolts: u32 = 400, 200..=900, "mV", "Supply voltage of a drowsy block; 900 is full voltage, at which no block sleeps.";
        wake_cycles: u32 = 2, 0..=64, "cycles", "Wake-up latency of a drowsy region; in L2 clocks for L2 slices.";
        policy: When = When::Left, 0..=0, "", "When a region goes to sleep.";
        look_ahead: u32 = 0, 0..=64, "cycles", "How long before an access the two-level scheduler wakes its region; not for L2 and the instruction cache, whose accesses it cannot predict.";
        index: Index = Index::SetMajor, 0..=0, "", "Which blocks are contiguous.";
        wake_fj: u32 = 0, 0..=100000000, "fJ", "Energy to wake a region up. The thesis gives none.";
        l1d: bool = true, 0..=0, "", "The L1 data caches sleep.";
        l2: bool = true, 0..=0, "", "The L2 slices sleep.";
        constant: bool = true, 0..=0, "", "The constant caches sleep.";
        texture: bool = true, 0..=0, "", "The texture caches sleep.";
        shared: bool = true, 0..=0, "", "Shared memory sleeps, in rows of 128 bytes.";
        instruction: bool = false, 0..=0, "", "The instruction caches sleep. The thesis leaves them on.";
    }
}

/// Full supply voltage.
const FULL_MILLIVOLTS: u32 = 900;

impl Parameters {
    pub fn acts_on(&self, array: Array) -> bool {
        match array {
            Array::L1d => self.l1d,
            Array::L2 => self.l2,
            Array::Constant => self.constant,
            Array::Texture => self.texture,
            Array::Shared => self.shared,
            Array::Instruction => self.instruction,
        }
    }

    pub fn layout(&self, array: Array, shape: ArrayShape) -> Layout {
        let foreseen = !matches!(array, Array::L2 | Array::Instruction);
        let ways = shape.ways;
        // An array of one region that sleeps when it is left is always on.
        let (region, policy) = match self.millivolts {
            FULL_MILLIVOLTS.. => (u32::MAX, When::Left),
            _ => (self.region, self.policy),
        };
        Layout {
            frames: shape.frames,
            region,
            numbering: match self.index {
                Index::SetMajor => Numbering::SetMajor { ways },
                Index::WayMajor => Numbering::WayMajor { ways },
            },
            sleep: match policy {
                When::Left => Sleep::WhenLeft,
                When::Immediate => Sleep::After(0),
            },
            wake: u64::from(self.wake_cycles),
            ahead: if foreseen { u64::from(self.look_ahead) } else { 0 },
        }
    }
}

pub fn check(settings: &dyn Settings, config: &Config, found: &mut Vec<TechniqueError>) {
    let parameters: &Parameters = settings.of();
    if !parameters.region.is_power_of_two() {
        let (below, above) =
            (parameters.region.next_power_of_two() / 2, parameters.region.next_power_of_two());
        found.push(TechniqueError::new(
            format!("a region of `drowsy` cannot have {} blocks", parameters.region),
            format!("it is a power of two: {below} or {above}"),
        ));
    }
    if parameters.look_ahead > 0 && config.sm.scheduler != Policy::TwoLevel {
        found.push(TechniqueError::new(
            "`look_ahead` of `drowsy` is work of the two-level scheduler, and this GPU has another one",
            "add `--set sm.scheduler=two-level`, or leave `look_ahead` out",
        ));
    }
}
