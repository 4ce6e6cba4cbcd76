// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels as they were compiled, for devices that run the same job one after the other: a functional run that collects a profile, and the timed run
//! that needs it.

use std::sync::{Arc, Mutex, PoisonError};

use warpwatt_isa::Program;

/// What the code of a kernel depends on.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// Name and text of its module.
    pub module: String,
    pub text: Arc<str>,
    pub kernel: String,
    /// What the compiler was asked for: the most registers, proof of the allocation, guards instead of branches.
    pub settings: (u32, bool, bool),
}

impl PartialEq for Origin {
    fn eq(&self, other: &Origin) -> bool {
        (self.settings, &self.kernel, &self.module) == (other.settings, &other.kernel, &other.module)
            && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

/// What was compiled so far.
type Compiled = Vec<(Origin, Arc<Program>)>;

/// Compiled kernels that devices share. By default nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct Programs(Option<Arc<Mutex<Compiled>>>);

impl Programs {
    /// Keeps what is compiled, for all clones of this.
    pub fn kept() -> Programs {
        Programs(Some(Arc::default()))
    }

    /// A kernel: the one that was kept, or as it is compiled now. `origin` tells what its code depends on.
    pub(crate) fn program<E>(
        &self,
        origin: impl FnOnce() -> Origin,
        compile: impl FnOnce() -> Result<Program, E>,
    ) -> Result<Arc<Program>, E> {
        let Some(known) = &self.0 else { return compile().map(Arc::new) };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = origin();
        if let Some((_, program)) = known.iter().find(|(known, _)| *known == origin) {
            return Ok(program.clone());
        }
        let program = Arc::new(compile()?);
        known.push((origin, program.clone()));
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(kernel: &str, registers: u32) -> Origin {
        Origin {
            module: "m.ptx".to_owned(),
            text: "the text".into(),
            kernel: kernel.to_owned(),
            settings: (registers, false, true),
        }
    }

    #[test]
    fn a_kernel_is_compiled_once_for_each_origin() {
        let (programs, mut compiled) = (Programs::kept(), 0);
        for (kernel, registers) in [("a", 63), ("b", 63), ("a", 63), ("a", 32), ("b", 63)] {
            let compile = || {
                compiled += 1;
                Ok::<_, ()>(Program::default())
            };
            programs.clone().program(|| origin(kernel, registers), compile).expect("it compiles");
        }
        assert_eq!(compiled, 3);
    }

    #[test]
    fn by_default_nothing_is_kept_and_errors_never_are() {
        let plain = Programs::default();
        let program =
            || plain.program(|| origin("a", 63), || Ok::<_, ()>(Program::default())).expect("it compiles");
        assert!(!Arc::ptr_eq(&program(), &program()));
        let kept = Programs::kept();
        assert!(kept.program(|| origin("a", 63), || Err("broken")).is_err());
        assert!(kept.program(|| origin("a", 63), || Ok::<_, ()>(Program::default())).is_ok());
    }
}
