// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters: each declared once beside what it counts, with a dotted name whose last word is its unit, and a line of documentation.
//! Adding up, taking differences and listing are derived.

use std::any::Any;
use std::fmt;

/// What is known about a counter besides its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterInfo {
    pub name: &'static str,
    pub doc: &'static str,
    /// Which instructions pay for its events. Counters of events have one; times, ratios and histograms need none.
    pub charge: Option<Charge>,
}

impl CounterInfo {
    /// The last word of the name.
    pub fn unit(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Whether it counts events, which can cost energy one by one.
    pub fn counts_events(&self) -> bool {
        matches!(self.unit(), "count" | "bytes")
    }
}

/// Which instructions, and through them which source lines, pay for the energy of a counter's events: each by its share of the events
/// named here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charge {
    /// Instructions issued.
    Issues,
    /// Lanes that took part in instructions.
    Lanes,
    /// Instructions of one kind of operation, by the kind's name.
    Op(&'static str),
    /// Lanes of one kind of operation.
    OpLanes(&'static str),
    /// Instructions of one execution unit, by the unit's name.
    Unit(&'static str),
    /// Registers read.
    Reads,
    /// Registers written.
    Writes,
    /// Constant operands.
    Constants,
    /// Constant operands, and lines of indexed loads from constant memory.
    ConstantCache,
    /// Accesses to shared memory.
    Shared,
    /// Lines of global and local memory.
    Lines,
    /// Lines of textures.
    TextureLines,
    /// Lines of everything that L2 and memory answer.
    AllLines,
    /// Issue slots, used or lost.
    Time,
    /// None: what happens on no instruction's behalf.
    Nobody,
}

/// The value of a counter, as a visitor sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count<'a> {
    Sum(u64),
    /// Occurrences by bucket.
    Histogram(&'a [u64]),
}

/// A field of a counter structure.
pub trait Counter: Clone + Default {
    fn add(&mut self, other: &Self);
    /// What was counted since `earlier`, a former state of this counter.
    fn since(&self, earlier: &Self) -> Self;
    fn value(&self) -> Count<'_>;
}

impl Counter for u64 {
    fn add(&mut self, other: &u64) {
        *self += other;
    }

    fn since(&self, earlier: &u64) -> u64 {
        self - earlier
    }

    fn value(&self) -> Count<'_> {
        Count::Sum(*self)
    }
}

impl<const N: usize> Counter for [u64; N]
where
    [u64; N]: Default,
{
    fn add(&mut self, other: &[u64; N]) {
        self.iter_mut().zip(other).for_each(|(sum, count)| *sum += count);
    }

    fn since(&self, earlier: &[u64; N]) -> [u64; N] {
        std::array::from_fn(|i| self[i] - earlier[i])
    }

    fn value(&self) -> Count<'_> {
        Count::Histogram(self)
    }
}

/// Occurrences by magnitude: bucket 0 counts zeros, bucket n values from 2^(n-1) to 2^n - 1; the last one all that is larger.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Log2([u64; Log2::BUCKETS]);

impl Log2 {
    pub const BUCKETS: usize = 24;

    #[inline(always)]
    pub fn note(&mut self, value: u64) {
        self.note_times(value, 1);
    }

    #[inline(always)]
    pub fn note_times(&mut self, value: u64, times: u64) {
        let bucket = (64 - value.leading_zeros()) as usize;
        self.0[bucket.min(Log2::BUCKETS - 1)] += times;
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// What a [`Log2`] counts, with a bucket for every magnitude there is, by the zeros that a value begins with: noting one takes no look at where the last
/// bucket begins.
#[derive(Clone, Debug)]
pub struct Magnitudes([u64; u64::BITS as usize + 1]);

impl Default for Magnitudes {
    fn default() -> Magnitudes {
        Magnitudes([0; u64::BITS as usize + 1])
    }
}

impl Magnitudes {
    #[inline(always)]
    pub fn note(&mut self, value: u64) {
        self.0[value.leading_zeros() as usize] += 1;
    }

    pub fn add(&mut self, other: &Magnitudes) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    pub fn log2(&self) -> Log2 {
        let (large, small) = self.0.split_at(self.0.len() - (Log2::BUCKETS - 1));
        let mut buckets = Log2::default();
        buckets.0[..small.len()].copy_from_slice(small);
        buckets.0[..small.len()].reverse();
        buckets.0[small.len()] = large.iter().sum();
        buckets
    }
}

impl Counter for Log2 {
    fn add(&mut self, other: &Log2) {
        self.0.add(&other.0);
    }

    fn since(&self, earlier: &Log2) -> Log2 {
        Log2(self.0.since(&earlier.0))
    }

    fn value(&self) -> Count<'_> {
        Count::Histogram(&self.0)
    }
}

/// A structure of counters whose type is not known: that of a technique.
pub trait CounterSet: Any + fmt::Debug + Send + Sync {
    /// Adds other counters of the same type.
    fn add_set(&mut self, other: &dyn CounterSet);
    /// What was counted since `earlier`, a former state of these counters.
    fn since_set(&self, earlier: &dyn CounterSet) -> Box<dyn CounterSet>;
    fn visit_set(&self, f: &mut dyn FnMut(&'static str, Count));
    fn boxed(&self) -> Box<dyn CounterSet>;
    fn equals(&self, other: &dyn CounterSet) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl dyn CounterSet {
    /// The counters as the type that they are. `None` if they are of another one.
    pub fn of<T: CounterSet>(&self) -> Option<&T> {
        self.as_any().downcast_ref()
    }
}

/// The charge of a counter: its own, that of its structure, or none.
#[doc(hidden)]
#[macro_export]
macro_rules! charge {
    ([$own:expr] [$($all:expr)?]) => {
        Some($own)
    };
    ([] [$all:expr]) => {
        Some($all)
    };
    ([] []) => {
        None
    };
}

/// Declares a structure of counters: `field: type = "name.unit", "What it counts.";`. In parentheses behind the structure's name,
/// a [`Charge`] says which instructions pay for its events; behind a counter's documentation, one says it for that counter.
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident($all:expr) { $($rest:tt)* }) => {
        $crate::counters! { @ [$all] $(#[$meta])* pub struct $name { $($rest)* } }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($rest:tt)* }) => {
        $crate::counters! { @ [] $(#[$meta])* pub struct $name { $($rest)* } }
    };
    (@ $all:tt $(#[$meta:meta])* pub struct $name:ident {
        $($field:ident: $ty:ty = $key:expr, $doc:literal $(, $charge:expr)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct $name { $(#[doc = $doc] pub $field: $ty,)* }

        impl $name {
            pub const INFO: &'static [$crate::counters::CounterInfo] =
                &[$($crate::counters::CounterInfo {
                    name: $key,
                    doc: $doc,
                    charge: $crate::charge!([$($charge)?] $all),
                },)*];

            pub fn add(&mut self, other: &$name) {
                $($crate::counters::Counter::add(&mut self.$field, &other.$field);)*
            }

            /// What was counted since `earlier`, a former state of these counters.
            pub fn since(&self, earlier: &$name) -> $name {
                $name { $($field: $crate::counters::Counter::since(&self.$field, &earlier.$field),)* }
            }

            pub fn visit(&self, f: &mut dyn FnMut(&'static str, $crate::counters::Count)) {
                $(f($key, $crate::counters::Counter::value(&self.$field));)*
            }
        }

        impl $crate::counters::CounterSet for $name {
            fn add_set(&mut self, other: &dyn $crate::counters::CounterSet) {
                if let Some(other) = other.of() {
                    self.add(other);
                }
            }

            fn since_set(
                &self,
                earlier: &dyn $crate::counters::CounterSet,
            ) -> Box<dyn $crate::counters::CounterSet> {
                Box::new(earlier.of().map_or_else(|| self.clone(), |earlier| self.since(earlier)))
            }

            fn visit_set(&self, f: &mut dyn FnMut(&'static str, $crate::counters::Count)) {
                self.visit(f);
            }

            fn boxed(&self) -> Box<dyn $crate::counters::CounterSet> {
                Box::new(self.clone())
            }

            fn equals(&self, other: &dyn $crate::counters::CounterSet) -> bool {
                other.of() == Some(self)
            }

            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// For the tests.
        pub struct Two(Charge::Lines) {
            hits: u64 = "two.hits.count", "Hits.", Charge::Reads;
            misses: u64 = "two.misses.count", "Misses.";
            sizes: Log2 = "two.sizes.histogram", "Sizes.";
        }
    }

    #[test]
    fn magnitudes_are_counted_as_in_few_buckets() {
        let (mut all, mut few) = (Magnitudes::default(), Log2::default());
        for value in (0..64).flat_map(|shift| [1 << shift, (1 << shift) - 1]).chain([u64::MAX, 0, 0]) {
            all.note(value);
            few.note(value);
        }
        assert_eq!(all.log2(), few);
    }

    #[test]
    fn sums_and_differences_cover_every_field() {
        let mut first = Two { hits: 3, ..Two::default() };
        first.sizes.note(0);
        first.sizes.note(5);
        let mut both = first.clone();
        both.add(&first);
        assert_eq!((both.hits, both.sizes.total()), (6, 4));
        assert_eq!(both.since(&first), first);
    }

    #[test]
    fn a_counter_has_its_own_charge_or_that_of_its_structure() {
        counters! {
            /// Without a charge.
            pub struct None {
                clocks: u64 = "none.busy.clocks", "Clocks.";
                events: u64 = "none.events.count", "Events.", Charge::Time;
            }
        }
        let charges = |infos: &[CounterInfo]| infos.iter().map(|info| info.charge).collect::<Vec<_>>();
        assert_eq!(charges(Two::INFO), [Some(Charge::Reads), Some(Charge::Lines), Some(Charge::Lines)]);
        assert_eq!(charges(None::INFO), [Option::None, Some(Charge::Time)]);
        assert!(Two::INFO[0].counts_events() && !Two::INFO[2].counts_events());
    }

    #[test]
    fn counters_of_a_type_that_is_not_known_add_up_among_themselves() {
        let two = Two { hits: 3, ..Two::default() };
        let mut sum: Box<dyn CounterSet> = two.boxed();
        sum.add_set(&two);
        assert_eq!(sum.of::<Two>().map(|two| two.hits), Some(6));
        assert!(sum.since_set(&two).equals(&two) && !sum.equals(&two));
    }

    #[test]
    fn visiting_names_every_counter_once() {
        let mut seen = Vec::new();
        Two::default().visit(&mut |name, _| seen.push(name));
        assert_eq!(seen, Two::INFO.iter().map(|info| info.name).collect::<Vec<_>>());
    }

    #[test]
    fn magnitudes_fall_into_their_buckets() {
        let mut sizes = Log2::default();
        for value in [0, 1, 2, 3, 4, u64::MAX] {
            sizes.note(value);
        }
        let Count::Histogram(buckets) = sizes.value() else { panic!("a histogram") };
        assert_eq!(buckets[..4], [1, 1, 2, 1]);
        assert_eq!(buckets[Log2::BUCKETS - 1], 1);
    }
}
