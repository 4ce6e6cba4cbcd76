// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few calls of NVRTC that compiling takes, by its public C interface.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use libloading::{Library, Symbol};

use crate::{Error, Found};

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// Compiles a source that is called `name`.
pub fn compile(found: &Found, source: &str, name: &str, options: &[String]) -> Result<String, Error> {
    let broken = |reason: String| Error::Broken { path: found.library.clone(), reason };
    let text = |text: &str| {
        CString::new(text)
            .map_err(|_| Error::Refused { log: format!("{name}: the source has a NUL character") })
    };
    let (source, c_name) = (text(source)?, text(name)?);
    let options = options.iter().map(|option| text(option)).collect::<Result<Vec<_>, _>>()?;
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: the library is NVIDIA's, whose interface the types above declare.
    let library = unsafe { Library::new(&found.library) }.map_err(|error| broken(error.to_string()))?;
    // SAFETY: types of functions are those of the C interface.
    let api = unsafe { Api::load(&library) }.map_err(|error| broken(error.to_string()))?;
    let mut program: Program = std::ptr::null_mut();
    // SAFETY: all texts live until the end of this function and end with NUL; there are no headers besides files.
    let created = unsafe {
        (api.create)(&mut program, source.as_ptr(), c_name.as_ptr(), 0, std::ptr::null(), std::ptr::null())
    };
    if created != 0 {
        return Err(broken(api.error(created)));
    }
    // SAFETY: the program was created above, and the options are as many as said.
    let compiled = unsafe { (api.compile)(program, options.len() as c_int, options.as_ptr()) };
    let result = if compiled == 0 {
        api.text(program, &api.ptx_size, &api.ptx).map_err(|code| broken(api.error(code)))
    } else {
        let log = api.text(program, &api.log_size, &api.log).unwrap_or_default();
        Err(if log.trim().is_empty() {
            broken(api.error(compiled))
        } else {
            Error::Refused { log: log.trim().to_owned() }
        })
    };
    // SAFETY: the program was created above and is not used any more.
    unsafe { (api.destroy)(&mut program) };
    result
}

struct Api<'l> {
    create: Symbol<'l, Create>,
    compile: Symbol<'l, Compile>,
    destroy: Symbol<'l, Destroy>,
    error_string: Symbol<'l, ErrorString>,
    ptx_size: Symbol<'l, Size>,
    ptx: Symbol<'l, Text>,
    log_size: Symbol<'l, Size>,
    log: Symbol<'l, Text>,
}

impl<'l> Api<'l> {
    /// # Safety
    /// The library has to be NVRTC.
    unsafe fn load(library: &'l Library) -> Result<Api<'l>, libloading::Error> {
        // SAFETY: the caller promises that the names have the types of NVRTC's interface.
        unsafe {
            Ok(Api {
                create: library.get(b"nvrtcCreateProgram\0")?,
                compile: library.get(b"nvrtcCompileProgram\0")?,
                destroy: library.get(b"nvrtcDestroyProgram\0")?,
                error_string: library.get(b"nvrtcGetErrorString\0")?,
                ptx_size: library.get(b"nvrtcGetPTXSize\0")?,
                ptx: library.get(b"nvrtcGetPTX\0")?,
                log_size: library.get(b"nvrtcGetProgramLogSize\0")?,
                log: library.get(b"nvrtcGetProgramLog\0")?,
            })
        }
    }

    /// A text whose size, with its NUL, is queried first.
    fn text(&self, program: Program, size: &Size, get: &Text) -> Result<String, c_int> {
        let mut bytes = 0_usize;
        // SAFETY: the program is alive and the size has room.
        let code = unsafe { size(program, &mut bytes) };
        if code != 0 {
            return Err(code);
        }
        let mut text = vec![0_u8; bytes];
        // SAFETY: the buffer has as many bytes as the library asked for.
        let code = unsafe { get(program, text.as_mut_ptr().cast()) };
        if code != 0 {
            return Err(code);
        }
        while text.last() == Some(&0) {
            text.pop();
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn error(&self, code: c_int) -> String {
        // SAFETY: any code may be asked about; the answer is a text that lives as long as the library.
        let text = unsafe {
            let text = (self.error_string)(code);
            if text.is_null() { return format!("error {code}") } else { CStr::from_ptr(text) }
        };
        text.to_string_lossy().into_owned()
    }
}
