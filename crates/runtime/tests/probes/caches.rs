// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches that sleep, whose word lines are divided, and whose blocks are profiled: small programs with a known cost.

use warpwatt_model::techniques::{block_profile, drowsy, dwl, filter_cache, gated};

use super::*;

/// Two loads that wait for each other, from rows of shared memory that are far apart.
const TWO_ROWS: &str = "    and.b32 %r4, %r2, %r13;\n    mad.lo.u32 %r4, %r1, 4, %r4;\n    ld.shared.u32 %r5, [%r4];\n    add.u32 %r2, %r5, %r2;\n    and.b32 %r4, %r2, %r13;\n    mad.lo.u32 %r4, %r1, 4, %r4;\n    ld.shared.u32 %r5, [%r4+2048];\n    add.u32 %r2, %r5, %r2;\n";

#[test]
fn an_access_to_a_sleeping_region_takes_the_wake_up_longer_and_a_second_one_does_not() {
    near(difference("drowsy:constant=off", L1D, |_| ()), 0.0);
    near(difference("drowsy:constant=off", SHARED, |_| ()), 0.0);
    near(difference("drowsy:constant=off", TWO_ROWS, |_| ()), 4.0);
    near(difference("drowsy:constant=off,wake_cycles=1", TWO_ROWS, |_| ()), 2.0);
    near(difference("drowsy:constant=off,shared=off", TWO_ROWS, |_| ()), 0.0);
    near(difference("drowsy:constant=off,region=16", TWO_ROWS, |_| ()), 4.0);
    near(difference("drowsy:constant=off,region=32", TWO_ROWS, |_| ()), 0.0);
    near(difference("drowsy:constant=off,policy=immediate", TWO_ROWS, |_| ()), 4.0);
    near(difference("drowsy:constant=off,policy=immediate", L1D, |_| ()), 2.0);
    // The L2 clock of this GPU is that of its cores.
    let no_l1 = |config: &mut Config| config.l1d.global = false;
    near(difference("drowsy:constant=off", L1D, no_l1), 0.0);
    near(difference("drowsy:constant=off,policy=immediate", L1D, no_l1), 2.0);
    near(difference("drowsy:constant=off,policy=immediate", TEXTURE, |_| ()), 2.0);
}

#[test]
fn look_ahead_hides_the_wake_up_and_needs_the_two_level_scheduler() {
    let levels = |config: &mut Config| config.sm.scheduler = warpwatt_config::Policy::TwoLevel;
    near(difference("drowsy:constant=off", TWO_ROWS, levels), 4.0);
    near(difference("drowsy:constant=off,look_ahead=1", TWO_ROWS, levels), 2.0);
    near(difference("drowsy:constant=off,look_ahead=2", TWO_ROWS, levels), 0.0);
    let mut techniques = Techniques::default();
    techniques.with("drowsy:look_ahead=2").expect("it is written right");
    let refused = techniques.validate(&Setup::new(&[]).config).expect_err("it has another scheduler");
    assert!(refused[0].to_string().contains("two-level"), "{refused:?}");
    let mut techniques = Techniques::default();
    techniques.with("drowsy:region=12").expect("it is written right");
    let refused = techniques.validate(&Setup::new(&[]).config).expect_err("it is no power of two");
    assert!(refused[0].to_string().contains("8 or 16"), "{refused:?}");
}

#[test]
fn a_constant_operand_waits_for_its_line_to_wake_up() {
    // The table and the kernel's parameters are in different lines.
    let link = format!("{INDEXED}    ld.param.u32 %r6, [n];\n    mad.lo.u32 %r2, %r2, %r6, %r6;\n");
    near(difference("drowsy:l1d=off,shared=off", &link, |_| ()), 4.0);
    near(difference("drowsy:constant=off", &link, |_| ()), 0.0);
}

#[test]
fn an_instruction_fetch_waits_for_its_line_to_wake_up() {
    // A loop over two lines of the instruction cache: both are woken in every round.
    let body = |rounds: u32| {
        let filler = "    mad.lo.u32 %r2, %r2, %r12, %r20;\n".repeat(24);
        format!(
            "    mov.u32 %r20, 0;\nagain:\n    add.u32 %r20, %r20, 1;\n    setp.lt.u32 %p1, %r20, {rounds};\n{filler}    @%p1 bra again;\n"
        )
    };
    let cycles = |with: &[&'static str], rounds| run(with, &body(rounds)).cycles();
    let round = |with: &[&'static str]| (cycles(with, 200) - cycles(with, 100)) as f64 / 100.0;
    let plain = round(&[]);
    let asleep = round(&["drowsy:instruction=on,constant=off,wake_cycles=20"]);
    assert!(asleep - plain >= 19.9, "at least the fetch behind the branch waits: {plain}, {asleep}");
    near(round(&["drowsy:constant=off,wake_cycles=20"]) - plain, 0.0);
    near(round(&["drowsy:instruction=on,constant=off,wake_cycles=20,region=1048576"]) - plain, 0.0);
}

#[test]
fn every_line_is_on_or_asleep_all_the_time_and_wakes_up_as_often_as_it_should() {
    let ran = run(&["drowsy"], &chain(TWO_ROWS));
    let own = ran.counters.all_techniques().find::<drowsy::Counters>().expect("it is on").clone();
    let cycles = ran.counters.sm.issue.cycles;
    assert_eq!(own.shared_on + own.shared_asleep, 384 * cycles);
    assert_eq!(own.l1d_on + own.l1d_asleep, 128 * cycles);
    assert_eq!(own.icache_on + own.icache_asleep, 0, "the instruction cache does not sleep");
    assert_eq!(own.shared_wakeups, 2 * LINKS);
    assert_eq!(own.shared_waits, 2 * 2 * LINKS);
    assert!(own.shared_asleep_busy <= own.shared_asleep && own.shared_asleep_busy > 0);
    // One row at a time, or two while one takes over from the other.
    assert!(own.shared_on <= 2 * cycles);
}

#[test]
fn asleep_without_warps_is_told_apart() {
    let ran = run(&["drowsy"], THREE);
    let own = ran.counters.all_techniques().find::<drowsy::Counters>().expect("it is on").clone();
    let idle = ran.counters.sm.issue.cycles - ran.counters.sm.issue.active;
    assert_eq!(own.shared_asleep - own.shared_asleep_busy, 384 * idle, "nothing uses it");
}

#[test]
fn a_load_by_eight_lanes_enables_eight_segments() {
    let body = format!("    setp.ge.u32 %p1, %r1, 8;\n    @%p1 bra skip;\n{}skip:\n", L1D.repeat(50));
    for (mask, idle) in [("dwl", 24), ("dwl:mask=bytes", 24)] {
        let few = run(&[mask], &body);
        let own = few.counters.all_techniques().find::<dwl::Counters>().expect("it is on").clone();
        let (reads, off) = (own.l1d_reads, own.l1d_read_idle);
        assert!(reads >= 49, "{mask}: {reads}");
        assert_eq!(off, idle * reads, "{mask}");
    }
    let all = run(&["dwl"], &L1D.repeat(50));
    let own = all.counters.all_techniques().find::<dwl::Counters>().expect("it is on").clone();
    assert_eq!(own.l1d_read_idle, 0, "all lanes take part");
}

#[test]
fn every_cache_but_that_of_instructions_has_divided_word_lines() {
    let body = format!("{TEXTURE}{SHARED}{INDEXED}{L1D}");
    let own = |with: &'static str| {
        let ran = run(&[with], &body);
        ran.counters.all_techniques().find::<dwl::Counters>().expect("it is on").clone()
    };
    let reads = |own: &dwl::Counters| {
        [own.l1d_reads, own.l2_reads, own.constant_reads, own.texture_reads, own.shared_reads]
            .map(|reads| reads > 0)
    };
    assert_eq!(reads(&own("dwl"))[2..], [true; 3]);
    assert_eq!(reads(&own("dwl:texture=off"))[2..], [true, false, true]);
    assert_eq!(reads(&own("dwl:constant=off,shared=off"))[2..], [false, true, false]);
}

#[test]
fn a_profile_has_uses_and_intervals_of_blocks() {
    let ran = run(&["block-profile"], &L1D.repeat(50));
    let own = ran.counters.all_techniques().find::<block_profile::Counters>().expect("it is on").clone();
    // One line, used 50 times after the first load of the kernel brought it.
    assert_eq!(own.l1d_reached[..7], [1, 1, 1, 1, 1, 1, 0]);
    let blocks = block_profile::remaining(&own.l1d_came, &own.l1d_left);
    assert_eq!(blocks.total(), 1);
    assert_eq!(own.l1d_lanes, 32 * own.l1d_accesses);
}

#[test]
fn they_change_nothing_where_they_have_no_effect() {
    let plain = wide(&[]).run(&mixed()).expect("it runs");
    for with in [
        "drowsy:wake_cycles=0",
        "drowsy:wake_cycles=0,policy=immediate,instruction=on",
        "drowsy:region=1048576,instruction=on",
        "dwl",
        "dwl:mask=bytes",
        "block-profile",
        "gated:idle_cycles=4294967295,wake_cycles=0",
        "gated:l1d=off,l2=off,constant=off,texture=off",
    ] {
        let ran = wide(&[with]).run(&mixed()).unwrap_or_else(|error| panic!("{with}: {error}"));
        for (one, other) in ran.machine().iter().zip(&plain.machine()) {
            assert_eq!(one, other, "{with}");
        }
        assert!(ran.results == plain.results, "{with}: other results");
    }
}

#[test]
fn a_gated_line_loses_its_data_and_is_fetched_again() {
    let plain = run(&[], &chain(L1D));
    let gated = run(&["gated:idle_cycles=0,constant=off,l2=off"], &chain(L1D));
    let (few, many) = (&plain.counters.sm.memory.l1d, &gated.counters.sm.memory.l1d);
    assert!(few.misses < 10 && many.misses >= LINKS, "{} and {}", few.misses, many.misses);
    assert!(gated.results == plain.results && gated.cycles() > plain.cycles());
    let own = gated.counters.all_techniques().find::<gated::Counters>().expect("it is on").clone();
    assert!(own.l1d_lost >= LINKS);
    // Long enough, and nothing is lost before the end.
    let patient = run(&["gated:idle_cycles=1000000,constant=off,l2=off"], &chain(L1D));
    assert_eq!(patient.counters.sm.memory.l1d.misses, few.misses);
}

#[test]
fn dirty_lines_are_written_back_when_they_are_switched_off() {
    // Every round stores to the line of the thread and loads another line past L1, so that L2 is accessed while the first one decays.
    let setup = |with: &[&'static str]| {
        let mut setup = Setup { blocks: 4, threads: 256, ..Setup::new(with) };
        (setup.config.l1d.global, setup.config.pcie.fills_l2) = (false, false);
        setup
    };
    let body = chain(&format!("    st.global.u32 [%rd3], %r2;\n{L1D}"));
    let plain = setup(&[]).run(&body).expect("it runs");
    let gated = setup(&["gated:idle_cycles=20,constant=off"]).run(&body).expect("it runs");
    assert!(gated.results == plain.results);
    let lost = gated.counters.all_techniques().find::<gated::Counters>().expect("it is on").l2_lost;
    assert!(lost > 100, "{lost}");
    assert!(gated.counters.l2.write_backs > plain.counters.l2.write_backs + 50);
    let (few, many) = (plain.counters.dram.line_reads, gated.counters.dram.line_reads);
    assert!(many > few + 20, "{few} lines read, {many} with lines that are lost; {lost}");
}

#[test]
fn a_filter_cache_answers_loads_ahead_of_l1() {
    let cycles = f64::from(Setup::new(&[]).config.l1d.cycles);
    near(difference("filter-cache", L1D, |_| ()), 2.0 - cycles);
    near(difference("filter-cache:hit_cycles=5", L1D, |_| ()), 5.0 - cycles);
    let plain = run(&[], &chain(L1D));
    let filtered = run(&["filter-cache"], &chain(L1D));
    let own = filtered.counters.all_techniques().find::<filter_cache::Counters>().expect("it is on").clone();
    assert_eq!(own.hits + filtered.counters.sm.memory.l1d.reads, plain.counters.sm.memory.l1d.reads);
    assert!(own.hits >= LINKS && filtered.results == plain.results);
    // A store in between drops the line: L1 is as coherent, and loses it too.
    let stored = chain(&format!("    st.global.u32 [%rd3], %r2;\n{L1D}"));
    let (plain, filtered) = (run(&[], &stored), run(&["filter-cache"], &stored));
    let own = filtered.counters.all_techniques().find::<filter_cache::Counters>().expect("it is on").clone();
    assert_eq!(own.hits, 0);
    assert!(own.drops >= LINKS - 1 && filtered.results == plain.results);
    let mut techniques = Techniques::default();
    techniques.with("filter-cache:bytes=1000").expect("it is written right");
    assert!(techniques.validate(&Setup::new(&[]).config).is_err());
}

#[test]
fn a_filter_cache_lets_l1_sleep() {
    let alone = run(&["drowsy:policy=immediate"], &chain(L1D));
    let filtered = run(&["drowsy:policy=immediate", "filter-cache"], &chain(L1D));
    let wakeups =
        |ran: &Ran| ran.counters.all_techniques().find::<drowsy::Counters>().expect("it is on").l1d_wakeups;
    assert!(wakeups(&alone) >= LINKS && wakeups(&filtered) < 10);
}

#[test]
fn lines_that_are_lost_at_once_let_programs_finish() {
    let plain = wide(&[]).run(&mixed()).expect("it runs");
    for with in [
        "gated:idle_cycles=0",
        "gated:idle_cycles=0,instruction=on",
        "gated:idle_cycles=3,region=64,instruction=on",
    ] {
        let ran = wide(&[with]).run(&mixed()).unwrap_or_else(|error| panic!("{with}: {error}"));
        assert!(ran.results == plain.results, "{with}");
    }
}
