// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that wait for ever are reported before they have cost much (`cuda/stuck.cu`), and slow ones that are alive never are: on
//! a functional device, and timed with one and two threads.

use warpwatt_config::GpuFile;
use warpwatt_runtime::{
    Args, Device, DevicePtr, Error, LaunchConfig, Mode, ModuleId, Nobody, Options, Timed, Watchdog,
};

const PROGRESS: &str = include_str!("cuda/progress.ptx");
const STUCK: &str = include_str!("cuda/stuck.ptx");

/// What a stuck kernel may cost before it is reported: well below a second of the host, in any mode.
const MOST_INSTRUCTIONS: u64 = 3_000_000;
const MOST_CYCLES: u64 = 12_000_000;

struct Session {
    device: Device,
    modules: [ModuleId; 2],
    mode: &'static str,
}

/// The modes, on a GPU whose threads are independent and on one with a reconvergence stack.
fn modes() -> Vec<(&'static str, Mode)> {
    let timed = |threads| {
        let config = GpuFile::preset("gtx480").expect("a preset").config;
        Mode::Timed(Box::new(Timed { threads, ..Timed::new(config) }))
    };
    vec![("functional", Mode::Functional), ("timed", timed(1)), ("timed by two threads", timed(2))]
}

impl Session {
    fn everywhere() -> impl Iterator<Item = Session> {
        modes().into_iter().map(|(name, mode)| Session::new(name, mode, Watchdog::default()))
    }

    fn new(name: &'static str, mode: Mode, watchdog: Watchdog) -> Session {
        let mut device = Device::with(Options { mode, watchdog, ..Options::default() }, Box::new(Nobody))
            .expect("a device");
        let modules = [("progress.ptx", PROGRESS), ("stuck.ptx", STUCK)]
            .map(|(name, ptx)| device.load_module(name, ptx).expect("PTX that loads"));
        Session { device, modules, mode: name }
    }

    fn words(&mut self, values: &[u32]) -> DevicePtr {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let p = self.device.alloc(bytes.len() as u64).expect("room");
        self.device.write(p, &bytes).expect("inside");
        p
    }

    fn zeros(&mut self, n: usize) -> DevicePtr {
        self.words(&vec![0; n])
    }

    fn read(&mut self, p: DevicePtr, n: usize) -> Vec<u32> {
        let mut bytes = vec![0; n * 4];
        self.device.read(p, &mut bytes).expect("inside");
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    fn launch(&mut self, kernel: &str, grid: u32, block: u32, args: &Args) -> Result<(), Error> {
        let module = self.modules[usize::from(!PROGRESS.contains(&format!(".entry {kernel}(")))];
        self.device.launch(module, kernel, &LaunchConfig::new(grid, block), args)
    }

    fn ends(&mut self, kernel: &str, grid: u32, block: u32, args: &Args) {
        let mode = self.mode;
        self.launch(kernel, grid, block, args).unwrap_or_else(|e| panic!("{kernel}, {mode}: {e}"));
    }

    /// The kernel is reported with this code, and has not cost much until then.
    fn is_stuck(&mut self, code: &str, kernel: &str, grid: u32, block: u32, args: &Args) {
        let mode = self.mode;
        match self.launch(kernel, grid, block, args) {
            Err(Error::Fault(report)) => {
                assert_eq!(report.code, code, "{kernel}, {mode}: {report}");
                assert!(!report.waiting.is_empty(), "{kernel}, {mode}: it is said who waits");
            }
            Err(other) => panic!("{kernel}, {mode}: {other}"),
            Ok(()) => panic!("{kernel}, {mode}: ended"),
        }
        let record = self.device.log().last().expect("an entry");
        let cycles = record.timed.as_ref().map_or(0, |timed| timed.cycles);
        let cost = (record.warp_instructions, cycles);
        assert!(cost.0 < MOST_INSTRUCTIONS && cost.1 < MOST_CYCLES, "{kernel}, {mode}: it took {cost:?}");
    }
}

#[test]
fn a_lock_that_is_held_for_ever_is_reported() {
    for (grid, block) in [(1, 1), (1, 32), (2, 64), (200, 256)] {
        for mut s in Session::everywhere() {
            let (lock, out) = (s.words(&[1]), s.zeros(1024));
            s.is_stuck("no-progress", "lost_lock", grid, block, &Args::new().ptr(lock).ptr(out));
        }
    }
}

#[test]
fn locks_taken_in_opposite_order_or_twice_are_reported_and_others_are_not() {
    for mut s in Session::everywhere() {
        let (locks, sum) = (s.zeros(2), s.zeros(1));
        let args = |crossed| Args::new().ptr(locks).ptr(sum).u32(crossed);
        s.ends("two_locks", 1, 64, &args(0));
        assert_eq!(s.read(sum, 1), [2]);
        s.is_stuck("no-progress", "two_locks", 1, 64, &args(1));
    }
    for mut s in Session::everywhere() {
        let (lock, sum) = (s.zeros(1), s.zeros(1));
        let args = |twice| Args::new().ptr(lock).ptr(sum).u32(twice);
        s.ends("take_twice", 2, 64, &args(0));
        assert_eq!(s.read(sum, 1), [128]);
        s.is_stuck("no-progress", "take_twice", 2, 64, &args(1));
    }
}

#[test]
fn a_flag_that_nobody_sets_is_reported_also_if_tries_are_counted_or_timed() {
    for kernel in ["counted_wait", "timed_wait"] {
        for mut s in Session::everywhere() {
            let (flag, out) = (s.zeros(1), s.zeros(2 * 4 * 64));
            s.is_stuck("no-progress", kernel, 4, 64, &Args::new().ptr(flag).ptr(out).u32(0));
        }
        for mut s in Session::everywhere() {
            let (flag, out) = (s.zeros(1), s.zeros(2 * 4 * 64));
            s.ends(kernel, 4, 64, &Args::new().ptr(flag).ptr(out).u32(300_000));
        }
    }
    for mut s in Session::everywhere() {
        let (flag, out) = (s.zeros(1), s.zeros(32));
        s.ends("deadline", 1, 32, &Args::new().ptr(flag).ptr(out).u32(3_000_000));
    }
}

#[test]
fn waits_inside_of_a_block_are_reported_only_if_nobody_works_towards_their_end() {
    for mut s in Session::everywhere() {
        let out = s.zeros(64);
        s.ends("shared_count", 1, 64, &Args::new().ptr(out).u32(60_000));
        s.is_stuck("no-progress", "shared_count", 1, 64, &Args::new().ptr(out).u32(0));
    }
    for mut s in Session::everywhere() {
        let out = s.zeros(64);
        s.ends("barrier_and_flag", 1, 64, &Args::new().ptr(out).u32(1));
        s.is_stuck("no-progress", "barrier_and_flag", 1, 64, &Args::new().ptr(out).u32(0));
    }
    for mut s in Session::everywhere() {
        let out = s.zeros(64);
        s.is_stuck("barrier-deadlock", "split_barrier", 1, 64, &Args::new().ptr(out));
    }
}

#[test]
fn a_long_way_around_is_a_loop_too() {
    for mut s in Session::everywhere() {
        let (flags, out) = (s.zeros(5_000), s.zeros(32));
        s.is_stuck("no-progress", "ring", 1, 32, &Args::new().ptr(flags).u32(5_000).ptr(out));
    }
}

#[test]
fn slow_kernels_that_are_alive_end() {
    // A watchdog without patience looks at them all the time.
    for watchdog in [Watchdog::default(), Watchdog { patience: 500, ..Watchdog::default() }] {
        for (name, mode) in modes() {
            let mut s = Session::new(name, mode, watchdog);
            let (next, served, out) = (s.zeros(1), s.zeros(1), s.zeros(128));
            s.ends("tickets", 4, 32, &Args::new().ptr(next).ptr(served).u32(2_000).ptr(out));
            assert!(s.read(out, 128).iter().all(|&word| word != 0), "{name}: all had their turn");

            let (cells, head, tail, sum) = (s.zeros(4), s.zeros(1), s.zeros(1), s.zeros(1));
            let args = Args::new().ptr(cells).u32(4).ptr(head).ptr(tail).u32(100).u32(3_000).ptr(sum);
            s.ends("queue", 2, 32, &args);
            assert_eq!(s.read(sum, 1), [4_950], "{name}");

            // Warps that wait for memory stand still, and have not come back to where they were.
            let (from, out) = (s.words(&vec![3; 64 * 1024]), s.zeros(1024));
            s.ends("adds_up", 8, 128, &Args::new().ptr(from).u32(64 * 1024).ptr(out).u32(64));
            assert_eq!(s.read(out, 1024), [192; 1024], "{name}");

            let n = 3_000;
            let (input, out, ticket) = (s.words(&vec![1; n]), s.zeros(n), s.zeros(1));
            let [status, own, prefix] = [(); 3].map(|()| s.zeros(24));
            let args = Args::new().ptr(input).ptr(out).u32(n as u32).ptr(ticket);
            s.ends("lookback_scan", 24, 128, &args.ptr(status).ptr(own).ptr(prefix));
            assert_eq!(s.read(out, n), (1..=n as u32).collect::<Vec<u32>>(), "{name}");
        }
    }
}

#[test]
fn a_loop_that_stores_for_ever_is_ended_by_a_limit_that_is_named() {
    for meets in [0, 1] {
        for (name, mode) in modes() {
            let mut s = Session::new(name, mode, Watchdog { limit: Some(400_000), ..Watchdog::default() });
            let (out, stop) = (s.zeros(64), s.zeros(1));
            let error = s.launch("endless", 1, 64, &Args::new().ptr(out).ptr(stop).u32(meets)).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::Limit { limit: 400_000, .. }), "{name}: {text}");
            assert!(text.contains("without the end of any warp (`--limit-loop`)"), "{name}: {text}");
            assert!(s.device.log().last().is_some_and(|record| record.warp_instructions > 1_000), "{name}");
        }
    }
}
