// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every check on, in both modes: kernels that are right in ways that look wrong say nothing (`cuda/checks.cu`, and the programs of
//! `cuda/progress.cu` and `cuda/stuck.cu` whose blocks and lanes wait for each other), and with one mistake each they are reported.

use warpwatt_config::Config;
use warpwatt_runtime::{
    Args, CheckOptions, Device, DevicePtr, Error, LaunchConfig, Mode, ModuleId, Nobody, Options,
};

const CHECKS: &str = include_str!("cuda/checks.ptx");
const PROGRESS: &str = include_str!("cuda/progress.ptx");
const STUCK: &str = include_str!("cuda/stuck.ptx");

struct Session {
    device: Device,
    modules: [(&'static str, ModuleId); 3],
    mode: &'static str,
}

impl Session {
    fn both() -> impl Iterator<Item = Session> {
        let modes = [("functional", Mode::Functional), ("timed", Mode::timed(Config::default()))];
        modes.into_iter().map(|(name, mode)| {
            let mut checks = CheckOptions::default();
            checks.add("all").expect("all checks");
            let options = Options { mode, checks, ..Options::default() };
            let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
            let modules = [("checks.ptx", CHECKS), ("progress.ptx", PROGRESS), ("stuck.ptx", STUCK)]
                .map(|(name, ptx)| (ptx, device.load_module(name, ptx).expect("PTX that loads")));
            Session { device, modules, mode: name }
        })
    }

    fn zeros(&mut self, words: u64) -> DevicePtr {
        let p = self.device.alloc(4 * words).expect("room");
        self.device.memset(p, 0, 4 * words).expect("inside");
        p
    }

    fn launch(&mut self, kernel: &str, grid: u32, block: u32, args: &Args) -> Result<(), Error> {
        let entry = format!(".entry {kernel}(");
        let (_, module) = self.modules.iter().find(|(ptx, _)| ptx.contains(&entry)).expect("it is there");
        self.device.launch(*module, kernel, &LaunchConfig::new(grid, block).shared(1024), args)
    }

    fn is_right(&mut self, kernel: &str, grid: u32, block: u32, args: &Args) {
        let mode = self.mode;
        self.launch(kernel, grid, block, args).unwrap_or_else(|error| panic!("{kernel}, {mode}: {error}"));
    }
}

#[test]
fn one_mistake_is_reported_and_without_it_nothing_is() {
    let pairs = [
        ("vectors", 1, "shared-race"),
        ("bytes", 1, "shared-race"),
        ("halves", 1, "absent-lane"),
        ("groups", 1, "shared-race"),
        ("hand_over", 3, "global-race"),
        ("two_arrays", 1, "shared-race"),
        ("counts", 1, "shared-race"),
        ("buffers", 1, "shared-race"),
        ("arrivals", 1, "shared-race"),
        ("votes", 1, "barrier-deadlock"),
    ];
    let mut wrong = Vec::new();
    for (kernel, grid, code) in pairs {
        for mistake in [0, 1] {
            for mut s in Session::both() {
                let out = s.zeros(128);
                let outcome = s.launch(kernel, grid, 128, &Args::new().ptr(out).u32(mistake));
                let found = match &outcome {
                    Ok(()) => "",
                    Err(Error::Fault(report)) => report.code,
                    Err(other) => panic!("{kernel}: {other}"),
                };
                if found != if mistake == 0 { "" } else { code } {
                    let said = outcome.err().map(|error| error.to_string()).unwrap_or_default();
                    wrong.push(format!("{kernel}, {}, mistake {mistake}: `{found}`\n{said}", s.mode));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_that_wait_for_each_other_by_fences_and_flags_are_right() {
    for mut s in Session::both() {
        let n = 1_000;
        let (input, out, ticket) = (s.zeros(n), s.zeros(n), s.zeros(1));
        let [status, own, prefix] = [(); 3].map(|()| s.zeros(8));
        let args = Args::new().ptr(input).ptr(out).u32(n as u32).ptr(ticket);
        s.is_right("lookback_scan", 8, 128, &args.ptr(status).ptr(own).ptr(prefix));

        let (cells, arrived, phase) = (s.zeros(4), s.zeros(1), s.zeros(1));
        s.is_right("grid_barrier", 4, 64, &Args::new().ptr(cells).ptr(arrived).ptr(phase).u32(2));

        let (lock, counter, order) = (s.zeros(1), s.zeros(1), s.zeros(64));
        s.is_right("warp_lock", 2, 32, &Args::new().ptr(lock).ptr(counter).ptr(order));

        let (cells, head, tail, sum) = (s.zeros(4), s.zeros(1), s.zeros(1), s.zeros(1));
        let args = Args::new().ptr(cells).u32(4).ptr(head).ptr(tail).u32(20).u32(10).ptr(sum);
        s.is_right("queue", 2, 32, &args);

        let (next, served, out) = (s.zeros(1), s.zeros(1), s.zeros(64));
        s.is_right("tickets", 2, 32, &Args::new().ptr(next).ptr(served).u32(5).ptr(out));
    }
}
