// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executes a launch file on a device: allocates the buffers, then runs the steps.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use warpwatt_memory::ALIGNMENT;
use warpwatt_runtime::texture::{Image, Shape, Storage};
use warpwatt_runtime::{Args, Device, DevicePtr, Error, LaunchConfig, ModuleId, find_kernel};

use super::content::{Content, Element, Number};
use super::{Action, Arg, Buffer, BufferOffset, Launch, LaunchFile, Texture};

/// What the comparisons of a launch file found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Comparisons made.
    pub comparisons: u64,
    /// Elements compared.
    pub compared: u64,
    /// Largest difference of an element from its expected value.
    pub max_error: f64,
    /// Largest tolerance that any element had.
    pub tolerance: f64,
    /// One sentence per comparison that failed.
    pub failures: Vec<String>,
}

impl Outcome {
    /// Adds a comparison of `count` elements, made by a line of the launch file.
    fn add(&mut self, found: &Comparison, count: u64, line: u32, buffer: &str) {
        self.comparisons += 1;
        self.compared += count;
        self.max_error = self.max_error.max(found.max_error);
        self.tolerance = self.tolerance.max(found.tolerance);
        if let Some((index, expected, actual)) = &found.first {
            self.failures.push(format!(
                "line {line}: `{buffer}` differs in {} of {count} elements; element {index} is {actual}, expected {expected}",
                found.wrong
            ));
        }
    }

    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error("{error}")]
    Device { line: u32, error: Error },
    #[error("cannot {verb} {}: {error}", path.display())]
    File { line: u32, verb: &'static str, path: PathBuf, error: std::io::Error },
    /// The file requests something that does not fit.
    #[error("{message}")]
    Request { line: u32, message: String },
}

impl PlayError {
    /// Line of the launch file that was carried out.
    pub fn line(&self) -> u32 {
        match self {
            PlayError::Device { line, .. }
            | PlayError::File { line, .. }
            | PlayError::Request { line, .. } => *line,
        }
    }
}

/// Carries out `file`, whose paths are relative to `folder`, with the kernels of `module`. What was compared is in `outcome`
/// even if a later step fails.
pub fn play(
    file: &LaunchFile,
    folder: &Path,
    device: &mut Device,
    module: ModuleId,
    outcome: &mut Outcome,
) -> Result<(), PlayError> {
    let mut player =
        Player { folder, device, module, buffers: HashMap::new(), textures: HashMap::new(), line: 0 };
    for buffer in &file.buffers {
        player.line = buffer.line;
        player.take(buffer)?;
    }
    for texture in &file.textures {
        player.line = texture.line;
        player.texture(texture)?;
    }
    for step in &file.steps {
        player.line = step.line;
        player.step(&step.action, outcome)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Taken {
    at: DevicePtr,
    bytes: u64,
    element: Element,
}

struct Player<'a> {
    folder: &'a Path,
    device: &'a mut Device,
    module: ModuleId,
    buffers: HashMap<String, Taken>,
    /// Handles of textures and surfaces.
    textures: HashMap<String, u64>,
    /// Line of the launch file that is being carried out.
    line: u32,
}

impl Player<'_> {
    /// The kernel that a name means. A name that none has is left for the device to refuse.
    fn kernel(&mut self, wanted: &str) -> Result<String, PlayError> {
        let module = self.module;
        let all = self.ok(|device| device.kernels(module))?;
        match find_kernel(&all, wanted) {
            Ok(name) => Ok(name.to_owned()),
            Err(alike) if alike.is_empty() => Ok(wanted.to_owned()),
            Err(alike) => {
                self.request(format!("several kernels are called `{wanted}`: {}", alike.join(", ")))
            }
        }
    }

    fn take(&mut self, buffer: &Buffer) -> Result<(), PlayError> {
        // Memory is zero when it is taken; not touching it keeps large buffers cheap.
        let data = match buffer.content {
            Content::Zero => None,
            _ => Some(self.bytes(&buffer.content, buffer.element, buffer.count)?.0),
        };
        let zeros = buffer.count.unwrap_or(0).saturating_mul(buffer.element.bytes());
        let bytes = data.as_ref().map_or(zeros, |data| data.len() as u64);
        let at = match buffer.address {
            None => self.ok(|device| device.alloc_named(bytes, &buffer.name))?,
            Some(address) if address % ALIGNMENT != 0 => {
                return self.request(format!("the address {address:#x} is not a multiple of {ALIGNMENT}"));
            }
            Some(address) => {
                self.ok(|device| device.alloc_at(DevicePtr(address), bytes, &buffer.name))?;
                DevicePtr(address)
            }
        };
        match data {
            Some(data) => self.ok(|device| device.write(at, &data))?,
            None => self.device.mark_written(at, bytes),
        }
        self.buffers.insert(buffer.name.clone(), Taken { at, bytes, element: buffer.element });
        Ok(())
    }

    fn texture(&mut self, texture: &Texture) -> Result<(), PlayError> {
        let taken = self.taken(&texture.buffer)?;
        let (storage, _) = match texture.shape {
            Shape::Linear => {
                let bytes = u64::from(texture.extent[0]) * u64::from(texture.format.texel_bytes());
                (Storage::linear(0, bytes, texture.format), bytes)
            }
            shape => Storage::array(shape, texture.extent, 1, texture.format),
        };
        let needed = storage.levels.iter().map(|level| level.slice * u64::from(level.depth)).sum();
        self.fits(needed, taken.bytes, &texture.buffer)?;
        let image = Image { storage: storage.at(taken.at.0), sampler: texture.sampler };
        if let Some(reference) = &texture.reference {
            let (module, image) = (self.module, image.clone());
            self.ok(|device| device.bind(module, reference, image))?;
        }
        let handle = self.device.create_image(image);
        self.textures.insert(texture.name.clone(), handle);
        Ok(())
    }

    fn step(&mut self, action: &Action, outcome: &mut Outcome) -> Result<(), PlayError> {
        match action {
            Action::Launch(launch) => self.launch(launch),
            Action::Write { to, element, count, content } => {
                let (at, room) = self.place(to)?;
                let count = count.or_else(|| content.own_count()).or(by_room(content, room, *element));
                let (data, _) = self.bytes(content, *element, count)?;
                self.fits(data.len() as u64, room, &to.buffer)?;
                self.ok(|device| device.write(at, &data))
            }
            Action::Symbol { name, offset, element, count, content } => {
                let module = self.module;
                let (at, size) = self.ok(|device| device.symbol(module, name))?;
                let room = size.saturating_sub(*offset);
                let count = count.or_else(|| content.own_count()).or(by_room(content, room, *element));
                let (data, _) = self.bytes(content, *element, count)?;
                self.fits(data.len() as u64, room, name)?;
                self.ok(|device| device.write(at.offset(*offset), &data))
            }
            Action::Memset { to, value, bytes } => {
                let (at, room) = self.place(to)?;
                let bytes = bytes.unwrap_or(room);
                self.fits(bytes, room, &to.buffer)?;
                self.ok(|device| device.memset(at, *value, bytes))
            }
            Action::Copy { to, from, bytes } => {
                let ((target, target_room), (source, source_room)) = (self.place(to)?, self.place(from)?);
                let bytes = bytes.unwrap_or(target_room.min(source_room));
                self.fits(bytes, target_room, &to.buffer)?;
                self.fits(bytes, source_room, &from.buffer)?;
                self.ok(|device| device.copy(target, source, bytes))
            }
            Action::Dump { from, bytes, file, text } => {
                let data = self.contents(from, *bytes)?;
                let element = self.taken(&from.buffer)?.element;
                let data = if *text { as_text(element, &data).into_bytes() } else { data };
                let path = self.folder.join(file);
                std::fs::write(&path, data).map_err(|error| self.file_error("write", path, error))
            }
            Action::Compare { with, element, count, expected, abs, rel } => {
                let (_, room) = self.place(with)?;
                let count = count.or_else(|| expected.own_count()).or(by_room(expected, room, *element));
                let (want, count) = self.bytes(expected, *element, count)?;
                self.fits(want.len() as u64, room, &with.buffer)?;
                let got = self.contents(with, Some(want.len() as u64))?;
                let found = compare(*element, &want, &got, *abs, *rel);
                outcome.add(&found, count, self.line, &with.buffer);
                Ok(())
            }
            Action::Free(buffer) => {
                let at = self.taken(buffer)?.at;
                self.ok(|device| device.free(at))?;
                self.buffers.remove(buffer);
                Ok(())
            }
        }
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), PlayError> {
        let mut args = Args::new();
        let module = self.module;
        let kernel = self.kernel(&launch.kernel)?;
        let types = self.ok(|device| device.kernel_param_types(module, &kernel))?;
        for (number, arg) in launch.args.iter().enumerate() {
            let wanted = types.get(number).copied().flatten();
            if let (Arg::Number(element, _), Some(wanted)) = (arg, wanted)
                && element.is_float() != wanted.is_float()
            {
                let (given, wanted) = (element.name(), format!("{wanted:?}").to_lowercase());
                return self.request(format!(
                    "argument {} of `{}` is given as {given}, but the parameter is {wanted}",
                    number + 1,
                    launch.kernel
                ));
            }
            args = match arg {
                Arg::Buffer(place) => args.ptr(self.place(place)?.0),
                Arg::Symbol { name, offset } => {
                    args.ptr(self.ok(|device| device.symbol(module, name))?.0.offset(*offset))
                }
                Arg::Texture(name) => args.u64(self.textures.get(name).copied().unwrap_or_default()),
                Arg::Bytes(bytes) | Arg::Number(_, bytes) => args.bytes(bytes),
            };
        }
        let mut config =
            LaunchConfig::new(launch.grid, launch.block).shared(launch.shared).stream(launch.stream);
        (config.cooperative, config.prefer_l1) = (launch.cooperative, launch.prefer_l1);
        self.ok(|device| device.launch(module, &kernel, &config, &args))
    }

    /// The bytes of a content, and how many elements they are.
    fn bytes(
        &self,
        content: &Content,
        element: Element,
        count: Option<u64>,
    ) -> Result<(Vec<u8>, u64), PlayError> {
        let mut raw = Vec::new();
        let mut count = count;
        if let Content::File(file) = content {
            let path = self.folder.join(file);
            raw = std::fs::read(&path).map_err(|error| self.file_error("read", path, error))?;
            let size = raw.len() as u64;
            let wanted = count.unwrap_or(size / element.bytes());
            if wanted * element.bytes() != size {
                let shown = file.display();
                let name = element.name();
                return self.request(format!(
                    "{shown} has {size} bytes, which are not {wanted} elements of type {name}"
                ));
            }
            count = Some(wanted);
        }
        let count = count.unwrap_or(0);
        Ok((content.bytes(element, count, &raw), count))
    }

    fn taken(&self, buffer: &str) -> Result<Taken, PlayError> {
        match self.buffers.get(buffer) {
            Some(taken) => Ok(*taken),
            None => self.request(format!("buffer `{buffer}` was freed before this step")),
        }
    }

    /// An address in a buffer, and how many bytes there are from it on.
    fn place(&self, place: &BufferOffset) -> Result<(DevicePtr, u64), PlayError> {
        let taken = self.taken(&place.buffer)?;
        if place.offset > taken.bytes {
            let (offset, name, bytes) = (place.offset, &place.buffer, taken.bytes);
            return self
                .request(format!("the offset {offset} lies outside of `{name}`, which has {bytes} bytes"));
        }
        Ok((taken.at.offset(place.offset), taken.bytes - place.offset))
    }

    fn contents(&mut self, from: &BufferOffset, bytes: Option<u64>) -> Result<Vec<u8>, PlayError> {
        let (at, room) = self.place(from)?;
        let bytes = bytes.unwrap_or(room);
        self.fits(bytes, room, &from.buffer)?;
        let mut data = vec![0; bytes as usize];
        self.ok(|device| device.read(at, &mut data))?;
        Ok(data)
    }

    fn fits(&self, bytes: u64, room: u64, name: &str) -> Result<(), PlayError> {
        if bytes <= room {
            return Ok(());
        }
        self.request(format!("{bytes} bytes do not fit: `{name}` has {room} from there on"))
    }

    fn ok<T>(&mut self, call: impl FnOnce(&mut Device) -> Result<T, Error>) -> Result<T, PlayError> {
        call(self.device).map_err(|error| PlayError::Device { line: self.line, error })
    }

    fn request<T>(&self, message: String) -> Result<T, PlayError> {
        Err(PlayError::Request { line: self.line, message })
    }

    fn file_error(&self, verb: &'static str, path: PathBuf, error: std::io::Error) -> PlayError {
        PlayError::File { line: self.line, verb, path, error }
    }
}

/// Contents without a size of their own fill what there is.
fn by_room(content: &Content, room: u64, element: Element) -> Option<u64> {
    (!matches!(content, Content::File(_))).then(|| room / element.bytes())
}

struct Comparison {
    wrong: u64,
    /// Index, expected and actual value of the first element that is off.
    first: Option<(usize, Number, Number)>,
    max_error: f64,
    tolerance: f64,
}

fn compare(element: Element, want: &[u8], got: &[u8], abs: f64, rel: f64) -> Comparison {
    let size = element.bytes() as usize;
    let mut found = Comparison { wrong: 0, first: None, max_error: 0.0, tolerance: 0.0 };
    for (index, (want, got)) in want.chunks_exact(size).zip(got.chunks_exact(size)).enumerate() {
        let (expected, actual) = (element.get(want), element.get(got));
        let tolerance = abs + rel * expected.as_f64().abs();
        found.tolerance = found.tolerance.max(tolerance);
        if want == got || expected == actual {
            continue;
        }
        let error = match (expected, actual) {
            (Number::Int(expected), Number::Int(actual)) => (expected - actual).unsigned_abs() as f64,
            _ => (expected.as_f64() - actual.as_f64()).abs(),
        };
        // A NaN where a number should be is as wrong as can be.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        found.max_error = found.max_error.max(error);
        if !(error <= tolerance && error.is_finite()) {
            found.wrong += 1;
            found.first.get_or_insert((index, expected, actual));
        }
    }
    found
}

fn as_text(element: Element, data: &[u8]) -> String {
    let numbers = data.chunks_exact(element.bytes() as usize).map(|bytes| element.get(bytes));
    numbers.map(|number| format!("{number}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn a_comparison_respects_its_tolerances() {
        let (want, got) = (f32s(&[100.0, 0.0, 1.0]), f32s(&[101.0, 0.5, 1.0]));
        let off = |abs, rel| compare(Element::F32, &want, &got, abs, rel).wrong;
        assert_eq!(off(0.0, 0.0), 2);
        assert_eq!(off(0.0, 0.02), 1);
        assert_eq!(off(0.5, 0.02), 0);
        assert_eq!(off(1.0, 0.0), 0);
    }

    #[test]
    fn nan_equals_only_itself() {
        let nan = f32s(&[f32::NAN]);
        assert_eq!(compare(Element::F32, &nan, &nan, 0.0, 0.0).wrong, 0);
        assert_eq!(compare(Element::F32, &f32s(&[1.0]), &nan, 1e30, 1e30).wrong, 1);
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let (want, got) = (u64::MAX.to_le_bytes(), (u64::MAX - 1).to_le_bytes());
        assert_eq!(compare(Element::U64, &want, &got, 0.5, 0.0).wrong, 1);
        assert_eq!(compare(Element::U64, &want, &got, 1.0, 0.0).wrong, 0);
    }
}
