// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capture of streams into graphs (CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture"): work that goes into a
//! captured stream becomes a node, and an event that was recorded there takes other streams into the capture.

use rustc_hash::FxHashSet;
use warpwatt_runtime::Stream;

use crate::core::code::{Code, Result};
use crate::core::graph::{Graphs, Work};
use crate::core::launch::Command;
use crate::core::state::Core;

pub struct Capture {
    graph: u64,
    /// The graph was there before, and stays when the capture fails.
    given: bool,
    origin: Stream,
    /// Predecessors of the next node of each stream.
    heads: Vec<(Stream, Vec<u64>)>,
    broken: bool,
}

/// What a stream's capture is up to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    None,
    Active {
        id: u64,
        graph: u64,
        after: Vec<u64>,
    },
    /// Something was done that cannot be captured.
    Broken {
        id: u64,
    },
}

impl Capture {
    fn after(&mut self, stream: Stream) -> &mut Vec<u64> {
        let place = match self.heads.iter().position(|head| head.0 == stream) {
            Some(place) => place,
            None => {
                self.heads.push((stream, Vec::new()));
                self.heads.len() - 1
            }
        };
        &mut self.heads[place].1
    }
}

impl Graphs {
    pub fn captures(&self, stream: Stream) -> bool {
        self.streams.contains_key(&stream)
    }

    pub fn captures_any(&self) -> bool {
        !self.streams.is_empty()
    }

    pub fn holds_event(&self, event: u64) -> bool {
        self.events.contains_key(&event)
    }

    /// Starts a capture, into a new graph or after nodes of one that is there.
    pub fn begin_capture(&mut self, stream: Stream, into: Option<(u64, Vec<u64>)>) -> Result<()> {
        if stream == Stream::LEGACY {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.captures(stream) {
            return Err(Code::ILLEGAL_STATE);
        }
        let given = into.is_some();
        let (graph, after) = match into {
            Some((graph, after)) => {
                self.check_nodes(graph, &after)?;
                (graph, after)
            }
            None => (self.create(), Vec::new()),
        };
        self.captured += 1;
        self.streams.insert(stream, self.captured);
        let capture = Capture { graph, given, origin: stream, heads: vec![(stream, after)], broken: false };
        self.captures.insert(self.captured, capture);
        Ok(())
    }

    fn check_nodes(&self, graph: u64, nodes: &[u64]) -> Result<()> {
        self.graphs.get(graph)?;
        let inside = |&node: &u64| self.nodes.get(node).is_ok_and(|node| node.graph == graph);
        if nodes.iter().all(inside) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    pub fn capture_status(&self, stream: Stream) -> Status {
        let Some(&id) = self.streams.get(&stream) else { return Status::None };
        match self.captures.get(&id) {
            Some(capture) if !capture.broken => {
                let head = capture.heads.iter().find(|head| head.0 == stream);
                let after = head.map(|head| head.1.clone()).unwrap_or_default();
                Status::Active { id, graph: capture.graph, after }
            }
            _ => Status::Broken { id },
        }
    }

    /// Something happened that a capture cannot hold, such as waiting for its stream.
    pub fn break_capture(&mut self, stream: Stream) {
        if let Some(id) = self.streams.get(&stream)
            && let Some(capture) = self.captures.get_mut(id)
        {
            capture.broken = true;
        }
    }

    /// Changes the predecessors of the next node of a captured stream.
    pub fn set_capture_after(&mut self, stream: Stream, nodes: &[u64], replace: bool) -> Result<()> {
        let id = *self.streams.get(&stream).ok_or(Code::ILLEGAL_STATE)?;
        let graph = self.captures.get(&id).ok_or(Code::ILLEGAL_STATE)?.graph;
        self.check_nodes(graph, nodes)?;
        let after = self.captures.get_mut(&id).ok_or(Code::ILLEGAL_STATE)?.after(stream);
        if replace {
            after.clear();
        }
        join(after, nodes);
        Ok(())
    }

    /// Adds what a captured stream does next.
    fn capture_work(&mut self, stream: Stream, work: Work) -> Result<()> {
        let id = *self.streams.get(&stream).ok_or(Code::ILLEGAL_STATE)?;
        let capture = self.captures.get_mut(&id).ok_or(Code::ILLEGAL_STATE)?;
        if capture.broken {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        let (graph, after) = (capture.graph, capture.after(stream).clone());
        let node = self.add(graph, &after, work)?;
        *self.captures.get_mut(&id).ok_or(Code::ILLEGAL_STATE)?.after(stream) = vec![node];
        Ok(())
    }

    fn capture_record(&mut self, stream: Stream, event: u64) -> Result<()> {
        let id = *self.streams.get(&stream).ok_or(Code::ILLEGAL_STATE)?;
        let after = self.captures.get_mut(&id).ok_or(Code::ILLEGAL_STATE)?.after(stream).clone();
        self.events.insert(event, (id, after));
        Ok(())
    }

    fn capture_wait(&mut self, stream: Stream, event: u64) -> Result<()> {
        let Some((id, nodes)) = self.events.get(&event).cloned() else {
            // An event from outside cannot be waited for inside.
            self.break_capture(stream);
            return Err(Code::STREAM_CAPTURE_ISOLATION);
        };
        if stream == Stream::LEGACY {
            return Err(Code::STREAM_CAPTURE_IMPLICIT);
        }
        if *self.streams.entry(stream).or_insert(id) != id {
            self.break_capture(stream);
            return Err(Code::STREAM_CAPTURE_ISOLATION);
        }
        let after = self.captures.get_mut(&id).ok_or(Code::STREAM_CAPTURE_INVALIDATED)?.after(stream);
        join(after, &nodes);
        Ok(())
    }

    /// Whether all captured work precedes the next operation of the origin.
    fn joined(&self, capture: &Capture) -> bool {
        let mut stack: Vec<u64> = capture
            .heads
            .iter()
            .filter(|head| head.0 == capture.origin)
            .flat_map(|head| head.1.clone())
            .collect();
        let mut reached = FxHashSet::default();
        while let Some(node) = stack.pop() {
            if reached.insert(node)
                && let Ok(node) = self.nodes.get(node)
            {
                stack.extend(&node.after);
            }
        }
        capture.heads.iter().flat_map(|head| &head.1).all(|node| reached.contains(node))
    }
}

fn join(after: &mut Vec<u64>, nodes: &[u64]) {
    for &node in nodes {
        if !after.contains(&node) {
            after.push(node);
        }
    }
}

/// Takes a command of a captured stream, or a wait for a captured event, into the graph.
pub fn capture(core: &mut Core, stream: Stream, command: Command) -> Result<()> {
    match command {
        Command::Record(event) => {
            core.events.get(event)?;
            core.graphs.capture_record(stream, event)
        }
        Command::Wait(event) => {
            core.events.get(event)?;
            core.graphs.capture_wait(stream, event)
        }
        command => core.graphs.capture_work(stream, Work::Do(command)),
    }
}

impl Core {
    /// Adds work that is no command to the capture of a stream.
    pub fn capture_work(&mut self, stream: Stream, work: Work) -> Result<()> {
        self.graphs.capture_work(stream, work)
    }

    /// Memory in the order of a stream, of a pool or of the current one. A captured stream gets a node, whose memory is there from now on.
    pub fn take_memory(&mut self, stream: Stream, bytes: u64, pool: Option<u64>) -> Result<u64> {
        let pool = pool.unwrap_or(self.pools.current);
        self.pools.table.get(pool)?;
        if !self.graphs.captures(stream) {
            return self.alloc_async(bytes, pool);
        }
        let work = self.hold_memory(bytes)?;
        let base = if let Work::Alloc(held) = &work { held.base } else { 0 };
        self.capture_work(stream, work)?;
        Ok(base)
    }

    /// Gives memory back in the order of a stream, which may be captured.
    pub fn give_memory(&mut self, stream: Stream, base: u64) -> Result<()> {
        if !self.graphs.captures(stream) {
            return self.free_async(base, stream);
        }
        self.ledger.starting_at(base).ok_or(Code::INVALID_VALUE)?;
        self.capture_work(stream, Work::Free(base))
    }

    /// Ends a capture where it began, and gives its graph.
    pub fn end_capture(&mut self, stream: Stream) -> Result<u64> {
        let id = *self.graphs.streams.get(&stream).ok_or(Code::ILLEGAL_STATE)?;
        let Some(capture) = self.graphs.captures.get_mut(&id) else { return Err(Code::ILLEGAL_STATE) };
        if capture.origin != stream {
            capture.broken = true;
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        let Some(capture) = self.graphs.captures.remove(&id) else { return Err(Code::ILLEGAL_STATE) };
        self.graphs.streams.retain(|_, of| *of != id);
        self.graphs.events.retain(|_, (of, _)| *of != id);
        let problem = match (capture.broken, self.graphs.joined(&capture)) {
            (true, _) => Some(Code::STREAM_CAPTURE_INVALIDATED),
            (false, false) => Some(Code::STREAM_CAPTURE_UNJOINED),
            (false, true) => None,
        };
        match problem {
            None => Ok(capture.graph),
            Some(code) => {
                if !capture.given {
                    self.destroy_graph(capture.graph)?;
                }
                Err(code)
            }
        }
    }

    /// A stream ends while it is captured: if it is the origin, the capture ends too. Another one may go; what it did stays in the graph, and
    /// whether the origin comes after it is found out at the end.
    pub fn abandon_capture(&mut self, stream: Stream) {
        let Some(&id) = self.graphs.streams.get(&stream) else { return };
        if self.graphs.captures.get(&id).is_some_and(|capture| capture.origin == stream) {
            self.graphs.break_capture(stream);
            // It is broken, and says so.
            let _ = self.end_capture(stream);
        }
        self.graphs.streams.remove(&stream);
    }

    /// Refuses what would wait for work that is only being written down.
    pub fn may_wait(&mut self, stream: Stream) -> Result<()> {
        if self.graphs.captures(stream) {
            self.graphs.break_capture(stream);
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(())
    }
}
