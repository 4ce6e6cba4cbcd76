// SPDX-License-Identifier: MIT OR Apache-2.0
//! `kernel`: a kernel of a PTX text or of CUDA C++ that is launched on arrays. Every launch has a device of its own, with memory that holds the arrays and
//! nothing else, so that it does the same every time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use warpwatt_base::suggest;
use warpwatt_cli::front::{Call, Exit, Failure, Job, Stop, Verdict, compiled, read_text, sources_beside};
use warpwatt_results::{Inputs, sha256_hex};
use warpwatt_runtime::{
    Args, Device, DevicePtr, Dim3, Error, LaunchConfig, Ty, demangle, find_kernel, plain_name,
};

use crate::arguments::{Argument, Arguments, Region, Signature};
use crate::errors::raised;
use crate::options::{Options, path};
use crate::record::Record;
use crate::run::{conclude, perform};

/// The program that a kernel is in.
struct Program {
    file: String,
    ptx: String,
    /// Source files by the name that the line table has for them.
    sources: Vec<(String, String)>,
}

/// A kernel; `k[grid, block](...)` launches it.
#[pyclass(frozen, module = "warpwatt")]
pub struct Kernel {
    program: Arc<Program>,
    /// As in the PTX text.
    symbol: String,
    types: Vec<Option<Ty>>,
    options: Options,
}

/// A kernel with the extent of its grid and of its blocks; called with arguments, it is launched.
#[pyclass(frozen, module = "warpwatt")]
pub struct Launch {
    kernel: Py<Kernel>,
    config: LaunchConfig,
}

/// The kernel of this name in a source: a PTX or CUDA C++ file, or its text. Options are those of launches that do not give their own.
#[pyfunction]
#[pyo3(signature = (source, name = None, /, **options))]
pub fn kernel(
    source: &Bound<'_, PyAny>,
    name: Option<&str>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Kernel> {
    let py = source.py();
    let options = Options::new().with(py, options)?;
    let program = program(source)?;
    let found = describe(&program, name).map_err(|failure| raised(py, &failure))?;
    Ok(Kernel { program: Arc::new(program), symbol: found.0, types: found.1, options })
}

/// Reads, and compiles if need be, a source.
fn program(source: &Bound<'_, PyAny>) -> PyResult<Program> {
    let py = source.py();
    let text = path(source)?;
    let is_text = source.is_instance_of::<PyString>() && text.contains('\n');
    if !is_text {
        let file = PathBuf::from(&text);
        let text = read_text(&file).map_err(|failure| raised(py, &failure))?;
        if file.extension().is_some_and(|extension| extension == "cu") {
            return translated(py, text, &file);
        }
        let sources = sources_beside(&text, &file);
        return Ok(Program { file: file.display().to_string(), ptx: text, sources });
    }
    let is_ptx = text.lines().any(|line| line.trim_start().starts_with(".version"));
    match is_ptx {
        true => Ok(Program { file: "kernel.ptx".to_owned(), ptx: text, sources: Vec::new() }),
        false => translated(py, text, Path::new("kernel.cu")),
    }
}

/// CUDA C++ by the compiler that is installed beside the running Python, or another one.
fn translated(py: Python<'_>, text: String, file: &Path) -> PyResult<Program> {
    let folders: Vec<PathBuf> = py.import("sys")?.getattr("path")?.extract()?;
    let ptx = py.detach(|| {
        let wheels = || folders.iter().filter(|folder| folder.join("nvidia").is_dir()).cloned().collect();
        compiled(file, warpwatt_nvrtc::compile_with(&text, file, &wheels))
    });
    let ptx = ptx.map_err(|failure| raised(py, &failure))?;
    let name = file.display().to_string();
    Ok(Program { ptx, sources: vec![(name.clone(), text)], file: name })
}

/// The kernel that is meant, and the types of its parameters.
fn describe(program: &Program, wanted: Option<&str>) -> Result<(String, Vec<Option<Ty>>), Failure> {
    let bad = |error: Error| Failure::device(&error, false);
    let mut device = Device::new().map_err(bad)?;
    let module = device.load_module(&program.file, &program.ptx).map_err(bad)?;
    let kernels = device.kernels(module).map_err(bad)?;
    let shown = || kernels.iter().map(|name| demangle(name)).collect::<Vec<_>>().join(", ");
    let refused = |message: String| Failure::new(Exit::BadInput, message);
    let symbol = match (wanted, &kernels[..]) {
        (_, []) => return Err(refused(format!("{} has no kernels", program.file))),
        (None, [only]) => only.clone(),
        (None, _) => {
            let message = format!("{} has several kernels, and none is named", program.file);
            return Err(refused(message).help(format!("name one of {}", shown())));
        }
        (Some(wanted), _) => match find_kernel(&kernels, wanted) {
            Ok(symbol) => symbol.to_owned(),
            Err(alike) if alike.is_empty() => {
                let plain: Vec<_> = kernels.iter().map(|name| plain_name(name)).collect();
                let names: Vec<_> = plain.iter().map(String::as_str).collect();
                let help = match suggest::nearest(wanted, &names) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("it has {}", shown()),
                };
                return Err(refused(format!("{} has no kernel `{wanted}`", program.file)).help(help));
            }
            Err(alike) => {
                let message = format!("{} has several kernels `{wanted}`", program.file);
                return Err(refused(message).help(format!("name one of {}", alike.join(", "))));
            }
        },
    };
    let types = device.kernel_param_types(module, &symbol).map_err(bad)?;
    Ok((symbol, types))
}

#[pymethods]
impl Kernel {
    /// The kernel with a grid and blocks, and bytes of dynamic shared memory if there is a third place.
    fn __getitem__(slf: &Bound<'_, Self>, extents: &Bound<'_, PyTuple>) -> PyResult<Launch> {
        if !(2..=3).contains(&extents.len()) {
            return Err(PyTypeError::new_err(
                "a kernel is launched as k[grid, block](...) or k[grid, block, shared_bytes](...)",
            ));
        }
        let mut config = LaunchConfig::new(extent(&extents.get_item(0)?)?, extent(&extents.get_item(1)?)?);
        if extents.len() == 3 {
            config = config.shared(extents.get_item(2)?.extract()?);
        }
        Ok(Launch { kernel: slf.clone().unbind(), config })
    }

    /// The kernel as in its source.
    #[getter]
    fn name(&self) -> String {
        demangle(&self.symbol)
    }

    /// The PTX text that it is in.
    #[getter]
    fn ptx(&self) -> &str {
        &self.program.ptx
    }

    /// Types of its parameters; `None` for structures.
    #[getter]
    fn parameters(&self) -> Vec<Option<String>> {
        self.types.iter().map(|ty| Some(format!("{:?}", (*ty)?).to_lowercase())).collect()
    }

    fn __repr__(&self) -> String {
        format!("<warpwatt.Kernel {} of {}>", self.name(), self.program.file)
    }
}

/// A number, or up to three of them.
fn extent(value: &Bound<'_, PyAny>) -> PyResult<Dim3> {
    if let Ok(x) = value.extract::<u32>() {
        return Ok(Dim3::from(x));
    }
    let list: Vec<u32> = value.extract()?;
    match list[..] {
        [x] => Ok(Dim3::from(x)),
        [x, y] => Ok(Dim3::from((x, y))),
        [x, y, z] => Ok(Dim3::from((x, y, z))),
        _ => Err(PyTypeError::new_err("an extent is a number, or a tuple of up to three")),
    }
}

/// An extent as it is given in Python.
fn shown(extent: Dim3) -> String {
    match extent {
        Dim3 { x, y: 1, z: 1 } => x.to_string(),
        Dim3 { x, y, z: 1 } => format!("({x}, {y})"),
        Dim3 { x, y, z } => format!("({x}, {y}, {z})"),
    }
}

#[pymethods]
impl Launch {
    /// Launches the kernel on a device of its own, copies what it wrote back to the arrays, and gives the record.
    #[pyo3(signature = (*arguments, **options))]
    fn __call__(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Record> {
        let kernel = self.kernel.get();
        let options = kernel.options.with(py, options)?;
        let plain = plain_name(&kernel.symbol);
        let signature = Signature { kernel: &plain, types: &kernel.types };
        let given: Vec<_> = arguments.iter().collect();
        let arguments = Arguments::new(&given, &signature, py)?;
        let running = Arc::new(Running {
            program: kernel.program.clone(),
            symbol: kernel.symbol.clone(),
            config: self.config,
            regions: arguments.regions.clone(),
            list: arguments.list.clone(),
            after: Mutex::default(),
        });
        let finished = perform(py, &Job::Call(running.clone()), &options)?;
        let complete = finished.measured.result.is_ok();
        let record = conclude(py, finished)?;
        if complete {
            let after = std::mem::take(&mut *running.after.lock().unwrap_or_else(PoisonError::into_inner));
            arguments.copy_back(&after, &plain, py)?;
        }
        Ok(record)
    }

    fn __repr__(&self) -> String {
        let LaunchConfig { grid, block, .. } = self.config;
        let name = plain_name(&self.kernel.get().symbol);
        format!("<warpwatt.Launch {name}[{}, {}]>", shown(grid), shown(block))
    }
}

/// One launch as a job. It has copies of the arrays, so that it can be repeated and needs no lock.
struct Running {
    program: Arc<Program>,
    symbol: String,
    config: LaunchConfig,
    regions: Arc<Vec<Region>>,
    list: Vec<Argument>,
    /// What the regions hold after the last launch.
    after: Mutex<Vec<Vec<u8>>>,
}

impl Call for Running {
    fn name(&self) -> String {
        let LaunchConfig { grid, block, .. } = self.config;
        format!("{}[{}, {}]", plain_name(&self.symbol), shown(grid), shown(block))
    }

    fn inputs(&self) -> Inputs {
        Inputs { ptx_sha256: sha256_hex(self.program.ptx.as_bytes()), ..Inputs::default() }
    }

    fn execute(&self, device: &mut Device) -> Result<Verdict, Stop> {
        let mut run = || -> Result<Vec<Vec<u8>>, Error> {
            let module = device.load_module(&self.program.file, &self.program.ptx)?;
            for (name, text) in &self.program.sources {
                device.add_source(name, text);
            }
            let mut places = Vec::new();
            for Region { name, data } in &*self.regions {
                let at = device.alloc_named(data.len() as u64, name)?;
                device.write(at, data)?;
                places.push(at);
            }
            let args = self.list.iter().fold(Args::new(), |args, argument| match argument {
                Argument::Value(bytes) => args.bytes(bytes),
                Argument::Pointer { region, offset } => args.ptr(places[*region].offset(*offset)),
                Argument::Null => args.ptr(DevicePtr(0)),
            });
            device.launch(module, &self.symbol, &self.config, &args)?;
            let mut after = Vec::new();
            for (at, region) in places.iter().zip(&*self.regions) {
                let mut bytes = vec![0; region.data.len()];
                device.read(*at, &mut bytes)?;
                after.push(bytes);
            }
            Ok(after)
        };
        let after = run().map_err(|error| Stop::Device { error, context: None })?;
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = after;
        Ok(Verdict::default())
    }
}
