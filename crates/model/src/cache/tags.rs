// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tags of a set-associative cache with least-recently-used replacement.
//!
//! Sets are chosen by the lower bits of the line number, or by the hash of Fermi's L1 data cache (Nugteren, van den Braak, Corporaal, Bal:
//! A Detailed GPU Cache Model Based on Reuse Distance Theory, HPCA 2014).

use warpwatt_config::SetIndex;

/// Number of a line in its cache: set times ways plus way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineId(pub u32);

/// A set, by the number of its first line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetId(u32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    // The lowest bit tells those that a flush has to look at.
    Invalid,
    /// Given to a line that is being fetched.
    Reserved,
    Clean,
    Dirty,
}

impl State {
    /// The one in the lowest bits of a word of [`Tags`].
    #[inline(always)]
    fn of(used: u64) -> State {
        match used & STATE {
            0 => State::Invalid,
            1 => State::Reserved,
            2 => State::Clean,
            _ => State::Dirty,
        }
    }
}

/// The line that was evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// Number of the line that was there.
    pub line: u64,
    pub dirty: bool,
}

const NO_LINE: u64 = u64::MAX;
/// Not the highest bit: words are compared as signed numbers, for which hosts have vector instructions.
const RESERVED: u64 = 1 << 62;
/// Bits of a state, those of the way above them, and one use of the cache beside them.
const STATE: u64 = 3;
const WAY_SHIFT: u32 = 2;
const WAY: u64 = 63 << WAY_SHIFT;
const USE: u64 = 1 << 8;
/// Ways that there can be.
const MOST_WAYS: u32 = 64;
/// The usual number of ways of an L2 slice, whose sets are searched without a loop.
const MANY: usize = 16;
/// The usual number of ways of the caches of an SM.
const FEW: usize = 4;

/// How the set of a line follows from its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Index {
    /// By the lowest bits, after [`fermi`]'s hash.
    Fermi,
    /// By the lowest bits.
    Low,
    /// By the remainder: sets are no power of two.
    Rest,
}

#[derive(Clone, Debug)]
pub struct Tags {
    sets: u32,
    ways: u32,
    index: Index,
    /// Sets less one, if these are a power of two.
    mask: u64,
    /// Line numbers by line id: set after set.
    lines: Vec<u64>,
    /// The state of a line in the lowest bits, above it the way, and above that when it was used last, in uses of the cache: all 0 if it is invalid, with
    /// [`RESERVED`] on top if it is reserved. The least of a set is evicted, and tells the way that it is in.
    used: Vec<u64>,
    uses: u64,
    /// A line may be there: one was reserved since the last flush.
    holds: bool,
}

/// What Fermi's hash does to a line number: address bits 13, 14, 15, 17 and 19 onto bits 7 to 11.
#[inline(always)]
fn fermi(line: u64) -> u64 {
    line >> 6 & 0b111 | line >> 7 & 0b1000 | line >> 8 & 0b1_0000
}

/// Which of four ways has a line. They are compared without a branch, which is faster than stopping at the right one.
#[inline(always)]
fn way_of(four: &[u64; 4], line: u64) -> Option<u32> {
    if !four.iter().fold(false, |any, &tag| any | (tag == line)) {
        return None;
    }
    // A line is in one way.
    Some((0..4).fold(0, |ways, way| ways | u32::from(four[way] == line) << way).trailing_zeros())
}

/// The ways that have a line, a bit for each: the compiler makes scalar code of the plain form.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn ways_with(ways: &[u64; MANY], line: u64) -> u32 {
    use std::arch::x86_64::{
        _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_set1_epi64x,
    };
    let wanted = _mm256_set1_epi64x(line as i64);
    (0..MANY / FEW).fold(0, |found, number| {
        let four: &[u64; FEW] = &ways.as_chunks().0[number];
        // SAFETY: it reads the words of an array.
        let four = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
        let equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(four, wanted)));
        found | (equal as u32) << (FEW * number)
    })
}

/// [`ways_with`] on any host.
fn plain_ways_with(ways: &[u64; MANY], line: u64) -> u32 {
    (0..MANY).fold(0, |found, way| found | u32::from(ways[way] == line) << way)
}

/// Which of many ways has a line. All are compared at once, in code that has vector instructions.
#[inline(always)]
fn way_of_many(ways: &[u64; MANY], line: u64) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    let found = match std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has the instructions.
        true => unsafe { ways_with(ways, line) },
        false => plain_ways_with(ways, line),
    };
    #[cfg(not(target_arch = "x86_64"))]
    let found = plain_ways_with(ways, line);
    (found != 0).then(|| found.trailing_zeros())
}

/// The least of the words of a set.
#[inline(always)]
fn least(words: &[u64]) -> u64 {
    let least = |least: i64, &used: &u64| least.min(used as i64);
    match <&[u64; MANY]>::try_from(words) {
        Ok(many) => many.iter().fold(i64::MAX, least) as u64,
        Err(_) => words.iter().fold(i64::MAX, least) as u64,
    }
}

impl Tags {
    pub fn new(sets: u32, ways: u32) -> Tags {
        Tags::hashed(sets, ways, SetIndex::Modulo)
    }

    pub fn hashed(sets: u32, ways: u32, index: SetIndex) -> Tags {
        assert!(ways <= MOST_WAYS, "{ways} ways");
        let count = (sets * ways) as usize;
        let index = match (sets.is_power_of_two(), index) {
            (true, SetIndex::Fermi) => Index::Fermi,
            (true, _) => Index::Low,
            (false, _) => Index::Rest,
        };
        Tags {
            sets,
            ways,
            index,
            mask: u64::from(sets).wrapping_sub(1),
            lines: vec![NO_LINE; count],
            used: vec![0; count],
            uses: 0,
            holds: false,
        }
    }

    /// Lines of a set.
    pub fn ways(&self) -> u32 {
        self.ways
    }

    /// The set of a line.
    #[inline(always)]
    pub fn set_of(&self, line: u64) -> SetId {
        let set = match self.index {
            Index::Fermi => (line ^ fermi(line)) & self.mask,
            Index::Low => line & self.mask,
            Index::Rest => line % u64::from(self.sets),
        };
        SetId(set as u32 * self.ways)
    }

    #[inline(always)]
    fn set(&self, line: u64) -> std::ops::Range<usize> {
        self.places_of(self.set_of(line))
    }

    #[inline(always)]
    fn places_of(&self, SetId(first): SetId) -> std::ops::Range<usize> {
        first as usize..first as usize + self.ways as usize
    }

    /// Where a line number is, valid or reserved.
    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<LineId> {
        self.find_in(self.set_of(line), line)
    }

    /// [`Tags::find`] in the set of the line. Four ways are the most frequent.
    #[inline(always)]
    fn find_in(&self, set: SetId, line: u64) -> Option<LineId> {
        let first = set.0;
        if self.ways != FEW as u32 {
            return self.find_in_any(set, line);
        }
        let four = self.lines[first as usize..].first_chunk::<FEW>()?;
        way_of(four, line).map(|way| LineId(first + way))
    }

    #[inline(always)]
    fn find_in_any(&self, set: SetId, line: u64) -> Option<LineId> {
        let mut place = set.0;
        let mut ways = &self.lines[self.places_of(set)];
        while let Some((four, rest)) = ways.split_first_chunk::<4>() {
            if let Some(way) = way_of(four, line) {
                return Some(LineId(place + way));
            }
            place += 4;
            ways = rest;
        }
        ways.iter().position(|&tag| tag == line).map(|way| LineId(place + way as u32))
    }

    /// The first place of a line's set, and where in it the line is, valid or reserved: for many ways, in code that has vector instructions.
    #[inline(always)]
    pub fn find_of_many(&self, line: u64) -> (SetId, Option<LineId>) {
        let set = self.set(line);
        let first = set.start as u32;
        let place = match self.lines[set].try_into() {
            Ok(many) => way_of_many(many, line).map(|way| LineId(first + way)),
            Err(_) => self.find_by_fours(line),
        };
        (SetId(first), place)
    }

    #[cold]
    #[inline(never)]
    fn find_by_fours(&self, line: u64) -> Option<LineId> {
        self.find(line)
    }

    /// The set of a line, and where the line is if it is valid.
    #[inline(always)]
    pub fn find_valid(&self, line: u64) -> (SetId, Option<LineId>) {
        let set = self.set_of(line);
        match self.find_in(set, line) {
            Some(place) if self.state(place) != State::Reserved => (set, Some(place)),
            _ => (set, None),
        }
    }

    /// Whether a line is at this place.
    #[inline(always)]
    pub fn has_at(&self, id: LineId, line: u64) -> bool {
        self.lines[id.0 as usize] == line
    }

    #[inline(always)]
    pub fn state(&self, id: LineId) -> State {
        State::of(self.used[id.0 as usize])
    }

    /// Notes a use, for the replacement.
    #[inline(always)]
    pub fn touch(&mut self, id: LineId) {
        self.uses += USE;
        let used = &mut self.used[id.0 as usize];
        *used = self.uses | *used & (RESERVED | STATE | WAY);
    }

    /// Notes a use that changes the line, which is valid.
    #[inline(always)]
    pub fn write(&mut self, id: LineId) {
        self.uses += USE;
        let used = &mut self.used[id.0 as usize];
        *used = self.uses | *used & WAY | State::Dirty as u64;
    }

    /// Notes a use of a line if it is at this place, and not only reserved.
    #[inline(always)]
    pub fn use_at(&mut self, id: LineId, line: u64) -> bool {
        assert!((id.0 as usize) < self.lines.len(), "a place of another cache");
        // SAFETY: it is one of these tags.
        unsafe { self.use_known(id, line) }
    }

    /// [`Tags::use_at`] for a place that need not be checked.
    ///
    /// # Safety
    /// The place must be one of these tags.
    #[inline(always)]
    pub unsafe fn use_known(&mut self, id: LineId, line: u64) -> bool {
        let place = id.0 as usize;
        debug_assert!(place < self.lines.len());
        // SAFETY: as the caller promises; there is a line and a word of its use for each place.
        let (there, used) = unsafe { (*self.lines.get_unchecked(place), self.used.get_unchecked_mut(place)) };
        if there != line || *used & RESERVED != 0 {
            return false;
        }
        self.uses += USE;
        *used = self.uses | *used & (STATE | WAY);
        true
    }

    /// The least recently used place of a line's set that is not reserved, and its way, as it is noted.
    #[inline(always)]
    fn oldest(&self, line: u64) -> Option<(usize, u64)> {
        self.oldest_in(self.set_of(line))
    }

    #[inline(always)]
    fn oldest_in(&self, set: SetId) -> Option<(usize, u64)> {
        let set = self.places_of(set);
        let first = set.start;
        let (mut least, mut oldest) = (RESERVED, 0);
        for (way, &used) in self.used[set].iter().enumerate() {
            oldest = if used < least { way } else { oldest };
            least = least.min(used);
        }
        (least != RESERVED).then_some((first + oldest, (oldest as u64) << WAY_SHIFT))
    }

    /// The same by the least word alone, which tells its way: for many ways, in code that has vector instructions.
    #[inline(always)]
    fn oldest_of_many(&self, SetId(first): SetId) -> Option<(usize, u64)> {
        let first = first as usize;
        let words = &self.used[first..][..self.ways as usize];
        let least = least(words);
        let way = match least {
            0 => (words.iter().position(|&used| used == 0)? as u64) << WAY_SHIFT,
            _ => least & WAY,
        };
        (least & RESERVED == 0).then_some((first + (way >> WAY_SHIFT) as usize, way))
    }

    /// The same for any number of ways, where four are the most frequent. Gives the word of the place, too.
    #[inline(always)]
    fn oldest_of_few(&self, set: SetId) -> Option<(usize, u64, u64)> {
        if self.ways != FEW as u32 {
            return self.oldest_in(set).map(|(place, way)| (place, way, self.used[place]));
        }
        let first = set.0 as usize;
        let &[a, b, c, d] = self.used[first..].first_chunk::<FEW>()?;
        let least = a.min(b).min(c.min(d));
        let way = match least {
            0 => ([a, b, c].iter().take_while(|&&used| used != 0).count() as u64) << WAY_SHIFT,
            _ => least & WAY,
        };
        (least & RESERVED == 0).then_some((first + (way >> WAY_SHIFT) as usize, way, least))
    }

    #[inline(always)]
    fn content(&self, place: usize) -> Option<Evicted> {
        match State::of(self.used[place]) {
            State::Clean => Some(Evicted { line: self.lines[place], dirty: false }),
            State::Dirty => Some(Evicted { line: self.lines[place], dirty: true }),
            State::Invalid | State::Reserved => None,
        }
    }

    /// Takes the least recently used place of the line's set that is not reserved. `None` when all are.
    #[inline(always)]
    pub fn reserve(&mut self, line: u64) -> Option<(LineId, Option<Evicted>)> {
        let oldest = self.oldest(line)?;
        Some(self.reserve_at(oldest, line))
    }

    /// The same in a set that is known, with [`Tags::oldest_of_many`]. Gives the state and the number of the line that was there.
    #[inline(always)]
    pub fn reserve_of_many(&mut self, set: SetId, line: u64) -> Option<(LineId, State, u64)> {
        let (place, way) = self.oldest_of_many(set)?;
        let former = (State::of(self.used[place]), self.lines[place]);
        self.take_place(place, way, line);
        Some((LineId(place as u32), former.0, former.1))
    }

    #[inline(always)]
    fn reserve_at(&mut self, (place, way): (usize, u64), line: u64) -> (LineId, Option<Evicted>) {
        let evicted = self.content(place);
        self.take_place(place, way, line);
        (LineId(place as u32), evicted)
    }

    #[inline(always)]
    fn take_place(&mut self, place: usize, way: u64, line: u64) {
        self.lines[place] = line;
        self.holds = true;
        self.uses += USE;
        self.used[place] = self.uses | way | RESERVED | State::Reserved as u64;
    }

    /// A line comes, and takes the least recently used place of its set that is not reserved. `None` when all are.
    #[inline(always)]
    pub fn fill(&mut self, set: SetId, line: u64, state: State) -> Option<(LineId, Option<Evicted>)> {
        debug_assert_eq!(set, self.set_of(line));
        let (place, way, former) = self.oldest_of_few(set)?;
        let former_line = std::mem::replace(&mut self.lines[place], line);
        self.holds = true;
        self.uses += USE;
        self.used[place] = self.uses | way | state as u64;
        let evicted = match State::of(former) {
            State::Clean => Some(Evicted { line: former_line, dirty: false }),
            State::Dirty => Some(Evicted { line: former_line, dirty: true }),
            State::Invalid | State::Reserved => None,
        };
        Some((LineId(place as u32), evicted))
    }

    /// A line comes without having been asked for, and is clean. It is used if it is there, and takes no place of a dirty line.
    #[inline(always)]
    pub fn bring(&mut self, line: u64) {
        let (set, place) = self.find_of_many(line);
        if let Some(place) = place {
            self.touch(place);
        } else if let Some((place, way)) = self.oldest_of_many(set)
            && State::of(self.used[place]) != State::Dirty
        {
            self.lines[place] = line;
            self.holds = true;
            self.uses += USE;
            self.used[place] = self.uses | way | State::Clean as u64;
        }
    }

    /// Whether `reserve` would find a place, and whether a dirty line would be evicted.
    pub fn victim(&self, line: u64) -> Option<Option<Evicted>> {
        Some(self.content(self.oldest(line)?.0))
    }

    /// The same with [`Tags::oldest_of_many`].
    #[inline(always)]
    pub fn victim_of_many(&self, set: SetId) -> Option<Option<Evicted>> {
        Some(self.content(self.oldest_of_many(set)?.0))
    }

    /// The data of a reserved line has arrived, or a line is written.
    #[inline(always)]
    pub fn set_state(&mut self, id: LineId, state: State) {
        let place = id.0 as usize;
        let used = &mut self.used[place];
        match state {
            State::Invalid => {
                self.lines[place] = NO_LINE;
                *used = 0;
            }
            State::Reserved => *used = *used & !STATE | RESERVED | State::Reserved as u64,
            State::Clean | State::Dirty => *used = *used & !(STATE | RESERVED) | state as u64,
        }
    }

    /// Invalidates a line. Gives its number if it was dirty. One that is being fetched stays.
    pub fn lose(&mut self, id: LineId) -> Option<u64> {
        let place = id.0 as usize;
        let (line, state) = (self.lines[place], self.state(id));
        if state != State::Reserved {
            self.set_state(id, State::Invalid);
        }
        (state == State::Dirty).then_some(line)
    }

    /// Invalidates all lines but those that are being fetched. Dirty ones go to `write_back` first, in order of line id, each with its
    /// number.
    pub fn flush(&mut self, mut write_back: impl FnMut(LineId, u64)) {
        if !std::mem::take(&mut self.holds) {
            return;
        }
        // Mostly all lines are clean.
        if self.used.iter().fold(0, |all, used| all | used) & State::Reserved as u64 == 0 {
            self.lines.fill(NO_LINE);
            self.used.fill(0);
            return;
        }
        for i in 0..self.lines.len() {
            match State::of(self.used[i]) {
                State::Reserved => {
                    self.holds = true;
                    continue;
                }
                State::Dirty => write_back(LineId(i as u32), self.lines[i]),
                State::Clean | State::Invalid => {}
            }
            self.lines[i] = NO_LINE;
            self.used[i] = 0;
        }
    }

    pub fn len(&self) -> u32 {
        self.sets * self.ways
    }

    pub fn is_empty(&self) -> bool {
        self.used.iter().all(|&used| State::of(used) == State::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwatt_base::SplitMix64;

    fn fill(tags: &mut Tags, line: u64) -> Option<Evicted> {
        let (id, evicted) = tags.reserve(line).expect("a place");
        tags.set_state(id, State::Clean);
        evicted
    }

    #[test]
    fn the_least_recently_used_line_makes_room() {
        let mut tags = Tags::new(2, 2);
        assert_eq!(fill(&mut tags, 0), None);
        assert_eq!(fill(&mut tags, 2), None);
        tags.touch(tags.find(0).expect("there"));
        assert_eq!(fill(&mut tags, 4), Some(Evicted { line: 2, dirty: false }));
        assert!(tags.find(0).is_some() && tags.find(2).is_none());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn many_ways_are_compared_with_vectors_as_one_by_one() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        let mut random = SplitMix64::new(29);
        let mut found = 0;
        for _ in 0..10_000 {
            let ways: [u64; MANY] = std::array::from_fn(|_| u64::from(random.below(40)) << 33 | 7);
            let line = u64::from(random.below(40)) << 33 | 7;
            let expected = plain_ways_with(&ways, line);
            // SAFETY: the host has the instructions.
            assert_eq!(unsafe { ways_with(&ways, line) }, expected);
            found += u32::from(expected != 0);
        }
        assert!((1000..9000).contains(&found), "{found}");
    }

    #[test]
    fn a_line_that_comes_takes_the_place_that_one_is_reserved_at() {
        let mut random = SplitMix64::new(5);
        for ways in [1, 2, 4, 6] {
            let mut both = [Tags::new(2, ways), Tags::new(2, ways)];
            let mut reserved = Vec::new();
            for _ in 0..4000 {
                let line = u64::from(random.below(40));
                match (random.below(8), both[0].find(line)) {
                    (0, None) => {
                        let places = both.each_mut().map(|tags| tags.reserve(line));
                        assert_eq!(places[0], places[1]);
                        reserved.extend(places[0].map(|(place, _)| place));
                    }
                    (1..5, None) => {
                        let state = [State::Clean, State::Dirty][random.below(2) as usize];
                        let taken = both[0].reserve(line);
                        if let Some((place, _)) = taken {
                            both[0].set_state(place, state);
                        }
                        let set = both[1].set_of(line);
                        assert_eq!(both[1].fill(set, line, state), taken);
                    }
                    (5, _) if let Some(place) = reserved.pop() => {
                        both.iter_mut().for_each(|tags| tags.set_state(place, State::Clean));
                    }
                    (6, Some(place)) if both[0].state(place) != State::Reserved => {
                        both.iter_mut().for_each(|tags| tags.set_state(place, State::Invalid));
                    }
                    (7, Some(place)) => both.iter_mut().for_each(|tags| tags.touch(place)),
                    _ => {}
                }
                assert_eq!((&both[0].lines, &both[0].used), (&both[1].lines, &both[1].used));
            }
        }
    }

    /// The published function, bit by bit.
    #[test]
    fn fermis_sets_are_those_that_were_published() {
        let bit = |address: u64, bit: u32| address >> bit & 1;
        let plain = |address: u64| -> u64 {
            [(7, 13), (8, 14), (9, 15), (10, 17), (11, 19)]
                .iter()
                .zip(0..)
                .map(|(&(low, high), place)| (bit(address, low) ^ bit(address, high)) << place)
                .sum()
        };
        let (small, large) = (Tags::hashed(32, 4, SetIndex::Fermi), Tags::hashed(64, 6, SetIndex::Fermi));
        let tiny = Tags::hashed(8, 2, SetIndex::Fermi);
        for i in 0..1u64 << 14 {
            let address = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34 << 7;
            let line = address >> 7;
            assert_eq!(small.set(line).start as u64, plain(address) * 4);
            assert_eq!(large.set(line).start as u64, (bit(address, 12) << 5 | plain(address)) * 6);
            assert_eq!(tiny.set(line).start as u64, (plain(address) & 7) * 2);
        }
        // Without a power of two there is no hash.
        assert_eq!(Tags::hashed(96, 4, SetIndex::Fermi).set(96 * 65 + 7).start, 7 * 4);
    }

    #[test]
    fn places_are_those_of_a_plain_search_and_lines_come_as_if_reserved() {
        let mut random = SplitMix64::new(9);
        for ways in [1, 2, 3, 4, 6, 8, 16, 17] {
            let mut tags = Tags::new(4, ways);
            for _ in 0..2000 {
                let line = u64::from(random.below(12 * ways));
                let places = tags.set(line).filter(|&place| tags.used[place] & RESERVED == 0);
                assert_eq!(tags.find_of_many(line), (SetId(tags.set(line).start as u32), tags.find(line)));
                assert_eq!(tags.oldest(line), tags.oldest_of_many(tags.find_of_many(line).0));
                assert_eq!(
                    tags.oldest(line).map(|(place, _)| place),
                    places.min_by_key(|&place| (tags.used[place], place))
                );
                let mut twin = tags.clone();
                tags.bring(line);
                match twin.find(line) {
                    Some(place) => twin.touch(place),
                    None if twin.victim(line).is_some_and(|victim| victim.is_none_or(|it| !it.dirty)) => {
                        fill(&mut twin, line);
                    }
                    None => {}
                }
                assert_eq!((&tags.lines, &tags.used, tags.uses), (&twin.lines, &twin.used, twin.uses));
                let states = [State::Invalid, State::Clean, State::Clean, State::Dirty, State::Reserved];
                if let Some(place) = tags.find(line) {
                    tags.set_state(place, states[random.below(5) as usize]);
                }
            }
        }
    }

    /// Against a list of the lines of each set in order of their last use.
    #[test]
    fn lines_make_room_in_the_order_of_their_last_use() {
        let mut random = SplitMix64::new(5);
        for (sets, ways) in [(1, 1), (4, 4), (3, 5), (2, 16), (1, 24), (2, 64)] {
            let mut tags = Tags::new(sets, ways);
            let mut plain = vec![Vec::<(u64, bool, LineId)>::new(); sets as usize];
            for _ in 0..4000 {
                let line = u64::from(random.below(2 * sets * ways));
                let set = &mut plain[(line % u64::from(sets)) as usize];
                let known = set.iter().position(|(other, ..)| *other == line);
                assert_eq!(tags.find(line), known.map(|at| set[at].2));
                match (known, random.below(4)) {
                    (Some(at), 0) => {
                        let (_, dirty, id) = set.remove(at);
                        assert_eq!(tags.lose(id), dirty.then_some(line));
                    }
                    (Some(at), 1) => {
                        let (_, _, id) = set.remove(at);
                        tags.write(id);
                        set.push((line, true, id));
                    }
                    (Some(at), how) => {
                        let (_, dirty, id) = set.remove(at);
                        match how {
                            2 => tags.touch(id),
                            _ => assert!(tags.use_at(id, line)),
                        }
                        set.push((line, dirty, id));
                    }
                    (None, _) => {
                        let least = (set.len() == ways as usize).then(|| set.remove(0));
                        let reserved = match random.chance(2) {
                            true => tags.reserve(line),
                            false => {
                                let set = tags.find_of_many(line).0;
                                let victim = tags.victim_of_many(set);
                                let reserved = tags.reserve_of_many(set, line);
                                reserved.map(|(place, state, former)| {
                                    let is_there = matches!(state, State::Clean | State::Dirty);
                                    let dirty = state == State::Dirty;
                                    let evicted = is_there.then_some(Evicted { line: former, dirty });
                                    assert_eq!(victim, Some(evicted));
                                    (place, evicted)
                                })
                            }
                        };
                        let (id, evicted) = reserved.expect("none is being fetched");
                        assert_eq!(evicted, least.map(|(line, dirty, _)| Evicted { line, dirty }));
                        assert!(least.is_none_or(|(.., place)| place == id));
                        tags.set_state(id, State::Clean);
                        set.push((line, false, id));
                    }
                }
            }
        }
    }

    #[test]
    fn reserved_places_are_not_given_away() {
        let mut tags = Tags::new(1, 2);
        let (first, _) = tags.reserve(7).expect("a place");
        tags.reserve(8).expect("a place");
        assert_eq!(tags.reserve(9), None);
        assert_eq!(tags.victim(9), None);
        tags.set_state(first, State::Dirty);
        assert_eq!(tags.victim(9), Some(Some(Evicted { line: 7, dirty: true })));
        assert_eq!(tags.reserve(9).expect("a place").1, Some(Evicted { line: 7, dirty: true }));
    }

    #[test]
    fn flushing_writes_dirty_lines_back_and_keeps_what_is_under_way() {
        let mut tags = Tags::new(3, 1);
        fill(&mut tags, 0);
        fill(&mut tags, 1);
        tags.set_state(tags.find(1).expect("there"), State::Dirty);
        tags.reserve(2).expect("a place");
        let mut written = Vec::new();
        tags.flush(|id, line| written.push((id, line)));
        assert_eq!(written, [(LineId(1), 1)]);
        assert!(tags.find(0).is_none() && tags.find(2).is_some());
    }
}
