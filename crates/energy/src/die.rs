// SPDX-License-Identifier: MIT OR Apache-2.0
//! The die: the arrays of SRAM on it as configured and as they were when their figures were taken, and its area, which wires across the GPU
//! span.

use crate::error::Error;
use crate::file::Technology;
use crate::resolve::Setting;
use crate::silicon::Conditions;
use crate::spanned::Spanned;
use crate::sram::Sram;
use crate::technology::{Access, Structure, Text};

/// The array of a structure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrays {
    pub configured: Sram,
    /// The one that the structure's figures are of.
    pub reference: Sram,
    pub copies: f64,
}

impl Arrays {
    /// Energy of an access over that of the reference.
    pub fn access(&self, access: Access) -> f64 {
        match access {
            Access::Read => self.configured.read().0 / self.reference.read().0,
            Access::Write => self.configured.write().0 / self.reference.write().0,
        }
    }

    /// The part of a read that its columns take.
    pub fn columns(&self) -> f64 {
        self.configured.column_share()
    }

    /// Leakage of a bank over that of the reference.
    pub fn leakage(&self) -> f64 {
        self.configured.leakage().0 / self.reference.leakage().0
    }

    pub fn area_mm2(&self) -> f64 {
        self.configured.area_mm2() * self.copies
    }
}

/// The arrays of all structures, in their order.
pub fn arrays(
    technology: &Technology,
    setting: Setting,
    conditions: Option<&Conditions>,
) -> Result<Vec<Option<Arrays>>, Vec<Error>> {
    let mut errors = Vec::new();
    let mut all = Vec::new();
    for (origin, structure) in &technology.structures {
        let found = structure.sram.as_ref().map(|spec| {
            let arrays = spec.value.arrays(setting, conditions);
            arrays.map_err(|problem| errors.push(origin.error(spec.span.clone(), problem)))
        });
        all.push(found.and_then(Result::ok));
    }
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

/// The area of the die in square millimetres; none if the technology does not give it.
pub fn area_mm2(
    technology: &Technology,
    setting: Setting,
    conditions: Option<&Conditions>,
    arrays: &[Option<Arrays>],
) -> Option<f64> {
    let (_, die) = technology.die.as_ref()?;
    let gpu = &setting.config.gpu;
    let more = |count: u32, than: f64| f64::from(count) - than;
    let logic = die.mm2
        + die.sm_mm2 * more(gpu.sms, die.sms)
        + die.partition_mm2 * more(gpu.partitions, die.partitions);
    let shrink = conditions.map_or(1.0, |conditions| conditions.shrink() * conditions.shrink());
    let here = |structure: &Structure| {
        let on = |name: &Spanned<Text>| setting.techniques.contains(&&*name.value);
        structure.techniques.is_empty() || structure.techniques.iter().any(on)
    };
    let grown: f64 = technology
        .structures
        .iter()
        .zip(arrays)
        .filter(|((_, structure), _)| here(structure))
        .filter_map(|(_, arrays)| arrays.as_ref())
        .map(|arrays| arrays.area_mm2() - arrays.reference.area_mm2() * arrays.copies * shrink)
        .sum();
    Some((logic * shrink + grown).max(1.0))
}
