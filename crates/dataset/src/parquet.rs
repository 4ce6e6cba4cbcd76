// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table as a Parquet file, written and read: flat, every column optional, texts as UTF-8, compressed with Snappy, rows in one group or in several.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::table::{Column, Data, Table};

/// The table could not be written.
#[derive(thiserror::Error, Debug)]
#[error("the table `{table}` could not be written: {error}")]
pub struct WriteError {
    pub table: &'static str,
    pub error: ParquetError,
}

impl Table {
    /// The bytes of the file. They are the same for the same table.
    pub fn to_parquet(&self) -> Result<Vec<u8>, WriteError> {
        let failed = |error| WriteError { table: self.name, error };
        let mut file = ParquetFile::new(self, Vec::new()).map_err(failed)?;
        file.group(self).map_err(failed)?;
        file.finish().map_err(failed)
    }

    /// Reads such a file again.
    pub fn from_parquet(name: &'static str, bytes: Vec<u8>) -> Result<Table, ReadError> {
        read(name, bytes).map_err(|error| ReadError { table: name, error })
    }
}

/// A Parquet file that is written one group of rows after the other.
pub(crate) struct ParquetFile<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> ParquetFile<W> {
    /// A file with the columns of this table.
    pub fn new(table: &Table, to: W) -> Result<ParquetFile<W>, ParquetError> {
        let fields: Vec<_> = table
            .columns
            .iter()
            .map(|column| Ok(Arc::new(field(column)?)))
            .collect::<Result<_, ParquetError>>()?;
        let schema = Type::group_type_builder(table.name).with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_created_by("warpwatt".to_owned())
            .set_compression(Compression::SNAPPY)
            .build();
        SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties)).map(ParquetFile)
    }

    /// Writes the rows of a table with the same columns.
    pub fn group(&mut self, table: &Table) -> Result<(), ParquetError> {
        let mut group = self.0.next_row_group()?;
        for column in &table.columns {
            let Some(writer) = group.next_column()? else { break };
            match &column.data {
                Data::Text(cells) => {
                    let texts = cells.iter().map(|cell| cell.as_deref().map(ByteArray::from));
                    write::<ByteArrayType>(writer, texts)?;
                }
                Data::Count(cells) => write::<Int64Type>(writer, cells.iter().copied())?,
                Data::Real(cells) => write::<DoubleType>(writer, cells.iter().copied())?,
            }
        }
        group.close().map(drop)
    }

    /// Writes the end of the file.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.0.into_inner()
    }
}

/// The file is none that a table was written to.
#[derive(thiserror::Error, Debug)]
#[error("the table `{table}` cannot be read: {error}")]
pub struct ReadError {
    pub table: &'static str,
    pub error: ParquetError,
}

fn read(name: &'static str, bytes: Vec<u8>) -> Result<Table, ParquetError> {
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes))?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let mut columns: Vec<Column> = Vec::new();
    for place in 0..schema.num_columns() {
        let field = schema.column(place);
        let mut data = match field.physical_type() {
            Physical::BYTE_ARRAY => Data::Text(Vec::new()),
            Physical::INT64 => Data::Count(Vec::new()),
            Physical::DOUBLE => Data::Real(Vec::new()),
            other => return Err(ParquetError::General(format!("a column of {other}"))),
        };
        for group in 0..file.num_row_groups() {
            let group = file.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
            match (&mut data, group.get_column_reader(place)?) {
                (Data::Text(cells), ColumnReader::ByteArrayColumnReader(reader)) => {
                    for value in cells_of(reader, rows)? {
                        let text = value.map(|bytes| bytes.as_utf8().map(str::to_owned)).transpose()?;
                        cells.push(text);
                    }
                }
                (Data::Count(cells), ColumnReader::Int64ColumnReader(reader)) => {
                    cells.extend(cells_of(reader, rows)?);
                }
                (Data::Real(cells), ColumnReader::DoubleColumnReader(reader)) => {
                    cells.extend(cells_of(reader, rows)?);
                }
                _ => return Err(ParquetError::General(format!("column {place} has two types"))),
            }
        }
        columns.push(Column { name: field.name().to_owned(), data });
    }
    Ok(Table { name, columns })
}

/// All rows of a column: the values that there are, at the places that have one.
fn cells_of<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    while levels.len() < rows {
        let (records, ..) = reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General("a column ends before its rows do".to_owned()));
        }
    }
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level > 0 { values.next() } else { None }).collect())
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.data {
        Data::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Data::Count(_) => (Physical::INT64, None),
        Data::Real(_) => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// Writes the values that there are, and for each row whether it has one.
fn write<T: DataType>(
    mut writer: SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    writer.close()
}

#[cfg(test)]
mod tests {
    use parquet::record::Field;

    use super::*;

    #[test]
    fn a_table_is_read_back_as_it_was_written() {
        let table = Table {
            name: "t",
            columns: vec![
                Column::text("a name", [Some("bfs"), None, Some("über")]),
                Column::count("sm.cycles.cycles", [Some(7), Some(0), None]),
                Column::real("energy_j", [None, Some(0.1), Some(-2.5)]),
            ],
        };
        let bytes = table.to_parquet().expect("it is written");
        assert_eq!(bytes, table.to_parquet().expect("it is written"), "the same bytes every time");
        let again = Table::from_parquet("t", bytes.clone()).expect("it is read");
        assert_eq!(again, table);
        let cut = bytes[..bytes.len() / 2].to_vec();
        assert!(Table::from_parquet("t", cut).is_err());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a file");
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row").get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(rows[0], [text("bfs"), Field::Long(7), Field::Null]);
        assert_eq!(rows[1], [Field::Null, Field::Long(0), Field::Double(0.1)]);
        assert_eq!(rows[2], [text("über"), Field::Null, Field::Double(-2.5)]);
    }

    #[test]
    fn a_table_without_rows_keeps_its_columns() {
        let table = Table { name: "t", columns: vec![Column::count("n", [])] };
        let bytes = table.to_parquet().expect("it is written");
        assert_eq!(Table::from_parquet("t", bytes.clone()).expect("it is read"), table);
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 1);
    }
}
