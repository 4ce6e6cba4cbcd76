// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Arrow C data and stream interfaces for tables of results (<https://arrow.apache.org/docs/format/CDataInterface.html>): flat columns of texts, counts and
//! real numbers, each with places that have no value. Written out here, since Arrow's own crate would double what has to be built.
//!
//! Every structure that is handed out owns what it points to, by its private data, and shares the buffers of the table; consumers release each by its
//! own `release`.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use warpwatt_dataset::{Data, Table};

#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

const NULLABLE: i64 = 2;

/// The buffers of a column.
struct Column {
    name: CString,
    format: &'static std::ffi::CStr,
    nulls: usize,
    /// A bit for each row that has a value.
    valid: Vec<u8>,
    values: Values,
}

enum Values {
    Counts(Vec<i64>),
    Reals(Vec<f64>),
    /// Ends of the texts, with a 0 before, and the texts.
    Texts(Vec<i64>, Vec<u8>),
}

/// A table in Arrow's layout.
pub struct Batch {
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    pub fn new(table: &Table) -> Arc<Batch> {
        let columns = table.columns.iter().map(|column| {
            let (format, (nulls, valid), values) = match &column.data {
                Data::Count(cells) => {
                    let values = cells.iter().map(|cell| cell.unwrap_or_default()).collect();
                    (c"l", bits(cells), Values::Counts(values))
                }
                Data::Real(cells) => {
                    let values = cells.iter().map(|cell| cell.unwrap_or_default()).collect();
                    (c"g", bits(cells), Values::Reals(values))
                }
                Data::Text(cells) => {
                    let (mut ends, mut bytes) = (vec![0], Vec::new());
                    for cell in cells {
                        bytes.extend_from_slice(cell.as_deref().unwrap_or_default().as_bytes());
                        ends.push(bytes.len() as i64);
                    }
                    (c"U", bits(cells), Values::Texts(ends, bytes))
                }
            };
            // Names are ours, and have no zero bytes.
            let name = CString::new(column.name.replace('\0', "")).unwrap_or_default();
            Column { name, format, nulls, valid, values }
        });
        Arc::new(Batch { columns: columns.collect(), rows: table.rows() })
    }
}

fn bits<T>(cells: &[Option<T>]) -> (usize, Vec<u8>) {
    let mut valid = vec![0; cells.len().div_ceil(8)];
    for (row, _) in cells.iter().enumerate().filter(|(_, cell)| cell.is_some()) {
        valid[row / 8] |= 1 << (row % 8);
    }
    (cells.iter().filter(|cell| cell.is_none()).count(), valid)
}

/// What a schema points to.
struct SchemaOwned {
    _batch: Arc<Batch>,
    children: Vec<*mut ArrowSchema>,
}

/// What an array points to.
struct ArrayOwned {
    _batch: Arc<Batch>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

impl ArrowSchema {
    /// The table as a structure of its columns.
    pub fn new(batch: &Arc<Batch>) -> ArrowSchema {
        let children = batch.columns.iter().map(|column| {
            let child =
                ArrowSchema::of(batch, column.format.as_ptr(), column.name.as_ptr(), NULLABLE, Vec::new());
            Box::into_raw(Box::new(child))
        });
        ArrowSchema::of(batch, c"+s".as_ptr(), c"".as_ptr(), 0, children.collect())
    }

    fn of(
        batch: &Arc<Batch>,
        format: *const c_char,
        name: *const c_char,
        flags: i64,
        children: Vec<*mut ArrowSchema>,
    ) -> ArrowSchema {
        let mut owned = Box::new(SchemaOwned { _batch: batch.clone(), children });
        ArrowSchema {
            format,
            name,
            metadata: null(),
            flags,
            n_children: owned.children.len() as i64,
            children: owned.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(owned).cast(),
        }
    }
}

impl ArrowArray {
    fn new(batch: &Arc<Batch>) -> ArrowArray {
        let children = batch.columns.iter().map(|column| {
            let valid = if column.nulls == 0 { null() } else { column.valid.as_ptr().cast() };
            let mut buffers = vec![valid];
            match &column.values {
                Values::Counts(values) => buffers.push(values.as_ptr().cast()),
                Values::Reals(values) => buffers.push(values.as_ptr().cast()),
                Values::Texts(ends, bytes) => buffers.extend([ends.as_ptr().cast(), bytes.as_ptr().cast()]),
            }
            Box::into_raw(Box::new(ArrowArray::of(batch, column.nulls, buffers, Vec::new())))
        });
        ArrowArray::of(batch, 0, vec![null()], children.collect())
    }

    fn of(
        batch: &Arc<Batch>,
        nulls: usize,
        buffers: Vec<*const c_void>,
        children: Vec<*mut ArrowArray>,
    ) -> ArrowArray {
        let mut owned = Box::new(ArrayOwned { _batch: batch.clone(), buffers, children });
        ArrowArray {
            length: batch.rows as i64,
            null_count: nulls as i64,
            offset: 0,
            n_buffers: owned.buffers.len() as i64,
            n_children: owned.children.len() as i64,
            buffers: owned.buffers.as_mut_ptr(),
            children: owned.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(owned).cast(),
        }
    }

    /// What stands for the end of a stream.
    fn none() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }
}

/// SAFETY: called once, with a schema that was made by [`ArrowSchema::of`]. A consumer may have moved children out, which are then marked as released.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: as above; the private data came from a box.
    unsafe {
        let owned = Box::from_raw((*schema).private_data.cast::<SchemaOwned>());
        for &child in &owned.children {
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

/// SAFETY: called once, with an array that was made by [`ArrowArray::of`]. A consumer may have moved children out, which are then marked as released.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as above; the private data came from a box.
    unsafe {
        let owned = Box::from_raw((*array).private_data.cast::<ArrayOwned>());
        for &child in &owned.children {
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody has released it yet, or `release` would be none.
            unsafe { release(self) };
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody has released it yet, or `release` would be none.
            unsafe { release(self) };
        }
    }
}

/// What a stream has still to give.
struct Stream {
    batch: Arc<Batch>,
    given: bool,
}

impl ArrowArrayStream {
    /// A stream of the table as one batch.
    pub fn new(batch: &Arc<Batch>) -> ArrowArrayStream {
        let stream = Box::new(Stream { batch: batch.clone(), given: false });
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(stream).cast(),
        }
    }
}

// SAFETY: what they point to is never changed once it is made, and is shared by an `Arc`.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above; a stream is used by one consumer at a time.
unsafe impl Send for ArrowArrayStream {}

/// SAFETY: called with a stream that was made by [`ArrowArrayStream::new`] and not released, and with a place to write to.
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: as above.
    unsafe {
        let stream = &*(*stream).private_data.cast::<Stream>();
        out.write(ArrowSchema::new(&stream.batch));
    }
    0
}

/// SAFETY: called with a stream that was made by [`ArrowArrayStream::new`] and not released, and with a place to write to.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above.
    unsafe {
        let stream = &mut *(*stream).private_data.cast::<Stream>();
        let array = if stream.given { ArrowArray::none() } else { ArrowArray::new(&stream.batch) };
        stream.given = true;
        out.write(array);
    }
    0
}

/// Nothing can fail.
unsafe extern "C" fn get_last_error(_stream: *mut ArrowArrayStream) -> *const c_char {
    null()
}

/// SAFETY: called once, with a stream that was made by [`ArrowArrayStream::new`].
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: as above; the private data came from a box.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Stream>()));
        (*stream).release = None;
    }
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody has released it yet, or `release` would be none.
            unsafe { release(self) };
        }
    }
}
