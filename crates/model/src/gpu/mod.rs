// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole GPU: SMs and memory partitions as actors that run by epochs, with what happens between epochs in `epoch`.

mod counted;
mod dispatch;
mod epoch;
mod per_sm;
mod threads;
mod watchdog;

use std::cell::OnceCell;
use std::sync::Arc;

use warpwatt_config::{Config, Topology};
use warpwatt_exec::{Image, SmLimits};
use warpwatt_memory::DeviceMemory;

use crate::address::Interleave;
use crate::counters::Counters;
use crate::net::{self, Inbox, LINE_BYTES, Mesh, Outbox, Traffic};
use crate::partition::{Partition, Way};
use crate::report::{Failure, KernelReport, Launch, Monitor, RunOptions};
use crate::sm::{Decoded, Sm, Spare, Work};
use crate::techniques::Techniques;

use counted::SmCounts;
use epoch::Run;
pub use per_sm::PerSm;
use threads::Cells;

/// Micro-ops of kernels that are kept decoded from run to run.
const DECODED_UOPS: usize = 1 << 16;

/// A device. Caches, memory timing and the clock live on from run to run.
pub struct Gpu {
    config: Config,
    techniques: Techniques,
    sms: Cells<Sm>,
    partitions: Cells<Partition>,
    /// Requests: from SMs to partitions. Replies: back.
    requests_out: Cells<Outbox>,
    requests_in: Cells<Inbox>,
    replies_out: Cells<Outbox>,
    replies_in: Cells<Inbox>,
    /// For requests and for replies, if that is the topology.
    meshes: [Option<Mesh>; 2],
    /// Identities of the images seen so far: each has its place in code memory.
    codes: Vec<usize>,
    /// By SM: what earlier runs leave to later ones.
    spare: Cells<Spare>,
    /// By SM: its part in a run, empty, with the memory of its lists. `None` during a run.
    works: Option<Cells<Work>>,
    /// Kernels of earlier runs as the machine sees them, by the number of their image, the latest last.
    decoded: Vec<(u64, Decoded)>,
    counted: SmCounts,
    /// Counters at zero.
    nothing: Arc<Counters>,
    /// Counted while kernels were under way, over all runs.
    busy: Counters,
    /// The device's clock.
    now: u64,
    /// Start of the next epoch; all actors have run up to it.
    boundary: u64,
}

impl Gpu {
    /// A GPU with some techniques. Both must have been found possible ([`Techniques::validate`]).
    pub fn new(config: &Config, techniques: &Techniques) -> Gpu {
        let (sms, partitions) = (config.gpu.sms as usize, config.gpu.partitions as usize);
        let moves = OnceCell::new();
        Gpu {
            config: config.clone(),
            techniques: techniques.clone(),
            sms: (0..sms).map(|id| Sm::new(config, techniques, id as u32, &moves)).collect(),
            partitions: (0..partitions).map(|id| Partition::new(config, techniques, id)).collect(),
            requests_out: (0..sms).map(|_| Outbox::new(config, partitions)).collect(),
            requests_in: (0..partitions).map(|_| Inbox::new(config, sms)).collect(),
            replies_out: (0..partitions).map(|_| Outbox::new(config, sms)).collect(),
            replies_in: (0..sms).map(|_| Inbox::new(config, partitions)).collect(),
            meshes: [net::Way::Request, net::Way::Reply]
                .map(|way| (config.noc.topology == Topology::Mesh).then(|| Mesh::new(config, way))),
            codes: Vec::new(),
            spare: (0..sms).map(|_| Spare::default()).collect(),
            works: None,
            decoded: Vec::new(),
            counted: SmCounts::new(sms, techniques),
            nothing: Arc::default(),
            busy: Counters::default(),
            now: 0,
            boundary: 0,
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Resources of an SM, for the executor.
    pub fn limits(config: &Config) -> SmLimits {
        SmLimits {
            sms: config.gpu.sms,
            warps: config.sm.warps,
            threads: config.sm.threads,
            ctas: config.sm.ctas,
            registers: config.sm.registers,
            register_unit: config.sm.register_unit,
            block_threads: config.sm.block_threads,
            thread_registers: config.sm.thread_registers,
            shared_bytes: config.shared.bytes,
            independent_threads: config.sm.independent_threads,
        }
    }

    /// The device's clock, in core cycles.
    pub fn cycle(&self) -> u64 {
        self.now
    }

    /// Time passes on the device without a kernel.
    pub fn advance(&mut self, cycles: u64) {
        self.now += cycles;
    }

    /// Runs kernels to their end: each when it may start, those that do not wait for each other together.
    pub fn run(
        &mut self,
        launches: &[Launch],
        memory: &mut DeviceMemory,
        monitor: &mut dyn Monitor,
        options: &RunOptions,
    ) -> Result<Vec<KernelReport>, Box<Failure>> {
        if launches.is_empty() {
            return Ok(Vec::new());
        }
        let outcome = Run::new(self, launches, memory, options)?.finish(monitor, options);
        if !matches!(&outcome, Ok(reports) if reports.iter().all(is_finished)) {
            // Blocks were left in the middle: the machine starts afresh, at the same time.
            let (now, codes, busy) =
                (self.now, std::mem::take(&mut self.codes), std::mem::take(&mut self.busy));
            *self = Gpu { now, codes, busy, ..Gpu::new(&self.config, &self.techniques) };
            self.boundary = self.now.next_multiple_of(u64::from(self.config.epoch()));
        }
        outcome
    }

    /// What was counted while kernels were under way, over all runs: kernels that ran at the same time count once, and the time
    /// of copies not at all.
    pub fn busy(&self) -> &Counters {
        &self.busy
    }

    /// A fault was to be injected, and none was detected.
    pub fn fault_is_pending(&mut self) -> bool {
        self.sms.as_mut_slice().iter().any(Sm::fault_is_pending)
            || self.partitions.as_mut_slice().iter().any(Partition::fault_is_pending)
    }

    /// The host has written bytes of device memory, by a copy or a fill, or reads them: techniques at the memory controllers see the lines, and
    /// lines that it wrote are in L2 afterwards if the GPU is one that copies that way.
    pub fn copied(&mut self, memory: &DeviceMemory, way: Way, address: u64, bytes: u64) {
        let shows = self.techniques.on().any(|technique| technique.sites.transfer.is_some());
        let fills = self.config.pcie.fills_l2 && way == Way::HostWrite;
        if bytes == 0 || !shows && !fills {
            return;
        }
        let interleave = Interleave::new(&self.config);
        let first = address - address % LINE_BYTES;
        // Of more bytes than L2 holds, the last ones stay.
        let kept = (address + bytes).saturating_sub(self.config.l2_bytes());
        for line in (first..address + bytes).step_by(LINE_BYTES as usize) {
            let fills = fills && line >= kept;
            if !shows && !fills {
                continue;
            }
            let partition = &mut self.partitions.as_mut_slice()[interleave.partition(line)];
            if shows {
                partition.copied(self.now, way, line, memory);
            }
            if fills {
                partition.leave(line);
            }
        }
    }

    /// What a technique found wrong in a cache or in memory, if one did.
    pub fn corrupted(&mut self) -> Option<String> {
        let partitions = self.partitions.as_mut_slice().iter();
        let sms = self.sms.as_mut_slice().iter();
        sms.map(Sm::array_corrupted).chain(partitions.map(Partition::corrupted)).flatten().next()
    }

    /// How many thread instructions are to be executed until techniques at the memory controllers exchange data.
    fn tells_at(&mut self) -> u64 {
        self.partitions.as_mut_slice().iter().map(Partition::tells_at).min().unwrap_or(u64::MAX)
    }

    /// Techniques at the memory controllers exchange their data, in cycle `now`.
    fn tell(&mut self, now: u64) {
        let partitions = self.partitions.as_mut_slice();
        let mut all = Vec::new();
        partitions.iter_mut().for_each(|partition| partition.tell(&mut all));
        for technique in 0..Techniques::ALL.len() {
            let told: Vec<_> =
                all.extract_if(.., |(place, _)| *place == technique).map(|(_, told)| told).collect();
            if !told.is_empty() {
                partitions.iter_mut().for_each(|partition| partition.hear(now, technique, &told));
            }
        }
    }

    /// Everything counted so far.
    pub fn counters(&mut self) -> Counters {
        let mut counters = Counters::default();
        self.sms.as_mut_slice().iter().for_each(|sm| counters.sm.add(&sm.counters()));
        self.count_outside_of_sms(&mut counters);
        counters
    }

    /// Adds everything that partitions and the network have counted so far.
    fn count_outside_of_sms(&mut self, counters: &mut Counters) {
        for partition in self.partitions.as_mut_slice() {
            counters.l2.add(&partition.l2());
            counters.dram.add(&partition.dram());
            counters.techniques.add(&partition.technique_counters());
        }
        let (mut requests, mut replies) = (Traffic::default(), Traffic::default());
        self.requests_out.as_mut_slice().iter().for_each(|outbox| requests.add(&outbox.counters));
        Inbox::count(&*self.requests_in.as_mut_slice(), &mut requests);
        self.replies_out.as_mut_slice().iter().for_each(|outbox| replies.add(&outbox.counters));
        Inbox::count(&*self.replies_in.as_mut_slice(), &mut replies);
        if let [Some(request_mesh), Some(reply_mesh)] = &self.meshes {
            requests.add(&request_mesh.counters);
            replies.add(&reply_mesh.counters);
        }
        (counters.request, counters.reply) = (requests.into(), replies.into());
    }

    /// An image as the machine sees it, from an earlier run or decoded anew; to be given back with `keep_decoded`.
    fn decoded(&mut self, image: &Image) -> Decoded {
        match self.decoded.iter().position(|(id, _)| *id == image.id()) {
            Some(known) => self.decoded.remove(known).1,
            None => Decoded::new(image.program(), &self.config),
        }
    }

    fn keep_decoded(&mut self, image: &Image, decoded: Decoded) {
        self.decoded.push((image.id(), decoded));
        let uops = |all: &[(u64, Decoded)]| all.iter().map(|(_, one)| one.timing.len()).sum::<usize>();
        while uops(&self.decoded) > DECODED_UOPS {
            self.decoded.remove(0);
        }
    }

    /// The place of an image in code memory.
    fn code(&mut self, image: usize) -> u32 {
        let known = self.codes.iter().position(|&other| other == image);
        known.unwrap_or_else(|| {
            self.codes.push(image);
            self.codes.len() - 1
        }) as u32
    }
}

fn is_finished(report: &KernelReport) -> bool {
    report.stats.ending == warpwatt_exec::Ending::Finished
}
