// SPDX-License-Identifier: MIT OR Apache-2.0
//! Techniques in data arrays while kernels divide the on-chip memory anew: 16 KB of L1 and 48 KB of shared memory, or the other way round.

use warpwatt_model::techniques::{block_profile, drowsy, gated};

use super::*;

/// Every warp walks over 32 KB, which L1 holds if a kernel prefers it, reads a row of shared memory, and stores a part of a line of local memory.
const WALK: &str = "    .local .align 4 .b8 lo[64];
    mov.u32 %r20, 0;
again:
    mad.lo.u32 %r4, %r20, 32, %r12;
    and.b32 %r4, %r4, 8191;
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd4, %rd1, %rd4;
    ld.global.u32 %r5, [%rd4];
    and.b32 %r5, %r5, %r13;
    add.u32 %r2, %r2, %r5;
    mul.lo.u32 %r6, %r1, 4;
    st.shared.u32 [%r6], %r2;
    ld.shared.u32 %r2, [%r6];
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p1, %r20, 384;
    @%p1 bra again;
    mov.u64 %rd5, lo;
    mul.wide.u32 %rd6, %r13, 4;
    add.u64 %rd5, %rd5, %rd6;
    st.local.u32 [%rd5], %r2;
    ld.local.u32 %r2, [%rd5];
    st.local.u32 [%rd5], %r4;
";

const PREFERENCES: [bool; 3] = [true, false, true];

/// Launches one after the other, those that prefer L1 and others.
fn launches(with: &[&'static str], preferences: &[bool]) -> Vec<Ran> {
    let config = Setup::new(&[]).config;
    let mut techniques = Techniques { verify: true, ..Techniques::default() };
    with.iter().for_each(|text| techniques.with(text).expect("it is legal"));
    let mode = Mode::Timed(Box::new(Timed { techniques, ..Timed::new(config) }));
    let mut device =
        Device::with(Options { mode, ..Options::default() }, Box::new(Nobody)).expect("a device");
    let module = device.load_module("k.ptx", &kernel(WALK)).unwrap_or_else(|error| panic!("{error}"));
    let count = 32 * 256;
    let out = device.alloc(4 * count).expect("there is room");
    let bytes: Vec<u8> = (0..count as u32).flat_map(u32::to_le_bytes).collect();
    device.write(out, &bytes).expect("it is there");
    let mut ran = Vec::new();
    for &prefers in preferences {
        let config = LaunchConfig::new(4, 256);
        let config = if prefers { config.prefer_l1() } else { config };
        device.launch(module, "k", &config, &Args::new().ptr(out).u32(count as u32).u64(0)).expect("it runs");
        let mut bytes = vec![0; 4 * count as usize];
        device.read(out, &mut bytes).expect("it is there");
        let results = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let record = device.log().last().expect("it ran").clone();
        let counters = record.timed.as_ref().expect("it is timed").counters.as_ref().clone();
        ran.push(Ran { record, counters, results, pending: false });
    }
    ran
}

#[test]
fn a_kernel_gets_the_division_that_it_prefers_with_techniques_too() {
    let plain = launches(&[], &PREFERENCES);
    let misses = |ran: &Ran| ran.counters.sm.memory.l1d.misses;
    assert!(2 * misses(&plain[0]) < misses(&plain[1]), "{} and {}", misses(&plain[0]), misses(&plain[1]));
    for with in [
        "drowsy:wake_cycles=0,instruction=on",
        "drowsy:region=1048576,instruction=on",
        "drowsy:wake_cycles=0,region=64,index=way-major",
        "dwl",
        "block-profile",
        "gated:idle_cycles=4294967295,wake_cycles=0",
    ] {
        for (launch, (ran, plain)) in launches(&[with], &PREFERENCES).iter().zip(&plain).enumerate() {
            assert!(ran.results == plain.results, "{with}, launch {launch}");
            for (one, other) in ran.machine().iter().zip(&plain.machine()) {
                assert_eq!(one, other, "{with}, launch {launch}");
            }
        }
    }
}

#[test]
fn time_stays_exact_when_l1_borrows_rows_of_shared_memory() {
    for with in ["drowsy", "drowsy:region=16", "drowsy:region=256,policy=immediate", "drowsy:region=1048576"]
    {
        for (ran, prefers) in launches(&[with], &PREFERENCES).iter().zip(PREFERENCES) {
            let own = ran.counters.all_techniques().find::<drowsy::Counters>().expect("it is on").clone();
            let cycles = ran.counters.sm.issue.cycles;
            let lent = if prefers { 256 * cycles } else { 0 };
            assert_eq!(own.l1d_on + own.l1d_asleep, 128 * cycles, "{with}");
            assert_eq!(own.shared_lent, lent, "{with}");
            assert_eq!(own.l1d_borrowed_on + own.l1d_borrowed_asleep, lent, "{with}");
            assert_eq!(own.shared_on + own.shared_asleep, 384 * cycles - lent, "{with}");
            let none = own.l1d_asleep + own.l1d_borrowed_asleep + own.shared_asleep;
            assert_eq!(none == 0, with.ends_with("1048576"), "an array of one region is always on");
        }
    }
}

#[test]
fn lines_of_either_size_are_lost_and_profiled() {
    let plain = launches(&[], &PREFERENCES);
    let gated = launches(&["gated:idle_cycles=100"], &PREFERENCES);
    for ((ran, plain), prefers) in gated.iter().zip(&plain).zip(PREFERENCES) {
        assert!(ran.results == plain.results);
        let own = ran.counters.all_techniques().find::<gated::Counters>().expect("it is on").clone();
        assert_eq!(own.l1d_on + own.l1d_off, 128 * ran.counters.sm.issue.cycles);
        assert_eq!(own.l1d_borrowed_off > 0, prefers);
        assert!(own.l1d_lost > 128);
    }
    for (ran, prefers) in launches(&["block-profile"], &[true, false]).iter().zip([true, false]) {
        let own = ran.counters.all_techniques().find::<block_profile::Counters>().expect("it is on").clone();
        let used = own.l1d_by_frame.0.iter().rposition(|uses| *uses > 0);
        assert_eq!(used > Some(127), prefers, "{used:?}");
    }
}
