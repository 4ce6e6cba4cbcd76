// SPDX-License-Identifier: MIT OR Apache-2.0
//! A choice of techniques as files keep it: settings of a session, reproducers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpwatt_results::{Diagnostic, Severity};
use warpwatt_runtime::{InjectedFault, Profile, ProfileError, SymbolProfile, TechniqueError, Techniques};

/// Which techniques are on, and how they are watched.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenTechniques {
    /// In canonical form.
    pub on: Vec<String>,
    /// Stored data are compared with the data read back.
    pub verify: bool,
    /// Site at which one stored bit is flipped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inject: Option<Corruption>,
    /// The text of a profile of symbols.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<String>,
    /// The text of counts of instructions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counts: Option<String>,
}

/// Sites at which a stored bit can be flipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Corruption {
    /// In the register file.
    Rf,
    /// In a cache or in shared memory.
    Cache,
    /// In memory.
    Dram,
}

impl From<Corruption> for InjectedFault {
    fn from(corruption: Corruption) -> InjectedFault {
        match corruption {
            Corruption::Rf => InjectedFault::Rf,
            Corruption::Cache => InjectedFault::Cache,
            Corruption::Dram => InjectedFault::Dram,
        }
    }
}

impl From<InjectedFault> for Corruption {
    fn from(fault: InjectedFault) -> Corruption {
        match fault {
            InjectedFault::Rf => Corruption::Rf,
            InjectedFault::Cache => Corruption::Cache,
            InjectedFault::Dram => Corruption::Dram,
        }
    }
}

impl ChosenTechniques {
    pub fn of(techniques: &Techniques) -> ChosenTechniques {
        ChosenTechniques {
            on: techniques.canonical(),
            verify: techniques.verify,
            inject: techniques.inject.map(Corruption::from),
            profile: techniques.symbols.as_ref().map(|profile| profile.to_text()),
            counts: techniques.profile.as_ref().map(|counts| counts.to_text()),
        }
    }

    /// The choice that was kept.
    pub fn restore(&self) -> Result<Techniques, TechniqueError> {
        let mut techniques = Techniques {
            verify: self.verify,
            inject: self.inject.map(InjectedFault::from),
            ..Techniques::default()
        };
        for text in &self.on {
            techniques.with(text)?;
        }
        if let Some(text) = &self.profile {
            let refused = |error: ProfileError| TechniqueError::new(error.to_string(), "collect it again");
            techniques.symbols = Some(Arc::new(SymbolProfile::from_text(text).map_err(refused)?));
        }
        if let Some(text) = &self.counts {
            let refused = |error: String| TechniqueError::new(error, "collect them again");
            techniques.profile = Some(Arc::new(Profile::from_text(text).map_err(refused)?));
        }
        Ok(techniques)
    }
}

/// Code of a fault that verification found, in records.
pub const CORRUPTED: &str = "corrupted";
/// Code of a fault that was injected and not found.
pub const UNNOTICED: &str = "unnoticed-fault";

/// The run finished although a bit was to be flipped.
pub fn unnoticed() -> Diagnostic {
    Diagnostic {
        code: UNNOTICED.to_owned(),
        severity: Severity::Error,
        file: None,
        line: None,
        column: None,
        message: "the bit that `--inject-fault` flips was not detected".to_owned(),
        help: Some("probably nothing was stored and read back: use a longer run".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_comes_back_as_it_was() {
        let mut techniques =
            Techniques { verify: true, inject: Some(InjectedFault::Rf), ..Techniques::default() };
        techniques.with("warped-compression:gating=off,compress_cycles=8").expect("it is legal");
        let text = serde_json::to_string(&ChosenTechniques::of(&techniques)).expect("it is JSON");
        let back: ChosenTechniques = serde_json::from_str(&text).expect("it reads back");
        assert_eq!(back.restore().expect("it is legal"), techniques);
        let none = Techniques { verify: false, ..Techniques::default() };
        assert_eq!(ChosenTechniques::of(&none), ChosenTechniques::default());
        assert_eq!(ChosenTechniques::default().restore().expect("it is legal"), none);
    }

    #[test]
    fn what_another_version_kept_is_named() {
        let kept = ChosenTechniques { on: vec!["warped-compresion".to_owned()], ..Default::default() };
        let refused = kept.restore().expect_err("it is misspelt");
        assert!(refused.to_string().contains("warped-compresion"), "{refused}");
    }
}
