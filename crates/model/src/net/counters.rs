// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted in the network: declared once, named for each of its two directions.

use warpwatt_base::counters;
use warpwatt_base::counters::{Charge, Log2};

macro_rules! traffic {
    ($(#[$meta:meta])* $name:ident, $prefix:literal) => {
        counters! {
            $(#[$meta])*
            pub struct $name(Charge::AllLines) {
                packets: u64 = concat!($prefix, ".packets.count"), "Packets sent.";
                flits: u64 = concat!($prefix, ".flits.count"), "Flits sent, one in a network clock of an injection port.";
                payload: u64 = concat!($prefix, ".payload.bytes"), "Bytes sent besides headers.";
                delivered: u64 = concat!($prefix, ".delivered.count"), "Packets that receivers took.";
                latency: u64 = concat!($prefix, ".latency.cycles"), "Cycles from sending to taking, summed over packets.";
                latencies: Log2 = concat!($prefix, ".latency.histogram"), "Packets by the cycles from sending to taking.";
                port_stalls: u64 = concat!($prefix, ".port_stalls.cycles"), "Cycles in which a sender waited for its injection port.";
                credit_stalls: u64 = concat!($prefix, ".credit_stalls.cycles"), "Cycles in which a sender waited for room at a receiver.";
                hops: u64 = concat!($prefix, ".hops.count"), "Links of a mesh that packets went over.";
                link_busy: u64 = concat!($prefix, ".link_busy.clocks"), "Network clocks in which links of a mesh moved a flit.";
                link_waits: u64 = concat!($prefix, ".link_waits.clocks"), "Network clocks that packets waited for links of a mesh.";
            }
        }
    };
}

traffic! {
    /// Of a port or a mesh, whatever its direction.
    Traffic, "noc"
}
traffic! {
    /// From SMs to memory partitions.
    RequestCounters, "noc.request"
}
traffic! {
    /// From memory partitions to SMs.
    ReplyCounters, "noc.reply"
}

macro_rules! directed {
    ($($name:ident),*) => {$(
        impl From<Traffic> for $name {
            fn from(traffic: Traffic) -> $name {
                let Traffic {
                    packets,
                    flits,
                    payload,
                    delivered,
                    latency,
                    latencies,
                    port_stalls,
                    credit_stalls,
                    hops,
                    link_busy,
                    link_waits,
                } = traffic;
                $name {
                    packets,
                    flits,
                    payload,
                    delivered,
                    latency,
                    latencies,
                    port_stalls,
                    credit_stalls,
                    hops,
                    link_busy,
                    link_waits,
                }
            }
        }
    )*};
}
directed!(RequestCounters, ReplyCounters);
