// SPDX-License-Identifier: MIT OR Apache-2.0
//! Optional checks of shared memory: reads of uninitialised bytes, and bytes that two threads access without an order between them when one
//! of them writes.
//!
//! Every byte remembers its last plain writer, its last readers of two warps and its last atomic user. Two accesses are ordered
//! - by a barrier of the block: any one counts, for all warps;
//! - between warps, by atomics and volatile accesses: a write to such a place releases what came before it, a read acquires that
//!   (a vector clock of the block's warps);
//! - between lanes of one warp, which are independent from sm_70 on, by `bar.warp.sync` and operations between lanes, for the lanes that
//!   they name, or by an atomic, for all.
//!
//! A store that changes nothing is no conflict. So what is reported is a race, but not every race is found.

use rustc_hash::FxHashMap;

use crate::fault::{AccessKind, FaultKind};
use crate::options::CheckOptions;
use crate::port::Span;
use crate::rows::lanes_of;

/// The last access to a byte.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Touch {
    /// Warp plus one; 0 for none.
    warp: u32,
    lanes: u32,
    /// Barriers that had opened before.
    epoch: u32,
    /// The warp's own clock, and how often its lanes had synchronised.
    clock: u32,
    meets: u32,
    pub pc: u32,
    /// Number of the warp instruction.
    instance: u64,
    strong: bool,
}

#[derive(Clone, Copy, Default)]
struct Byte {
    written: bool,
    /// What the last plain store wrote.
    value: u8,
    writer: Touch,
    reader: Touch,
    /// The last reader of another warp than `reader`.
    other: Touch,
    atomic: Touch,
}

/// What is ordered before the next access of a warp.
#[derive(Clone, Default)]
struct Order {
    clock: u32,
    meets: u32,
    /// By warp: the clock up to which its accesses are ordered.
    seen: Vec<u32>,
    /// By lane and other lane: accesses of the other before this synchronisation are ordered.
    met: Box<[[u32; 32]; 32]>,
}

impl Order {
    /// Synchronises lanes: what was ordered before one of them now is before all.
    fn meet(&mut self, lanes: u32) {
        self.meets += 1;
        let mut known = [0; 32];
        for lane in lanes_of(lanes) {
            known.iter_mut().zip(&self.met[lane]).for_each(|(all, one)| *all = (*all).max(*one));
        }
        for lane in lanes_of(lanes) {
            known[lane] = self.meets;
        }
        for lane in lanes_of(lanes) {
            self.met[lane] = known;
        }
    }

    /// Whether an access of the same warp is ordered before a lane's next one.
    fn knows(&self, lane: u32, before: Touch) -> bool {
        let known = &self.met[(lane.trailing_zeros() & 31) as usize];
        lanes_of(before.lanes & !lane).all(|other| known[other] > before.meets)
    }
}

pub(crate) struct Shadow {
    checks: CheckOptions,
    independent: bool,
    bytes: Vec<Byte>,
    epoch: u32,
    instances: u64,
    orders: Vec<Order>,
    /// Vector clocks that atomic and volatile stores released, by address.
    told: FxHashMap<u64, Vec<u32>>,
    /// The first read of an uninitialised byte. It is reported when the epoch ends: a write that comes until then makes it a race.
    pending: Option<(u32, Finding)>,
}

/// One warp's access.
pub(crate) struct Seen<'a> {
    pub span: Span<'a>,
    pub warp: u32,
    pub pc: u32,
    pub kind: AccessKind,
    /// Volatile, or with an order of its own.
    pub strong: bool,
    /// The byte that a lane stores at this place of its access.
    pub value: &'a dyn Fn(usize, u32) -> u8,
}

/// What is wrong: by which lane of which warp, and where.
#[derive(Clone)]
pub(crate) struct Finding {
    pub kind: FaultKind,
    pub warp: u32,
    pub lane: usize,
    pub pc: u32,
    pub access: AccessKind,
    pub bytes: u32,
    pub offset: u32,
    pub detail: String,
    /// The other access of a race: kind, place, warp and lane.
    pub rival: Option<(AccessKind, u32, u32, usize)>,
}

impl Shadow {
    pub(crate) fn new(checks: CheckOptions, bytes: usize, warps: u32, independent: bool) -> Shadow {
        let bytes = vec![Byte::default(); bytes];
        let orders =
            vec![
                Order { clock: 1, meets: 0, seen: vec![0; warps as usize], met: Box::new([[0; 32]; 32]) };
                warps as usize
            ];
        let told = FxHashMap::default();
        Shadow { checks, independent, bytes, epoch: 0, instances: 0, orders, told, pending: None }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.fill(Byte::default());
        (self.epoch, self.pending) = (0, None);
        self.told.clear();
        for order in &mut self.orders {
            (order.clock, order.meets) = (1, 0);
            order.seen.fill(0);
            *order.met = [[0; 32]; 32];
        }
    }

    pub(crate) fn barrier_opened(&mut self) {
        self.epoch += 1;
    }

    /// Lanes of a warp have synchronised.
    pub(crate) fn lanes_met(&mut self, warp: u32, lanes: u32) {
        self.orders[warp as usize].meet(lanes);
    }

    /// A warp's access that orders others: reads acquire the clock of the place, writes release the warp's.
    pub(crate) fn synchronize(&mut self, warp: u32, place: u64, kind: AccessKind) {
        let order = &mut self.orders[warp as usize];
        if kind != AccessKind::Store
            && let Some(told) = self.told.get(&place)
        {
            order.seen.iter_mut().zip(told).for_each(|(seen, told)| *seen = (*seen).max(*told));
        }
        if kind != AccessKind::Load {
            let told = self.told.entry(place).or_insert_with(|| vec![0; order.seen.len()]);
            told.iter_mut().zip(&order.seen).for_each(|(told, seen)| *told = (*told).max(*seen));
            told[warp as usize] = order.clock;
            order.clock += 1;
        }
        if kind == AccessKind::Atomic {
            order.meet(!0);
        }
    }

    /// A read of uninitialised memory, once it can no longer become a race. `last`: no thread will reach a barrier again.
    pub(crate) fn due(&mut self, last: bool) -> Option<Finding> {
        self.pending.take_if(|(epoch, _)| last || *epoch < self.epoch).map(|(_, finding)| finding)
    }

    pub(crate) fn note(&mut self, seen: &Seen, current: impl Fn(u32) -> u8) -> Result<(), Finding> {
        self.instances += 1;
        let Seen { span, warp, pc, kind, strong, .. } = seen;
        if *strong || *kind == AccessKind::Atomic {
            for lane in lanes_of(span.mask) {
                self.synchronize(*warp, span.offsets[lane].into(), *kind);
            }
        }
        let order = &self.orders[*warp as usize];
        let me = Touch {
            warp: warp + 1,
            lanes: 0,
            epoch: self.epoch,
            clock: order.clock,
            meets: order.meets,
            pc: *pc,
            instance: self.instances,
            strong: *strong,
        };
        for lane in lanes_of(span.mask) {
            let me = Touch { lanes: 1 << lane, ..me };
            for k in 0..span.bytes {
                let offset = span.offsets[lane] + k;
                let value = if *kind == AccessKind::Store { (seen.value)(lane, k) } else { 0 };
                let finding = |kind, detail, rival| Finding {
                    kind,
                    warp: *warp,
                    lane,
                    pc: *pc,
                    access: seen.kind,
                    bytes: span.bytes,
                    offset: span.offsets[lane],
                    detail,
                    rival,
                };
                let unset = !self.bytes[offset as usize].written && *kind != AccessKind::Store;
                if self.checks.uninit && unset && self.pending.is_none() {
                    let detail = format!("byte {offset} of shared memory was never written");
                    let found = finding(FaultKind::UninitializedShared, detail, None);
                    self.pending = Some((self.epoch, found));
                }
                if let Some((did, rival)) = self.touch(offset as usize, me, *kind, value, current(offset)) {
                    let other = rival.lanes.trailing_zeros() as usize & 31;
                    let detail = match rival.warp == me.warp {
                        true => format!(
                            "both lanes are of warp {warp}, but nothing orders their accesses to byte {offset}: lanes run independently \
                             from sm_70 on"
                        ),
                        false => format!(
                            "warps {} and {warp} access byte {offset}, with no barrier between them",
                            rival.warp - 1
                        ),
                    };
                    let rival = Some((did, rival.pc, rival.warp - 1, other));
                    return Err(finding(FaultKind::SharedRace, detail, rival));
                }
            }
        }
        Ok(())
    }

    /// Notes an access to a byte; gives the access that it conflicts with.
    fn touch(
        &mut self,
        at: usize,
        me: Touch,
        kind: AccessKind,
        value: u8,
        current: u8,
    ) -> Option<(AccessKind, Touch)> {
        let Byte { written, value: last, writer, reader, other, atomic } = self.bytes[at];
        let together = writer.instance == me.instance;
        let silent = kind == AccessKind::Store && written && (if together { last } else { current }) == value;
        let mut rival = None;
        if self.checks.races && !silent {
            let clash = |touch: Touch| {
                !(self.ordered(touch, me) || touch.strong && me.strong && touch.warp != me.warp)
            };
            if clash(writer) || (together && kind == AccessKind::Store && writer.warp == me.warp) {
                rival = Some((AccessKind::Store, writer));
            } else if kind != AccessKind::Atomic && !me.strong && clash(atomic) {
                rival = Some((AccessKind::Atomic, atomic));
            } else if kind != AccessKind::Load {
                let found = [reader, other].into_iter().find(|&touch| clash(touch));
                rival = found.map(|touch| (AccessKind::Load, touch));
            }
        }
        let byte = &mut self.bytes[at];
        match kind {
            AccessKind::Store => {
                if !silent {
                    (byte.writer, byte.value) = (me, value);
                }
                byte.written = true;
            }
            AccessKind::Atomic => (byte.atomic, byte.written) = (me, true),
            AccessKind::Load => {
                let same = reader.warp == me.warp && reader.epoch == me.epoch && reader.meets == me.meets;
                if reader.warp != me.warp {
                    byte.other = reader;
                }
                byte.reader = if same { Touch { lanes: reader.lanes | me.lanes, ..me } } else { me };
            }
        }
        rival
    }

    /// Whether an access is ordered before the present one.
    fn ordered(&self, before: Touch, now: Touch) -> bool {
        if before.warp == 0 || before.epoch != now.epoch {
            return true;
        }
        if before.warp != now.warp {
            return self.orders[now.warp as usize - 1].seen[before.warp as usize - 1] >= before.clock;
        }
        !self.independent
            || before.lanes & !now.lanes == 0
            || before.instance == now.instance
            || self.orders[now.warp as usize - 1].knows(now.lanes, before)
    }
}
