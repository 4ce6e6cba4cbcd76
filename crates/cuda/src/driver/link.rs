// SPDX-License-Identifier: MIT OR Apache-2.0
//! The linker: several PTX texts become one. Its result is PTX, for the module loader.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::handle::{HandleKind, Table};
use crate::core::state::say;
use crate::core::{Code, Core, Result, with};
use crate::driver::entry::check_initialized;
use crate::driver::module::{JitOptions, file};
use crate::driver::{In, Out, Text, api};
use crate::fatbin;

/// A link in progress.
struct Link {
    options: JitOptions,
    texts: Vec<(String, String)>,
    /// What was handed out; it lives as long as the link.
    linked: Option<Vec<u8>>,
}

// SAFETY: the options lead to memory of the program's, which it keeps until the link ends, in whatever thread.
unsafe impl Send for Link {}

static LINKS: Mutex<Option<Table<Link>>> = Mutex::new(None);

/// `CUjitInputType`.
const CUBIN: u32 = 0;
const PTX: u32 = 1;
const KINDS: u32 = 6;

struct Links(MutexGuard<'static, Option<Table<Link>>>);

impl Links {
    fn table(&mut self) -> &mut Table<Link> {
        self.0.get_or_insert_with(|| Table::new(HandleKind::Link))
    }
}

fn links() -> Links {
    Links(LINKS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Reports a problem on stderr and in the program's log buffer.
fn refuse(options: &JitOptions, text: &str, code: Code) -> Code {
    say(text);
    options.report::<()>(&Err(code), text);
    code
}

fn add(state: u64, kind: u32, image: &[u8], name: &str) -> Result<()> {
    if kind >= KINDS {
        return Err(Code::INVALID_VALUE);
    }
    let capability = with(|core: &mut Core| Ok(core.session.capability))?;
    let mut links = links();
    let link = links.table().get_mut(state)?;
    if link.linked.is_some() {
        return Err(Code::INVALID_VALUE);
    }
    // The device runtime's functions are built in.
    if name.rsplit('/').next() == Some("libcudadevrt.a") {
        return Ok(());
    }
    if image.starts_with(b"!<arch>") {
        let text = format!("{name}: archives cannot be linked; give the linker the PTX of its members");
        return Err(refuse(&link.options, &text, Code::INVALID_IMAGE));
    }
    let text = match kind {
        PTX => String::from_utf8_lossy(image).trim_end_matches('\0').to_owned(),
        CUBIN => {
            let text = format!("{name}: machine code cannot be linked; give the linker PTX instead");
            return Err(refuse(&link.options, &text, Code::NO_BINARY_FOR_GPU));
        }
        _ => {
            let entries = fatbin::decode(image)
                .map_err(|error| refuse(&link.options, &format!("{name}: {error}"), Code::INVALID_IMAGE))?;
            fatbin::choose(&entries, capability).map_err(|refusal| {
                refuse(&link.options, &format!("{name}: {refusal}"), Code::NO_BINARY_FOR_GPU)
            })?
        }
    };
    link.texts.push((name.to_owned(), text));
    Ok(())
}

fn complete(state: u64, image: Out<u64>, bytes: Out<usize>) -> Result<()> {
    let mut links = links();
    let link = links.table().get_mut(state)?;
    if link.linked.is_none() {
        if link.texts.is_empty() {
            return Err(Code::INVALID_VALUE);
        }
        let texts: Vec<(&str, &str)> =
            link.texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let linked = warpwatt_ptx::link(&texts).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(|problem| problem.message.clone()).collect();
            refuse(
                &link.options,
                &format!("these modules cannot be linked: {}", lines.join("; ")),
                Code::INVALID_PTX,
            )
        })?;
        let linked = match link.options.max_registers() {
            Some(most) => limit_registers(&linked, most),
            None => linked,
        };
        link.options.report::<()>(&Ok(()), "");
        link.linked = Some(linked.into_bytes().into_iter().chain([0]).collect());
    }
    let linked = link.linked.as_ref().ok_or(Code::UNKNOWN)?;
    image.put(linked.as_ptr() as u64)?;
    // The 0 at the end is counted, so that a copy of the image is still a C string.
    bytes.put_if(linked.len());
    Ok(())
}

/// Gives every kernel that has none a `.maxnreg`, between its parameters and its body.
fn limit_registers(text: &str, most: u32) -> String {
    let (mut limited, mut rest) = (String::with_capacity(text.len() + 64), text);
    // Since the last `.entry`: how deep in parentheses, and whether there is a limit already.
    let mut header: Option<(u32, bool)> = None;
    while let Some(first) = rest.chars().next() {
        let comment = [("//", "\n"), ("/*", "*/")].iter().find(|(start, _)| rest.starts_with(start));
        let taken = match comment {
            Some((start, end)) => {
                rest[start.len()..].find(end).map_or(rest.len(), |at| start.len() + at + end.len())
            }
            None if rest.starts_with(".entry") => {
                header = Some((0, false));
                ".entry".len()
            }
            None => {
                header = match (header, first) {
                    (Some((depth, limit)), '(') => Some((depth + 1, limit)),
                    (Some((depth, limit)), ')') => Some((depth.saturating_sub(1), limit)),
                    (Some((0, limit)), '{') => {
                        if !limit {
                            limited.push_str(&format!(".maxnreg {most}\n"));
                        }
                        None
                    }
                    (Some((0, _)), ';') => None,
                    (Some((depth, limit)), _) => Some((depth, limit || rest.starts_with(".maxnreg"))),
                    (None, _) => None,
                };
                first.len_utf8()
            }
        };
        limited.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    limited
}

api! {
    fn cuLinkCreate_v2 [also cuLinkCreate] (count: u32, options: In<u32>, values: Out<u64>, state: Out<u64>) {
        check_initialized()?;
        state.check()?;
        let options = JitOptions::read(count, options, values)?;
        state.put(links().table().insert(Link { options, texts: Vec::new(), linked: None }))
    }

    fn cuLinkAddData_v2 [also cuLinkAddData] (
        state: u64,
        kind: u32,
        data: In<u8>,
        size: usize,
        name: Text,
        _count: u32,
        _options: In<u32>,
        _values: Out<u64>,
    ) {
        check_initialized()?;
        let name = if name.is_null() { "linked.ptx".to_owned() } else { name.get()? };
        if data.is_null() || size == 0 {
            return Err(Code::INVALID_VALUE);
        }
        add(state, kind, &data.list(size)?, &name)
    }

    fn cuLinkAddFile_v2 [also cuLinkAddFile] (
        state: u64,
        kind: u32,
        path: Text,
        _count: u32,
        _options: In<u32>,
        _values: Out<u64>,
    ) {
        check_initialized()?;
        let (name, bytes) = file(path)?;
        add(state, kind, &bytes, &name)
    }

    fn cuLinkComplete(state: u64, image: Out<u64>, bytes: Out<usize>) {
        check_initialized()?;
        image.check()?;
        complete(state, image, bytes)
    }

    fn cuLinkDestroy(state: u64) {
        check_initialized()?;
        links().table().remove(state).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::limit_registers;

    #[test]
    fn a_limit_of_registers_goes_between_parameters_and_body() {
        let text = ".version 7.0 // .entry {\n.func f(.param .b32 a) { ret; }\n.entry a(.param .b64 p[2])\n{ ret; }\n\
            .entry b .maxnreg 16 /* { */ { ret; }\n.extern .entry c;\n.entry d { ret; }";
        let limited = ".version 7.0 // .entry {\n.func f(.param .b32 a) { ret; }\n.entry a(.param .b64 p[2])\n.maxnreg 38\n{ ret; }\n\
            .entry b .maxnreg 16 /* { */ { ret; }\n.extern .entry c;\n.entry d .maxnreg 38\n{ ret; }";
        assert_eq!(limit_registers(text, 38), limited);
    }
}
