// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which segments an access enables.

use super::*;

fn idle(mask: Mask, array: Array, line_bytes: u64, lanes: u8, words: &[u32]) -> u64 {
    let divided = Divided { array, mask, segments: line_bytes / 4, reads: [0; 2], writes: [0; 2] };
    let row = |(frame, &words): (usize, &u32)| RowAccess { frame: LineId(frame as u32), line: 0, words };
    let rows: Vec<_> = words.iter().enumerate().map(row).collect();
    divided.idle(&ArrayAccess { now: 0, usage: Use::Read, lanes, rows: &rows })
}

#[test]
fn a_load_by_8_of_32_lanes_enables_8_segments_by_either_mask() {
    assert_eq!(idle(Mask::Lanes, Array::L1d, 128, 8, &[0xff]), 24);
    assert_eq!(idle(Mask::Bytes, Array::L1d, 128, 8, &[0xff]), 24);
}

#[test]
fn a_broadcast_shows_that_lanes_are_not_words() {
    // All lanes read word 5: wired by lanes every segment is enabled, and by words one. With lane 3 alone active, the segment of lane 3 would be
    // enabled, which does not hold word 5.
    assert_eq!(idle(Mask::Lanes, Array::L1d, 128, 32, &[1 << 5]), 0);
    assert_eq!(idle(Mask::Bytes, Array::L1d, 128, 32, &[1 << 5]), 31);
    assert_eq!(idle(Mask::Lanes, Array::L1d, 128, 1, &[1 << 5]), 31);
}

#[test]
fn a_line_of_16_segments_counts_as_32_parts() {
    assert_eq!(idle(Mask::Lanes, Array::Constant, 64, 8, &[1]), 24);
    assert_eq!(idle(Mask::Bytes, Array::Constant, 64, 8, &[1]), 30);
    assert_eq!(idle(Mask::Bytes, Array::Constant, 64, 8, &[0xffff]), 0);
}

#[test]
fn rows_of_shared_memory_are_one_access() {
    assert_eq!(idle(Mask::Bytes, Array::Shared, 128, 32, &[0xff, 0xff00, 0xff_0000]), 8);
    assert_eq!(idle(Mask::Bytes, Array::Shared, 128, 32, &[u32::MAX, u32::MAX]), 0, "two words a lane");
}

#[test]
fn fills_and_write_backs_enable_all_of_a_line() {
    let mut divided =
        Divided { array: Array::L2, mask: Mask::Lanes, segments: 32, reads: [0; 2], writes: [0; 2] };
    let row = [RowAccess { frame: LineId(0), line: 0, words: 1 }];
    for usage in [Use::Fill, Use::WriteBack, Use::Read, Use::Write] {
        divided.access(&ArrayAccess { now: 0, usage, lanes: 4, rows: &row });
    }
    let counters = divided.counters();
    let counters: &Counters = counters.of().expect("its own");
    assert_eq!(
        (counters.l2_reads, counters.l2_read_idle, counters.l2_writes, counters.l2_write_idle),
        (1, 28, 1, 28)
    );
}

#[test]
fn a_load_of_a_line_on_its_way_is_a_read_where_it_costs_one() {
    for (array, reads) in [(Array::L1d, [1, 24]), (Array::Constant, [1, 24]), (Array::L2, [0, 0])] {
        let mut divided = Divided { array, mask: Mask::Lanes, segments: 32, reads: [0; 2], writes: [0; 2] };
        divided.merged(0, 8, 0xff, None);
        assert_eq!((divided.reads, divided.writes), (reads, [0, 0]), "{array:?}");
    }
}
