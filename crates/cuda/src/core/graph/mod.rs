// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs of work (CUDA C++ Programming Guide, "CUDA Graphs"): nodes are commands of `core`, edges say what comes first.
//!
//! A graph is built node by node, or captured from streams (`capture`); `exec` makes it executable and launches it.

mod capture;
mod exec;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use warpwatt_runtime::Stream;

pub use capture::{Status, capture};
pub use exec::{Exec, Update};

use crate::core::code::{Code, Result};
use crate::core::handle::{HandleKind, Table};
use crate::core::launch::Command;
use crate::core::state::{Core, host_function};

/// What a node does.
#[derive(Clone)]
pub enum Work {
    Do(Command),
    /// A function of the program's, as addresses of the function and of its argument.
    Host {
        function: u64,
        argument: u64,
    },
    Nothing,
    /// All of another graph, which the node owns.
    Child(u64),
    /// Memory that lives as long as something can launch the node.
    Alloc(Arc<Held>),
    /// The memory stays reserved for the next launch.
    Free(u64),
}

/// Memory of an allocation node.
#[derive(Debug)]
pub struct Held {
    pub base: u64,
    pub bytes: u64,
}

impl Work {
    /// As in `CUgraphNodeType`, which `cudaGraphNodeType` equals.
    pub fn kind(&self) -> u32 {
        match self {
            Work::Do(Command::Launch(_)) => 0,
            Work::Do(Command::Copy(_)) => 1,
            Work::Do(Command::Fill(_)) => 2,
            Work::Do(Command::Call(_)) | Work::Host { .. } => 3,
            Work::Child(_) => 4,
            Work::Nothing => 5,
            Work::Do(Command::Wait(_)) => 6,
            Work::Do(Command::Record(_)) => 7,
            Work::Alloc(_) => 10,
            Work::Free(_) => 11,
        }
    }

    /// What is done at a launch, if anything.
    fn command(&self) -> Option<Command> {
        match self {
            Work::Do(command) => Some(command.clone()),
            Work::Host { function, argument } => Some(Command::Call(host_call(*function, *argument))),
            Work::Nothing | Work::Child(_) | Work::Alloc(_) | Work::Free(_) => None,
        }
    }
}

/// A function of the program's, given by its address, with its argument.
pub fn host_call(function: u64, argument: u64) -> Arc<dyn Fn() + Send + Sync> {
    Arc::new(move || {
        // SAFETY: the program passed the function to be called so, and vouches for it.
        unsafe {
            let call: extern "C" fn(*mut std::ffi::c_void) = std::mem::transmute(function as usize);
            call(argument as *mut _);
        }
    })
}

#[derive(Default)]
pub struct Graph {
    /// Handles, in order of creation.
    pub nodes: Vec<u64>,
    /// References to user objects, and how many of each.
    objects: Vec<(u64, u32)>,
    /// The node whose graph this is, for a child graph.
    pub parent: Option<u64>,
    numbered: u32,
}

pub struct Node {
    pub graph: u64,
    /// Counted from 0 within its graph.
    pub number: u32,
    pub work: Work,
    /// Nodes that come first, in the order in which they were named.
    pub after: Vec<u64>,
    /// The node that this one is a copy of.
    original: Option<u64>,
    /// Where the arguments of a launch lie, for programs that ask.
    pub pointers: Box<[u64]>,
}

/// Something of the program's whose life is counted.
struct UserObject {
    pointer: u64,
    destroy: u64,
    references: u32,
}

pub struct Graphs {
    pub graphs: Table<Graph>,
    pub nodes: Table<Node>,
    pub execs: Table<Exec>,
    objects: Table<UserObject>,
    captures: FxHashMap<u64, capture::Capture>,
    /// Streams that are being captured, and by which capture.
    streams: FxHashMap<Stream, u64>,
    /// Events that were recorded in a capture: which one, and after which nodes.
    events: FxHashMap<u64, (u64, Vec<u64>)>,
    captured: u64,
}

impl Default for Graphs {
    fn default() -> Self {
        Graphs::new()
    }
}

impl Graphs {
    pub fn new() -> Graphs {
        Graphs {
            graphs: Table::new(HandleKind::Graph),
            nodes: Table::new(HandleKind::GraphNode),
            execs: Table::new(HandleKind::GraphExec),
            objects: Table::new(HandleKind::UserObject),
            captures: FxHashMap::default(),
            streams: FxHashMap::default(),
            events: FxHashMap::default(),
            captured: 0,
        }
    }

    pub fn create(&mut self) -> u64 {
        self.graphs.insert(Graph::default())
    }

    /// Adds a node after others of the same graph.
    pub fn add(&mut self, graph: u64, after: &[u64], work: Work) -> Result<u64> {
        self.graphs.get(graph)?;
        for &node in after {
            if self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?.graph != graph {
                return Err(Code::INVALID_VALUE);
            }
        }
        let mut distinct = after.to_vec();
        let mut seen = FxHashSet::default();
        distinct.retain(|&node| seen.insert(node));
        if distinct.len() != after.len() {
            return Err(Code::INVALID_VALUE);
        }
        let of = self.graphs.get_mut(graph)?;
        let number = of.numbered;
        of.numbered += 1;
        let pointers = pointers(&work);
        let child = if let Work::Child(child) = work { Some(child) } else { None };
        let node = self.nodes.insert(Node { graph, number, work, after: distinct, original: None, pointers });
        self.graphs.get_mut(graph)?.nodes.push(node);
        if let Some(child) = child {
            self.graphs.get_mut(child)?.parent = Some(node);
        }
        Ok(node)
    }

    /// Adds a node that does all that another graph does; the graph is copied.
    pub fn add_child(&mut self, graph: u64, after: &[u64], child: u64) -> Result<u64> {
        let copy = self.clone_graph(child)?;
        self.add(graph, after, Work::Child(copy))
    }

    /// Gives a node other work of the same kind.
    pub fn set(&mut self, node: u64, work: Work) -> Result<()> {
        let of = self.nodes.get_mut(node)?;
        if of.work.kind() != work.kind() {
            return Err(Code::INVALID_VALUE);
        }
        of.pointers = pointers(&work);
        of.work = work;
        Ok(())
    }

    /// A copy of a graph, child graphs included.
    pub fn clone_graph(&mut self, graph: u64) -> Result<u64> {
        let nodes = self.graphs.get(graph)?.nodes.clone();
        let copy = self.create();
        let mut twin = FxHashMap::default();
        for node in nodes {
            let of = self.nodes.get(node)?;
            let (work, after) = (of.work.clone(), of.after.clone());
            let work = match work {
                Work::Child(child) => Work::Child(self.clone_graph(child)?),
                other => other,
            };
            // Edges may lead to nodes that come later in the list.
            let added = self.add(copy, &[], work)?;
            let new = self.nodes.get_mut(added)?;
            new.original = Some(node);
            new.after = after;
            twin.insert(node, added);
        }
        for &node in twin.values() {
            for before in &mut self.nodes.get_mut(node)?.after {
                *before = twin.get(before).copied().ok_or(Code::INVALID_VALUE)?;
            }
        }
        Ok(copy)
    }

    /// The copy of a node in a copied graph.
    pub fn find_in_clone(&self, original: u64, clone: u64) -> Result<u64> {
        self.nodes.get(original)?;
        let nodes = &self.graphs.get(clone)?.nodes;
        let is_copy = |&&node: &&u64| self.nodes.get(node).is_ok_and(|node| node.original == Some(original));
        nodes.iter().find(is_copy).copied().ok_or(Code::INVALID_VALUE)
    }

    /// All edges of a graph: (from, to).
    pub fn edges(&self, graph: u64) -> Result<Vec<(u64, u64)>> {
        let mut edges = Vec::new();
        for &to in &self.graphs.get(graph)?.nodes {
            edges.extend(self.nodes.get(to)?.after.iter().map(|&from| (from, to)));
        }
        Ok(edges)
    }

    pub fn roots(&self, graph: u64) -> Result<Vec<u64>> {
        let nodes = &self.graphs.get(graph)?.nodes;
        Ok(nodes
            .iter()
            .copied()
            .filter(|&node| self.nodes.get(node).is_ok_and(|n| n.after.is_empty()))
            .collect())
    }

    pub fn dependents(&self, node: u64) -> Result<Vec<u64>> {
        let graph = self.nodes.get(node)?.graph;
        Ok(self.edges(graph)?.into_iter().filter(|&(from, _)| from == node).map(|(_, to)| to).collect())
    }

    pub fn add_edges(&mut self, graph: u64, edges: &[(u64, u64)]) -> Result<()> {
        self.check_edges(graph, edges)?;
        for &(from, to) in edges {
            let after = &mut self.nodes.get_mut(to)?.after;
            if from == to || after.contains(&from) {
                return Err(Code::INVALID_VALUE);
            }
            after.push(from);
        }
        Ok(())
    }

    pub fn remove_edges(&mut self, graph: u64, edges: &[(u64, u64)]) -> Result<()> {
        self.check_edges(graph, edges)?;
        for &(from, to) in edges {
            let after = &mut self.nodes.get_mut(to)?.after;
            let place = after.iter().position(|&node| node == from).ok_or(Code::INVALID_VALUE)?;
            after.remove(place);
        }
        Ok(())
    }

    fn check_edges(&self, graph: u64, edges: &[(u64, u64)]) -> Result<()> {
        self.graphs.get(graph)?;
        for node in edges.iter().flat_map(|&(from, to)| [from, to]) {
            if self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?.graph != graph {
                return Err(Code::INVALID_VALUE);
            }
        }
        Ok(())
    }

    /// The nodes of a graph, each after those that it depends on; otherwise in order of creation.
    fn sorted(&self, graph: u64) -> Result<Vec<u64>> {
        let nodes = &self.graphs.get(graph)?.nodes;
        let mut missing: FxHashMap<u64, usize> = FxHashMap::default();
        let mut next: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        for &node in nodes {
            let after = &self.nodes.get(node)?.after;
            missing.insert(node, after.len());
            for &before in after {
                next.entry(before).or_default().push(node);
            }
        }
        let number = |node: u64| self.nodes.get(node).map_or(0, |node| node.number);
        let mut ready: std::collections::BTreeSet<(u32, u64)> =
            nodes.iter().filter(|node| missing[node] == 0).map(|&node| (number(node), node)).collect();
        let mut sorted = Vec::with_capacity(nodes.len());
        while let Some((_, node)) = ready.pop_first() {
            sorted.push(node);
            for &follower in next.get(&node).into_iter().flatten() {
                let left = missing.entry(follower).or_default();
                *left -= 1;
                if *left == 0 {
                    ready.insert((number(follower), follower));
                }
            }
        }
        // What is left over waits for itself.
        if sorted.len() == nodes.len() { Ok(sorted) } else { Err(Code::INVALID_VALUE) }
    }

    pub fn create_object(&mut self, pointer: u64, destroy: u64, references: u32) -> u64 {
        self.objects.insert(UserObject { pointer, destroy, references })
    }

    pub fn retain_object(&mut self, object: u64, count: u32) -> Result<()> {
        let of = self.objects.get_mut(object)?;
        of.references = of.references.checked_add(count).ok_or(Code::INVALID_VALUE)?;
        Ok(())
    }

    pub fn release_object(&mut self, object: u64, count: u32) -> Result<()> {
        let of = self.objects.get_mut(object)?;
        of.references = of.references.checked_sub(count).ok_or(Code::INVALID_VALUE)?;
        if of.references == 0 {
            let gone = self.objects.remove(object)?;
            host_function(|| host_call(gone.destroy, gone.pointer)());
        }
        Ok(())
    }

    /// References that the graph holds: its own ones if they are moved, new ones otherwise.
    pub fn give_object(&mut self, graph: u64, object: u64, count: u32, moved: bool) -> Result<()> {
        self.graphs.get(graph)?;
        self.objects.get(object)?;
        if !moved {
            self.retain_object(object, count)?;
        }
        self.graphs.get_mut(graph)?.objects.push((object, count));
        Ok(())
    }

    pub fn take_object(&mut self, graph: u64, object: u64, count: u32) -> Result<()> {
        let held = &mut self.graphs.get_mut(graph)?.objects;
        let total: u64 = held.iter().filter(|held| held.0 == object).map(|held| u64::from(held.1)).sum();
        let left = total.checked_sub(u64::from(count)).ok_or(Code::INVALID_VALUE)?;
        held.retain(|held| held.0 != object);
        if left > 0 {
            held.push((object, left as u32));
        }
        self.release_object(object, count)
    }
}

impl Core {
    pub fn destroy_node(&mut self, node: u64) -> Result<()> {
        let gone = self.graphs.nodes.remove(node)?;
        let graph = self.graphs.graphs.get_mut(gone.graph)?;
        graph.nodes.retain(|&other| other != node);
        for other in graph.nodes.clone() {
            self.graphs.nodes.get_mut(other)?.after.retain(|&before| before != node);
        }
        self.drop_work(gone.work)
    }

    pub fn destroy_graph(&mut self, graph: u64) -> Result<()> {
        let gone = self.graphs.graphs.remove(graph)?;
        for node in gone.nodes {
            let gone = self.graphs.nodes.remove(node)?;
            self.drop_work(gone.work)?;
        }
        for (object, count) in gone.objects {
            self.graphs.release_object(object, count)?;
        }
        Ok(())
    }

    /// Memory for an allocation node, there from now on.
    pub fn hold_memory(&mut self, bytes: u64) -> Result<Work> {
        let pool = self.pools.current;
        let base = self.alloc_async(bytes, pool)?;
        Ok(Work::Alloc(Arc::new(Held { base, bytes })))
    }

    fn drop_work(&mut self, work: Work) -> Result<()> {
        match work {
            Work::Child(child) => self.destroy_graph(child),
            Work::Alloc(held) => {
                // The program may have freed it by itself, which is its right.
                if let Some(held) = Arc::into_inner(held)
                    && self.ledger.starting_at(held.base).is_some()
                {
                    self.free(held.base, |_| true)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn pointers(work: &Work) -> Box<[u64]> {
    match work {
        Work::Do(Command::Launch(launch)) => {
            launch.args.values().iter().map(|value| value.as_ptr() as u64).collect()
        }
        _ => Box::default(),
    }
}
