// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a technology file, worked out for a GPU: factors that are parameters, and tables over a parameter.

use warpwatt_base::suggest;

use crate::die::Arrays;
use crate::error::{Problem, shortened};
use crate::figures;
use crate::resolve::Setting;
use crate::silicon::Conditions;
use crate::sram::{Sram, nominal_volts};
use crate::technology::{Amount, SramSpec};

/// The value of a name.
fn number(key: &str, setting: Setting) -> Result<f64, Problem> {
    let own = setting.parameters.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    own.or_else(|| figures::value(key, setting.config)).ok_or_else(|| {
        let mut names: Vec<&str> = figures::names(setting.config);
        names.extend(setting.parameters.iter().map(|(name, _)| *name));
        Problem::UnknownKey { key: shortened(key), nearest: suggest::nearest(key, &names).map(str::to_owned) }
    })
}

impl Amount {
    pub(crate) fn value(&self, setting: Setting) -> Result<f64, Problem> {
        let value = match self {
            Amount::Number(number) => *number,
            Amount::Key(text) => match text.strip_prefix("1/") {
                None => number(text, setting)?,
                Some(rest) => 1.0 / rest.parse().map_or_else(|_| number(rest, setting), Ok)?,
            },
            Amount::Table { key, at, relative_to } => {
                let whole = relative_to.map_or(Ok(1.0), |point| between(at, point))?;
                between(at, number(key, setting)?)? / whole
            }
        };
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            Err(bad(format!("invalid value {value}"), "write a number that is not negative"))
        }
    }
}

/// The product of some numbers; 1 of none.
fn product(factors: &[Amount], setting: Setting) -> Result<f64, Problem> {
    factors.iter().try_fold(1.0, |product, factor| Ok(product * factor.value(setting)?))
}

/// The value at a point: between two of the table on the straight line through their logarithms, outside of it that of its end.
fn between(at: &[[f64; 2]], x: f64) -> Result<f64, Problem> {
    let rising = at.windows(2).all(|pair| pair[0][0] < pair[1][0]);
    let positive = at.iter().all(|[x, y]| x.is_finite() && y.is_finite() && *y > 0.0);
    let (Some(first), Some(last), true, true) = (at.first(), at.last(), rising, positive) else {
        return Err(bad(
            "the points of a table must be positive and in ascending order".to_owned(),
            "write at = [[0.2, 1.5], [0.4, 3.0]]",
        ));
    };
    if x <= first[0] {
        return Ok(first[1]);
    }
    for pair in at.windows(2) {
        let [[x0, y0], [x1, y1]] = [pair[0], pair[1]];
        if x == x1 {
            return Ok(y1);
        }
        if x < x1 {
            return Ok(y0 * libm::pow(y1 / y0, (x - x0) / (x1 - x0)));
        }
    }
    Ok(last[1])
}

impl SramSpec {
    /// The array of the GPU, at the usual voltage of its node.
    pub(crate) fn array(&self, setting: Setting, conditions: Option<&Conditions>) -> Result<Sram, Problem> {
        let silicon = |own: Option<f64>, of: fn(&Conditions) -> f64, name: &str| {
            own.or_else(|| conditions.map(of)).ok_or_else(|| {
                let message = format!("`{name}` of this SRAM array is missing");
                bad(message, "write it here, or in `silicon` for the whole technology")
            })
        };
        let node_nm = silicon(self.node_nm, |conditions| conditions.node_nm, "node_nm")?;
        let array = Sram {
            bytes: product(&self.bytes, setting)?,
            banks: product(&self.banks, setting)?,
            width_bits: self.width_bits.value(setting)?,
            ways: self.ways.value(setting)?,
            line_bytes: self.line_bytes.value(setting)?,
            sequential: self.sequential,
            extra_ports: (self.read_ports + self.write_ports - 1.0).max(0.0),
            node_nm,
            volts: self.volts.unwrap_or_else(|| nominal_volts(node_nm)),
            kelvin: silicon(self.kelvin, |conditions| conditions.kelvin, "kelvin")?,
        };
        legal(array)
    }

    /// The array of the GPU, and the one that figures were taken at.
    pub(crate) fn arrays(
        &self,
        setting: Setting,
        conditions: Option<&Conditions>,
    ) -> Result<Arrays, Problem> {
        let configured = self.array(setting, conditions)?;
        let Some(reference) = self.reference else {
            let message =
                "the SRAM array of a structure needs the reference size that its figures are for".to_owned();
            return Err(bad(
                message,
                "write reference = { bytes = ... }, with `ways` and other dimensions where they matter",
            ));
        };
        let node_nm = conditions.map_or(configured.node_nm, Conditions::reference_nm);
        if reference.bytes == 0.0 {
            return Err(bad("the reference of an array cannot be empty".to_owned(), "write a size above 0"));
        }
        let reference = legal(Sram {
            bytes: reference.bytes,
            banks: reference.banks.unwrap_or(configured.banks),
            width_bits: reference.width_bits.unwrap_or(configured.width_bits),
            ways: reference.ways.unwrap_or(configured.ways),
            line_bytes: reference.line_bytes.unwrap_or(configured.line_bytes),
            node_nm,
            volts: nominal_volts(node_nm),
            kelvin: conditions.map_or(configured.kelvin, Conditions::reference_kelvin),
            ..configured
        })?;
        Ok(Arrays { configured, reference, copies: product(&self.copies, setting)? })
    }
}

fn legal(array: Sram) -> Result<Sram, Problem> {
    // Caches that a GPU can do without have no bytes.
    let sizes = [("bytes", array.bytes)].into_iter().filter(|(_, bytes)| *bytes != 0.0);
    let positive = [
        ("banks", array.banks),
        ("width_bits", array.width_bits),
        ("ways", array.ways),
        ("node_nm", array.node_nm),
        ("volts", array.volts),
        ("kelvin", array.kelvin),
    ];
    match sizes.chain(positive).find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        Some((name, value)) => {
            Err(bad(format!("invalid {name} = {value} of an SRAM array"), "write a number above 0"))
        }
        None => Ok(array),
    }
}

pub(crate) fn bad(message: String, help: &str) -> Problem {
    Problem::Bad { message, help: help.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_out_or_parameters_or_their_inverses() {
        let config = warpwatt_config::Config::default();
        let setting = Setting {
            all_techniques: &[],
            config: &config,
            counters: &[],
            techniques: &[],
            parameters: &[("technique.volts", 0.4)],
        };
        let key = |text: &str| Amount::Key(text.to_owned().into()).value(setting);
        assert_eq!(key("gpu.sms"), Ok(15.0));
        assert_eq!(key("1/gpu.sms"), Ok(1.0 / 15.0));
        assert_eq!(key("1/16384"), Ok(1.0 / 16384.0));
        assert_eq!(key("technique.volts"), Ok(0.4));
        assert_eq!(Amount::Number(2.5).value(setting), Ok(2.5));
        let Err(Problem::UnknownKey { nearest, .. }) = key("gpu.smx") else { panic!("an unknown key") };
        assert_eq!(nearest.as_deref(), Some("gpu.sms"));
        let Err(Problem::UnknownKey { nearest, .. }) = key("technique.volt") else {
            panic!("an unknown key")
        };
        assert_eq!(nearest.as_deref(), Some("technique.volts"));
        assert!(key("1/0").is_err());
        assert!(Amount::Number(-1.0).value(setting).is_err());
    }

    #[test]
    fn tables_are_exact_at_their_points() {
        let at = [[0.2, 1.0], [0.4, 4.0], [0.9, 8.0]];
        let value = |x| between(&at, x).unwrap_or(f64::NAN);
        assert_eq!([value(0.1), value(0.2), value(0.4), value(0.9), value(2.0)], [1.0, 1.0, 4.0, 8.0, 8.0]);
        assert!((value(0.3) - 2.0).abs() < 1e-12);
        assert!(between(&[[1.0, 1.0], [1.0, 2.0]], 1.0).is_err());
        assert!(between(&[], 1.0).is_err());
    }
}
