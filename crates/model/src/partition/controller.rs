// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory controller of a partition: sends lines to their channels and brings them back.
//!
//! A request reaches its channel at once; `dram.cycles`, the fixed part of the latency on the way there and
//! back, is spent on the way back. Since every return takes `dram.cycles` at least, channels may stay behind for that long: they are told when a line is asked for,
//! and the L2 slice may sleep that long without missing a line. They are advanced to the present where it may matter how full they are. What techniques hold
//! back is in `held`; with these, channels are always in the present.

use warpwatt_base::counters::Magnitudes;
use warpwatt_base::opaque;
use warpwatt_config::Config;
use warpwatt_memory::DeviceMemory;

use super::banks::{Direction, Spec};
use super::channel::{Channel, INTERNAL, Returned, Transfer};
use super::counters::DramCounters;
use super::held::{Holding, Later};
use super::mapping::{DramAddress, Mapping};
use super::site::{self, ControllerMessage, Metadata, TransferPlan, TransferSite, Way};
use super::time::CommandClock;
use crate::address::Interleave;
use crate::net::LINE_BYTES;
use crate::techniques::{Hung, TechniqueCounters, Techniques};

/// A line that is to be moved, and that techniques are still to see.
#[derive(Clone, Copy)]
struct Wanted {
    line: u64,
    direction: Direction,
    tag: u32,
}

/// The line that comes back first.
#[derive(Clone, Copy)]
pub struct First {
    channel: usize,
    pub tag: u32,
}

pub struct Controller {
    index: usize,
    interleave: Interleave,
    mapping: Mapping,
    clock: CommandClock,
    /// Bytes of an access.
    access_bytes: u32,
    /// Accesses of a whole line.
    line_accesses: u32,
    pub(super) channels: Vec<Channel>,
    /// From the end of a line's data to the slice, in core cycles.
    latency: u64,
    /// The clock that channels are advanced to when they are asked something. Without techniques it follows the cycle when it is needed, and
    /// channels that nobody asks stay behind.
    now: u64,
    cycle: u64,
    /// The first known return of a line, and the first cycle in which one may return that is not known yet; `u64::MAX` for none.
    first_return: u64,
    first_unknown: u64,
    /// The command clock that this cycle was worked out from.
    unknown_clock: u64,
    /// The first cycle to which all channels have to be brought up: that one, or any with techniques.
    due: u64,
    /// From the command of a read to the end of its data at the earliest, in command clocks.
    to_data: u64,
    /// Command clocks in which an access moves data.
    data_clocks: u64,
    /// The techniques that act here, the lines that they are to see, by tag how lines are read, and what is held back.
    sites: Vec<Hung<dyn TransferSite>>,
    wanted: Vec<Wanted>,
    plans: Vec<TransferPlan>,
    held: Holding,
    picked: Vec<Returned>,
    /// Without what follows from it.
    counted: DramCounters,
}

/// Accesses that a whole line takes.
pub fn accesses_per_line(config: &Config) -> u32 {
    (LINE_BYTES as u32).div_ceil(config.dram.bus_bytes * config.dram.burst)
}

impl Controller {
    /// For at most `lines` reads at a time.
    pub fn new(config: &Config, techniques: &Techniques, index: usize, lines: usize) -> Controller {
        let dram = &config.dram;
        let clock = CommandClock::new(config);
        Controller {
            index,
            interleave: Interleave::new(config),
            mapping: Mapping::new(config),
            clock,
            access_bytes: dram.bus_bytes * dram.burst,
            line_accesses: accesses_per_line(config),
            channels: (0..dram.channels as usize).map(|index| Channel::new(config, index, lines)).collect(),
            latency: u64::from(dram.cycles),
            now: 0,
            cycle: 0,
            first_return: u64::MAX,
            first_unknown: u64::MAX,
            unknown_clock: u64::MAX,
            due: 0,
            sites: techniques.hang(config, index as u32, |sites, build| sites.transfer.map(|at| at(build))),
            wanted: Vec::with_capacity(2),
            plans: vec![TransferPlan::WHOLE; lines],
            held: Holding::default(),
            picked: Vec::with_capacity(lines),
            to_data: u64::from(dram.t_cl).max(1),
            data_clocks: Spec::new(config).data,
            counted: DramCounters::default(),
        }
    }

    /// What was counted, with what follows from it.
    pub fn counters(&self) -> DramCounters {
        let counted = &self.counted;
        let accesses = counted.reads + counted.writes;
        let (mut queues, mut latencies) = (Magnitudes::default(), Magnitudes::default());
        for channel in &self.channels {
            queues.add(&channel.queues);
            latencies.add(&channel.latencies);
        }
        DramCounters {
            queues: queues.log2(),
            latencies: latencies.log2(),
            row_hits: accesses - counted.row_misses,
            data_busy: accesses * self.data_clocks,
            ..counted.clone()
        }
    }

    /// Techniques see the lines that move.
    pub fn has_sites(&self) -> bool {
        !self.sites.is_empty()
    }

    /// A core cycle starts. Channels are brought up to it if a line may return in it that is not known yet.
    #[inline(always)]
    pub fn advance(&mut self, cycle: u64) {
        self.cycle = self.cycle.max(cycle);
        if cycle >= self.due {
            self.bring_up();
        }
    }

    /// Brings all channels to the start of the present cycle: commands of clocks that have passed by then are issued.
    #[inline(never)]
    pub fn bring_up(&mut self) {
        let clock = self.clock.at(self.cycle);
        if self.sites.is_empty() {
            self.advance_channels(clock);
        } else {
            self.advance_held(clock);
        }
    }

    /// Brings all channels to the start of a cycle.
    pub fn bring_to(&mut self, cycle: u64) {
        self.cycle = self.cycle.max(cycle);
        self.bring_up();
    }

    /// Brings channels up that are so far behind that this shows lines which return soon, or that none does.
    #[inline(always)]
    pub fn bring_nearer(&mut self) {
        if !self.sites.is_empty() || self.first_unknown <= self.cycle + self.latency / 2 {
            self.bring_up();
        }
    }

    /// The clock follows the cycle.
    #[inline(always)]
    fn catch_up(&mut self) {
        if self.sites.is_empty() {
            self.now = self.now.max(self.clock.at(self.cycle));
        }
    }

    #[inline]
    fn advance_channels(&mut self, clock: u64) {
        self.now = clock;
        for channel in &mut self.channels {
            channel.advance(clock, &mut self.counted);
        }
        self.look();
    }

    /// Notes how channels are after a change.
    #[inline(always)]
    fn look(&mut self) {
        let (mut due, mut first_return) = (u64::MAX, u64::MAX);
        for channel in &self.channels {
            due = due.min(if channel.has_reads() { channel.due() } else { u64::MAX });
            first_return = first_return.min(channel.returned_at());
        }
        self.first_return = first_return;
        if !self.sites.is_empty() {
            self.first_return = self.held.returned().map_or(u64::MAX, |line| line.at);
            due = due.min(if self.held.has_reads() { self.now } else { u64::MAX });
        }
        if due != self.unknown_clock {
            self.note_unknown(due);
        }
        self.due = if self.sites.is_empty() { self.first_unknown } else { 0 };
    }

    /// A channel, brought to the present, and what it counts.
    #[inline]
    fn present(&mut self, channel: usize) -> (&mut Channel, &mut DramCounters) {
        let channel = &mut self.channels[channel];
        channel.advance(self.now, &mut self.counted);
        (channel, &mut self.counted)
    }

    /// Has a channel move a line.
    #[inline(always)]
    fn ask(&mut self, channel: usize, transfer: Transfer) {
        let asked = &mut self.channels[channel];
        asked.push(self.now, transfer);
        if !self.sites.is_empty() {
            self.present(channel);
            self.look();
        } else if self.now < self.unknown_clock && asked.has_reads() {
            self.note_unknown(self.now);
            self.due = self.first_unknown;
        }
    }

    /// From a command clock on, a line may return that is not known yet.
    #[inline(always)]
    fn note_unknown(&mut self, clock: u64) {
        self.unknown_clock = clock;
        self.first_unknown = match clock {
            u64::MAX => u64::MAX,
            clock => self.clock.core(clock + self.to_data) + self.latency,
        };
    }

    /// Advances the channels in steps: up to each clock in which a held transfer goes to its channel, and no further than metadata can be there that
    /// nothing is known of yet.
    fn advance_held(&mut self, clock: u64) {
        while self.now < clock {
            let mut to = clock.min(self.held.next().max(self.now + 1));
            if self.held.is_fetching() {
                to = to.min(self.now + self.to_data);
            }
            self.advance_channels(to);
            self.pick_up_any();
            let mut asked = false;
            while let Some(Later { channel, transfer, .. }) = self.held.due(self.now) {
                self.ask(channel, transfer);
                asked = true;
            }
            if asked {
                self.pick_up_any();
            }
        }
    }

    /// [`Controller::pick_up`] right after channels were looked at: mostly there is nothing.
    #[inline(always)]
    fn pick_up_any(&mut self) {
        if self.channels.iter().any(|channel| channel.returned_at() != u64::MAX) {
            self.pick_up();
        }
    }

    /// Takes the lines whose return is known: metadata releases what waits for it, the others go on to the slice.
    fn pick_up(&mut self) {
        self.picked.clear();
        for channel in &mut self.channels {
            while let Some(line) = channel.pick_up() {
                self.picked.push(line);
            }
        }
        self.picked.sort_by_key(|line| (line.done, line.channel));
        for i in 0..self.picked.len() {
            let mut line = self.picked[i];
            if line.tag >= INTERNAL {
                self.held.fetched(line.tag, line.done);
                if line.forwarded {
                    self.sites.iter_mut().for_each(|hung| hung.site.metadata_forwarded());
                }
                continue;
            }
            let plan = &self.plans[line.tag as usize];
            for hung in &mut self.sites {
                line.at = hung.site.arrived(line.at, plan, line.forwarded);
            }
            self.held.arrive(line);
        }
        self.look();
    }

    /// Whether there is room for the fetch of a line and the write-back of another one.
    pub fn has_room(&mut self, fetch: Option<u64>, write_back: Option<u64>) -> bool {
        self.catch_up();
        let in_present = |channel: &Channel| channel.is_in_present(self.now);
        if !self.sites.is_empty() || !self.channels.iter().all(in_present) {
            self.bring_up();
        }
        self.finds_room(fetch, write_back)
    }

    /// The same if channels are in the present.
    fn finds_room(&self, fetch: Option<u64>, write_back: Option<u64>) -> bool {
        let channel = |line| self.mapping.place(line).channel;
        match (fetch.map(channel), write_back.map(channel)) {
            (Some(a), Some(b)) if a == b => self.channels[a].has_room(2),
            (a, b) => [a, b].into_iter().flatten().all(|channel| self.channels[channel].has_room(1)),
        }
    }

    /// Whether any two transfers find room. Brings channels to the present if that is not certain without.
    #[inline(always)]
    pub fn has_room_for_any(&mut self) -> bool {
        self.channels.iter().all(Channel::has_room_for_certain) || self.finds_room_for_any()
    }

    #[inline(never)]
    fn finds_room_for_any(&mut self) -> bool {
        self.bring_up();
        self.channels.iter().all(|channel| channel.has_room(2))
    }

    /// Reads a line; it comes back with the tag.
    #[inline(always)]
    pub fn read(&mut self, line: u64, tag: u32) {
        self.transfer(line, Direction::Read, tag);
    }

    #[inline(never)]
    pub fn write(&mut self, line: u64) {
        self.transfer(line, Direction::Write, 0);
    }

    /// Every line that moves between the L2 slice and the memory goes through here.
    #[inline(always)]
    fn transfer(&mut self, line: u64, direction: Direction, tag: u32) {
        if !self.sites.is_empty() {
            return self.want(line, direction, tag);
        }
        self.catch_up();
        self.push(line, LINE_BYTES as u32, direction, tag);
    }

    /// Notes a line that techniques are to see.
    #[cold]
    #[inline(never)]
    fn want(&mut self, line: u64, direction: Direction, tag: u32) {
        self.wanted.push(Wanted { line, direction, tag });
    }

    /// Shows techniques the lines that are wanted since the last call, with their bytes, and asks the channels for them. To be called in the
    /// same clock.
    #[inline(always)]
    pub fn dispatch(&mut self, cycle: u64, memory: &DeviceMemory) {
        if !self.wanted.is_empty() {
            self.dispatch_wanted(cycle, memory);
        }
    }

    #[inline(never)]
    fn dispatch_wanted(&mut self, cycle: u64, memory: &DeviceMemory) {
        for i in 0..self.wanted.len() {
            let Wanted { line, direction, tag } = self.wanted[i];
            let way = if direction == Direction::Read { Way::Fill } else { Way::WriteBack };
            let address = self.interleave.global(self.index, line * LINE_BYTES);
            let plan = self.show(cycle, way, address, line, memory);
            if direction == Direction::Read {
                self.plans[tag as usize] = plan;
            }
            self.carry_out(cycle, &plan, line, direction, tag);
        }
        self.wanted.clear();
        self.pick_up();
    }

    /// Has a line moved as techniques planned it.
    fn carry_out(&mut self, cycle: u64, plan: &TransferPlan, line: u64, direction: Direction, tag: u32) {
        if let Some(metadata) = &plan.metadata {
            self.move_metadata(metadata);
        }
        let place = self.mapping.place(line);
        let transfer = self.asked(place, line, plan.bytes, direction, tag);
        if direction == Direction::Read
            && let Some(metadata) = &plan.metadata
            && self.held.wait_for(metadata.line, place.channel, transfer)
        {
            return;
        }
        // A read does not overtake the write of its line.
        let at = match direction {
            Direction::Write => self.clock.at(cycle + u64::from(plan.wait)),
            Direction::Read => self.held.write_of(line).unwrap_or(0),
        };
        if at > self.now {
            self.held.hold(Later { at, channel: place.channel, transfer });
        } else {
            self.ask(place.channel, transfer);
        }
    }

    /// Reads a metadata line that missed, and writes back the evicted one.
    fn move_metadata(&mut self, metadata: &Metadata) {
        if let Some((line, place)) = metadata.write_back {
            self.push_metadata(line, place, Direction::Write, INTERNAL);
        }
        if metadata.missing {
            let tag = self.held.fetch(metadata.line);
            self.push_metadata(metadata.line, metadata.place, Direction::Read, tag);
        }
    }

    fn push_metadata(&mut self, line: u64, place: u64, direction: Direction, tag: u32) {
        let place = self.mapping.place(place);
        // Lines of metadata are told apart from lines of memory, several of which share a place.
        let transfer = self.asked(place, line | 1 << 63, self.access_bytes, direction, tag);
        self.ask(place.channel, transfer);
    }

    /// The host copies or fills a line of this partition, or reads it.
    pub fn copied(&mut self, cycle: u64, way: Way, address: u64, memory: &DeviceMemory) {
        let line = self.interleave.local(address) / LINE_BYTES;
        self.show(cycle, way, address, line, memory);
    }

    /// Lets techniques plan the transfer of a line.
    fn show(&mut self, now: u64, way: Way, address: u64, line: u64, memory: &DeviceMemory) -> TransferPlan {
        let bytes = memory.line(address);
        let transfer = site::Transfer { now, way, address, line, bytes: bytes.as_ref() };
        let mut plan = TransferPlan::WHOLE;
        for hung in &mut self.sites {
            hung.site.transfer(&transfer, &mut plan);
        }
        plan
    }

    /// Asks the channel of a line for so many bytes, in whole accesses.
    #[inline(always)]
    fn push(&mut self, line: u64, bytes: u32, direction: Direction, tag: u32) {
        let place = self.mapping.place(line);
        let transfer = self.asked(place, line, bytes, direction, tag);
        self.ask(place.channel, transfer);
    }

    #[inline(always)]
    fn asked(&self, place: DramAddress, line: u64, bytes: u32, direction: Direction, tag: u32) -> Transfer {
        Transfer {
            line,
            bank: place.bank,
            row: place.row,
            direction,
            accesses: self.accesses(bytes),
            asked: self.now,
            tag,
        }
    }

    /// Accesses that so many bytes of a line take.
    #[inline(always)]
    fn accesses(&self, bytes: u32) -> u32 {
        match bytes == LINE_BYTES as u32 {
            true => self.line_accesses,
            false => bytes.div_ceil(self.access_bytes).max(1),
        }
    }

    /// The line that comes back first, as far as that is known.
    #[inline]
    pub fn returned(&self) -> Option<Returned> {
        if !self.sites.is_empty() {
            return self.held.returned();
        }
        self.channels.iter().find(|channel| channel.returned_at() == self.first_return)?.returned()
    }

    /// The same without techniques.
    #[inline(always)]
    pub fn first_returned(&mut self) -> Option<First> {
        let mut channel = 0;
        // Most controllers have two channels: for so few, nothing is computed ahead of a loop.
        while opaque(self).channels.get(channel)?.returned_at() != self.first_return {
            channel += 1;
        }
        let tag = self.channels[channel].returned()?.tag;
        Some(First { channel, tag })
    }

    /// When that is, `u64::MAX` if it is not known.
    #[inline(always)]
    pub fn returned_at(&self) -> u64 {
        self.first_return
    }

    /// The slice takes the line that came back first.
    #[inline(always)]
    pub fn take(&mut self, line: Returned) {
        if !self.sites.is_empty() {
            self.take_held(line);
        } else if let Some(first) = self.first_returned() {
            self.take_first(first);
        }
    }

    /// The same without techniques.
    #[inline(always)]
    pub fn take_first(&mut self, First { channel, .. }: First) {
        if self.channels[channel].take_early() {
            let (mut first, mut index) = (u64::MAX, 0);
            while let Some(channel) = opaque(self).channels.get(index) {
                first = first.min(channel.returned_at());
                index += 1;
            }
            self.first_return = first;
        } else {
            self.take_in_present(channel);
        }
    }

    #[inline(never)]
    fn take_in_present(&mut self, channel: usize) {
        self.catch_up();
        self.present(channel).0.take();
        self.look();
    }

    #[inline(never)]
    fn take_held(&mut self, line: Returned) {
        self.held.take();
        let accesses = self.accesses(self.plans[line.tag as usize].bytes);
        self.present(line.channel).0.taken(accesses as usize);
        self.look();
    }

    /// A cycle before which no line comes back that has not been announced yet.
    #[inline(always)]
    pub fn next_unknown(&self) -> u64 {
        self.first_unknown
    }

    /// A cycle before which no line comes back.
    #[inline(always)]
    pub fn next_return(&self) -> u64 {
        self.returned_at().min(self.next_unknown())
    }

    /// A cycle at whose start no waiting line has got another command yet or just one, once channels are brought up; `u64::MAX` if
    /// none waits.
    pub fn next_command(&self) -> u64 {
        let next = self.channels.iter().map(Channel::next).min().unwrap_or(u64::MAX).min(self.held.next());
        if next == u64::MAX { u64::MAX } else { self.clock.core(next + 1) }
    }

    /// Counts the time up to the start of a cycle.
    pub fn settle(&mut self, cycle: u64) {
        self.bring_to(cycle);
        for channel in &mut self.channels {
            channel.settle(self.now, &mut self.counted);
        }
        for hung in &mut self.sites {
            hung.site.settle(cycle);
        }
    }

    /// Adds what techniques counted here.
    pub fn count_techniques(&self, counters: &mut TechniqueCounters) {
        for Hung { technique, site } in &self.sites {
            counters.note(*technique, site.counters().as_ref());
        }
    }

    /// What a technique found wrong, if one did.
    pub fn corrupted(&self) -> Option<String> {
        self.sites.iter().find_map(|hung| hung.site.corrupted())
    }

    /// A stored bit was to be flipped, and no technique has noticed one.
    pub fn fault_is_pending(&self) -> bool {
        self.sites.iter().any(|hung| hung.site.fault_is_pending())
    }

    pub fn is_idle(&self) -> bool {
        self.channels.iter().all(Channel::is_idle) && self.held.is_empty()
    }

    /// How many thread instructions are to be executed until techniques tell all controllers something.
    pub fn tells_at(&self) -> u64 {
        self.sites.iter().map(|hung| hung.site.tells_at()).min().unwrap_or(u64::MAX)
    }

    /// What techniques have to tell.
    pub fn tell(&mut self, told: &mut Vec<(usize, ControllerMessage)>) {
        told.extend(self.sites.iter_mut().filter_map(|hung| Some((hung.technique, hung.site.tell()?))));
    }

    /// What a technique told at all controllers.
    pub fn hear(&mut self, now: u64, technique: usize, told: &[ControllerMessage]) {
        for hung in self.sites.iter_mut().filter(|hung| hung.technique == technique) {
            hung.site.hear(now, told);
        }
    }

    /// What is waiting, in words.
    pub fn waiting(&self, name: &str, out: &mut Vec<String>) {
        for (i, channel) in self.channels.iter().enumerate() {
            channel.waiting(&format!("{name}, memory channel {i}"), out);
        }
        self.held.waiting(name, out);
    }
}
