// SPDX-License-Identifier: MIT OR Apache-2.0
//! Techniques that save energy or bandwidth: a folder each, which exports one value, and a line each in the list below.
//!
//! ```text
//!     techniques/NAME/  parameters, counters, state, shadow ─► TECHNIQUE: Technique
//!                                                                    │ builders, by site
//!     register_file/  cache/  partition/  the program  ◄─────────────┘
//! ```
//!
//! A technique acts at one or more sites ([`Sites`]): the register file, the data arrays of caches and shared memory, transfers at the memory
//! controllers, the program before a launch, the admission of blocks. Any number of techniques act at a site unless they exclude each other.
//! Each gives back exactly what it was given. docs/adding-a-technique.md leads through one.

pub mod block_compression;
pub mod block_profile;
mod choose;
mod chosen;
pub mod corf;
pub mod corf_plus;
mod counted;
pub mod drowsy;
pub mod dwl;
pub mod filter_cache;
pub mod gated;
pub mod kit;
pub mod packing;
#[cfg(any(test, feature = "probes"))]
pub mod probes;
mod profile;
pub mod renaming;
mod technique;
pub mod virtualization;
pub mod warped_compression;

pub use choose::TechniqueError;
pub use chosen::{Techniques, WantedCounts};
pub use counted::TechniqueCounters;
pub use profile::Profile;
pub use technique::{Balance, BlockShape, Build, Fault, Hung, Law, Observed, Pass, Sites, Technique};

impl Techniques {
    /// All techniques. Only this list has their names.
    #[rustfmt::skip]
    pub const ALL: &'static [&'static Technique] = &[
        &warped_compression::TECHNIQUE,
        &renaming::TECHNIQUE,
        &packing::TECHNIQUE,
        &virtualization::TECHNIQUE,
        &corf::TECHNIQUE,
        &corf_plus::TECHNIQUE,
        &block_compression::e2mc::TECHNIQUE,
        &block_compression::simple::BDI,
        &block_compression::simple::FPC,
        &block_compression::simple::CPACK,
        &drowsy::TECHNIQUE,
        &dwl::TECHNIQUE,
        &gated::TECHNIQUE,
        &filter_cache::TECHNIQUE,
        &block_profile::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::merge::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::rename::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::release::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::insert::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::limit::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::delay::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::shorten::TECHNIQUE,
        #[cfg(any(test, feature = "probes"))] &probes::twin::TECHNIQUE,
    ];
}
