// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a functional run executed the instructions of each kernel, for the compiler's half of techniques, as a text file:
//!
//! ```text
//! warpwatt.counts/1
//! sha256 0f3a...                    of all that follows this line
//! of vecadd@small, seed 1
//! kernel vecadd code 90ab... 128 128 4096
//! ```
//!
//! `code` is a hash of the kernel's micro-ops, so that counts are never taken for other code; a count for each micro-op follows.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpwatt_codecs::profile::hash;
use warpwatt_isa::Program;

/// The first line of the file.
const VERSION: &str = "warpwatt.counts/1";

/// Counts by kernel and hash of its code: a kernel that is compiled for several budgets of registers has several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// What was run, in words.
    pub of: String,
    kernels: BTreeMap<(String, String), Vec<u64>>,
    /// Kernels that it does not have are weighted without it: it was made for this run from other inputs, which may launch other kernels.
    pub lenient: bool,
}

/// A short name of a program's code.
fn code_of(program: &Program) -> String {
    let mut text = String::new();
    for uop in &program.uops {
        let _ = writeln!(text, "{uop} {} {}", uop.target, uop.reconv);
    }
    hash(&text)[..16].to_owned()
}

impl Profile {
    pub fn new(of: impl Into<String>) -> Profile {
        Profile { of: of.into(), ..Profile::default() }
    }

    /// Adds what one launch of a program executed.
    pub fn add(&mut self, program: &Program, counts: impl ExactSizeIterator<Item = u64>) {
        let key = (program.name.clone(), code_of(program));
        let sums = self.kernels.entry(key).or_insert_with(|| vec![0; counts.len()]);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// Adds what another run counted.
    pub fn absorb(&mut self, other: &Profile) {
        for (key, counts) in &other.kernels {
            let sums = self.kernels.entry(key.clone()).or_insert_with(|| vec![0; counts.len()]);
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// The counts of a program, if it was executed.
    pub fn of(&self, program: &Program) -> Option<&[u64]> {
        self.kernels.get(&(program.name.clone(), code_of(program))).map(Vec::as_slice)
    }

    pub fn to_text(&self) -> String {
        let mut body = format!("of {}\n", self.of.replace('\n', " "));
        for ((kernel, code), counts) in &self.kernels {
            let _ = write!(body, "kernel {kernel} code {code}");
            counts.iter().for_each(|count| body += &format!(" {count}"));
            body.push('\n');
        }
        format!("{VERSION}\nsha256 {}\n{body}", hash(&body))
    }

    /// Reads a text; the error says what is wrong with it.
    pub fn from_text(text: &str) -> Result<Profile, String> {
        let (version, rest) = text.split_once('\n').unwrap_or((text, ""));
        let version = version.trim_end();
        if version != VERSION {
            return Err(match version.strip_prefix("warpwatt.") {
                Some(_) => {
                    let shown: String = version.chars().take(40).collect();
                    format!("this is `{shown}`, and counts of instructions are `{VERSION}`")
                }
                None => format!("these are no counts of instructions: the first line is not `{VERSION}`"),
            });
        }
        let (second, body) = rest.split_once('\n').unwrap_or((rest, ""));
        if second.strip_prefix("sha256 ").map(str::trim_end) != Some(hash(body).as_str()) {
            return Err(
                "the counts are damaged: they do not have the hash that the second line names".to_owned()
            );
        }
        let mut profile = Profile::default();
        for (place, line) in body.lines().enumerate() {
            let wrong = |what: &str| format!("line {}: expected {what}", place + 3);
            if place == 0 {
                let of = line.strip_prefix("of ").ok_or_else(|| wrong("`of` and what was run"))?;
                of.clone_into(&mut profile.of);
                continue;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let ["kernel", kernel, "code", code, counts @ ..] = words.as_slice() else {
                return Err(wrong("`kernel NAME code HASH` and counts"));
            };
            let counts: Result<Vec<u64>, _> = counts.iter().map(|count| count.parse()).collect();
            let counts = counts.map_err(|_| wrong("a count for each instruction"))?;
            profile.kernels.insert(((*kernel).to_owned(), (*code).to_owned()), counts);
        }
        Ok(profile)
    }

    /// Why its counts are not for a program, if they are not.
    pub fn misfit(&self, program: &Program) -> Option<String> {
        if self.of(program).is_some_and(|counts| counts.len() == program.uops.len()) {
            return None;
        }
        if self.kernels.keys().any(|(kernel, _)| *kernel == program.name) {
            return Some(format!(
                "the profile of {} has counts for other code of this kernel: make it with the same `--gpu`, `--max-registers` and `--no-predication`",
                self.of
            ));
        }
        (!self.lenient).then(|| {
            format!(
                "the profile of {} has no counts of this kernel: make it of a run that launches it",
                self.of
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use warpwatt_isa::{Op, Ty, Uop};

    use super::*;

    fn program(name: &str, ops: &[Op]) -> Program {
        let uops = ops.iter().map(|&op| Uop::new(op, Ty::U32)).collect();
        Program { name: name.to_owned(), uops, ..Program::default() }
    }

    #[test]
    fn counts_read_back_and_belong_to_the_code_that_was_counted() {
        let (k, other) = (program("k", &[Op::Nop, Op::Exit]), program("k", &[Op::Nop, Op::Nop, Op::Exit]));
        let mut profile = Profile::new("a test");
        profile.add(&k, [20, 3].into_iter());
        profile.add(&k, [20, 3].into_iter());
        profile.add(&other, [1, 1, 1].into_iter());
        assert_eq!((profile.of(&k), profile.of(&other)), (Some(&[40, 6][..]), Some(&[1, 1, 1][..])));
        assert_eq!(Profile::from_text(&profile.to_text()), Ok(profile.clone()));
        let mut twice = Profile::new("both");
        twice.absorb(&profile);
        twice.absorb(&profile);
        assert_eq!((twice.of(&k), twice.of(&other)), (Some(&[80, 12][..]), Some(&[2, 2, 2][..])));
        assert_eq!((profile.misfit(&k), profile.misfit(&other)), (None, None));
        let changed =
            profile.misfit(&program("k", &[Op::Exit, Op::Nop])).expect("other code of the same length");
        assert!(changed.contains("a test has counts for other code"), "{changed}");
        let unknown = program("j", &[Op::Exit]);
        assert!(profile.misfit(&unknown).is_some_and(|why| why.contains("no counts of this kernel")));
        profile.lenient = true;
        assert_eq!(profile.misfit(&unknown), None);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told() {
        let mut profile = Profile::new("a test");
        profile.add(&program("k", &[Op::Exit]), [7].into_iter());
        let text = profile.to_text();
        let wrong = |text: &str| Profile::from_text(text).expect_err(text);
        assert!(wrong("").contains("no counts of instructions"));
        assert!(wrong("something else\n").contains("no counts of instructions"));
        assert!(wrong(&text.replace("counts/1", "counts/9")).contains("`warpwatt.counts/9`"));
        assert!(wrong("warpwatt.profile/1\nsha256 0\n").contains("`warpwatt.profile/1`"));
        assert!(wrong(&text.replace(" 7", " 8")).contains("damaged"));
        let signed = |body: &str| format!("{VERSION}\nsha256 {}\n{body}", hash(body));
        assert!(wrong(&signed("for a test\n")).contains("line 3"));
        assert!(wrong(&signed("of a test\nk 1\n")).contains("line 4"));
        assert!(wrong(&signed("of a test\nkernel k code 0 one\n")).contains("line 4"));
    }
}
