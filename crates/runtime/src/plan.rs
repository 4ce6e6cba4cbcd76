// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which timed kernels run together: those that may start now, and those that wait for nothing but them, events in between included.
//!
//! Events take a cycle and pass time on; copies, calls and the like have to be done first. See `drain` for the whole order.

use crate::queue::{Command, What};

/// Kernels that run together at most: what each SM keeps for every kernel of a run adds up.
const MOST: usize = 32;

/// A kernel of a batch.
pub(crate) struct Member {
    pub command: usize,
    pub earliest: u64,
    /// Earlier kernels of the batch that must have ended, and for how many cycles.
    pub after: Vec<(usize, u64)>,
}

/// When something is over: not before `earliest`, and so many cycles after kernels of the batch.
#[derive(Clone, Default)]
struct Over {
    earliest: u64,
    after: Vec<(usize, u64)>,
}

impl Over {
    fn join(&mut self, other: &Over) {
        self.earliest = self.earliest.max(other.earliest);
        for &(kernel, cycles) in &other.after {
            match self.after.iter_mut().find(|(known, _)| *known == kernel) {
                Some((_, known)) => *known = cycles.max(*known),
                None => self.after.push((kernel, cycles)),
            }
        }
    }

    fn later(mut self, by: u64) -> Over {
        self.earliest += by;
        self.after.iter_mut().for_each(|(_, cycles)| *cycles += by);
        self
    }
}

/// The next kernels to run. `left` are the commands that have not ended, in order; all of those that are no timed kernels wait for some.
pub(crate) fn batch(commands: &[Command], left: &[usize], ends: &[Option<u64>]) -> Vec<Member> {
    let is_ready = |&command: &usize| commands[command].after.iter().all(|&before| ends[before].is_some());
    let alone = |command: usize| match &commands[command].what {
        What::Launch(ready) => ready.is_alone(),
        _ => false,
    };
    let Some(oldest) = left.iter().copied().find(is_ready) else { return Vec::new() };
    if alone(oldest) {
        let command = &commands[oldest];
        let ended = command.after.iter().filter_map(|&before| ends[before]);
        let earliest = ended.fold(command.ready, u64::max);
        return vec![Member { command: oldest, earliest, after: Vec::new() }];
    }

    let mut members: Vec<Member> = Vec::new();
    let mut over: Vec<Option<Over>> = vec![None; commands.len()];
    for &index in left {
        let command = &commands[index];
        let mut start = Over { earliest: command.ready, after: Vec::new() };
        let known = command.after.iter().all(|&before| match (ends[before], &over[before]) {
            (Some(end), _) => {
                start.earliest = start.earliest.max(end);
                true
            }
            (None, Some(other)) => {
                start.join(other);
                true
            }
            (None, None) => false,
        });
        if !known {
            continue;
        }
        over[index] = match &command.what {
            What::Record => Some(start.later(1)),
            What::Wait => Some(start),
            // Constants are taken when the batch starts, and a kernel of the batch may be what writes them.
            What::Launch(ready) if ready.has_constants && !start.after.is_empty() => None,
            What::Launch(ready) if ready.timed && !ready.is_alone() && members.len() < MOST => {
                members.push(Member { command: index, earliest: start.earliest, after: start.after });
                Some(Over { earliest: 0, after: vec![(members.len() - 1, 0)] })
            }
            _ => None,
        };
    }
    members
}
