// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of a cache that wait for the network, in order, and the notes by which their answers are recognised.

use warpwatt_config::Config;

use crate::address::Interleave;
use crate::net::{Client, LINE_BYTES, Outbox, Packet, PacketKind};
use crate::ring::Ring;

use super::flight::FlightId;

/// What an answer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A line, by number of the register or slot that waits for it.
    Fill(u32),
    /// An instruction that waits for the data itself: atomics, and loads that go past the cache.
    Flight(FlightId),
    /// A store or reduction of a warp.
    Write(u8),
    /// A line that was written back.
    WriteBack,
}

const BITS: u32 = 30;

impl Note {
    #[inline(always)]
    fn pack(self) -> u32 {
        match self {
            Note::Fill(register) => register,
            Note::Flight(id) => 1 << BITS | id.0,
            Note::Write(warp) => 2 << BITS | u32::from(warp),
            Note::WriteBack => 3 << BITS,
        }
    }

    /// The register or slot that waits for the line of an answer, if that brings one.
    #[inline(always)]
    pub fn line(packet: &Packet) -> Option<u32> {
        (packet.tag >> BITS == 0).then_some(packet.tag)
    }

    #[inline(always)]
    pub fn of(packet: &Packet) -> Note {
        let value = packet.tag & ((1 << BITS) - 1);
        match packet.tag >> BITS {
            0 => Note::Fill(value),
            1 => Note::Flight(FlightId(value)),
            2 => Note::Write(value as u8),
            _ => Note::WriteBack,
        }
    }
}

/// A request before it has its place in the network.
pub struct Request {
    pub kind: PacketKind,
    /// Any address of the line.
    pub address: u64,
    pub words: u32,
    pub lanes: u8,
    pub rounds: u8,
    pub note: Note,
}

pub struct Requests {
    queue: Ring<Packet>,
    capacity: usize,
    interleave: Interleave,
    client: Client,
    sm: u16,
}

impl Requests {
    pub fn new(config: &Config, sm: u32, client: Client, capacity: u32) -> Requests {
        Requests {
            queue: Ring::new(capacity as usize),
            capacity: capacity as usize,
            interleave: Interleave::new(config),
            client,
            sm: sm as u16,
        }
    }

    #[inline(always)]
    pub fn room(&self) -> usize {
        self.capacity - self.queue.len()
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// First cycle from `now` on in which the network may take the first one.
    #[inline]
    pub fn next(&self, now: u64, outbox: &Outbox) -> u64 {
        self.queue.front().map_or(u64::MAX, |packet| outbox.when(now, usize::from(packet.partition), packet))
    }

    /// The caller made sure that there is room.
    #[inline(always)]
    pub fn push(&mut self, now: u64, request: Request) {
        let packet = self.packet(now, &request);
        self.push_packet(packet);
    }

    #[inline(always)]
    pub fn push_packet(&mut self, packet: Packet) {
        self.queue.push_back(packet);
    }

    /// A request as it travels.
    #[inline(always)]
    pub fn packet(&self, now: u64, request: &Request) -> Packet {
        let address = request.address & !(LINE_BYTES - 1);
        Packet {
            address,
            words: request.words,
            lanes: request.lanes,
            rounds: request.rounds,
            kind: request.kind,
            client: self.client,
            sm: self.sm,
            partition: self.interleave.partition(address) as u16,
            flits: 0,
            tag: request.note.pack(),
            born: now,
            arrive: 0,
        }
    }

    /// Offers the first one to the network. False if there is one and it was not taken.
    #[inline(always)]
    pub fn send(&mut self, now: u64, outbox: &mut Outbox) -> bool {
        let Some(packet) = self.queue.front() else { return true };
        let taken = outbox.try_send(now, usize::from(packet.partition), packet);
        if taken {
            self.queue.drop_front();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_survive_the_way_to_memory_and_back() {
        let mut requests = Requests::new(&Config::default(), 3, Client::L1d, 4);
        let notes = [Note::Fill(31), Note::Flight(FlightId(12345)), Note::Write(47), Note::WriteBack];
        for note in notes {
            let address = (1 << 40) + 300;
            requests
                .push(9, Request { kind: PacketKind::Read, address, words: 1, lanes: 1, rounds: 1, note });
        }
        assert_eq!(requests.room(), 0);
        let back: Vec<_> = requests.queue.iter().map(|packet| Note::of(&packet.answer())).collect();
        assert_eq!(back, notes);
        assert!(requests.queue.iter().all(|packet| packet.address == (1 << 40) + 256 && packet.sm == 3));
    }
}
