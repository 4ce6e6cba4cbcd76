// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs of launches, copies, fills, calls, records and waits on streams, against the rules of CUDA restated: values are those
//! of the order in which commands were given, and nothing happens before what it waits for.

use std::sync::{Arc, Mutex};

use warpwatt_base::SplitMix64;
use warpwatt_config::Config;
use warpwatt_runtime::{
    Args, CopyBox, Device, DevicePtr, End, Event, FillBox, HostPtr, LaunchConfig, LaunchRecord, Mode,
    ModuleId, Nobody, Options, Stream, Timed, Until,
};

const MODULE: &str = r#".version 7.0
.target sm_50
.address_size 64

// out[0] = out[0] * 3 + in[0] + n, after n rounds
.visible .entry mix(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.param.u32 %r1, [n];
    mov.u32 %r3, 0;
again:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    ld.global.u32 %r4, [%rd1];
    ld.global.u32 %r5, [%rd2];
    mad.lo.u32 %r4, %r4, 3, %r5;
    add.u32 %r4, %r4, %r3;
    st.global.u32 [%rd1], %r4;
    ret;
}
"#;

const DEVICE_CELLS: usize = 6;
const HOST_CELLS: usize = 3;
const COMMANDS: usize = 90;
/// The legacy stream, two blocking ones, two that are not.
const STREAMS: usize = 5;

fn is_blocking(stream: usize) -> bool {
    stream == 1 || stream == 2
}

/// A command as the rules see it: a bit for each earlier one that it comes after.
struct Node {
    stream: usize,
    after: u128,
    kind: CommandKind,
    host: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum CommandKind {
    Launch,
    Record(Event),
    Other,
}

struct Program {
    device: Device,
    module: ModuleId,
    streams: Vec<Stream>,
    cells: Vec<DevicePtr>,
    /// Never moved: commands hold pointers to it.
    host: Box<[u32; HOST_CELLS]>,
    /// What cells hold, device cells first, if commands are done in the order they are given.
    values: [u32; DEVICE_CELLS + HOST_CELLS],
    nodes: Vec<Node>,
    /// Command, cell, whether it is written.
    accesses: Vec<(usize, usize, bool)>,
    waited: u128,
    /// What calls saw and should have seen.
    seen: Arc<Mutex<Vec<(u32, u32)>>>,
    random: SplitMix64,
}

impl Program {
    fn new(options: Options, seed: u64) -> Program {
        let mut device = Device::with(options, Box::new(Nobody)).expect("a device");
        let module = device.load_module("module.ptx", MODULE).expect("the module loads");
        let streams = (0..STREAMS).map(|k| match k {
            0 => Stream::LEGACY,
            k => device.create_stream(is_blocking(k)),
        });
        let streams = streams.collect();
        Program {
            streams,
            cells: (0..DEVICE_CELLS).map(|_| device.alloc(4).expect("room")).collect(),
            device,
            module,
            host: Box::new([0; HOST_CELLS]),
            values: [0; DEVICE_CELLS + HOST_CELLS],
            nodes: Vec::new(),
            accesses: Vec::new(),
            waited: 0,
            seen: Arc::default(),
            random: SplitMix64::new(seed),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u32) as usize
    }

    fn reach(&self, node: usize) -> u128 {
        self.nodes[node].after | 1 << node
    }

    /// Everything that a command on this stream would come after.
    fn after(&self, stream: usize) -> u128 {
        let meets = |other: usize| {
            other == stream || other == 0 && is_blocking(stream) || stream == 0 && is_blocking(other)
        };
        let before = (0..self.nodes.len()).filter(|&node| meets(self.nodes[node].stream));
        before.fold(self.waited, |after, node| after | self.reach(node))
    }

    /// Whether nothing unordered touches these cells.
    fn is_ordered(&self, after: u128, touched: &[(usize, bool)]) -> bool {
        self.accesses.iter().all(|&(node, cell, written)| {
            let meets = |&(other, writes): &(usize, bool)| other == cell && (written || writes);
            after >> node & 1 != 0 || !touched.iter().any(meets)
        })
    }

    fn add(&mut self, stream: usize, after: u128, kind: CommandKind, touched: &[(usize, bool)]) {
        let node = self.nodes.len();
        self.accesses.extend(touched.iter().map(|&(cell, written)| (node, cell, written)));
        let host = self.device.now_cycles().unwrap_or_default();
        self.nodes.push(Node { stream, after, kind, host });
    }

    fn end(&mut self, cell: usize) -> End {
        match cell.checked_sub(DEVICE_CELLS) {
            None => End::Device(self.cells[cell].0),
            Some(host) => End::Host(HostPtr((&raw mut self.host[host]).cast())),
        }
    }

    fn event(&mut self) -> Option<(usize, Event)> {
        let events: Vec<_> = self
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(node, it)| match it.kind {
                CommandKind::Record(event) => Some((node, event)),
                _ => None,
            })
            .collect();
        (!events.is_empty()).then(|| events[self.below(events.len())])
    }

    /// One more command, if what was drawn is not a race.
    fn step(&mut self) {
        let stream = self.below(STREAMS);
        let (on, mut after) = (self.streams[stream], self.after(stream));
        let (to, from) = (self.below(DEVICE_CELLS), self.below(DEVICE_CELLS));
        let host = DEVICE_CELLS + self.below(HOST_CELLS);
        let amount = self.random.below(300) + 1;
        match self.below(12) {
            0..=3 => {
                let touched = [(to, true), (from, false)];
                if !self.is_ordered(after, &touched) {
                    return;
                }
                let args = Args::new().ptr(self.cells[to]).ptr(self.cells[from]).u32(amount);
                let launch = LaunchConfig::new(1, 1);
                self.device.queue_launch(on, self.module, "mix", &launch, &args).expect("queued");
                self.values[to] =
                    self.values[to].wrapping_mul(3).wrapping_add(self.values[from]).wrapping_add(amount);
                self.add(stream, after, CommandKind::Launch, &touched);
            }
            4..=6 => {
                let (to, from) = match amount % 3 {
                    0 => (to, from),
                    1 => (to, host),
                    _ => (host, from),
                };
                let touched = [(to, true), (from, false)];
                if to == from || !self.is_ordered(after, &touched) {
                    return;
                }
                let copy = CopyBox::flat(self.end(to), self.end(from), 4);
                self.device.queue_copy(on, copy).expect("queued");
                self.values[to] = self.values[from];
                self.add(stream, after, CommandKind::Other, &touched);
            }
            7 => {
                let touched = [(to, true)];
                if !self.is_ordered(after, &touched) {
                    return;
                }
                let at = self.cells[to].0;
                let fill = FillBox { at, pitch: 4, value: amount, element: 4, width: 1, height: 1 };
                self.device.queue_fill(on, fill).expect("queued");
                self.values[to] = amount;
                self.add(stream, after, CommandKind::Other, &touched);
            }
            8 => {
                let touched = [(host, false)];
                if !self.is_ordered(after, &touched) {
                    return;
                }
                let (seen, right) = (self.seen.clone(), self.values[host]);
                let End::Host(at) = self.end(host) else { panic!("a host cell") };
                let call = move || {
                    let at = at;
                    // SAFETY: the cells outlive the commands, and no copy to this one is unordered with the call.
                    let value = unsafe { at.0.cast::<u32>().read_volatile() };
                    seen.lock().expect("whole").push((value, right));
                };
                self.device.queue_call(on, Box::new(call)).expect("queued");
                self.add(stream, after, CommandKind::Other, &touched);
            }
            9 => {
                let event = self.device.create_event();
                self.device.queue_record(on, event).expect("queued");
                self.add(stream, after, CommandKind::Record(event), &[]);
            }
            10 => {
                let Some((record, event)) = self.event() else { return };
                self.device.queue_wait(on, event).expect("queued");
                after |= self.reach(record);
                self.add(stream, after, CommandKind::Other, &[]);
            }
            _ if amount < 60 => self.wait(stream),
            _ => {}
        }
    }

    fn wait(&mut self, stream: usize) {
        let event = self.event().filter(|_| stream.is_multiple_of(2));
        let until = match event {
            Some((record, event)) => {
                self.waited |= self.reach(record);
                Until::Event(event)
            }
            None => {
                // The legacy stream is done when all blocking ones are; another is, when its own commands are.
                let own = (0..self.nodes.len()).filter(|&node| self.nodes[node].stream == stream);
                let own = own.fold(0, |all, node| all | self.reach(node));
                self.waited |= if stream == 0 { self.after(0) } else { own };
                Until::Stream(self.streams[stream])
            }
        };
        self.device.finish(until).expect("it runs");
        assert_eq!(self.device.queued(), 0);
    }

    /// Runs a random program and checks all that can be seen of it. Gives what must be the same in every run.
    fn run(mut self) -> (Vec<LaunchRecord>, Vec<u64>, Option<u64>) {
        let mut tries = 0;
        while self.nodes.len() < COMMANDS && tries < 2000 {
            self.step();
            tries += 1;
        }
        assert_eq!(self.nodes.len(), COMMANDS, "streams must not be held up for good by races");
        self.device.finish(Until::Everything).expect("the rest");

        for (cell, at) in self.cells.clone().into_iter().enumerate() {
            let mut bytes = [0; 4];
            self.device.read(at, &mut bytes).expect("a word");
            assert_eq!(u32::from_le_bytes(bytes), self.values[cell], "cell {cell}");
        }
        assert_eq!(self.host[..], self.values[DEVICE_CELLS..]);
        let seen = self.seen.lock().expect("whole");
        assert!(seen.iter().all(|(value, right)| value == right), "{seen:?}");

        let mut log = self.device.log().to_vec();
        let mhz = self.device.config().map_or(1000, |config| config.clock.core_mhz);
        let mut launches = log.iter();
        // Start and end of each command, as far as they can be known.
        let times: Vec<(Option<u64>, Option<u64>)> = self
            .nodes
            .iter()
            .map(|node| match node.kind {
                CommandKind::Launch => {
                    let launch = launches.next().expect("every launch is logged, in order");
                    let timed = launch.timed.as_ref();
                    let end = timed.map(|timed| timed.start_cycle + timed.cycles);
                    (timed.map(|timed| timed.start_cycle), end)
                }
                CommandKind::Record(event) => {
                    let ns = self.device.event_ns(event).expect("reached");
                    let end = (ns * f64::from(mhz) / 1000.0).round() as u64;
                    (Some(end - 1), Some(end))
                }
                CommandKind::Other => (None, None),
            })
            .collect();
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(start) = times[index].0 else { continue };
            assert!(start >= node.host, "command {index} starts at {start}, given at {}", node.host);
            for (before, (_, end)) in times[..index].iter().enumerate() {
                let waits = node.after >> before & 1 != 0;
                assert!(
                    !waits || end.is_none_or(|end| end <= start),
                    "{index} at {start}, {before} to {end:?}"
                );
            }
        }
        log.iter_mut().for_each(|record| record.host_seconds = 0.0);
        (log, times.into_iter().filter_map(|(_, end)| end).collect(), self.device.now_cycles())
    }
}

fn timed(threads: u32, step_every_cycle: bool) -> Options {
    let mut config = Config::default();
    (config.gpu.sms, config.gpu.partitions) = (2, 2);
    // Quick copies overlap with kernels in more ways.
    (config.pcie.latency_ns, config.gpu.concurrent_kernels) = (300, 3);
    let timed = Timed { threads, step_every_cycle, ..Timed::new(config) };
    Options {
        mode: Mode::Timed(Box::new(timed)),
        memory_bytes: Some(64 << 20),
        verify: false,
        ..Options::default()
    }
}

#[test]
fn random_programs_compute_what_their_order_says() {
    for seed in 0..60 {
        Program::new(Options { memory_bytes: Some(64 << 20), ..Options::default() }, seed).run();
    }
}

#[test]
fn random_programs_keep_to_the_rules_of_time() {
    for seed in 0..60 {
        Program::new(timed(1, false), seed).run();
    }
}

#[test]
fn the_same_commands_take_the_same_time_however_they_are_simulated() {
    for seed in 0..8 {
        let first = Program::new(timed(1, false), seed).run();
        for (threads, step) in [(1, false), (2, false), (1, true)] {
            let again = Program::new(timed(threads, step), seed).run();
            assert!(again == first, "program {seed} with {threads} threads, step {step}");
        }
    }
}
