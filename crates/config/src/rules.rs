// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values are possible together. Ranges of single parameters are in their declarations.
//!
//! What the model cannot represent is refused, and so are timings of DRAM that contradict each other.

use crate::{Config, Error, LINE_BYTES, Problem, Topology};

/// No clock domain is more than so many times as fast as another; beyond that it is a misprint.
const MOST_CLOCK_RATIO: u32 = 16;

/// Finds values that are not possible together, and reports all of them.
pub fn validate(config: &Config) -> Result<(), Vec<Error>> {
    let mut broken = Broken(Vec::new());
    powers_of_two(config, &mut broken);
    multiprocessor(config, &mut broken);
    network(config, &mut broken);
    memory(config, &mut broken);
    clocks(config, &mut broken);
    power(config, &mut broken);
    if broken.0.is_empty() { Ok(()) } else { Err(broken.0) }
}

/// Figures that nothing is known about.
fn power(config: &Config, broken: &mut Broken) {
    let known: [(&'static [&'static str], u32, u32, &str); 5] = [
        (&["power.node_nm"], config.power.node_nm, 14, "nm"),
        (&["power.kelvin"], config.power.kelvin, 273, "K"),
        (&["power.core_mv"], config.power.core_mv, 400, "mV"),
        (&["power.noc_mv"], config.power.noc_mv, 400, "mV"),
        (&["power.l2_mv"], config.power.l2_mv, 400, "mV"),
    ];
    for (keys, value, least, unit) in known {
        broken.unless(value == 0 || value >= least, keys, || {
            let message = format!("`{}` is {value} {unit}, below the range of the energy model", keys[0]);
            (message, format!("use {least} {unit} or more, or 0 for the value of the technology"))
        });
    }
}

struct Broken(Vec<Error>);

impl Broken {
    /// Notes a broken rule unless it holds.
    fn unless(
        &mut self,
        holds: bool,
        keys: &'static [&'static str],
        tell: impl FnOnce() -> (String, String),
    ) {
        if !holds {
            let (message, help) = tell();
            self.0.push(Problem::Rule { keys, message, help }.into());
        }
    }
}

fn powers_of_two(config: &Config, broken: &mut Broken) {
    let checked: [(&'static [&'static str], u32); 13] = [
        (&["sm.fetch.instruction_bytes"], config.fetch.instruction_bytes),
        (&["sm.icache.line_bytes"], config.icache.line_bytes),
        (&["sm.constant.line_bytes"], config.constant.line_bytes),
        (&["sm.texture.line_bytes"], config.texture.line_bytes),
        (&["sm.rf.sub_banks"], config.rf.sub_banks),
        (&["l2.port_bytes"], config.l2.port_bytes),
        (&["dram.bus_bytes"], config.dram.bus_bytes),
        (&["dram.beats"], config.dram.beats),
        (&["dram.burst"], config.dram.burst),
        (&["dram.banks"], config.dram.banks),
        (&["dram.groups"], config.dram.groups),
        (&["dram.row_bytes"], config.dram.row_bytes),
        (&["dram.interleave_bytes"], config.dram.interleave_bytes),
    ];
    for (keys, value) in checked {
        broken.unless(value.is_power_of_two(), keys, || {
            let above = value.next_power_of_two();
            let near = format!("the nearest are {} and {above}", above / 2);
            (format!("`{}` is {value}, which is not a power of two", keys[0]), near)
        });
    }
}

fn multiprocessor(config: &Config, broken: &mut Broken) {
    let Config { sm, fetch, .. } = config;
    broken.unless(sm.schedulers <= sm.warps, &["sm.schedulers", "sm.warps"], || {
        let message = format!("`sm.schedulers` is {}, but `sm.warps` only {}", sm.schedulers, sm.warps);
        (message, "each scheduler needs at least one warp: raise sm.warps or lower sm.schedulers".to_owned())
    });
    broken.unless(sm.threads.is_multiple_of(32), &["sm.threads"], || {
        let message = format!("`sm.threads` is {}, which is not a whole number of warps", sm.threads);
        (message, "use a multiple of 32".to_owned())
    });
    broken.unless(sm.register_unit.is_multiple_of(32), &["sm.register_unit"], || {
        let message = format!(
            "`sm.register_unit` is {}, which is not a multiple of the 32 lanes of a warp",
            sm.register_unit
        );
        (message, "use a multiple of 32".to_owned())
    });
    broken.unless(fetch.buffer >= fetch.width, &["sm.fetch.buffer", "sm.fetch.width"], || {
        let message = format!(
            "`sm.fetch.width` of {} instructions does not fit into an `sm.fetch.buffer` of {}",
            fetch.width, fetch.buffer
        );
        (message, "raise sm.fetch.buffer or lower sm.fetch.width".to_owned())
    });
    let keys = &["sm.shared.bytes", "sm.onchip_bytes", "sm.l1d.ways"];
    broken.unless(config.l1d_sets() >= 1, keys, || {
        let set = LINE_BYTES * config.l1d.ways;
        let message = format!(
            "`sm.shared.bytes` is {} of an `sm.onchip_bytes` of {}, which leaves no room for a set of the L1 data cache ({set} bytes)",
            config.shared.bytes, sm.onchip_bytes
        );
        let help = match sm.onchip_bytes.checked_sub(set) {
            Some(most) => format!("use at most {most} for sm.shared.bytes, or raise sm.onchip_bytes"),
            None => "raise sm.onchip_bytes or lower sm.l1d.ways".to_owned(),
        };
        (message, help)
    });
}

fn network(config: &Config, broken: &mut Broken) {
    let noc = &config.noc;
    let largest = config.flits(LINE_BYTES);
    let keys = &["noc.buffer_flits", "noc.flit_bytes", "noc.header_bytes"];
    broken.unless(noc.buffer_flits >= largest, keys, || {
        let message = format!(
            "`noc.buffer_flits` is {}, but a packet with a line of {LINE_BYTES} bytes has {largest} flits",
            noc.buffer_flits
        );
        (message, format!("use at least {largest} for noc.buffer_flits, or a larger noc.flit_bytes"))
    });
    let places = config.gpu.sms + config.gpu.partitions;
    let fits = noc.topology != Topology::Mesh || noc.mesh_columns <= places;
    broken.unless(fits, &["noc.mesh_columns", "gpu.sms", "gpu.partitions"], || {
        let message = format!(
            "`noc.mesh_columns` is {}, but there are only {places} SMs and memory partitions",
            noc.mesh_columns
        );
        (message, format!("use at most {places}"))
    });
}

fn memory(config: &Config, broken: &mut Broken) {
    let dram = &config.dram;
    broken.unless(dram.groups <= dram.banks, &["dram.groups", "dram.banks"], || {
        let message = format!("`dram.groups` is {}, but `dram.banks` only {}", dram.groups, dram.banks);
        (message, "groups divide the banks: raise dram.banks or lower dram.groups".to_owned())
    });
    // Each covers the other: a row stays open until it can be accessed, and so on.
    let longer: [(u32, u32, &'static [&'static str], &str); 4] = [
        (
            dram.t_ras,
            dram.t_rcd,
            &["dram.t_ras", "dram.t_rcd"],
            "a row would be closed before it can be accessed",
        ),
        (
            dram.t_rc,
            dram.t_ras,
            &["dram.t_rc", "dram.t_ras"],
            "a row would be opened again before it can be closed",
        ),
        (dram.t_ccdl, dram.t_ccd, &["dram.t_ccdl", "dram.t_ccd"], "one bank group would be faster than two"),
        (
            dram.t_faw,
            dram.t_rrd,
            &["dram.t_faw", "dram.t_rrd"],
            "four activations would take less time than two",
        ),
    ];
    for (long, short, keys, why) in longer {
        broken.unless(long >= short, keys, || {
            let message = format!("`{}` is {long}, less than `{}` of {short}: {why}", keys[0], keys[1]);
            (message, format!("use at least {short} for {}, or a smaller {}", keys[0], keys[1]))
        });
    }
    let access = config.dram_access_bytes();
    broken.unless(access <= LINE_BYTES, &["dram.burst", "dram.bus_bytes"], || {
        let message = format!(
            "`dram.burst` of {} and `dram.bus_bytes` of {} move {access} bytes, more than a line of {LINE_BYTES}",
            dram.burst, dram.bus_bytes
        );
        (message, format!("keep dram.burst x dram.bus_bytes at {LINE_BYTES} or less"))
    });
    let accesses = config.dram_line_accesses();
    broken.unless(dram.queue >= accesses, &["dram.queue", "dram.burst", "dram.bus_bytes"], || {
        let message = format!("`dram.queue` is {}, but a line takes {accesses} accesses", dram.queue);
        (message, format!("use at least {accesses} for dram.queue, or a larger dram.burst or dram.bus_bytes"))
    });
    // Between two refreshes a row has to be opened, accessed and closed again, or no access would ever be possible.
    let written = dram.t_rcd + dram.t_wl + config.dram_access_clocks() + dram.t_wr;
    let rest = dram.t_rc.max(dram.t_ras.max(written).max(dram.t_rcd + dram.t_rtp) + dram.t_rp);
    let keys = &[
        "dram.t_refi",
        "dram.t_rfc",
        "dram.t_rc",
        "dram.t_ras",
        "dram.t_rp",
        "dram.t_rcd",
        "dram.t_wl",
        "dram.t_wr",
        "dram.t_rtp",
        "dram.burst",
    ];
    broken.unless(dram.t_refi > dram.t_rfc + rest, keys, || {
        let message = format!(
            "`dram.t_refi` is {}, which leaves no time for accesses between refreshes (`dram.t_rfc`) of {}",
            dram.t_refi, dram.t_rfc
        );
        (message, format!("use more than {} for dram.t_refi, or a shorter dram.t_rfc", dram.t_rfc + rest))
    });
}

fn clocks(config: &Config, broken: &mut Broken) {
    let core = config.clock.core_mhz;
    let domains: [(&'static [&'static str], u32); 3] = [
        (&["clock.noc_mhz", "clock.core_mhz"], config.clock.noc_mhz),
        (&["clock.l2_mhz", "clock.core_mhz"], config.clock.l2_mhz),
        (&["clock.dram_mhz", "clock.core_mhz"], config.clock.dram_mhz),
    ];
    for (keys, mhz) in domains {
        let sane = mhz <= core * MOST_CLOCK_RATIO && core <= mhz * MOST_CLOCK_RATIO;
        broken.unless(sane, keys, || {
            let message = format!("`{}` is {mhz} MHz beside a `clock.core_mhz` of {core}", keys[0]);
            (message, format!("keep them within a factor of {MOST_CLOCK_RATIO} of each other"))
        });
    }
}
