// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of all parameters in one stable form, what differs between two GPUs, and settings of single parameters.

use std::fmt::Write;

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use crate::error::shortened;
use crate::sizes::Size;
use crate::{Config, Error, Parameter, ParameterKind, Problem};

/// Every parameter with its value as it is written, in the order of declaration.
pub fn listing(config: &Config) -> Vec<(&'static str, String)> {
    Config::parameters().iter().map(|parameter| (parameter.key, shown(config, parameter))).collect()
}

/// Every parameter by its key as JSON: numbers, booleans and words.
pub fn values(config: &Config) -> Map<String, Json> {
    let one = |parameter: &Parameter| {
        let text = shown(config, parameter);
        let value = match parameter.kind {
            ParameterKind::Integer { .. } => text.parse::<u32>().map_or(Json::Null, Json::from),
            ParameterKind::Switch => Json::from(text == "true"),
            ParameterKind::Choice(_) | ParameterKind::File => Json::from(text),
        };
        (parameter.key.to_owned(), value)
    };
    Config::parameters().iter().map(one).collect()
}

/// SHA-256 of the listing, one `key=value` a line, in lower-case hexadecimal.
pub fn sha256(config: &Config) -> String {
    let mut lines = String::new();
    for (key, value) in listing(config) {
        let _ = writeln!(lines, "{key}={value}");
    }
    Sha256::digest(lines.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A parameter that has another value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    pub parameter: &'static Parameter,
    pub from: String,
    pub to: String,
}

/// What has to be changed to get from one GPU to another.
pub fn differences(from: &Config, to: &Config) -> Vec<Difference> {
    let all = Config::parameters().iter();
    let both =
        all.map(|parameter| Difference { parameter, from: shown(from, parameter), to: shown(to, parameter) });
    both.filter(|difference| difference.from != difference.to).collect()
}

/// Applies a setting such as `sm.scheduler=lrr` or `l2.bytes=1536KB`. Whether all values are possible together is for
/// [`crate::validate`] to say, once all settings are made.
pub fn apply(config: &mut Config, setting: &str) -> Result<(), Error> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Problem::NotASetting { text: shortened(setting) }.into());
    };
    let (key, value) = (key.trim(), value.trim());
    if let Some(size) = Size::find(key) {
        return size.apply(config, value).map_err(Error::from);
    }
    config.set(key, value).map_err(|refusal| {
        let value = if value.is_empty() { "empty" } else { value };
        Problem::refused(refusal, key, value).into()
    })
}

/// Applies settings in their order, but sizes of caches after everything that they follow from. All errors are returned.
pub fn apply_all<'s>(config: &mut Config, settings: impl IntoIterator<Item = &'s str>) -> Vec<Error> {
    let is_size = |setting: &&str| Size::find(setting.split('=').next().unwrap_or_default().trim()).is_some();
    let (sizes, others): (Vec<_>, Vec<_>) = settings.into_iter().partition(is_size);
    others.into_iter().chain(sizes).filter_map(|setting| apply(config, setting).err()).collect()
}

/// The value of a declared parameter.
pub(crate) fn shown(config: &Config, parameter: &Parameter) -> String {
    config.get(parameter.key).unwrap_or_default()
}
