// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a technology file, worked out for a GPU: factors that are parameters, and tables over a parameter.

use warpwatt_base::suggest;

use crate::error::{Problem, shortened};
use crate::figures;
use crate::resolve::Setting;
use crate::sram::Sram;
use crate::technology::{Amount, SramSpec};

/// A number that a name stands for.
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
            Err(bad(format!("this cannot be {value}"), "write a number that is not negative"))
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
            "a table needs points in rising order whose numbers are above 0".to_owned(),
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
    pub(crate) fn array(&self, setting: Setting) -> Result<Sram, Problem> {
        let array = Sram {
            bytes: product(&self.bytes, setting)?,
            banks: product(&self.banks, setting)?,
            width_bits: self.width_bits,
            ways: self.ways,
            extra_ports: (self.read_ports + self.write_ports - 1.0).max(0.0),
            node_nm: self.node_nm,
            volts: self.volts,
            kelvin: self.kelvin,
        };
        let positive = [
            ("bytes", array.bytes),
            ("banks", array.banks),
            ("width_bits", array.width_bits),
            ("ways", array.ways),
            ("node_nm", array.node_nm),
            ("volts", array.volts),
            ("kelvin", array.kelvin),
        ];
        match positive.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            Some((name, value)) => {
                Err(bad(format!("`{name}` of an SRAM array cannot be {value}"), "write a number above 0"))
            }
            None => Ok(array),
        }
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
        let key = |text: &str| Amount::Key(text.to_owned()).value(setting);
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
