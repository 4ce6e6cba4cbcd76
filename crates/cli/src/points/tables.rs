// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the data set of a folder: every table as Parquet, and as CSV if requested. Records are read a few at a time, and rows are written in groups, so
//! that a million points take no more memory than a thousand.

use std::collections::BTreeMap;

use serde_json::Value;
use warpwatt_dataset::{Columns, Measured, Stream, StreamError, Table, figures, tables};
use warpwatt_papers::PointRecord;

use super::folder::{DATA, Folder, Growing};
use super::task::Task;
use crate::exit::{Exit, Failure};

/// Records that are in memory at a time.
const AT_A_TIME: usize = 16;

/// A point as a row of the tables.
pub struct Row<'a> {
    /// The paper, or the sweep.
    pub experiment: &'a str,
    /// The variant of the paper, or the configuration of the sweep.
    pub configuration: &'a str,
    pub task: &'a Task,
    /// Parameters that a sweep goes through, with their values here.
    pub parameters: &'a BTreeMap<String, String>,
}

/// The tables of a folder while they are written. They take their places together, at the end.
pub struct Tables<'f> {
    folder: &'f Folder,
    columns: Columns,
    of_points: Vec<Stream<Growing>>,
    series: Stream<Growing>,
}

impl<'f> Tables<'f> {
    /// Begins tables for points with these columns.
    pub fn begin(folder: &'f Folder, columns: Columns, csv: bool) -> Result<Tables<'f>, Failure> {
        let stream = |first: Table| {
            let file = |kind: &str| folder.create(&format!("{DATA}/{}.{kind}", first.name));
            let (parquet, csv) = (file("parquet")?, csv.then(|| file("csv")).transpose()?);
            Stream::new(first, parquet, csv).map_err(failed(folder))
        };
        let of_points = tables(&[], &columns).into_iter().map(stream).collect::<Result<_, _>>()?;
        Ok(Tables { folder, columns, of_points, series: stream(figures(&[]))? })
    }

    /// Writes rows of points that the folder has.
    pub fn points<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) -> Result<(), Failure> {
        let mut some: Vec<(Row, PointRecord)> = Vec::with_capacity(AT_A_TIME);
        for row in rows {
            let record = self.folder.point(&row.task.key).ok_or_else(|| {
                let message = format!("the point {} is no longer in the folder", row.task.name);
                Failure::new(Exit::Io, message).help("repeat the command: it is run again")
            })?;
            some.push((row, record));
            if some.len() == AT_A_TIME {
                self.add(&some)?;
                some.clear();
            }
        }
        self.add(&some)
    }

    fn add(&mut self, rows: &[(Row, PointRecord)]) -> Result<(), Failure> {
        let measured: Vec<_> = rows
            .iter()
            .map(|(row, record)| Measured {
                experiment: row.experiment,
                configuration: row.configuration,
                point: &row.task.point,
                record,
                parameters: row.parameters,
            })
            .collect();
        let all = self.of_points.iter_mut().zip(tables(&measured, &self.columns));
        all.into_iter().try_for_each(|(stream, table)| stream.add(table)).map_err(failed(self.folder))
    }

    /// Writes the series of a figure.
    pub fn figure(&mut self, name: &str, document: &Value) -> Result<(), Failure> {
        self.series.add(figures(&[(name, document)])).map_err(failed(self.folder))
    }

    /// Puts all tables in their places.
    pub fn end(self) -> Result<(), Failure> {
        let mut files = Vec::new();
        for stream in self.of_points.into_iter().chain([self.series]) {
            let (parquet, csv) = stream.finish().map_err(failed(self.folder))?;
            files.push(parquet);
            files.extend(csv);
        }
        files.into_iter().try_for_each(Growing::finish)
    }
}

/// A table that could not be written, of this folder.
fn failed(folder: &Folder) -> impl Fn(StreamError) -> Failure {
    move |StreamError { table, error }| {
        let file = folder.path().join(DATA).join(table);
        let message = format!("cannot write the table {}: {error}", file.display());
        Failure::new(Exit::Io, message).help("finished points are kept; repeat the command to continue")
    }
}
