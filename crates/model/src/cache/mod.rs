// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the caches have in common: tags, miss status registers, and data arrays with the site of techniques at them.

pub mod data;
mod filter;
mod mshr;
mod site;
mod tags;

pub use data::DataArray;
pub use filter::FilterSite;
pub use mshr::{Mshr, MshrId};
pub use site::{Array, ArrayAccess, ArrayShape, DataArraySite, RowAccess, Use};
pub use tags::{Evicted, LineId, SetId, State, Tags};
