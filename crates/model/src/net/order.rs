// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets that a receiver has not taken, in the order in which it gets them: by arrival, then by sender, then as they were sent.
//!
//! Packets stay in the place that they were put into; the order is a list through these places. Packets of an epoch come sender by sender and
//! arrive within a short time. So they are put behind those that arrive in the same cycle, and the lists of the cycles are joined.

use super::packet::Packet;
use super::port::Flight;

/// Of the number of a sender.
pub const SENDER_BITS: u32 = 12;

/// Cycles between the first and the last arrival of new packets up to which these are sorted by cycle.
const SPAN: u64 = 256;

/// The end of a list.
const END: u32 = u32::MAX;

/// A packet at its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub packet: Packet,
    /// Cycle in which it was sent; after it was taken, the cycle in which the sender has its room back.
    pub time: u64,
    pub sender: u32,
    /// The place of the next packet.
    next: u32,
}

impl Arrival {
    fn rank(&self) -> u64 {
        self.packet.arrive << SENDER_BITS | u64::from(self.sender)
    }
}

/// The cycles of the first and of the last of some arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    earliest: u64,
    latest: u64,
}

impl Span {
    pub const NONE: Span = Span { earliest: u64::MAX, latest: 0 };

    #[inline(always)]
    pub fn note(&mut self, arrive: u64) {
        self.earliest = self.earliest.min(arrive);
        self.latest = self.latest.max(arrive);
    }

    /// Notes the arrivals of packets. Of those that arrive in order, the first and the last tell all.
    #[inline(always)]
    pub fn note_all(&mut self, flights: &[Flight], are_in_order: bool) {
        debug_assert!(!are_in_order || flights.is_sorted_by_key(|flight| flight.packet.arrive));
        if are_in_order && let [first, .., last] = flights {
            self.note(first.packet.arrive);
            self.note(last.packet.arrive);
        } else {
            flights.iter().for_each(|flight| self.note(flight.packet.arrive));
        }
    }
}

/// The first and the last packet of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: END, last: END };

#[derive(Clone, Debug)]
pub struct Arrivals {
    places: Vec<Arrival>,
    /// The first place that is not in use; these are a list, too.
    free: u32,
    /// The packets in order: those that were taken since [`Arrivals::hand_back`], from `taken` on, then those that wait.
    taken: u32,
    waiting: List,
    /// New packets by the cycle of their arrival, as far as a bit is set for it, and how many there are.
    cycles: Box<[List; SPAN as usize]>,
    filled: [u64; SPAN as usize / 64],
    new: u32,
    /// The latest of them.
    newest: u32,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals {
            places: Vec::new(),
            free: END,
            taken: END,
            waiting: EMPTY,
            cycles: Box::new([EMPTY; SPAN as usize]),
            filled: [0; SPAN as usize / 64],
            new: 0,
            newest: END,
        }
    }
}

impl Arrivals {
    /// The packet that is next.
    #[inline(always)]
    pub fn first(&self) -> Option<&Arrival> {
        self.places.get(self.waiting.first as usize)
    }

    /// Takes the next packet, whose sender has its room back at `credit`. Gives the cycle in which it was sent.
    #[inline(always)]
    pub fn take(&mut self, credit: u64) -> Option<u64> {
        let first = self.waiting.first;
        let arrival = self.places.get_mut(first as usize)?;
        if self.taken == END {
            self.taken = first;
        }
        self.waiting.first = arrival.next;
        Some(std::mem::replace(&mut arrival.time, credit))
    }

    /// Whether packets were taken since the last call of [`Arrivals::hand_back`].
    #[inline(always)]
    pub fn has_taken(&self) -> bool {
        self.taken != END
    }

    /// Tells of each packet that was taken since the last call, and frees its place.
    #[inline(always)]
    pub fn hand_back(&mut self, mut tell: impl FnMut(&Arrival)) {
        let taken = std::mem::replace(&mut self.taken, END);
        let first = self.waiting.first;
        let (mut place, mut last) = (taken, END);
        while place != first
            && let Some(arrival) = self.places.get(place as usize)
        {
            tell(arrival);
            last = place;
            place = arrival.next;
        }
        // They are a list already.
        if let Some(last) = self.places.get_mut(last as usize) {
            last.next = std::mem::replace(&mut self.free, taken);
        }
        if self.waiting.first == END {
            self.waiting.last = END;
        }
    }

    /// Adds a packet that was sent at `time`. Those of an epoch come in the order of their senders, and take their place in the order with
    /// [`Arrivals::settle`].
    #[inline(always)]
    pub fn add(&mut self, packet: &Packet, time: u64, sender: u32) {
        let arrive = packet.arrive;
        let place = self.free;
        let place = match self.places.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                // Field by field, so that the packet is copied once.
                free.packet = *packet;
                (free.time, free.sender, free.next) = (time, sender, END);
                place
            }
            None => self.add_place(Arrival { packet: *packet, time, sender, next: END }),
        };
        (self.new, self.newest) = (self.new + 1, place);
        let (word, bit) = filled_bit(arrive);
        let list = &mut self.cycles[(arrive % SPAN) as usize];
        if self.filled[word] & bit == 0 {
            self.filled[word] |= bit;
            *list = List { first: place, last: place };
        } else {
            self.places[list.last as usize].next = place;
            list.last = place;
        }
    }

    /// A packet takes a new place.
    #[cold]
    #[inline(never)]
    fn add_place(&mut self, arrival: Arrival) -> u32 {
        self.places.push(arrival);
        self.places.len() as u32 - 1
    }

    /// Whether packets were added that have no place in the order yet.
    #[inline(always)]
    pub fn has_new(&self) -> bool {
        self.new != 0
    }

    /// Puts packets that were added into their order. False if none was. `arrivals` are those of these packets, and may be of others, too.
    #[inline(always)]
    pub fn settle(&mut self, arrivals: Span) -> bool {
        let Span { earliest, latest } = arrivals;
        let new = match self.new {
            0 => return false,
            1 => List { first: self.newest, last: self.newest },
            _ if latest - earliest < SPAN => self.join(earliest, latest),
            _ => self.sort(),
        };
        (self.new, self.filled) = (0, [0; SPAN as usize / 64]);
        self.append(new);
        true
    }

    /// Joins the lists of cycles.
    #[inline(always)]
    fn join(&mut self, earliest: u64, latest: u64) -> List {
        let mut all = EMPTY;
        let places = self.places.as_mut_slice();
        for word in earliest / 64..=latest / 64 {
            let mut rest = self.filled[word as usize % self.filled.len()];
            // The first word may be the last one, too, a span later.
            if word == earliest / 64 {
                rest &= u64::MAX << (earliest % 64);
            }
            if word == latest / 64 {
                rest &= u64::MAX >> (63 - latest % 64);
            }
            while rest != 0 {
                let cycle = word * 64 + u64::from(rest.trailing_zeros());
                rest &= rest - 1;
                let list = self.cycles[(cycle % SPAN) as usize];
                match places.get_mut(all.last as usize) {
                    Some(last) => last.next = list.first,
                    None => all.first = list.first,
                }
                all.last = list.last;
            }
        }
        all
    }

    /// Sorts new packets that arrive too far apart. Those that arrive in the same cycle are on the same list, in order.
    #[cold]
    #[inline(never)]
    fn sort(&mut self) -> List {
        let mut all = Vec::new();
        for cycle in (0..SPAN).filter(|&cycle| self.filled[filled_bit(cycle).0] & filled_bit(cycle).1 != 0) {
            let mut place = self.cycles[cycle as usize].first;
            while place != END {
                all.push(place);
                place = self.places[place as usize].next;
            }
        }
        all.sort_by_key(|&place| self.places[place as usize].rank());
        let mut list = EMPTY;
        for place in all {
            self.push(&mut list, place);
        }
        list
    }

    /// Adds the packet of a place to a list.
    #[inline(always)]
    fn push(&mut self, list: &mut List, place: u32) {
        self.places[place as usize].next = END;
        match self.places.get_mut(list.last as usize) {
            Some(last) => last.next = place,
            None => list.first = place,
        }
        list.last = place;
    }

    /// Puts a list behind the packets that wait.
    #[inline(always)]
    fn append(&mut self, new: List) {
        let earliest = self.places[new.first as usize].packet.arrive;
        match self.places.get_mut(self.waiting.last as usize) {
            // All wait no more, or nobody has.
            _ if self.waiting.first == END => self.waiting = new,
            Some(last) if last.packet.arrive < earliest => {
                last.next = new.first;
                self.waiting.last = new.last;
            }
            _ => self.merge(new),
        }
    }

    /// Merges a list with the packets that wait, some of which arrive after the first of it.
    #[inline(never)]
    fn merge(&mut self, new: List) {
        let earliest = self.places[new.first as usize].rank();
        // Those ahead of all new packets stay where they are.
        let (mut before, mut old) = (END, self.waiting.first);
        while old != END && self.places[old as usize].rank() <= earliest {
            before = old;
            old = self.places[old as usize].next;
        }
        let (mut merged, mut place) = (List { first: self.waiting.first, last: before }, new.first);
        if before == END {
            merged.first = END;
        }
        while old != END && place != END {
            // Of the packets of one sender, the older ones come first.
            let from = match self.places[old as usize].rank() <= self.places[place as usize].rank() {
                true => &mut old,
                false => &mut place,
            };
            let next = self.places[*from as usize].next;
            let chosen = std::mem::replace(from, next);
            self.push(&mut merged, chosen);
        }
        let (rest, last) = if old == END { (place, new.last) } else { (old, self.waiting.last) };
        match self.places.get_mut(merged.last as usize) {
            Some(end) => end.next = rest,
            None => merged.first = rest,
        }
        merged.last = if rest == END { merged.last } else { last };
        self.waiting = merged;
    }
}

/// The word and the bit of a cycle.
#[inline(always)]
fn filled_bit(cycle: u64) -> (usize, u64) {
    ((cycle % SPAN / 64) as usize, 1 << (cycle % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Client, PacketKind};
    use warpwatt_base::SplitMix64;

    fn packet(arrive: u64, tag: u32) -> Packet {
        Packet {
            address: 0,
            words: 0,
            lanes: 0,
            rounds: 0,
            kind: PacketKind::Read,
            client: Client::L1d,
            sm: 0,
            partition: 0,
            flits: 0,
            tag,
            born: 0,
            arrive,
        }
    }

    #[test]
    fn packets_are_in_the_order_of_a_stable_sort() {
        let mut random = SplitMix64::new(3);
        for _ in 0..300 {
            let (mut arrivals, mut plain, mut number) = (Arrivals::default(), Vec::new(), 0);
            let period = [4, 60, 255, 256, 5000][random.below(5) as usize];
            for epoch in 0..12u64 {
                let mut span = Span::NONE;
                // Other receivers may get packets, too.
                span.note(1000 + 40 * epoch + u64::from(random.below(period)));
                for sender in 0..9 {
                    let mut times: Vec<_> = (0..random.below(7)).map(|_| random.below(period)).collect();
                    times.sort_unstable();
                    for time in times {
                        let arrive = 1000 + 40 * epoch + u64::from(time);
                        span.note(arrive);
                        arrivals.add(&packet(arrive, number), arrive, sender);
                        plain.push((arrive, sender, number));
                        number += 1;
                    }
                }
                arrivals.settle(span);
                plain.sort_by_key(|&(arrive, sender, _)| (arrive, sender));
                let takes = random.below(70).min(plain.len() as u32) as usize;
                let taken: Vec<_> = plain.drain(..takes).collect();
                for &(arrive, sender, number) in &taken {
                    let first = arrivals.first().expect("a packet");
                    assert_eq!((first.packet.tag, first.sender), (number, sender));
                    assert_eq!(arrivals.take(arrive + 7), Some(arrive));
                }
                let mut told = Vec::new();
                arrivals
                    .hand_back(|arrival| told.push((arrival.time - 7, arrival.sender, arrival.packet.tag)));
                assert_eq!(told, taken);
                assert_eq!(arrivals.first().is_none(), plain.is_empty());
            }
        }
    }
}
