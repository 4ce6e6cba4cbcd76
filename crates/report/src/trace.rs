// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run as a trace for Perfetto: kernels by stream, copies by direction, blocks on SMs, power over time. The format is Perfetto's own, a `Trace` of
//! `TracePacket`s in Protocol Buffers (protos/perfetto/trace/trace_packet.proto of Perfetto); the numbers of fields below are those of its files.
//!
//! An SM holds several blocks at a time, and slices of a track must be nested, so that an SM has a track for each block that it holds at most. A
//! process of the program, which has a GPU of its own, is a process of the trace.

use std::collections::BTreeMap;

use warpwatt_results::{Kernel, Reading, RunRecord};

use crate::run::scope::config;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn uint(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn double(mut self, field: u64, value: f64) -> Message {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: Message) -> Message {
        self.bytes(field, &message.0)
    }
}

// Numbers of fields, by message.
/// Of `Trace`.
const PACKET: u64 = 1;
mod packet {
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE: u64 = 10;
    pub const TRACK_EVENT: u64 = 11;
    pub const SEQUENCE_FLAGS: u64 = 13;
    pub const TRACK_DESCRIPTOR: u64 = 60;
}
mod descriptor {
    pub const UUID: u64 = 1;
    pub const NAME: u64 = 2;
    pub const PROCESS: u64 = 3;
    pub const PARENT: u64 = 5;
    pub const COUNTER: u64 = 8;
    pub const CHILD_ORDERING: u64 = 11;
    pub const RANK: u64 = 12;
    /// Children in the order of their ranks.
    pub const EXPLICIT: u64 = 3;
}
mod process {
    pub const PID: u64 = 1;
    pub const NAME: u64 = 6;
}
mod counter {
    pub const UNIT_NAME: u64 = 6;
}
mod event {
    pub const ANNOTATION: u64 = 4;
    pub const TYPE: u64 = 9;
    pub const TRACK: u64 = 11;
    pub const CATEGORY: u64 = 22;
    pub const NAME: u64 = 23;
    pub const VALUE: u64 = 44;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const COUNTER: u64 = 4;
}
mod annotation {
    pub const UINT: u64 = 3;
    pub const TEXT: u64 = 6;
    pub const NAME: u64 = 10;
}

/// All packets of a trace have one source.
const SEQUENCE: u64 = 1;

enum Note {
    Number(u64),
    Text(String),
}

/// Events in the order of time. At equal times, slices end before slices of zero length, and these before others begin, the longer ones first.
struct Events {
    mhz: f64,
    next_track: u64,
    head: Vec<u8>,
    /// Time, order within it, the packet.
    packets: Vec<(u64, u8, u64, Vec<u8>)>,
}

impl Events {
    fn ns(&self, cycle: u64) -> u64 {
        (cycle as f64 * 1e3 / self.mhz) as u64
    }

    fn packet(message: Message) -> Vec<u8> {
        Message::default().message(PACKET, message.uint(packet::SEQUENCE, SEQUENCE)).0
    }

    fn track(
        &mut self,
        name: &str,
        parent: Option<u64>,
        rank: u64,
        more: impl FnOnce(Message) -> Message,
    ) -> u64 {
        self.next_track += 1;
        let uuid = self.next_track;
        let mut message = Message::default().uint(descriptor::UUID, uuid).text(descriptor::NAME, name);
        if let Some(parent) = parent {
            message = message.uint(descriptor::PARENT, parent).uint(descriptor::RANK, rank);
        }
        let message = more(message.uint(descriptor::CHILD_ORDERING, descriptor::EXPLICIT));
        let flags =
            if uuid == 1 { Message::default().uint(packet::SEQUENCE_FLAGS, 1) } else { Message::default() };
        self.head.extend(Events::packet(flags.message(packet::TRACK_DESCRIPTOR, message)));
        uuid
    }

    fn event(&mut self, at: u64, order: u8, rank: u64, event: Message) {
        let message = Message::default().uint(packet::TIMESTAMP, at).message(packet::TRACK_EVENT, event);
        self.packets.push((at, order, rank, Events::packet(message)));
    }

    fn slice(
        &mut self,
        track: u64,
        (start, end): (u64, u64),
        (category, name): (&str, &str),
        notes: &[(&str, Note)],
    ) {
        let (start, end) = (self.ns(start), self.ns(end));
        let mut begin = Message::default()
            .uint(event::TYPE, event::BEGIN)
            .uint(event::TRACK, track)
            .text(event::CATEGORY, category)
            .text(event::NAME, name);
        for (name, note) in notes {
            let message = Message::default().text(annotation::NAME, name);
            let message = match note {
                Note::Number(value) => message.uint(annotation::UINT, *value),
                Note::Text(text) => message.text(annotation::TEXT, text),
            };
            begin = begin.message(event::ANNOTATION, message);
        }
        let finish = Message::default().uint(event::TYPE, event::END).uint(event::TRACK, track);
        let number = self.packets.len() as u64;
        if start < end {
            self.event(start, 2, u64::MAX - end, begin);
            self.event(end, 0, 0, finish);
        } else {
            // Shorter than a nanosecond.
            self.event(start, 1, number, begin);
            self.event(start, 1, number, finish);
        }
    }

    fn value(&mut self, track: u64, cycle: u64, value: f64) {
        let message = Message::default()
            .uint(event::TYPE, event::COUNTER)
            .uint(event::TRACK, track)
            .double(event::VALUE, value);
        self.event(self.ns(cycle), 3, 0, message);
    }

    fn finish(mut self) -> Vec<u8> {
        self.packets.sort_by_key(|(at, order, rank, _)| (*at, *order, *rank));
        let mut out = self.head;
        self.packets.into_iter().for_each(|packet| out.extend(packet.3));
        out
    }
}

/// The trace of a run's launches in detail and of its copies, if these were noted.
pub fn trace(record: &RunRecord) -> Vec<u8> {
    let config = config(record).unwrap_or_default();
    let mhz = f64::from(config.clock.core_mhz.max(1));
    let mut events = Events { mhz, next_track: 0, head: Vec::new(), packets: Vec::new() };
    let of_kernels = record.kernels.iter().map(|kernel| kernel.process.unwrap_or(1));
    let mut processes: Vec<u32> =
        of_kernels.chain(record.copies.iter().map(|copy| copy.process.unwrap_or(1))).collect();
    processes.sort_unstable();
    processes.dedup();
    let gpu = record.inputs.gpu.as_ref().map_or("GPU", |gpu| &gpu.name);
    for number in &processes {
        let name = if processes.len() > 1 { format!("{gpu}, process {number}") } else { gpu.to_owned() };
        let own = Message::default().uint(process::PID, u64::from(*number)).text(process::NAME, &name);
        let root = events.track(&name, None, 0, |message| message.message(descriptor::PROCESS, own));
        let kernels: Vec<&Kernel> = record
            .kernels
            .iter()
            .filter(|kernel| kernel.process.unwrap_or(1) == *number && kernel.cycles.is_some())
            .collect();
        streams(&mut events, root, &kernels);
        copies(&mut events, root, record, *number);
        power(&mut events, root, &kernels);
        blocks(&mut events, root, &kernels);
    }
    events.finish()
}

fn streams(events: &mut Events, root: u64, kernels: &[&Kernel]) {
    let mut tracks = BTreeMap::new();
    for kernel in kernels {
        let stream = kernel.stream;
        let track = *tracks
            .entry(stream)
            .or_insert_with(|| events.track(&format!("stream {stream}"), Some(root), 10, |message| message));
        let (Some(start), Some(cycles)) = (kernel.start_cycle, kernel.cycles) else { continue };
        let extent = |extent: [u32; 3]| Note::Text(format!("{} x {} x {}", extent[0], extent[1], extent[2]));
        let mut notes = vec![
            ("launch", Note::Number(kernel.index)),
            ("grid", extent(kernel.grid)),
            ("block", extent(kernel.block)),
            ("registers", Note::Number(kernel.registers.into())),
            ("cycles", Note::Number(cycles)),
            ("warp instructions", Note::Number(kernel.warp_instructions)),
        ];
        if let Some(energy) = &kernel.energy {
            notes.push(("energy", Note::Text(crate::number::joules(energy.total_j))));
        }
        events.slice(track, (start, start + cycles), ("kernel", &kernel.demangled), &notes);
    }
}

/// Engines do one copy at a time; what stays on one side has tracks for as many as there are at a time.
fn copies(events: &mut Events, root: u64, record: &RunRecord, number: u32) {
    let own = record.copies.iter().filter(|copy| copy.process.unwrap_or(1) == number);
    let mut ways = BTreeMap::<&str, Vec<_>>::new();
    own.for_each(|copy| ways.entry(&copy.way).or_default().push(copy));
    for (way, mut list) in ways {
        list.sort_by_key(|copy| (copy.start_cycle, copy.end_cycle));
        let title = format!("copies {}", way.replace('_', " "));
        let mut tracks = Slots::default();
        for copy in list {
            let slot = tracks.take(copy.start_cycle, copy.end_cycle);
            let track = tracks.track(slot, || events.track(&title, Some(root), 20, |message| message));
            let notes = [("bytes", Note::Number(copy.bytes))];
            events.slice(
                track,
                (copy.start_cycle, copy.end_cycle),
                ("copy", &crate::number::bytes(copy.bytes as f64)),
                &notes,
            );
        }
    }
}

fn blocks(events: &mut Events, root: u64, kernels: &[&Kernel]) {
    // Kernels may share an SM: blocks of all of them find their places in the order of time.
    let mut spans = Vec::new();
    for kernel in kernels {
        for (place, sm) in kernel.blocks.iter().flat_map(|blocks| blocks.sm.iter().enumerate()) {
            let Some(columns) = &kernel.blocks else { continue };
            let at = |column: &Vec<u64>| column.get(place).copied().unwrap_or_default();
            spans.push((*sm, at(&columns.start_cycle), at(&columns.end_cycle), at(&columns.block), *kernel));
        }
    }
    spans.sort_by_key(|(sm, start, end, block, kernel)| (*sm, *start, *end, kernel.index, *block));
    let mut current = None::<(u32, u64, Slots)>;
    for (sm, start, end, block, kernel) in spans {
        if current.as_ref().is_none_or(|(known, ..)| *known != sm) {
            let parent =
                events.track(&format!("SM {sm}"), Some(root), 100 + u64::from(sm), |message| message);
            current = Some((sm, parent, Slots::default()));
        }
        let Some((_, parent, slots)) = &mut current else { continue };
        let parent = *parent;
        let slot = slots.take(start, end);
        let name = format!("SM {sm}, place {slot}");
        let track = slots.track(slot, || events.track(&name, Some(parent), slot as u64, |message| message));
        let notes = [("block", Note::Number(block)), ("launch", Note::Number(kernel.index))];
        events.slice(track, (start, end), ("block", &kernel.demangled), &notes);
    }
}

/// Tracks for slices that overlap in time.
#[derive(Default)]
struct Slots {
    ends: Vec<u64>,
    tracks: Vec<u64>,
}

impl Slots {
    /// The first place that is free from `start` on.
    fn take(&mut self, start: u64, end: u64) -> usize {
        let free = self.ends.iter().position(|taken| *taken <= start).unwrap_or(self.ends.len());
        if free == self.ends.len() {
            self.ends.push(0);
        }
        self.ends[free] = end;
        free
    }

    /// The track of a place, made when it is first needed.
    fn track(&mut self, slot: usize, make: impl FnOnce() -> u64) -> u64 {
        if slot == self.tracks.len() {
            self.tracks.push(make());
        }
        self.tracks[slot]
    }
}

/// Power by component, from the samples of the kernels; 0 where no kernel runs.
fn power(events: &mut Events, root: u64, kernels: &[&Kernel]) {
    let mut tracks = BTreeMap::<String, (u64, u64)>::new();
    for kernel in kernels {
        let (Some(series), Some(start)) = (&kernel.series, kernel.start_cycle) else { continue };
        let ends: Vec<u64> = series
            .get("cycle")
            .into_iter()
            .flatten()
            .filter_map(|end| match end {
                Reading::Count(end) => Some(*end),
                _ => None,
            })
            .collect();
        for (name, column) in series.iter() {
            let Some(component) = name.strip_prefix("power.").and_then(|name| name.strip_suffix(".watts"))
            else {
                continue;
            };
            let title = format!("power: {}", component.replace('_', " "));
            let rank = if component == "total" { 30 } else { 31 };
            let unit = Message::default().text(counter::UNIT_NAME, "W");
            let known = tracks.entry(name.clone()).or_insert_with(|| {
                (
                    events.track(&title, Some(root), rank, |message| {
                        message.message(descriptor::COUNTER, unit)
                    }),
                    0,
                )
            });
            let mut from = start;
            for (end, reading) in ends.iter().zip(column) {
                // Concurrent kernels sample the same GPU: the first one is used.
                if let (Reading::Ratio(watts), true) = (reading, from >= known.1) {
                    events.value(known.0, from, *watts);
                }
                from = *end;
            }
            if from > known.1 {
                known.1 = from;
                events.value(known.0, from, 0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a message: number and content; numbers as they are, the rest as bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            while let Some((&byte, rest)) = bytes.split_first() {
                *bytes = rest;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            value
        }
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let (number, content) = match key & 7 {
                0 => (varint(&mut bytes), Vec::new()),
                1 => (0, bytes.split_off(..8).expect("eight bytes").to_vec()),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    (0, bytes.split_off(..length).expect("as many bytes").to_vec())
                }
                other => panic!("wire type {other}"),
            };
            found.push((key >> 3, number, content));
        }
        found
    }

    #[test]
    fn slices_of_a_track_are_nested_and_in_order() {
        let mut events = Events { mhz: 700.0, next_track: 0, head: Vec::new(), packets: Vec::new() };
        let track = events.track("t", None, 0, |message| message);
        // Neighbours that touch, one that is shorter than a nanosecond, and one given out of order.
        for (start, end) in [(10, 20), (20, 30), (30, 30), (30, 31), (0, 10)] {
            events.slice(
                track,
                (start, end),
                ("c", "n<\u{e4}>"),
                &[("x", Note::Number(300)), ("y", Note::Text("z".into()))],
            );
        }
        let (mut depth, mut last, mut slices) = (0, 0, 0);
        for (number, _, packet) in fields(&events.finish()) {
            assert_eq!(number, PACKET);
            let packet = fields(&packet);
            let Some((.., event)) = packet.iter().find(|field| field.0 == packet::TRACK_EVENT) else {
                continue;
            };
            let at = packet.iter().find(|field| field.0 == packet::TIMESTAMP).map_or(0, |field| field.1);
            assert!(at >= last);
            last = at;
            match fields(event).iter().find(|field| field.0 == event::TYPE).map(|field| field.1) {
                Some(event::BEGIN) => depth += 1,
                Some(event::END) => (depth, slices) = (depth - 1, slices + 1),
                other => panic!("{other:?}"),
            }
            assert!((0..=1).contains(&depth), "slices overlap");
        }
        assert_eq!((depth, slices), (0, 5));
    }

    #[test]
    fn what_overlaps_has_places_of_its_own() {
        let mut slots = Slots::default();
        let taken = [(0, 10), (0, 5), (5, 8), (6, 7), (10, 12)].map(|(start, end)| slots.take(start, end));
        assert_eq!(taken, [0, 1, 1, 2, 0]);
    }
}
