// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a functional run executed the instructions of each kernel, for the compiler's half of techniques: a text with a line for each kernel, its name
//! and a count for each micro-op.

use std::collections::BTreeMap;

use warpwatt_isa::Program;

/// The first line of the text.
const HEAD: &str = "warpwatt.profile/1";

/// Counts by kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    kernels: BTreeMap<String, Vec<u64>>,
}

impl Profile {
    /// Adds what one launch of a kernel executed. Builds of a kernel with other registers are other code: the first one counts.
    pub fn add(&mut self, kernel: &str, counts: impl ExactSizeIterator<Item = u64>) {
        let known = self.kernels.entry(kernel.to_owned()).or_insert_with(|| vec![0; counts.len()]);
        if known.len() == counts.len() {
            known.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// The counts of a kernel, if it was executed.
    pub fn of(&self, program: &Program) -> Option<&[u64]> {
        self.kernels.get(&program.name).map(Vec::as_slice)
    }

    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for (kernel, counts) in &self.kernels {
            text += kernel;
            counts.iter().for_each(|count| text += &format!(" {count}"));
            text.push('\n');
        }
        text
    }

    /// Reads a text, or tells what is wrong with it.
    pub fn read(text: &str) -> Result<Profile, String> {
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, head)| head.trim_end() != HEAD) {
            return Err(format!("a profile begins with the line `{HEAD}`"));
        }
        let mut kernels = BTreeMap::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let kernel = words.next().unwrap_or_default().to_owned();
            let counts: Result<Vec<u64>, _> = words.map(str::parse).collect();
            match counts {
                Ok(counts) if !counts.is_empty() => kernels.insert(kernel, counts),
                _ => {
                    return Err(format!(
                        "line {} is not a kernel and the counts of its instructions",
                        number + 1
                    ));
                }
            };
        }
        Ok(Profile { kernels })
    }

    /// What is wrong with it for a program, if anything is.
    pub fn misfit(&self, program: &Program) -> Option<String> {
        let (counts, code) = (self.of(program)?.len(), program.uops.len());
        (counts != code).then(|| {
            format!("the profile has counts for {counts} instructions, and there are {code}: make it with the same options")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_reads_back_and_mistakes_are_told() {
        let mut profile = Profile::default();
        profile.add("k", [1, 20, 3].into_iter());
        profile.add("k", [1, 20, 3].into_iter());
        profile.add("j", [7].into_iter());
        assert_eq!(profile.text(), "warpwatt.profile/1\nj 7\nk 2 40 6\n");
        assert_eq!(Profile::read(&profile.text()), Ok(profile.clone()));
        let wrong = |text: &str| Profile::read(text).expect_err(text);
        assert!(wrong("").contains("begins with"));
        assert!(wrong("warpwatt.profile/1\nk 1\nj\n").contains("line 3"));
        assert!(wrong("warpwatt.profile/1\nk one\n").contains("line 2"));
        let program = Program { name: "j".to_owned(), ..Program::default() };
        assert_eq!(profile.of(&program), Some(&[7][..]));
        assert!(profile.misfit(&program).is_some_and(|why| why.contains("1 instructions, and there are 0")));
        assert_eq!(profile.misfit(&Program::default()), None, "what was not executed has no counts");
    }
}
