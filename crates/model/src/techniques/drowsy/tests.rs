// SPDX-License-Identifier: MIT OR Apache-2.0
//! One data array with drowsy regions, access by access.

use super::*;
use crate::cache::{LineId, RowAccess};
use crate::techniques::kit::regions::{Numbering, Sleep};

fn drowsy(verify: bool) -> Drowsy {
    let layout = Layout {
        frames: 16,
        region: 4,
        numbering: Numbering::SetMajor { ways: 4 },
        sleep: Sleep::WhenLeft,
        wake: 2,
        ahead: 0,
    };
    Drowsy {
        array: Array::Constant,
        regions: Regions::new(layout),
        shadow: verify.then(|| LineShadow::new(16, false)),
        corrupted: None,
        tally: Tally::default(),
    }
}

fn access(drowsy: &mut Drowsy, now: u64, usage: Use, frame: u32, line: u64) -> u64 {
    let row = RowAccess { frame: LineId(frame), line, words: 1 };
    drowsy.access(&ArrayAccess { now, usage, lanes: 32, rows: &[row] })
}

#[test]
fn reads_and_fills_wait_for_a_region_to_wake_up() {
    let mut drowsy = drowsy(false);
    assert_eq!(access(&mut drowsy, 10, Use::Fill, 0, 7), 2);
    assert_eq!(access(&mut drowsy, 20, Use::Read, 0, 7), 0);
    assert_eq!(
        access(&mut drowsy, 30, Use::Write, 8, 9),
        2,
        "a store wakes it too, but does not count as a wait"
    );
    drowsy.settle(40, true);
    assert_eq!((drowsy.tally.waits, drowsy.tally.wakeups), (2, 2));
    assert_eq!(drowsy.tally.on, 4 * (20 + 10));
}

#[test]
fn time_asleep_is_told_with_and_without_warps() {
    let mut drowsy = drowsy(false);
    drowsy.settle(10, false);
    access(&mut drowsy, 10, Use::Read, 0, 7);
    drowsy.settle(30, true);
    drowsy.settle(100, false);
    let Tally { asleep, asleep_busy, on, on_busy, .. } = drowsy.tally;
    assert_eq!((asleep, asleep_busy, on, on_busy), (160 + 12 * 90, 12 * 20, 4 * 90, 4 * 20));
}

#[test]
fn a_line_that_changed_while_it_slept_is_found() {
    let mut drowsy = drowsy(true);
    access(&mut drowsy, 10, Use::Fill, 3, 7);
    access(&mut drowsy, 11, Use::Read, 3, 7);
    assert_eq!(drowsy.corrupted(), None);
    access(&mut drowsy, 12, Use::Read, 3, 6);
    assert!(drowsy.corrupted().is_some_and(|text| text.contains("block 3")));
}
