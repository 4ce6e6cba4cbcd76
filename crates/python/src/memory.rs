// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of arrays: what an object says about it by NumPy's array interface or by DLPack.

use std::ffi::{c_int, c_void};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::errors::usage;

/// Memory that an object lends.
pub struct View {
    pub at: usize,
    pub bytes: usize,
    pub read_only: bool,
    /// Type and extents, for messages.
    pub shown: String,
    /// What keeps the memory.
    _owner: Py<PyAny>,
}

impl View {
    /// The memory of an array; none if the object is not one.
    pub fn of(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<View>> {
        if object.hasattr("__array_interface__")? {
            return by_interface(object, what).map(Some);
        }
        if object.hasattr("__dlpack__")? {
            return by_dlpack(object, what).map(Some);
        }
        Ok(None)
    }

    /// Copies the bytes, as many as there is room for.
    pub fn read(&self, to: &mut [u8]) {
        let count = to.len().min(self.bytes);
        // SAFETY: the owner says that these bytes are there, and is kept; `to` has room for them.
        unsafe { std::ptr::copy_nonoverlapping(self.at as *const u8, to.as_mut_ptr(), count) };
    }

    /// Writes the bytes, as many as there are.
    pub fn write(&self, bytes: &[u8]) {
        let count = bytes.len().min(self.bytes);
        // SAFETY: the owner says that these bytes are there and may be written, and is kept.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at as *mut u8, count) };
    }
}

fn by_interface(object: &Bound<'_, PyAny>, what: &str) -> PyResult<View> {
    let py = object.py();
    let interface = object.getattr("__array_interface__")?;
    let interface = interface.cast::<PyDict>()?;
    let field = |name: &str| {
        interface.get_item(name)?.ok_or_else(|| unusable(py, what, "its array interface lacks a field"))
    };
    let kind: String = field("typestr")?.extract()?;
    let shape: Vec<usize> = field("shape")?.extract()?;
    let width: usize = kind.get(2..).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    if kind.contains('O') || width == 0 {
        return Err(unusable(py, what, &format!("kernels cannot use elements of type `{kind}`")));
    }
    if kind.starts_with('>') {
        let message = format!("{what} has big-endian elements, and the GPU is little-endian");
        return Err(usage(py, message, "give a copy: x.astype(x.dtype.newbyteorder('<'))"));
    }
    let (at, read_only): (usize, bool) = field("data")?.extract()?;
    let strides: Option<Vec<isize>> =
        interface.get_item("strides")?.map_or(Ok(None), |value| value.extract())?;
    if !strides.is_none_or(|strides| is_contiguous(&shape, &strides, width)) {
        return Err(scattered(py, what));
    }
    let shown = format!("{}{shape:?}", named(&kind));
    Ok(View { at, bytes: size(&shape, width), read_only, shown, _owner: object.clone().unbind() })
}

fn size(shape: &[usize], width: usize) -> usize {
    shape.iter().fold(width, |all, extent| all.saturating_mul(*extent))
}

fn is_contiguous(shape: &[usize], strides: &[isize], width: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = width as isize;
    shape.iter().zip(strides).rev().all(|(&extent, &stride)| {
        let right = extent == 1 || stride == expected;
        expected = expected.saturating_mul(extent as isize);
        right
    })
}

/// `<f4` as `float32`.
fn named(kind: &str) -> String {
    let letter = kind.chars().nth(1).unwrap_or('V');
    let bits = kind.get(2..).and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(0) * 8;
    match letter {
        'f' => format!("float{bits}"),
        'i' => format!("int{bits}"),
        'u' => format!("uint{bits}"),
        'c' => format!("complex{bits}"),
        'b' => "bool".to_owned(),
        _ => kind.to_owned(),
    }
}

fn unusable(py: Python<'_>, what: &str, why: &str) -> PyErr {
    usage(py, format!("{what} cannot be used: {why}"), "give an array of numbers, such as one of NumPy")
}

fn scattered(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("{what} is not contiguous in C order, and kernels see memory as it lies");
    usage(py, message, "make it contiguous first: x = numpy.ascontiguousarray(x)")
}

/// <https://dmlc.github.io/dlpack/latest/c_api.html>
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: c_int,
    device_id: c_int,
    dimensions: c_int,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C)]
struct DlVersioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: DlTensor,
}

const CPU: c_int = 1;
const READ_ONLY: u64 = 1;

/// The capsule is not taken over: it keeps the memory, and frees it when it is dropped.
fn by_dlpack(object: &Bound<'_, PyAny>, what: &str) -> PyResult<View> {
    let py = object.py();
    let versioned = PyDict::new(py);
    versioned.set_item("max_version", (1, 0))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&versioned)) {
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            object.call_method0("__dlpack__")?
        }
        other => other?,
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let (tensor, flags) = if capsule.is_valid_checked(Some(c"dltensor_versioned")) {
        let pointer = capsule.pointer_checked(Some(c"dltensor_versioned"))?.cast::<DlVersioned>();
        // SAFETY: a capsule of that name holds such a structure, and is kept.
        let whole = unsafe { pointer.as_ref() };
        (&whole.tensor, whole.flags)
    } else {
        let pointer = capsule.pointer_checked(Some(c"dltensor"))?.cast::<DlTensor>();
        // SAFETY: a capsule of that name holds a structure that begins with the tensor, and is kept.
        (unsafe { pointer.as_ref() }, 0)
    };
    if tensor.device_type != CPU {
        let message = format!("{what} is in the memory of another device");
        return Err(usage(py, message, "copy it to host memory first"));
    }
    let count = usize::try_from(tensor.dimensions).unwrap_or(0);
    let list = |pointer: *const i64| -> Vec<i64> {
        // SAFETY: DLPack has as many extents, and strides if any, as there are dimensions.
        (0..count).map(|place| unsafe { *pointer.add(place) }).collect()
    };
    let shape: Vec<usize> = list(tensor.shape).into_iter().map(|extent| extent as usize).collect();
    let width = usize::from(tensor.bits) * usize::from(tensor.lanes) / 8;
    if width == 0 {
        return Err(unusable(py, what, "its elements are smaller than a byte"));
    }
    if !tensor.strides.is_null() {
        let strides: Vec<isize> =
            list(tensor.strides).into_iter().map(|stride| stride as isize * width as isize).collect();
        if !is_contiguous(&shape, &strides, width) {
            return Err(scattered(py, what));
        }
    }
    let shown = format!("{} bits{shape:?}", tensor.bits);
    Ok(View {
        at: tensor.data as usize + tensor.byte_offset as usize,
        bytes: size(&shape, width),
        read_only: flags & READ_ONLY != 0,
        shown,
        _owner: capsule.into_any().unbind(),
    })
}
