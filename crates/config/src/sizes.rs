// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of caches, which follow from sets, ways and lines. A file or a setting may give the size instead: `l2.bytes=1536KB` sets `l2.sets`.

use crate::derived::LINE_BYTES;
use crate::error::shortened;
use crate::{Config, Parameter, ParameterKind, Problem, Value};

/// A size that follows from parameters, and sets one of them.
pub(crate) struct Size {
    pub key: &'static str,
    /// How it follows, for messages.
    pub formula: &'static str,
    /// The parameter that the size sets.
    pub sets: &'static str,
    /// The value of that parameter for a size; `None` if the size is not a multiple of what a step of the parameter adds.
    solve: fn(&Config, u64) -> Option<u64>,
    /// What a step of the parameter adds, in bytes.
    step: fn(&Config) -> u64,
}

impl Size {
    pub fn find(key: &str) -> Option<&'static Size> {
        SIZES.iter().find(|size| size.key == key)
    }

    fn parameter(&self) -> Option<&'static Parameter> {
        Config::parameters().iter().find(|parameter| parameter.key == self.sets)
    }

    /// Sets the parameter that gives this size.
    pub fn apply(&self, config: &mut Config, value: &str) -> Result<(), Problem> {
        let bytes = u64::from(u32::read(value, "bytes").ok_or_else(|| self.refused(config, value))?);
        let solved = (self.solve)(config, bytes).ok_or_else(|| self.refused(config, value))?;
        config.set(self.sets, &solved.to_string()).map_err(|_| self.refused(config, value))
    }

    fn refused(&self, config: &Config, value: &str) -> Problem {
        let step = (self.step)(config);
        let range = match self.parameter().map(|parameter| parameter.kind) {
            Some(ParameterKind::Integer { min, max }) => format!(", with {} in {min}–{max}", self.sets),
            _ => String::new(),
        };
        Problem::BadSize {
            key: self.key,
            value: shortened(value),
            help: format!(
                "{} = {}; give a multiple of {step} bytes{range}, or set the factors",
                self.key, self.formula
            ),
        }
    }
}

/// Bytes of a set, in all instances that the size is about.
fn divided(bytes: u64, set_bytes: u64) -> Option<u64> {
    (set_bytes != 0 && bytes != 0 && bytes.is_multiple_of(set_bytes)).then(|| bytes / set_bytes)
}

fn l2_step(config: &Config) -> u64 {
    u64::from(config.gpu.partitions) * u64::from(config.l2.ways) * u64::from(LINE_BYTES)
}

fn icache_step(config: &Config) -> u64 {
    u64::from(config.icache.ways) * u64::from(config.icache.line_bytes)
}

fn constant_step(config: &Config) -> u64 {
    u64::from(config.constant.ways) * u64::from(config.constant.line_bytes)
}

fn texture_step(config: &Config) -> u64 {
    u64::from(config.texture.ways) * u64::from(config.texture.line_bytes)
}

fn l1d_step(config: &Config) -> u64 {
    u64::from(config.l1d.ways) * u64::from(LINE_BYTES)
}

pub(crate) const SIZES: [Size; 5] = [
    Size {
        key: "l2.bytes",
        formula: "gpu.partitions × l2.sets × l2.ways × 128",
        sets: "l2.sets",
        solve: |config, bytes| divided(bytes, l2_step(config)),
        step: l2_step,
    },
    Size {
        key: "sm.icache.bytes",
        formula: "sm.icache.sets × sm.icache.ways × sm.icache.line_bytes",
        sets: "sm.icache.sets",
        solve: |config, bytes| divided(bytes, icache_step(config)),
        step: icache_step,
    },
    Size {
        key: "sm.constant.bytes",
        formula: "sm.constant.sets × sm.constant.ways × sm.constant.line_bytes",
        sets: "sm.constant.sets",
        solve: |config, bytes| divided(bytes, constant_step(config)),
        step: constant_step,
    },
    Size {
        key: "sm.texture.bytes",
        formula: "sm.texture.sets × sm.texture.ways × sm.texture.line_bytes",
        sets: "sm.texture.sets",
        solve: |config, bytes| divided(bytes, texture_step(config)),
        step: texture_step,
    },
    Size {
        key: "sm.l1d.bytes",
        formula: "sm.onchip_bytes − sm.shared.bytes",
        sets: "sm.onchip_bytes",
        solve: |config, bytes| {
            divided(bytes, l1d_step(config)).map(|_| bytes + u64::from(config.shared.bytes))
        },
        step: l1d_step,
    },
];
