// SPDX-License-Identifier: MIT OR Apache-2.0
//! What node, temperature and voltage make of figures: those of a technology are for its own silicon, a GPU's clocks and `power` parameters may
//! ask for another.
//!
//! A clock needs the voltage at which the alpha-power law (Sakurai and Newton, JSSC 1990) gives its frequency, unless the voltage is
//! pinned. Dynamic energy goes with the square of the voltage, leakage with its fourth power ([`LEAKAGE_EXPONENT`]). Logic shrinks with the node in
//! capacitance, and its usual voltage with it; its leakage moves as CACTI's with the node and as the technology says with
//! the temperature.

use crate::amount::bad;
use crate::error::{Error, Problem, shortened};
use crate::figures;
use crate::file::{Origin, Technology};
use crate::resolve::Setting;
use crate::spanned::Spanned;
use crate::sram::{LEAKAGE_EXPONENT, along, node_leakage, nominal_volts};
use crate::technology::{Domain, Silicon, Text};

/// What energy was worked out for.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    pub node_nm: f64,
    pub kelvin: f64,
    /// Supply voltages, by the parameter that has the clock.
    pub supplies: Vec<Supply>,
    /// The node and temperature of the technology's figures.
    reference_nm: f64,
    reference_kelvin: f64,
    /// Leakage of logic at the temperature over that at the technology's.
    logic_heat: f64,
}

/// The voltage of a clock.
#[derive(Clone, PartialEq, Debug)]
pub struct Supply {
    pub clock: String,
    pub volts: f64,
    /// Over the voltage and the frequency that the technology's figures are for.
    relative_volts: f64,
    relative_clock: f64,
}

impl Supply {
    /// Energy of what switches.
    pub fn dynamic(&self) -> f64 {
        self.relative_volts * self.relative_volts
    }

    pub fn leakage(&self) -> f64 {
        libm::pow(self.relative_volts, LEAKAGE_EXPONENT)
    }

    /// Power of what switches in every clock.
    pub fn switching(&self) -> f64 {
        self.dynamic() * self.relative_clock
    }
}

impl Conditions {
    pub fn supply(&self, clock: &str) -> Option<&Supply> {
        self.supplies.iter().find(|supply| supply.clock == clock)
    }

    pub fn reference_nm(&self) -> f64 {
        self.reference_nm
    }

    pub fn reference_kelvin(&self) -> f64 {
        self.reference_kelvin
    }

    /// Dynamic energy of logic at the node over that at the technology's, each at its usual voltage.
    pub fn logic(&self) -> f64 {
        let volts = nominal_volts(self.node_nm) / nominal_volts(self.reference_nm);
        self.shrink() * volts * volts
    }

    /// Leakage of logic at node and temperature over that at the technology's.
    pub fn logic_leakage(&self) -> f64 {
        node_leakage(self.node_nm) / node_leakage(self.reference_nm) * self.logic_heat
    }

    /// A length at the node over that at the technology's.
    pub fn shrink(&self) -> f64 {
        self.node_nm / self.reference_nm
    }
}

/// Works out the silicon of a GPU.
pub fn conditions(technology: &Technology, setting: Setting) -> Result<Option<Conditions>, Vec<Error>> {
    let Some((origin, silicon)) = &technology.silicon else { return Ok(None) };
    legal(origin, silicon)?;
    let power = &setting.config.power;
    let or_else = |value: u32, else_: f64| if value == 0 { else_ } else { f64::from(value) };
    let node_nm = or_else(power.node_nm, silicon.node_nm);
    let usual = silicon.volts * nominal_volts(node_nm) / nominal_volts(silicon.node_nm);
    let mut errors = Vec::new();
    let mut supplies = Vec::new();
    for domain in silicon.clocks.iter() {
        match supply(silicon, domain, usual, technology.pinned, setting) {
            Ok(supply) => supplies.push(supply),
            Err((at, problem)) => errors.push(origin.error(at, problem)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let kelvin = or_else(power.kelvin, silicon.kelvin);
    let leakage = |kelvin: f64| {
        let points = silicon.logic_leakage.iter().map(|[kelvin, power]| (*kelvin, *power));
        along(points, kelvin, false)
    };
    Ok(Some(Conditions {
        node_nm,
        kelvin,
        logic_heat: leakage(kelvin) / leakage(silicon.kelvin),
        supplies,
        reference_nm: silicon.node_nm,
        reference_kelvin: silicon.kelvin,
    }))
}

fn legal(origin: &Origin, silicon: &Silicon) -> Result<(), Vec<Error>> {
    let Silicon { node_nm, kelvin, volts, threshold_volts, alpha, least_volts, .. } = *silicon;
    let positive = [node_nm, kelvin, volts, threshold_volts, alpha, least_volts]
        .iter()
        .chain(silicon.clocks.iter().map(|domain| &domain.mhz))
        .all(|value| value.is_finite() && *value > 0.0);
    let points = &silicon.logic_leakage;
    let rising = points.len() > 1 && points.windows(2).all(|pair| pair[0][0] < pair[1][0]);
    let rising = rising && points.iter().all(|[_, power]| power.is_finite() && *power > 0.0);
    if positive && rising && threshold_volts < least_volts.min(volts) && (1.0..=2.0).contains(&alpha) {
        return Ok(());
    }
    let message = "these figures of `silicon` contradict each other".to_owned();
    let help = "all of them must be above 0, threshold_volts below volts and least_volts, alpha between 1 and 2, and logic_leakage needs two or more points in ascending order";
    Err(vec![origin.error(silicon.source.span.clone(), bad(message, help))])
}

fn supply(
    silicon: &Silicon,
    Domain { clock, mhz, pin }: &Domain,
    usual: f64,
    pinned: bool,
    setting: Setting,
) -> Result<Supply, (std::ops::Range<usize>, Problem)> {
    let value = |key: &Spanned<Text>| {
        figures::value(&key.value, setting.config).ok_or_else(|| {
            let problem = Problem::UnknownKey { key: shortened(&key.value), nearest: None };
            (key.span.clone(), problem)
        })
    };
    let relative_clock = value(clock)? / mhz;
    let millivolts = value(pin)?;
    let relative_volts = match millivolts {
        _ if millivolts > 0.0 => millivolts * 1e-3 / usual,
        _ if pinned => 1.0,
        _ => voltage(silicon, relative_clock) / silicon.volts,
    };
    let clock = clock.value.to_string();
    Ok(Supply { clock, volts: relative_volts * usual, relative_volts, relative_clock })
}

/// The voltage that a clock needs which is so many times the technology's.
fn voltage(silicon: &Silicon, relative_clock: f64) -> f64 {
    if relative_clock == 1.0 {
        return silicon.volts;
    }
    let speed = |volts: f64| libm::pow(volts - silicon.threshold_volts, silicon.alpha) / volts;
    let wanted = relative_clock * speed(silicon.volts);
    let (mut low, mut high) = (silicon.least_volts, silicon.least_volts);
    // No transistor stands a hundred volts: the law ends before the clock does.
    while speed(high) < wanted && high < 100.0 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if speed(middle) < wanted { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_config::Config;

    fn at(settings: &[(&str, &str)], technology: &str) -> Conditions {
        let mut config = Config::default();
        for (key, value) in settings {
            config.set(key, value).expect("a parameter");
        }
        let setting =
            Setting { config: &config, counters: &[], all_techniques: &[], techniques: &[], parameters: &[] };
        let technology = Technology::builtin(technology).expect("it is built in");
        conditions(&technology, setting).expect("it is legal").expect("it has silicon")
    }

    fn core(settings: &[(&str, &str)]) -> f64 {
        at(settings, "gtx480-40nm").supply("clock.core_mhz").expect("it has a voltage").volts
    }

    #[test]
    fn the_voltage_follows_the_clock_unless_it_is_pinned() {
        assert_eq!(core(&[]), 0.96);
        // A GTX 580 needs about 1.0 V for its 772 MHz.
        let fast = core(&[("clock.core_mhz", "772")]);
        assert!((0.99..1.04).contains(&fast), "{fast}");
        let mut before = 0.0;
        for mhz in ["100", "350", "600", "700", "1000", "1400", "4000"] {
            let volts = core(&[("clock.core_mhz", mhz)]);
            assert!(volts >= before && volts >= 0.7, "{mhz} MHz: {volts} V");
            before = volts;
        }
        let pinned = [("clock.core_mhz", "1400"), ("power.core_mv", "1050")];
        assert!((core(&pinned) - 1.05).abs() < 1e-12);
        let paper = at(&[("clock.core_mhz", "1400")], "e2mc32");
        assert_eq!(paper.supply("clock.core_mhz").map(|supply| supply.volts), Some(0.96));
        // Another clock is another voltage.
        let network = at(&[("clock.noc_mhz", "2000")], "gtx480-40nm");
        assert_eq!(network.supply("clock.core_mhz").map(|supply| supply.volts), Some(0.96));
        assert!(network.supply("clock.noc_mhz").is_some_and(|supply| supply.volts > 1.1));
    }

    #[test]
    fn energies_follow_voltage_node_and_temperature() {
        let fast = at(&[("clock.core_mhz", "1400")], "gtx480-40nm");
        let supply = fast.supply("clock.core_mhz").expect("it has a voltage");
        let relative: f64 = supply.volts / 0.96;
        assert!((supply.dynamic() - relative.powi(2)).abs() < 1e-12);
        assert!((supply.leakage() - relative.powi(4)).abs() < 1e-12);
        assert!((supply.switching() - 2.0 * relative.powi(2)).abs() < 1e-12);
        let small = at(&[("power.node_nm", "32")], "gtx480-40nm");
        assert!((small.supplies[0].volts - 0.9).abs() < 1e-9);
        assert!((small.logic() - 0.8 * (0.9_f64 / 0.96).powi(2)).abs() < 1e-9);
        assert!((small.logic_leakage() - 18.98 / 42.70).abs() < 1e-9);
        let hot = at(&[("power.kelvin", "380")], "gtx480-40nm");
        assert!((hot.logic_leakage() - 46.4 / 28.5).abs() < 1e-9);
    }
}
