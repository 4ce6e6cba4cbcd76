// SPDX-License-Identifier: MIT OR Apache-2.0
//! Widths by the circuit, places by a brute-force twin, and bytes that come back through the table.

use proptest::prelude::*;
use warpwatt_base::SplitMix64;

use super::*;
use crate::{LANES, Values};

/// The circuit of section 6, gate by gate, for one lane: which of the three upper bytes are needed.
fn circuit(value: u32) -> [bool; 3] {
    let bit = |place: u32| value >> place & 1 != 0;
    std::array::from_fn(|byte| {
        let places = 8 * byte as u32 + 7..8 * byte as u32 + 15;
        let or = places.clone().any(bit);
        let nand = !places.clone().all(bit);
        if bit(31) { nand } else { or }
    })
}

fn circuit_width(values: &Values, lanes: u32) -> u8 {
    let mut needed = [false; 3];
    for (_, &value) in values.iter().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0) {
        needed.iter_mut().zip(circuit(value)).for_each(|(needed, one)| *needed |= one);
    }
    needed.iter().rposition(|&needed| needed).map_or(1, |byte| byte as u8 + 2)
}

#[test]
fn widths_at_the_borders() {
    for (value, expected) in [
        (0, 1),
        (-1, 1),
        (127, 1),
        (128, 2),
        (-128, 1),
        (-129, 2),
        (32767, 2),
        (32768, 3),
        (-32768, 2),
        (-32769, 3),
        (8_388_607, 3),
        (8_388_608, 4),
        (-8_388_608, 3),
        (-8_388_609, 4),
        (i32::MAX, 4),
        (i32::MIN, 4),
    ] {
        let mut values = [0; LANES];
        values[17] = i32::cast_unsigned(value);
        assert_eq!(width(&values, u32::MAX), expected, "{value}");
        assert_eq!(width(&values, 1 << 17), expected, "{value}");
        assert_eq!(width(&values, !(1 << 17)), 1, "{value} is in another lane");
        assert_eq!(narrow(values[17], expected), values[17]);
    }
}

/// A value of every magnitude and sign.
fn value() -> impl Strategy<Value = u32> {
    (any::<u32>(), 0..32u32).prop_map(|(bits, shift)| (bits.cast_signed() >> shift).cast_unsigned())
}

proptest! {
    #[test]
    fn widths_are_those_of_the_circuit(values in proptest::array::uniform32(value()), lanes in any::<u32>()) {
        prop_assert_eq!(width(&values, lanes), circuit_width(&values, lanes));
        prop_assert_eq!(width(&values, u32::MAX), circuit_width(&values, u32::MAX));
        let width = width(&values, u32::MAX);
        for value in values {
            prop_assert_eq!(narrow(value, width), value);
        }
    }

    #[test]
    fn what_is_packed_comes_back_and_neighbours_stay(
        values in proptest::array::uniform32(value()), other in proptest::array::uniform32(any::<u32>()), place in 0..4u8,
    ) {
        let width = width(&values, u32::MAX);
        let mask = (WHOLE >> (4 - width)) << place.min(4 - width);
        let mut slices = Slices::default();
        slices.pack(WHOLE, &other, u32::MAX);
        let before = slices;
        slices.pack(mask, &values, u32::MAX);
        prop_assert_eq!(slices.unpack(mask), values);
        for slice in (0..4).filter(|slice| mask >> slice & 1 == 0) {
            prop_assert_eq!(slices.0[slice], before.0[slice]);
        }
    }
}

#[test]
fn room_is_found_by_looking_at_every_place() {
    for free in 0..16u8 {
        for width in 1..=4u8 {
            let runs = (0..=4 - width).map(|place| (place, (WHOLE >> (4 - width)) << place));
            let fits: Vec<_> = runs.filter(|(_, run)| run & free == *run).collect();
            let first = fits.first().map(|(_, run)| *run);
            assert_eq!(fit(free, width, Side::Any), first);
            let at = |place: u8| fits.iter().find(|(at, _)| *at == place).map(|(_, run)| *run);
            assert_eq!(fit(free, width, Side::Right), at(0));
            assert_eq!(fit(free, width, Side::Left), at(4 - width));
        }
    }
}

/// The rules as sections 4.3, 5.3 and 6 tell them, by looking at everything every time. A place is its bank, entry, slices that hold a register and
/// slices that it owns.
struct Twin {
    banks: usize,
    entries: usize,
    home: Home,
    packs: bool,
    placed: Vec<((usize, u8), Mapping)>,
    pairs: Vec<(usize, [u8; 2])>,
    sides: Vec<(usize, u8, Side)>,
    /// Bank and entry, and who keeps the rest of it.
    kept: Vec<((u8, u16), (usize, u8))>,
}

impl Twin {
    fn free(&self, bank: u8, entry: u16) -> u8 {
        let there = self.placed.iter().filter(|(_, place)| (place.bank, place.entry) == (bank, entry));
        there.fold(WHOLE, |free, (_, place)| free & !place.owned)
    }

    fn of(&self, slot: usize, register: u8) -> Option<Mapping> {
        self.placed.iter().find(|(who, _)| *who == (slot, register)).map(|(_, place)| *place)
    }

    fn search(&self, bank: u8, width: u8, side: Side) -> Option<(u8, u16, u8)> {
        let open = |entry: &u16| !self.kept.iter().any(|(place, _)| *place == (bank, *entry));
        let entries = (0..self.entries as u16).filter(open);
        entries.into_iter().find_map(|entry| Some((bank, entry, fit(self.free(bank, entry), width, side)?)))
    }

    fn choose(&mut self, slot: usize, register: u8, width: u8) -> Option<(u8, u16, u8, Side)> {
        let home = match self.home {
            Home::Spread => (slot + usize::from(register)) % self.banks,
            Home::Warp => slot % self.banks,
        } as u8;
        let pair = self.pairs.iter().find(|(at, pair)| *at == slot && pair.contains(&register));
        if let Some(&(_, pair)) = pair {
            let partner = if pair[0] == register { pair[1] } else { pair[0] };
            if let Some(there) = self.of(slot, partner) {
                self.kept.retain(|(_, keeper)| *keeper != (slot, partner));
                if let Some(mask) = fit(self.free(there.bank, there.entry), width, Side::Any) {
                    return Some((there.bank, there.entry, mask, Side::Any));
                }
            } else if let Some((bank, entry, _)) = self.search(home, 4, Side::Any) {
                if width < 4 {
                    self.kept.push(((bank, entry), (slot, register)));
                }
                return Some((bank, entry, WHOLE >> (4 - width), Side::Any));
            }
        }
        let side =
            self.sides.iter().find(|(at, of, _)| (*at, *of) == (slot, register)).map(|(.., side)| *side);
        if let Some(side) = side.filter(|side| *side != Side::Any)
            && let Some((bank, entry, mask)) = self.search(home, width, side)
        {
            return Some((bank, entry, mask, side));
        }
        let banks = (0..self.banks).map(|distance| ((usize::from(home) + distance) % self.banks) as u8);
        let (bank, entry, mask) = banks.into_iter().find_map(|bank| self.search(bank, width, Side::Any))?;
        Some((bank, entry, mask, Side::Any))
    }

    fn write(&mut self, slot: usize, register: u8, width: u8) {
        let width = if self.packs { width } else { 4 };
        let old = self.of(slot, register);
        if let Some(old) = old.filter(|old| old.owned.count_ones() >= u32::from(width)) {
            let owned: Vec<u8> = (0..4).filter(|slice| old.owned >> slice & 1 != 0).collect();
            // The left end of those on the left, the right end of all others.
            let left = self.sides.contains(&(slot, register, Side::Left)) && old.side_is_left();
            let used =
                if left { &owned[owned.len() - usize::from(width)..] } else { &owned[..usize::from(width)] };
            let mask = used.iter().fold(0, |mask, slice| mask | 1 << slice);
            let place = self.placed.iter_mut().find(|(who, _)| *who == (slot, register)).expect("it has one");
            place.1.mask = mask;
            return;
        }
        let kept = self.kept.clone();
        let mut new = self.choose(slot, register, width);
        if let Some(old) = old {
            self.placed.retain(|(who, _)| *who != (slot, register));
            self.kept.retain(|(place, keeper)| {
                *keeper != (slot, register)
                    || *place != (old.bank, old.entry)
                    || !kept.contains(&(*place, *keeper))
            });
            if new.is_none() {
                new = self.choose(slot, register, width);
            }
        }
        let (bank, entry, mask, side) = new.expect("there is room");
        self.placed.push(((slot, register), Mapping::new(bank, entry, mask, side)));
    }

    fn release(&mut self, slot: usize, register: u8) {
        self.placed.retain(|(who, _)| *who != (slot, register));
        self.kept.retain(|(_, keeper)| *keeper != (slot, register));
    }
}

/// Random warps: writes of random widths, releases, ends and starts, with the allocator and its twin, byte by byte.
fn walk(seed: u64, home: Home, packs: bool, pairs: bool, sides: bool) {
    const SLOTS: usize = 6;
    const REGISTERS_OF_A_WARP: u32 = 10;
    let mut random = SplitMix64::new(seed);
    let (banks, entries) = (4, 15);
    let mut allocator = Allocator::new(SLOTS, banks, entries, home, packs);
    let mut twin = Twin {
        banks,
        entries,
        home,
        packs,
        placed: Vec::new(),
        pairs: Vec::new(),
        sides: Vec::new(),
        kept: Vec::new(),
    };
    // What is stored, what each register should hold, and which lanes of it were ever written.
    let mut stored = vec![Slices::default(); banks * entries];
    let mut given = vec![([0u32; LANES], 0u32, 1u8); SLOTS * 10];
    let start = |allocator: &mut Allocator, twin: &mut Twin, random: &mut SplitMix64, slot: usize| {
        twin.pairs.retain(|(at, _)| *at != slot);
        twin.sides.retain(|(at, ..)| *at != slot);
        let of_warp: Vec<[u8; 2]> = if pairs { vec![[1, 2], [7, 4], [5, 9]] } else { vec![] };
        let lean = |random: &mut SplitMix64| [Side::Any, Side::Left, Side::Right][random.below(3) as usize];
        let leans: Vec<_> =
            (0..if sides { 10 } else { 0 }).map(|register| (register, lean(random))).collect();
        twin.pairs.extend(of_warp.iter().map(|pair| (slot, *pair)));
        twin.sides.extend(leans.iter().map(|&(register, side)| (slot, register, side)));
        allocator.start(slot, &of_warp, &leans);
    };
    (0..SLOTS).for_each(|slot| start(&mut allocator, &mut twin, &mut random, slot));
    for step in 0..1000 {
        let slot = random.below(SLOTS as u32) as usize;
        let register = random.below(REGISTERS_OF_A_WARP) as u8;
        let (values, defined, old_width) = &mut given[slot * 10 + usize::from(register)];
        match random.below(20) {
            0 => {
                allocator.end(slot);
                (0..10).for_each(|register| twin.release(slot, register));
                given[slot * 10..][..10].fill(([0; LANES], 0, 1));
                start(&mut allocator, &mut twin, &mut random, slot);
            }
            1..5 => {
                assert_eq!(allocator.release(slot, register), twin.of(slot, register).is_some());
                twin.release(slot, register);
                (*values, *defined, *old_width) = ([0; LANES], 0, 1);
            }
            _ => {
                let lanes = if random.chance(3) { random.next_u32() | 1 } else { u32::MAX };
                let shift = random.below(32);
                for (_, value) in values.iter_mut().enumerate().filter(|(lane, _)| lanes >> lane & 1 != 0) {
                    *value = (random.next_u32().cast_signed() >> shift).cast_unsigned();
                }
                *defined |= lanes;
                let active = width(values, lanes);
                let new_width = if lanes == u32::MAX { active } else { active.max(*old_width) };
                let old = allocator.get(slot, register);
                let (_, change) = allocator.write(slot, register, new_width).expect("room");
                twin.write(slot, register, new_width);
                *old_width = new_width;
                let new = allocator.get(slot, register).expect("it was written");
                let at = |place: Mapping| usize::from(place.bank) * entries + usize::from(place.entry);
                match change {
                    Change::Moved(before) | Change::Resized(before) => {
                        // Lanes that are not written are read and put to the new place.
                        assert_eq!(Some(before), old);
                        let kept = stored[at(before)].unpack(before.mask);
                        stored[at(new)].pack(new.mask, &kept, !lanes);
                    }
                    Change::None => assert_eq!(Some(new), old),
                    Change::Placed => assert_eq!(old, None),
                }
                stored[at(new)].pack(new.mask, values, lanes);
            }
        }
        // Everything lies where the twin says, and comes back as it was given.
        for slot in 0..SLOTS {
            for register in 0..10 {
                let place = allocator.get(slot, register);
                assert_eq!(place, twin.of(slot, register), "step {step}, warp {slot}, R{register}");
                if let Some(place) = place {
                    let back = stored[usize::from(place.bank) * entries + usize::from(place.entry)]
                        .unpack(place.mask);
                    let (values, defined, _) = &given[slot * 10 + usize::from(register)];
                    for lane in (0..LANES).filter(|lane| defined >> lane & 1 != 0) {
                        assert_eq!(
                            back[lane], values[lane],
                            "step {step}, warp {slot}, R{register}, lane {lane}"
                        );
                    }
                }
            }
        }
        assert!(allocator.is_consistent(), "step {step}");
    }
    (0..SLOTS).for_each(|slot| allocator.end(slot));
    assert_eq!(allocator.used(), (0, 0));
}

#[test]
fn first_fit_agrees_with_its_twin() {
    (0..8).for_each(|seed| walk(seed, Home::Spread, true, false, false));
    (0..2).for_each(|seed| walk(seed, Home::Spread, false, false, false));
}

#[test]
fn partners_agree_with_their_twin() {
    (10..20).for_each(|seed| walk(seed, Home::Spread, true, true, false));
}

#[test]
fn sides_agree_with_their_twin() {
    (20..30).for_each(|seed| walk(seed, Home::Warp, true, false, true));
}

/// Figure 12 as far as the text gives it: three entries, R1 without a side and two bytes wide; R2 and R4 on the right, R3 and R5 on the left. Widths of
/// R2 to R5 are ours: those with which every place of the text comes out.
#[test]
fn figure_12() {
    let mut allocator = Allocator::new(1, 1, 3, Home::Warp, true);
    let sides = [(2, Side::Right), (3, Side::Left), (4, Side::Right), (5, Side::Left)];
    allocator.start(0, &[], &sides);
    let mut place = |register: u8, width: u8| {
        allocator.write(0, register, width);
        allocator.get(0, register).map(|place| (place.entry, place.mask)).expect("it has a place")
    };
    // B: the first available spot, then the first available right part, which is in another entry.
    assert_eq!(place(1, 2), (0, 0b0011));
    assert_eq!(place(2, 2), (1, 0b0011));
    // C: the first available right part of an entry.
    assert_eq!(place(4, 2), (2, 0b0011));
    // D: the first available left spot, which is P0.
    assert_eq!(place(3, 2), (0, 0b1100));
    // E: the first available left spot.
    assert_eq!(place(5, 2), (1, 0b1100));
    let mask = |register: u8| allocator.get(0, register).map(|place| place.mask).expect("it has a place");
    for [one, other] in [[2, 3], [4, 5], [3, 4]] {
        assert_eq!(mask(one) & mask(other), 0, "R{one} and R{other} coalesce");
    }
    assert_ne!(mask(2) & mask(4), 0, "two on the right do not");
}

/// Figure 5: of the pairs (R1, R3) and (R2, R4), one is too wide for an entry. Widths are ours.
#[test]
fn figure_5_at_run_time() {
    let mut allocator = Allocator::new(1, 4, 8, Home::Spread, true);
    allocator.start(0, &[[1, 3], [2, 4]], &[]);
    for (register, width) in [(1, 3), (2, 1), (3, 2), (4, 3)] {
        allocator.write(0, register, width);
    }
    let place = |register: u8| allocator.get(0, register).expect("it has a place");
    assert!(place(2).same_entry(&place(4)));
    assert!(!place(1).same_entry(&place(3)));
    assert_eq!((allocator.places.partners, allocator.places.together), (2, 1));
}

#[test]
fn the_rest_of_an_entry_is_kept_until_the_partner_has_a_place() {
    let mut allocator = Allocator::new(2, 1, 4, Home::Spread, true);
    allocator.start(0, &[[1, 2]], &[]);
    allocator.write(0, 1, 1);
    allocator.write(0, 3, 1);
    let entry = |allocator: &Allocator, register| allocator.get(0, register).map(|place| place.entry);
    assert_eq!((entry(&allocator, 1), entry(&allocator, 3)), (Some(0), Some(1)));
    // The partner is too wide: it goes elsewhere, and the rest is free for all.
    allocator.write(0, 2, 4);
    assert_eq!(entry(&allocator, 2), Some(2));
    allocator.write(0, 4, 2);
    assert_eq!(entry(&allocator, 4), Some(0));
    // A register that is released keeps nothing.
    allocator.start(1, &[[1, 2]], &[]);
    allocator.write(1, 1, 1);
    assert_eq!(allocator.get(1, 1).map(|place| place.entry), Some(3));
    allocator.release(1, 1);
    allocator.write(0, 5, 4);
    assert_eq!(entry(&allocator, 5), Some(3));
}
