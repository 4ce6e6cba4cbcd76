// SPDX-License-Identifier: MIT OR Apache-2.0
//! A technique as one value: its description, and how it is built into the machine.

use warpwatt_base::counters::{CounterInfo, CounterSet};
use warpwatt_config::{Config, Parameter, Settings};
use warpwatt_isa::Program;

use super::{Profile, TechniqueError, Techniques};
use crate::cache::{Array, ArrayShape, DataArraySite, FilterSite};
use crate::counters::Counters;
use crate::partition::TransferSite;
use crate::register_file::RegisterFileSite;

/// Description of a technique. Its folder exports one of these.
pub struct Technique {
    pub name: &'static str,
    /// One line.
    pub doc: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    pub parameters: fn() -> &'static [Parameter],
    /// The parameters with their defaults.
    pub settings: fn() -> Box<dyn Settings>,
    pub counters: &'static [CounterInfo],
    /// The counters at zero.
    pub zero: fn() -> Box<dyn CounterSet>,
    /// Names of techniques that cannot be on at the same time; it is enough that one of two excludes the other. And names of those that it builds
    /// on, which are enabled with it unless it has a parameter of that name that is off.
    pub excludes: &'static [&'static str],
    pub needs: &'static [&'static str],
    /// Finds settings that are not possible together, or on this GPU.
    pub check: fn(&dyn Settings, &Config, &mut Vec<TechniqueError>),
    /// Where it stores data of which a bit can be flipped.
    pub stores: &'static [Fault],
    pub sites: Sites,
    /// What it adds to sums over the machine's counters.
    pub balance: fn(&dyn CounterSet, &mut Balance),
    /// Laws that its counters obey in every run.
    pub laws: &'static [Law],
}

impl Technique {
    /// The sites where it acts, itself or by what it builds on, in words.
    pub fn places(&self) -> Vec<&'static str> {
        let Sites { register_file, data_array, filter, transfer, program, blocks } = &self.sites;
        let places = [
            (register_file.is_some(), "register file"),
            (data_array.is_some(), "caches and shared memory"),
            (filter.is_some(), "loads before L1"),
            (transfer.is_some(), "memory controllers"),
            (program.is_some(), "program"),
            (blocks.is_some(), "admission of blocks"),
        ];
        let own = places.into_iter().filter_map(|(acts, place)| acts.then_some(place));
        let below = Techniques::ALL.iter().filter(|other| self.needs.contains(&other.name));
        let mut all = Vec::new();
        for place in below.flat_map(|other| other.places()).chain(own) {
            if !all.contains(&place) {
                all.push(place);
            }
        }
        all
    }

    /// Whether it is there to test the sites, and not for users.
    pub fn is_probe(&self) -> bool {
        self.name.starts_with("probe-")
    }
}

pub type BuildRegisterFile = fn(&Build) -> Box<dyn RegisterFileSite>;
pub type BuildDataArray = fn(&Build, Array, ArrayShape) -> Option<Box<dyn DataArraySite>>;
pub type BuildFilter = fn(&Build) -> Box<dyn FilterSite>;
pub type BuildTransfer = fn(&Build) -> Box<dyn TransferSite>;
pub type LimitBlocks = fn(&dyn Settings, &Config, &BlockShape) -> u32;

/// How a technique is built into the machine: a builder for each site where it acts.
pub struct Sites {
    /// For each SM.
    pub register_file: Option<BuildRegisterFile>,
    /// For each data array of each SM and L2 slice; `None` where it leaves one alone.
    pub data_array: Option<BuildDataArray>,
    /// For each SM, between the load/store unit and the L1 data cache.
    pub filter: Option<BuildFilter>,
    /// For each memory controller.
    pub transfer: Option<BuildTransfer>,
    /// The compiler's half: a pure function from a program to the program that is run instead.
    pub program: Option<fn(&Pass) -> Program>,
    /// The most blocks of a kernel that an SM may take.
    pub blocks: Option<LimitBlocks>,
}

impl Sites {
    pub const NONE: Sites = Sites {
        register_file: None,
        data_array: None,
        filter: None,
        transfer: None,
        program: None,
        blocks: None,
    };
}

/// Input of a builder.
pub struct Build<'a> {
    pub config: &'a Config,
    pub settings: &'a dyn Settings,
    /// All techniques that are on.
    pub techniques: &'a Techniques,
    /// Number of the SM or memory partition.
    pub instance: u32,
    /// Keep a shadow of stored bytes, and compare what is read with what was written.
    pub verify: bool,
    /// Flip one stored bit: only in the first SM and the first partition.
    pub inject: Option<Fault>,
}

/// Input of the compiler's half of a technique.
pub struct Pass<'a> {
    pub program: &'a Program,
    pub settings: &'a dyn Settings,
    /// How often instructions are executed, if a run counted them.
    pub profile: Option<&'a Profile>,
}

/// Resources of a block of a kernel.
pub struct BlockShape<'a> {
    pub program: &'a Program,
    pub warps: u32,
    /// Registers of a thread.
    pub registers: u32,
}

/// Where a stored bit is flipped, to test verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Rf,
    Cache,
    Dram,
}

impl Fault {
    pub const ALL: &'static [Fault] = &[Fault::Rf, Fault::Cache, Fault::Dram];

    /// Its name in a command.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Rf => "rf",
            Fault::Cache => "cache",
            Fault::Dram => "dram",
        }
    }

    /// In words.
    pub fn place(self) -> &'static str {
        match self {
            Fault::Rf => "register file",
            Fault::Cache => "caches",
            Fault::Dram => "memory",
        }
    }
}

/// A technique at a site.
pub struct Hung<S: ?Sized> {
    /// Its place in the list of techniques.
    pub technique: usize,
    pub site: Box<S>,
}

/// What techniques add to sums over the machine's counters, so that these can be checked with any of them on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Balance {
    /// Accesses that read registers, beyond one for each operand: fewer where several operands come with one access.
    pub register_reads: i64,
    /// Instructions injected. Each reads and writes one register.
    pub injected: u64,
    /// Accesses to the register file may activate fewer arrays than a bank has.
    pub fewer_arrays: bool,
    /// Lines may take fewer bursts than their bytes do.
    pub fewer_bursts: bool,
}

/// A law of conservation.
pub struct Law {
    /// In words.
    pub text: &'static str,
    pub holds: fn(&Observed) -> bool,
}

/// What a kernel counted, for a law.
pub struct Observed<'a> {
    /// The technique's own counters.
    pub own: &'a dyn CounterSet,
    pub machine: &'a Counters,
    pub config: &'a Config,
}
