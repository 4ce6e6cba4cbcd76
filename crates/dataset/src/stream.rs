// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table that is written while its rows come. Rows are kept until they take [`GROUP_BYTES`], and are then written as a row group of the Parquet file and as
//! lines of the CSV file, so that memory does not depend on the number of rows.

use std::io::Write;

use parquet::errors::ParquetError;

use crate::parquet::ParquetFile;
use crate::table::Table;

/// Memory of the rows of a group. Larger groups need less of the file's directory, which has an entry for each column of each group and is in memory until the end.
const GROUP_BYTES: usize = 32 << 20;

/// Rows could not be written.
#[derive(thiserror::Error, Debug)]
#[error("the table `{table}` could not be written: {error}")]
pub struct StreamError {
    pub table: &'static str,
    pub error: Box<dyn std::error::Error + Send + Sync>,
}

/// A table on its way into files.
pub struct Stream<W: Write + Send> {
    /// Rows that are not written yet.
    rows: Table,
    bytes: usize,
    most: usize,
    groups: usize,
    parquet: ParquetFile<W>,
    csv: Option<csv::Writer<W>>,
}

impl<W: Write + Send> Stream<W> {
    /// Begins files with the columns of this table, and its rows.
    pub fn new(first: Table, parquet: W, csv: Option<W>) -> Result<Stream<W>, StreamError> {
        Stream::with(first, parquet, csv, GROUP_BYTES)
    }

    fn with(first: Table, parquet: W, csv: Option<W>, most: usize) -> Result<Stream<W>, StreamError> {
        let failed = |error: ParquetError| StreamError { table: first.name, error: error.into() };
        let file = ParquetFile::new(&first, parquet).map_err(failed)?;
        let mut csv = csv.map(csv::Writer::from_writer);
        if let Some(csv) = &mut csv {
            let named = csv.write_record(first.names());
            named.map_err(|error| StreamError { table: first.name, error: error.into() })?;
        }
        let bytes = first.columns.iter().map(|column| column.data.bytes()).sum();
        Ok(Stream { rows: first, bytes, most, groups: 0, parquet: file, csv })
    }

    /// Adds rows; their table has the columns of the first one.
    pub fn add(&mut self, table: Table) -> Result<(), StreamError> {
        if !table.names().eq(self.rows.names()) {
            return Err(self.failed("columns differ from those of the first rows"));
        }
        for (column, more) in self.rows.columns.iter_mut().zip(table.columns) {
            self.bytes += more.data.bytes();
            if column.data.append(more.data).is_err() {
                let message = format!("column `{}` has two types", column.name);
                return Err(self.failed(message));
            }
        }
        if self.bytes >= self.most { self.flush() } else { Ok(()) }
    }

    fn failed(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StreamError {
        StreamError { table: self.rows.name, error: error.into() }
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        self.parquet.group(&self.rows).map_err(|error| self.failed(error))?;
        if let Some(csv) = &mut self.csv {
            let written = self.rows.write_csv(csv);
            written.map_err(|error| self.failed(error))?;
        }
        self.rows.columns.iter_mut().for_each(|column| column.data.clear());
        self.bytes = 0;
        self.groups += 1;
        Ok(())
    }

    /// Writes what is left, and gives the files back.
    pub fn finish(mut self) -> Result<(W, Option<W>), StreamError> {
        if self.groups == 0 || self.rows.rows() > 0 {
            self.flush()?;
        }
        let table = self.rows.name;
        let parquet = self.parquet.finish().map_err(|error| StreamError { table, error: error.into() })?;
        let csv = self.csv.map(csv::Writer::into_inner).transpose();
        Ok((parquet, csv.map_err(|error| StreamError { table, error: error.into_error().into() })?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    /// Rows from `first` on.
    fn rows(first: u64, count: u64) -> Table {
        let all = || first..first + count;
        let columns = vec![
            Column::text("name", all().map(|row| (row % 3 > 0).then(|| format!("row {row}")))),
            Column::count("n", all().map(|row| (row % 5 > 0).then_some(row))),
            Column::real("x", all().map(|row| Some(row as f64 / 8.0))),
        ];
        Table { name: "t", columns }
    }

    #[test]
    fn groups_have_the_rows_of_the_whole_table() {
        let whole = rows(0, 100);
        for most in [1, 200, 1000, usize::MAX] {
            let mut stream = Stream::with(rows(0, 0), Vec::new(), Some(Vec::new()), most).expect("a stream");
            let mut first = 0;
            for count in [1, 2, 0, 30, 60, 7] {
                stream.add(rows(first, count)).expect("rows");
                first += count;
                assert!(stream.bytes < most, "{} bytes are kept", stream.bytes);
            }
            let (parquet, csv) = stream.finish().expect("files");
            assert_eq!(csv.expect("asked for"), whole.to_csv().expect("a text"));
            assert_eq!(Table::from_parquet("t", parquet.clone()).expect("a file"), whole);
            assert_eq!(parquet == whole.to_parquet().expect("a file"), most == usize::MAX, "{most}");
        }
    }

    #[test]
    fn a_stream_without_rows_is_a_table_without_rows() {
        let stream = Stream::new(rows(0, 0), Vec::new(), None).expect("a stream");
        let (parquet, csv) = stream.finish().expect("a file");
        assert_eq!((parquet, csv), (rows(0, 0).to_parquet().expect("a file"), None));
    }

    #[test]
    fn other_columns_are_refused() {
        let mut stream = Stream::new(rows(0, 1), Vec::new(), None).expect("a stream");
        let mut other = rows(1, 1);
        other.columns[1] = Column::real("n", [Some(1.0)]);
        assert!(stream.add(other).expect_err("another type").to_string().contains("two types"));
        let mut other = rows(1, 1);
        other.columns.pop();
        assert!(stream.add(other).expect_err("a column less").to_string().contains("differ"));
    }
}
