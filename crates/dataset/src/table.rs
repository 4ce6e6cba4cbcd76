// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table: columns of one length, each of one type, with places that have no value.

use std::io::Write;

/// The values of a column, by row.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    Text(Vec<Option<String>>),
    Count(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub name: String,
    pub data: Data,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Of its file, without an extension.
    pub name: &'static str,
    pub columns: Vec<Column>,
}

impl Data {
    fn shown(&self, row: usize) -> String {
        match self {
            Data::Text(cells) => cells.get(row).cloned().flatten().unwrap_or_default(),
            Data::Count(cells) => {
                cells.get(row).copied().flatten().map_or(String::new(), |count| count.to_string())
            }
            Data::Real(cells) => {
                cells.get(row).copied().flatten().map_or(String::new(), |real| format!("{real:?}"))
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Data::Text(cells) => cells.len(),
            Data::Count(cells) => cells.len(),
            Data::Real(cells) => cells.len(),
        }
    }

    /// Memory that the cells take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Data::Text(cells) => {
                let texts = cells.iter().flatten().map(String::len).sum::<usize>();
                texts + cells.len() * size_of::<Option<String>>()
            }
            Data::Count(cells) => cells.len() * size_of::<Option<i64>>(),
            Data::Real(cells) => cells.len() * size_of::<Option<f64>>(),
        }
    }

    /// Moves the cells of a column of the same type to the end of this one.
    pub(crate) fn append(&mut self, other: Data) -> Result<(), Data> {
        match (self, other) {
            (Data::Text(cells), Data::Text(mut more)) => cells.append(&mut more),
            (Data::Count(cells), Data::Count(mut more)) => cells.append(&mut more),
            (Data::Real(cells), Data::Real(mut more)) => cells.append(&mut more),
            (_, other) => return Err(other),
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Data::Text(cells) => cells.clear(),
            Data::Count(cells) => cells.clear(),
            Data::Real(cells) => cells.clear(),
        }
    }
}

impl Column {
    pub fn text<T: AsRef<str>>(
        name: impl Into<String>,
        cells: impl IntoIterator<Item = Option<T>>,
    ) -> Column {
        let cells = cells.into_iter().map(|cell| cell.map(|text| text.as_ref().to_owned()));
        Column { name: name.into(), data: Data::Text(cells.collect()) }
    }

    /// Counts above 2^63 - 1 are left out: no format of tables has them.
    pub fn count(name: impl Into<String>, cells: impl IntoIterator<Item = Option<u64>>) -> Column {
        let cells = cells.into_iter().map(|cell| cell.and_then(|count| i64::try_from(count).ok()));
        Column { name: name.into(), data: Data::Count(cells.collect()) }
    }

    pub fn real(name: impl Into<String>, cells: impl IntoIterator<Item = Option<f64>>) -> Column {
        Column { name: name.into(), data: Data::Real(cells.into_iter().collect()) }
    }
}

impl Table {
    pub fn rows(&self) -> usize {
        self.columns.iter().map(|column| column.data.len()).max().unwrap_or_default()
    }

    /// The table as CSV, with a line of names; places without a value are empty.
    pub fn to_csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.names())?;
        self.write_csv(&mut writer)?;
        writer.into_inner().map_err(|error| error.into_error().into())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Adds the rows to a CSV file.
    pub(crate) fn write_csv<W: Write>(&self, writer: &mut csv::Writer<W>) -> Result<(), csv::Error> {
        for row in 0..self.rows() {
            writer.write_record(self.columns.iter().map(|column| column.data.shown(row)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_has_to_be_quoted_and_leaves_out_what_is_not_there() {
        let table = Table {
            name: "t",
            columns: vec![
                Column::text("name", [Some("a,b"), None]),
                Column::count("n", [Some(3), Some(u64::MAX)]),
                Column::real("x", [None, Some(0.1)]),
            ],
        };
        let text = String::from_utf8(table.to_csv().expect("it is written")).expect("a text");
        assert_eq!(text, "name,n,x\n\"a,b\",3,\n,,0.1\n");
    }
}
