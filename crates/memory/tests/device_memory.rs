// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation, exact bounds and reports of device memory.

use proptest::prelude::*;
use warpwatt_memory::{
    ALIGNMENT, BASE, Bounds, DeviceMemory, HeapOrigin, LARGE, MemoryError, PAGE, Relation, Stray,
};

fn memory() -> DeviceMemory {
    DeviceMemory::new(64 << 20).unwrap()
}

#[test]
fn addresses_follow_from_the_order_of_allocations_alone() {
    let run = || {
        let mut m = memory();
        let a = m.alloc(10, "a").unwrap();
        let b = m.alloc(300, "b").unwrap();
        m.free(a).unwrap();
        let c = m.alloc(5, "c").unwrap();
        (a, b, c)
    };
    assert_eq!(run(), run());
    assert_eq!(run(), (BASE, BASE + 256, BASE + 768));
}

#[test]
fn two_devices_of_one_process_give_the_same_guest_addresses() {
    let (mut one, mut two) = (memory(), memory());
    let (a, b) = (one.alloc(64, "x").unwrap(), two.alloc(64, "x").unwrap());
    assert_eq!(a, b);
    one.write(a, &[1; 64]).unwrap();
    two.write(b, &[2; 64]).unwrap();
    assert_eq!(one.bytes(a, 64).unwrap(), [1; 64]);
    assert_eq!(two.bytes(b, 64).unwrap(), [2; 64]);
}

#[test]
fn the_byte_after_the_last_one_is_out_of_bounds() {
    let mut m = memory();
    let a = m.alloc(10, "a").unwrap();
    assert!(m.write(a, &[0; 10]).is_ok());
    assert_eq!(m.write(a + 1, &[0; 10]), Err(MemoryError::OutOfBounds { address: a + 1, len: 10 }));
    assert!(m.find(a + 9).is_some());
    assert!(m.find(a + 10).is_none());
    let near = m.nearest(a + 12).unwrap();
    assert_eq!((near.allocation.base, near.relation, near.freed), (a, Relation::After(2), false));
    for wild in [0, 8, 0x1234_5678_9abc, u64::MAX - 3] {
        assert_eq!(m.nearest(wild), None, "{wild:#x} has nothing to do with any allocation");
    }
}

#[test]
fn a_freed_range_is_remembered_and_reused_last_and_comes_back_zeroed() {
    let mut m = memory();
    let a = m.alloc(16 << 20, "a").unwrap();
    m.fill(a, 7, 16 << 20).unwrap();
    m.free(a).unwrap();
    let again = m.free(a).unwrap_err().to_string();
    assert!(again.starts_with("double free: `a` (16777216 bytes at"), "{again}");
    assert_eq!(m.free(a + 256), Err(MemoryError::NotAllocated { address: a + 256 }));
    assert!(m.nearest(a + 5).unwrap().freed);
    let b = m.alloc(16 << 20, "b").unwrap();
    assert_ne!(a, b);
    let _rest = m.alloc(32 << 20, "c").unwrap();
    let d = m.alloc(16 << 20, "d").unwrap();
    assert_eq!(d, a);
    assert!(m.bytes(d, 16 << 20).unwrap().iter().all(|&byte| byte == 0));
    assert!(m.find_freed(a).is_none());
}

#[test]
fn a_full_memory_says_so() {
    let mut m = memory();
    assert!(matches!(m.alloc(65 << 20, "big"), Err(MemoryError::Full { size: 68157440, in_use: 0, .. })));
    assert!(m.alloc(u64::MAX - 3, "huge").is_err());
}

#[test]
fn the_heap_of_kernels_has_a_limit_and_checks_what_is_freed() {
    let mut m = memory();
    let host = m.alloc(8, "host").unwrap();
    m.set_heap_limit(1000);
    let a = m.heap_alloc(600, HeapOrigin::default());
    assert_ne!(a, 0);
    assert_eq!(m.heap_alloc(600, HeapOrigin::default()), 0);
    assert!(m.heap_free(host).is_err());
    assert!(m.heap_free(0).is_ok());
    m.heap_free(a).unwrap();
    assert!(m.heap_free(a).unwrap_err().to_string().starts_with("double free"));
    assert_ne!(m.heap_alloc(600, HeapOrigin::default()), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn live_allocations_never_overlap(steps in prop::collection::vec((any::<bool>(), 0u64..200_000), 1..200)) {
        let mut m = DeviceMemory::new(4 << 20).unwrap();
        let mut live: Vec<(u64, u64)> = Vec::new();
        for (free, size) in steps {
            if free && !live.is_empty() {
                let (base, _) = live.remove(size as usize % live.len());
                m.free(base).unwrap();
            } else if let Ok(base) = m.alloc(size, "x") {
                prop_assert_eq!(base % ALIGNMENT, 0);
                for &(other, len) in &live {
                    prop_assert!(base + size.max(1) <= other || other + len.max(1) <= base);
                }
                live.push((base, size));
            }
        }
        prop_assert_eq!(m.in_use(), live.iter().map(|l| l.1).sum::<u64>());
    }
}

#[test]
fn a_range_can_be_taken_where_another_run_had_it() {
    let mut memory = DeviceMemory::new(1 << 20).expect("address space");
    let first = memory.alloc(100, "first").expect("room");
    memory.alloc_at(first + 1024, 300, "recorded").expect("the range is free");
    assert_eq!(memory.find(first + 1024 + 299).expect("live").name, "recorded");
    for (base, size) in [
        (first, 1),
        (first + 768, 257),
        (first + 1280, 1),
        (first + 1, 1),
        (0, 1),
        (BASE + memory.capacity(), 1),
    ] {
        assert!(memory.alloc_at(base, size, "no").is_err(), "{size} bytes at {base:#x}");
    }
    let next = memory.alloc(1024, "next").expect("room");
    assert!(next + 1024 <= first + 1024 || next >= first + 1024 + 512, "{next:#x}");
}

#[test]
fn large_allocations_take_whole_pages_whose_rest_can_be_read() {
    let mut memory = memory();
    let small = memory.alloc(100, "small").unwrap();
    for (size, end) in [(LARGE, LARGE), (LARGE + 1, LARGE + PAGE), (3 * LARGE + PAGE - 1, 3 * LARGE + PAGE)] {
        let base = memory.alloc(size, "large").unwrap();
        assert_eq!(base % PAGE, 0);
        for (bounds, readable) in [(Bounds::Exact, size), (Bounds::Page, end), (Bounds::Warn, end)] {
            memory.set_bounds(bounds);
            assert_eq!(memory.find_readable(base).map(|found| found.1), Some(readable), "{bounds:?}");
            assert!(memory.find_readable(base + readable - 1).is_some());
            assert!(memory.find_readable(base + readable).is_none());
            assert!(memory.find(base + size).is_none(), "the host and stores are held to the byte");
        }
        let next = memory.alloc(1, "next").unwrap();
        assert!(next >= base + end);
    }
    let below = memory.alloc(LARGE - 1, "just below").unwrap();
    assert!(memory.find_readable(below + LARGE - 1).is_none() && memory.find_readable(small + 100).is_none());
}

#[test]
fn the_rest_of_a_page_is_zero_when_it_is_reused() {
    let mut memory = DeviceMemory::new(4 << 20).unwrap();
    let first = memory.alloc(3 << 20, "first").unwrap();
    memory.fill(first, 9, 3 << 20).unwrap();
    memory.free(first).unwrap();
    let second = memory.alloc(2 * LARGE + 1, "second").unwrap();
    assert_eq!(second, first);
    let host = memory.behind(second + 2 * LARGE + 1, PAGE - 1).unwrap();
    // SAFETY: `behind` answers for as many bytes as it is asked for.
    let rest = unsafe { std::slice::from_raw_parts(host, PAGE as usize - 1) };
    assert!(rest.iter().all(|&byte| byte == 0));
    assert!(memory.behind(BASE - 8, 4).is_none() && memory.behind(BASE + (8 << 20), 4).is_none());
}

#[test]
fn strays_are_counted_by_instruction_with_the_same_example() {
    let stray =
        |pc, x, address| Stray { grid: 0, pc, cta: [0; 3], thread: [x, 0, 0], address, bytes: 4, count: 1 };
    let taken = |order: &[Stray]| {
        let mut memory = memory();
        order.iter().for_each(|&stray| memory.note_stray(stray));
        memory.take_strays()
    };
    let all = [stray(7, 3, 30), stray(7, 1, 10), stray(2, 5, 50), stray(7, 2, 20)];
    let reversed: Vec<Stray> = all.iter().rev().copied().collect();
    let found = taken(&all);
    assert_eq!(found, taken(&reversed));
    assert_eq!(found, [stray(2, 5, 50), Stray { count: 3, ..stray(7, 1, 10) }]);
}
