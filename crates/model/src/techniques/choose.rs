// SPDX-License-Identifier: MIT OR Apache-2.0
//! Techniques as they are written: `NAME[:parameter=value{,parameter=value}]`, with one canonical form for records and ledgers.

use std::fmt;

use warpwatt_base::suggest;
use warpwatt_config::{Config, Parameter, ParameterKind, Refusal};

use super::chosen::builds_on;
use super::{Technique, Techniques};

/// What is wrong with a choice of techniques, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TechniqueError {
    pub message: String,
    pub help: String,
}

impl TechniqueError {
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> TechniqueError {
        TechniqueError { message: message.into(), help: help.into() }
    }
}

impl fmt::Display for TechniqueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for TechniqueError {}

/// A value as it is written for a technique: switches are on or off.
fn written(kind: ParameterKind, value: String) -> String {
    match (kind, value.as_str()) {
        (ParameterKind::Switch, "true") => "on".to_owned(),
        (ParameterKind::Switch, "false") => "off".to_owned(),
        _ => value,
    }
}

fn find(name: &str) -> Result<&'static Technique, TechniqueError> {
    Techniques::ALL.iter().copied().find(|info| info.name == name).ok_or_else(|| {
        let names: Vec<_> = Techniques::ALL.iter().map(|info| info.name).collect();
        let shown: String = name.chars().take(60).collect();
        let help = match suggest::nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}; `warpwatt list techniques` tells more", names.join(", ")),
        };
        TechniqueError::new(format!("there is no technique `{shown}`"), help)
    })
}

impl Techniques {
    /// Enables a technique: `NAME`, or `NAME:parameter=value,...`.
    pub fn with(&mut self, text: &str) -> Result<(), TechniqueError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let info = find(name.trim())?;
        if self.is_asked_for(info.name) {
            return Err(TechniqueError::new(
                format!("`{}` is asked for twice", info.name),
                format!("give all its parameters at once: `{}:parameter=value,parameter=value`", info.name),
            ));
        }
        self.settings_of(info);
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let Some((parameter, value)) = setting.split_once('=') else {
                return Err(TechniqueError::new(
                    format!("`{setting}` of `{}` is no setting", info.name),
                    "write parameter=value".to_owned(),
                ));
            };
            self.give(info, parameter.trim(), value.trim())?;
        }
        self.imply();
        Ok(())
    }

    /// Sets one parameter by its key without `technique.`, `NAME.parameter`, and enables the technique.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), TechniqueError> {
        let Some((name, parameter)) = key.rsplit_once('.') else {
            return Err(TechniqueError::new(
                format!("`technique.{key}` names no parameter"),
                "write technique.NAME.parameter=value",
            ));
        };
        let info = find(name)?;
        self.give(info, parameter, value)?;
        self.imply();
        Ok(())
    }

    fn give(&mut self, info: &Technique, parameter: &str, value: &str) -> Result<(), TechniqueError> {
        self.settings_of(info).set(parameter, value).map_err(|refusal| match refusal {
            Refusal::UnknownKey => {
                let names: Vec<_> = (info.parameters)().iter().map(|parameter| parameter.name).collect();
                let help = match suggest::nearest(parameter, &names) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it has: {}", names.join(", ")),
                };
                TechniqueError::new(format!("`{}` has no parameter `{parameter}`", info.name), help)
            }
            Refusal::BadValue(kind) => TechniqueError::new(
                format!(
                    "invalid {parameter} = {value} of `{}` (allowed: {})",
                    info.name,
                    Techniques::legal(kind)
                ),
                format!("`warpwatt list techniques --show {}` describes its parameters", info.name),
            ),
        })
    }

    /// Returns all settings that are not possible together, or on this GPU.
    pub fn validate(&self, config: &Config) -> Result<(), Vec<TechniqueError>> {
        let mut found = Vec::new();
        let on: Vec<_> = self.settings().collect();
        for (i, (_, one, settings)) in on.iter().enumerate() {
            for (_, other, _) in &on[i + 1..] {
                // Only techniques that were chosen exclude each other, not what they build on.
                let asked = self.is_asked_for(one.name) && self.is_asked_for(other.name);
                if asked && (one.excludes.contains(&other.name) || other.excludes.contains(&one.name)) {
                    found.push(TechniqueError::new(
                        format!("`{}` and `{}` exclude each other", one.name, other.name),
                        "choose one of them",
                    ));
                }
            }
            (one.check)(*settings, config, &mut found);
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// Each technique that is on, with the parameters that are not at their defaults, in the order of declaration: the same choice always
    /// gives the same text, which [`Techniques::with`] reads back. Techniques that others build on are left out at their defaults.
    pub fn canonical(&self) -> Vec<String> {
        let implied = |info: &Technique| {
            self.settings()
                .any(|(_, other, settings)| builds_on(other, settings).any(|name| name == info.name))
        };
        let texts = self.on().map(|info| (info, self.canonical_of(info)));
        texts.filter(|(info, text)| text != info.name || !implied(info)).map(|(_, text)| text).collect()
    }

    fn canonical_of(&self, info: &Technique) -> String {
        let mut text = info.name.to_owned();
        for ((parameter, value), usual) in self.values(info).zip(Techniques::usual_values(info)) {
            if value != usual {
                text.push(if text.contains(':') { ',' } else { ':' });
                text += &format!("{}={value}", parameter.name);
            }
        }
        text
    }

    /// Allowed values of a parameter, in words.
    pub fn legal(kind: ParameterKind) -> String {
        match kind {
            ParameterKind::Switch => "on or off".to_owned(),
            other => other.to_string(),
        }
    }

    /// The parameters of a technique that is on.
    pub fn values(&self, info: &Technique) -> impl Iterator<Item = (&'static Parameter, String)> {
        let each = (info.parameters)().iter();
        each.map(|parameter| {
            (parameter, written(parameter.kind, self.get(info.name, parameter.name).unwrap_or_default()))
        })
    }

    /// Default values of the parameters of a technique, in order.
    pub fn usual_values(info: &Technique) -> impl Iterator<Item = String> {
        let (each, usual) = ((info.parameters)().iter(), (info.settings)());
        each.map(move |parameter| written(parameter.kind, usual.get(parameter.name).unwrap_or_default()))
    }

    /// Parameters of all techniques as numbers, for the energy model, with the defaults for those that are off: switches are 0 or 1,
    /// percentages fractions, words are left out.
    pub fn numbers(&self) -> Vec<(&'static str, f64)> {
        let values = |info: &&'static Technique| {
            let each = (info.parameters)().iter();
            match self.is_on(info.name) {
                true => self.values(info).collect::<Vec<_>>(),
                false => each.zip(Techniques::usual_values(info)).collect(),
            }
        };
        let all = Techniques::ALL.iter().flat_map(values);
        let number = |(parameter, text): (&'static Parameter, String)| {
            let value = match parameter.kind {
                ParameterKind::Integer { .. } => text.parse().ok()?,
                ParameterKind::Switch => f64::from(u8::from(text == "on")),
                // A word may be a number.
                ParameterKind::Choice(_) => text.parse().ok()?,
                ParameterKind::File => return None,
            };
            Some((parameter.key, if parameter.unit == "%" { value / 100.0 } else { value }))
        };
        all.filter_map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(texts: &[&str]) -> Result<Techniques, TechniqueError> {
        let mut techniques = Techniques::default();
        texts.iter().try_for_each(|text| techniques.with(text)).map(|()| techniques)
    }

    #[test]
    fn a_choice_has_one_canonical_form_that_reads_back() {
        let text = " warped-compression : wake_cycles=0010 , compress_cycles=8,gating=off,mov=true";
        let techniques = with(&[text]).expect("it is legal");
        let canonical = techniques.canonical();
        assert_eq!(
            canonical,
            ["warped-compression:gating=off,compress_cycles=8"],
            "what is not a default, in order"
        );
        assert_eq!(with(&[&canonical[0]]).expect("it reads back"), techniques);
        let mut set = Techniques::default();
        set.set("warped-compression.compress_cycles", "8").expect("it is legal");
        set.set("warped-compression.gating", "off").expect("it is legal");
        assert_eq!(set, techniques);
        assert!(with(&[]).expect("nothing is on").canonical().is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_do() {
        let refused = |text: &str| with(&[text]).expect_err(text);
        let error = refused("warped-compresion");
        assert_eq!(error.message, "there is no technique `warped-compresion`");
        assert_eq!(error.help, "did you mean `warped-compression`?");
        assert_eq!(refused("warped-compression:gatting=on").help, "did you mean `gating`?");
        assert_eq!(
            refused("warped-compression:gating=maybe").to_string(),
            "invalid gating = maybe of `warped-compression` (allowed: on or off); \
             `warpwatt list techniques --show warped-compression` describes its parameters"
        );
        assert!(refused("warped-compression:compressors=0").message.contains("1–16"));
        assert!(refused("warped-compression:gating").message.contains("is no setting"));
        let twice = with(&["warped-compression", "warped-compression:gating=off"]).expect_err("twice");
        assert!(twice.message.contains("asked for twice"));
        assert!(Techniques::default().set("gating", "on").is_err());
    }

    #[test]
    fn what_is_not_possible_together_is_refused() {
        let problems = |text: &str, config: &Config| {
            let found = with(&[text]).expect("each setting is legal").validate(config);
            found.err().map_or(0, |errors| errors.len())
        };
        let config = Config::default();
        assert_eq!(problems("warped-compression", &config), 0);
        assert_eq!(problems("warped-compression:compression=off,gating=off", &config), 1);
        assert_eq!(problems("warped-compression:compression=off,encodings=4-0", &config), 1);
        assert_eq!(problems("warped-compression:window=thread,encodings=4-0,divergent=merge", &config), 2);
        let mut narrow = Config::default();
        narrow.rf.sub_banks = 4;
        assert_eq!(problems("warped-compression", &narrow), 1);
    }

    #[test]
    fn what_a_technique_builds_on_is_on_too() {
        let choice = |texts: &[&str]| with(texts).expect("it is legal");
        let names = |texts: &[&str]| choice(texts).on().map(|info| info.name).collect::<Vec<_>>();
        assert_eq!(names(&["packing"]), ["renaming", "packing"]);
        assert_eq!(names(&["corf"]), ["renaming", "packing", "virtualization", "corf"]);
        assert_eq!(names(&["corf:virtualization=off"]), ["renaming", "packing", "corf"]);
        assert_eq!(names(&["corf++:packing=off,virtualization=off"]), ["renaming", "corf++"]);
        // It is written only with parameters that are not defaults; to enable it as well changes nothing.
        assert_eq!(choice(&["corf"]).canonical(), ["corf"]);
        assert_eq!(choice(&["corf", "packing"]).canonical(), ["corf"]);
        assert_eq!(choice(&["packing", "corf"]), choice(&["corf"]));
        assert_eq!(choice(&["corf", "packing:packers=1"]).canonical(), ["packing:packers=1", "corf"]);
        assert_eq!(choice(&["packing", "virtualization"]).canonical(), ["packing", "virtualization"]);
        let mut later = choice(&["corf"]);
        later.set("corf.virtualization", "off").expect("it is legal");
        assert_eq!(later, choice(&["corf:virtualization=off"]));
    }

    #[test]
    fn techniques_that_share_a_structure_exclude_each_other() {
        let refused = |texts: &[&str]| {
            let found =
                with(texts).expect("each is legal").validate(&Config::default()).err().unwrap_or_default();
            found.into_iter().map(|error| error.message).collect::<Vec<_>>()
        };
        for other in ["packing", "virtualization", "corf", "corf++"] {
            let message = format!("`warped-compression` and `{other}` exclude each other");
            assert_eq!(refused(&["warped-compression", other]), [message]);
        }
        assert_eq!(refused(&["corf", "corf++"]), ["`corf` and `corf++` exclude each other"]);
        assert!(refused(&["packing", "virtualization"]).is_empty());
    }

    #[test]
    fn percentages_and_switches_are_numbers_for_the_energy_model() {
        let techniques = with(&["warped-compression:gated_leakage=25,gating=off"]).expect("it is legal");
        let numbers = techniques.numbers();
        let number = |key: &str| numbers.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        assert_eq!(number("technique.warped-compression.gated_leakage"), Some(0.25));
        assert_eq!(number("technique.warped-compression.gating"), Some(0.0));
        assert_eq!(number("technique.warped-compression.compressors"), Some(2.0));
        assert_eq!(number("technique.warped-compression.encodings"), None);
    }
}
