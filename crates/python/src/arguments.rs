// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of a kernel: numbers become values of the parameter's type, arrays become memory of the device. Arrays that share memory share it on the device.

use std::sync::Arc;

use half::f16;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpwatt_runtime::Ty;

use crate::errors::usage;
use crate::memory::View;

/// Memory of the device, with what it holds before the launch.
pub struct Region {
    pub name: String,
    pub data: Vec<u8>,
}

#[derive(Clone)]
pub enum Argument {
    /// The bytes of a value.
    Value(Vec<u8>),
    /// A place in a region.
    Pointer { region: usize, offset: u64 },
    /// An array without elements.
    Null,
}

/// Arguments that are ready for the device.
pub struct Arguments {
    pub list: Vec<Argument>,
    pub regions: Arc<Vec<Region>>,
    arrays: Vec<Placed>,
}

/// An array and its place.
struct Placed {
    /// Of the argument, from 0.
    number: usize,
    view: View,
    region: usize,
    offset: usize,
}

/// What a kernel is, for messages.
pub struct Signature<'a> {
    pub kernel: &'a str,
    pub types: &'a [Option<Ty>],
}

impl Arguments {
    pub fn new(given: &[Bound<'_, PyAny>], signature: &Signature, py: Python<'_>) -> PyResult<Arguments> {
        if given.len() != signature.types.len() {
            let (has, got) = (signature.types.len(), given.len());
            let message =
                format!("`{}` has {has} parameters, and {got} arguments are given", signature.kernel);
            return Err(usage(py, message, "give one argument for each parameter"));
        }
        let mut list = Vec::new();
        let mut arrays = Vec::new();
        for (number, (object, ty)) in given.iter().zip(signature.types).enumerate() {
            let what = format!("argument {} of `{}`", number + 1, signature.kernel);
            list.push(match View::of(object, &what)? {
                Some(view) if ty.is_some() && is_array(object)? => {
                    if !matches!(ty, Some(Ty::U64 | Ty::S64)) {
                        let message = format!("{what} is an array, and the parameter is {}", told(*ty));
                        return Err(usage(
                            py,
                            message,
                            "give a number, or look at the order of the arguments",
                        ));
                    }
                    if view.bytes > 0 {
                        arrays.push((number, view));
                    }
                    Argument::Null
                }
                _ => Argument::Value(value(object, *ty, &what)?),
            });
        }
        let (regions, arrays) = placed(arrays, &mut list);
        Ok(Arguments { list, regions: Arc::new(regions), arrays })
    }

    /// Copies what a launch left in the regions back to the arrays. An array that may not be written has to be as it was.
    pub fn copy_back(&self, after: &[Vec<u8>], kernel: &str, py: Python<'_>) -> PyResult<()> {
        for Placed { number, view, region, offset } in &self.arrays {
            let place = *offset..offset + view.bytes;
            let Some(bytes) = after.get(*region).and_then(|data| data.get(place.clone())) else { continue };
            if *bytes == self.regions[*region].data[place] {
                continue;
            }
            if view.read_only {
                let message = format!("`{kernel}` wrote to argument {}, which is read-only", number + 1);
                return Err(usage(py, message, "give a copy that may be written: x.copy()"));
            }
            view.write(bytes);
        }
        Ok(())
    }
}

/// Numbers of NumPy have an array interface as well.
fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let number = object.hasattr("__float__")? && object.hasattr("item")? && object.hasattr("dtype")?;
    Ok(!number || object.hasattr("__setitem__")?)
}

/// Gives arrays their places: those that overlap lie in one region, in the order of the first of them.
fn placed(arrays: Vec<(usize, View)>, list: &mut [Argument]) -> (Vec<Region>, Vec<Placed>) {
    // Spans of host memory: begin, end, the first argument in it.
    let mut spans: Vec<(usize, usize, usize)> = Vec::new();
    let mut order: Vec<_> =
        arrays.iter().map(|(number, view)| (view.at, view.at + view.bytes, *number)).collect();
    order.sort_unstable();
    for (begin, end, number) in order {
        match spans.last_mut() {
            Some(last) if begin < last.1 => {
                last.1 = last.1.max(end);
                last.2 = last.2.min(number);
            }
            _ => spans.push((begin, end, number)),
        }
    }
    spans.sort_unstable_by_key(|(.., number)| *number);
    let mut regions: Vec<Region> = spans
        .iter()
        .map(|(begin, end, _)| Region { name: String::new(), data: vec![0; end - begin] })
        .collect();
    let mut placed = Vec::new();
    for (number, view) in arrays {
        let Some(region) = spans.iter().position(|(begin, end, _)| (*begin..*end).contains(&view.at)) else {
            continue;
        };
        let offset = view.at - spans[region].0;
        let Region { name, data } = &mut regions[region];
        view.read(&mut data[offset..offset + view.bytes]);
        let gap = if name.is_empty() { "" } else { ", " };
        *name += &format!("{gap}argument {}: {}", number + 1, view.shown);
        list[number] = Argument::Pointer { region, offset: offset as u64 };
        placed.push(Placed { number, view, region, offset });
    }
    (regions, placed)
}

fn told(ty: Option<Ty>) -> String {
    ty.map_or("a structure".to_owned(), |ty| format!("{ty:?}").to_lowercase())
}

/// The bytes of a number, or of a structure.
fn value(object: &Bound<'_, PyAny>, ty: Option<Ty>, what: &str) -> PyResult<Vec<u8>> {
    let py = object.py();
    let refused = |why: String| {
        usage(py, format!("{what} {why}"), "numbers have to fit the parameter; arrays are for pointers")
    };
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let Some(ty) = ty else {
        // A structure: a record of NumPy, or anything else that has bytes.
        let bytes = object.call_method0("tobytes");
        let bytes =
            bytes.map_err(|_| refused(format!("is {}, and the parameter is a structure", shown(object))))?;
        return bytes.extract();
    };
    if ty.is_float() {
        let number: f64 = object
            .extract()
            .map_err(|_| refused(format!("is {}, and the parameter is {}", shown(object), told(Some(ty)))))?;
        return match ty {
            Ty::F64 => Ok(number.to_le_bytes().to_vec()),
            Ty::F32 => Ok((number as f32).to_le_bytes().to_vec()),
            Ty::F16 => Ok(f16::from_f64(number).to_le_bytes().to_vec()),
            _ => Err(refused(format!("cannot be a number: the parameter is {}", told(Some(ty))))),
        };
    }
    let width = ty.bytes() as usize;
    let integer = object
        .call_method0("__index__")
        .map_err(|_| refused(format!("is {}, and the parameter is {}", shown(object), told(Some(ty)))))?;
    let number: i128 = integer.extract().map_err(|_| refused(format!("is {integer}, which is too large")))?;
    let bits = 8 * width as u32;
    let fits = bits >= 128 || (-(1_i128 << (bits - 1))..(1_i128 << bits)).contains(&number);
    if !fits {
        return Err(refused(format!("is {number}, which does not fit {}", told(Some(ty)))));
    }
    Ok(number.to_le_bytes()[..width.min(16)].to_vec())
}

/// A number as it is, and of other objects the type.
fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = match object.hasattr("__float__") {
        Ok(true) => object.str().map(|text| text.to_string()),
        _ => object.get_type().name().map(|name| format!("of type {name}")),
    };
    text.unwrap_or_else(|_| "an object".to_owned())
}
