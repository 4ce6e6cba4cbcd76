// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory instructions under way: each is done when all of its transactions are.

/// An instruction has its data, or has left the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// Cycle in which its result can be written back; not before the cycle in which this was said.
    pub at: u64,
    /// As it was handed over.
    pub token: u32,
}

/// Handle of an instruction under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlightId(pub u32);

impl FlightId {
    /// Of an instruction without one.
    pub const NONE: FlightId = FlightId(u32::MAX);
}

impl Default for FlightId {
    fn default() -> FlightId {
        FlightId::NONE
    }
}

/// Who waits for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiter {
    /// A load that waits for nothing else: it has no handle.
    Alone { token: u32, issued: u64 },
    /// A transaction of an instruction with a handle.
    One(FlightId),
    /// Nobody: a store does not wait for the line that it changes.
    Nobody,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    token: u32,
    /// Transactions that are not done.
    left: u32,
    /// When the latest of those that are done is there.
    at: u64,
    /// Cycle of issue, if an instruction waits for the value.
    issued: Option<u64>,
}

/// All instructions under way. Handles are reused, so that the slab grows to the most that there are at a time and no further.
#[derive(Default)]
pub struct Flights {
    slab: Vec<Flight>,
    free: Vec<FlightId>,
}

impl Flights {
    /// The handle that the next instruction gets.
    #[inline(always)]
    pub fn upcoming(&self) -> FlightId {
        self.free.last().copied().unwrap_or(FlightId(self.slab.len() as u32))
    }

    /// An instruction of some transactions. `issued` if its latency is of interest.
    #[inline(always)]
    pub fn start(&mut self, token: u32, transactions: u32, issued: Option<u64>) -> FlightId {
        let flight = Flight { token, left: transactions, at: 0, issued };
        match self.free.pop() {
            Some(id) => {
                self.slab[id.0 as usize] = flight;
                id
            }
            None => {
                self.slab.push(flight);
                FlightId(self.slab.len() as u32 - 1)
            }
        }
    }

    /// One of its transactions is done as of cycle `at`. With the last one, the instruction is done; its latency is given, too, if that is of interest.
    #[inline]
    pub fn land(&mut self, id: FlightId, at: u64) -> Option<(Done, Option<u64>)> {
        let flight = &mut self.slab[id.0 as usize];
        flight.at = flight.at.max(at);
        flight.left = flight.left.saturating_sub(1);
        if flight.left != 0 {
            return None;
        }
        self.free.push(id);
        let latency = flight.issued.map(|issued| flight.at.saturating_sub(issued));
        Some((Done { at: flight.at, token: flight.token }, latency))
    }

    pub fn in_use(&self) -> usize {
        self.slab.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_done_with_the_latest_of_its_transactions() {
        let mut flights = Flights::default();
        let id = flights.start(7, 2, Some(10));
        assert_eq!(flights.land(id, 90), None);
        assert_eq!(flights.in_use(), 1);
        assert_eq!(flights.land(id, 50), Some((Done { at: 90, token: 7 }, Some(80))));
        assert_eq!(flights.in_use(), 0);
        assert_eq!(flights.upcoming(), id);
        assert_eq!(flights.start(8, 1, None), id);
        let next = flights.upcoming();
        assert_eq!(flights.start(9, 1, None), next);
    }
}
