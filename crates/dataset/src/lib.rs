// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as a data set: tables with a row for each point, for each kernel of a point, for each structure that took energy, for each place of a histogram, and
//! for each value of a figure, as Parquet or as CSV. docs/data.md describes the tables and reads them. Tables of a single run record are for the Python package
//! (docs/python.md).
//!
//! Tables of points are written while points are read, a group of rows at a time (`stream`), so that memory does not grow with the number of points.
//!
//! Parquet is written column by column with the low level of the `parquet` crate: its layer for Arrow would double what has to be built.

mod figures;
mod parquet;
mod points;
mod record;
mod stream;
mod table;

pub use crate::figures::figures;
pub use crate::parquet::{ReadError, WriteError};
pub use crate::points::{Columns, Measured, tables};
pub use crate::record::RunTables;
pub use crate::stream::{Stream, StreamError};
pub use crate::table::{Column, Data, Table};
