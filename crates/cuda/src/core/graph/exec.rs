// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executable graphs. A graph is flattened into steps, and the steps are spread over lanes, which are streams: a step goes on in
//! the lane of one that it depends on, so that what is independent may run at the same time, and waits for the others by events.

use rustc_hash::FxHashMap;
use warpwatt_runtime::{Event, Stream};

use crate::core::code::{Code, Result};
use crate::core::graph::{Graphs, Work};
use crate::core::state::Core;

/// A graph wider than this is launched as if it were this wide.
const MOST_LANES: usize = 32;

pub struct Exec {
    pub flags: u64,
    steps: Vec<Step>,
    /// Streams of the lanes, but for the first one, which is the stream of the launch.
    lanes: Vec<Stream>,
    begun: Event,
    /// Ends of the lanes.
    ends: Vec<Event>,
    /// The end of the last launch: launches of one graph do not overlap.
    done: Event,
}

struct Step {
    /// The node that it was made of, and the child node that this one is in.
    node: u64,
    child: Option<u64>,
    work: Work,
    enabled: bool,
    after: Vec<usize>,
    lane: usize,
    /// Recorded when it is done, if a step of another lane waits for it.
    event: Option<Event>,
}

/// How an update of an executable graph went, as in `CUgraphExecUpdateResult`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    pub result: u32,
    /// The node that does not fit, or 0.
    pub node: u64,
}

impl Update {
    const DONE: Update = Update { result: 0, node: 0 };
    const TOPOLOGY: u32 = 2;
    const KIND: u32 = 3;
}

/// Steps of a graph as they follow from its nodes.
fn flatten(graphs: &Graphs, graph: u64, child: Option<u64>) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    // What to wait for in order to come after a node.
    let mut ends: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for node in graphs.sorted(graph)? {
        let of = graphs.nodes.get(node)?;
        let mut after: Vec<usize> = Vec::new();
        for before in &of.after {
            after.extend(ends.get(before).into_iter().flatten());
        }
        after.sort_unstable();
        after.dedup();
        if let Work::Child(inner) = of.work {
            let first = steps.len();
            let mut inside = flatten(graphs, inner, Some(child.unwrap_or(node)))?;
            let mut is_end = vec![true; inside.len()];
            for step in &mut inside {
                for before in &mut step.after {
                    is_end[*before] = false;
                    *before += first;
                }
                if step.after.is_empty() {
                    step.after.clone_from(&after);
                }
            }
            let last = (0..inside.len()).filter(|&k| is_end[k]).map(|k| first + k).collect::<Vec<_>>();
            ends.insert(node, if inside.is_empty() { after } else { last });
            steps.extend(inside);
            continue;
        }
        ends.insert(node, vec![steps.len()]);
        let work = of.work.clone();
        steps.push(Step { node, child, work, enabled: true, after, lane: 0, event: None });
    }
    Ok(steps)
}

/// Gives steps their lanes; returns how many there are.
fn spread(steps: &mut [Step]) -> usize {
    let mut tails: Vec<usize> = Vec::new();
    for k in 0..steps.len() {
        let goes_on = steps[k].after.iter().map(|&before| (before, steps[before].lane));
        let lane = goes_on.into_iter().find(|&(before, lane)| tails[lane] == before).map(|(_, lane)| lane);
        let lane = lane.unwrap_or(if tails.len() < MOST_LANES { tails.len() } else { k % MOST_LANES });
        if lane == tails.len() {
            tails.push(k);
        }
        tails[lane] = k;
        steps[k].lane = lane;
    }
    tails.len()
}

impl Core {
    pub fn instantiate(&mut self, graph: u64, flags: u64) -> Result<u64> {
        let mut steps = flatten(&self.graphs, graph, None)?;
        let lanes = spread(&mut steps);
        let mut awaited = vec![false; steps.len()];
        for step in &steps {
            for &before in &step.after {
                awaited[before] |= steps[before].lane != step.lane;
            }
        }
        for (step, awaited) in steps.iter_mut().zip(awaited) {
            step.event = awaited.then(|| self.device.create_event());
        }
        let others = lanes.saturating_sub(1);
        let exec = Exec {
            flags,
            steps,
            lanes: (0..others).map(|_| self.device.create_stream(false)).collect(),
            begun: self.device.create_event(),
            ends: (0..others).map(|_| self.device.create_event()).collect(),
            done: self.device.create_event(),
        };
        Ok(self.graphs.execs.insert(exec))
    }

    /// Puts all work of an executable graph into a stream.
    pub fn launch_graph(&mut self, exec: u64, stream: Stream) -> Result<()> {
        let of = self.graphs.execs.get(exec)?;
        if self.graphs.captures(stream) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let streams: Vec<Stream> = std::iter::once(stream).chain(of.lanes.iter().copied()).collect();
        let (begun, done, ends) = (of.begun, of.done, of.ends.clone());
        self.order(|device| device.queue_wait(stream, done))?;
        if !ends.is_empty() {
            self.order(|device| device.queue_record(stream, begun))?;
            for &lane in &streams[1..] {
                self.order(|device| device.queue_wait(lane, begun))?;
            }
        }
        let count = self.graphs.execs.get(exec)?.steps.len();
        for k in 0..count {
            let steps = &self.graphs.execs.get(exec)?.steps;
            let step = &steps[k];
            let lane = streams[step.lane];
            let waits: Vec<Event> = step
                .after
                .iter()
                .filter(|&&before| steps[before].lane != step.lane)
                .filter_map(|&before| steps[before].event)
                .collect();
            let (command, event) = (step.work.command().filter(|_| step.enabled), step.event);
            for wait in waits {
                self.order(|device| device.queue_wait(lane, wait))?;
            }
            if let Some(command) = command {
                self.enqueue(lane, &command)?;
            }
            if let Some(event) = event {
                self.order(|device| device.queue_record(lane, event))?;
            }
        }
        for (&lane, end) in streams[1..].iter().zip(ends) {
            self.order(|device| device.queue_record(lane, end))?;
            self.order(|device| device.queue_wait(stream, end))?;
        }
        self.order(|device| device.queue_record(stream, done))
    }

    fn order(
        &mut self,
        call: impl FnOnce(&mut warpwatt_runtime::Device) -> std::result::Result<(), warpwatt_runtime::Error>,
    ) -> Result<()> {
        let outcome = call(&mut self.device);
        self.settle(outcome)
    }

    pub fn destroy_exec(&mut self, exec: u64) -> Result<()> {
        let gone = self.graphs.execs.remove(exec)?;
        for lane in gone.lanes {
            self.order(|device| device.destroy_stream(lane))?;
        }
        let events = gone.ends.into_iter().chain([gone.begun, gone.done]);
        for event in events.chain(gone.steps.iter().filter_map(|step| step.event)) {
            self.order(|device| device.destroy_event(event))?;
        }
        for step in gone.steps {
            self.drop_work(step.work)?;
        }
        Ok(())
    }

    /// Gives a node of an executable graph other work of the same kind.
    pub fn set_in_exec(&mut self, exec: u64, node: u64, work: Work) -> Result<()> {
        let of = self.graphs.execs.get_mut(exec)?;
        let step = of.steps.iter_mut().find(|step| step.node == node && step.child.is_none());
        let step = step.ok_or(Code::INVALID_VALUE)?;
        if step.work.kind() != work.kind() {
            return Err(Code::INVALID_VALUE);
        }
        step.work = work;
        Ok(())
    }

    /// Gives the nodes of a child graph the work of another graph of the same form.
    pub fn set_child_in_exec(&mut self, exec: u64, node: u64, graph: u64) -> Result<()> {
        let new = flatten(&self.graphs, graph, Some(node))?;
        let of = self.graphs.execs.get_mut(exec)?;
        let old: Vec<usize> = (0..of.steps.len()).filter(|&k| of.steps[k].child == Some(node)).collect();
        let same_kind = |(&k, step): (&usize, &Step)| of.steps[k].work.kind() == step.work.kind();
        if old.is_empty() || old.len() != new.len() || !old.iter().zip(&new).all(same_kind) {
            return Err(Code::INVALID_VALUE);
        }
        for (k, step) in old.into_iter().zip(new) {
            of.steps[k].work = step.work;
        }
        Ok(())
    }

    /// Nodes that are switched off do nothing, but keep their place in the order.
    pub fn enable(&mut self, exec: u64, node: u64, enabled: bool) -> Result<()> {
        let of = self.graphs.execs.get_mut(exec)?;
        let step = of.steps.iter_mut().find(|step| step.node == node).ok_or(Code::INVALID_VALUE)?;
        if step.work.kind() > 2 {
            return Err(Code::INVALID_VALUE);
        }
        step.enabled = enabled;
        Ok(())
    }

    pub fn is_enabled(&self, exec: u64, node: u64) -> Result<bool> {
        let of = self.graphs.execs.get(exec)?;
        let step = of.steps.iter().find(|step| step.node == node).ok_or(Code::INVALID_VALUE)?;
        Ok(step.enabled)
    }

    /// Gives an executable graph the work of another graph of the same form.
    pub fn update_exec(&mut self, exec: u64, graph: u64) -> Result<Update> {
        let new = flatten(&self.graphs, graph, None)?;
        let of = self.graphs.execs.get_mut(exec)?;
        if new.len() != of.steps.len() {
            return Ok(Update { result: Update::TOPOLOGY, node: 0 });
        }
        for (old, new) in of.steps.iter().zip(&new) {
            if old.after != new.after {
                return Ok(Update { result: Update::TOPOLOGY, node: new.node });
            }
            if old.work.kind() != new.work.kind() {
                return Ok(Update { result: Update::KIND, node: new.node });
            }
        }
        for (old, new) in of.steps.iter_mut().zip(new) {
            (old.node, old.child, old.work) = (new.node, new.child, new.work);
        }
        Ok(Update::DONE)
    }
}
