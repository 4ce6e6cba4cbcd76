// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters: each declared once beside what it counts, with a dotted name whose last word is its unit, and a line of documentation.
//! Adding up, taking differences and listing are derived.

/// What is known about a counter besides its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterInfo {
    pub name: &'static str,
    pub doc: &'static str,
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

/// Declares a structure of counters: `field: type = "name.unit", "What it counts.";`
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($field:ident: $ty:ty = $key:expr, $doc:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct $name { $(#[doc = $doc] pub $field: $ty,)* }

        impl $name {
            pub const INFO: &'static [$crate::counters::CounterInfo] =
                &[$($crate::counters::CounterInfo { name: $key, doc: $doc },)*];

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
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// For the tests.
        pub struct Two {
            hits: u64 = "two.hits.count", "Hits.";
            sizes: Log2 = "two.sizes.histogram", "Sizes.";
        }
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
