// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run leaves to later ones that launch the same kernels: decoded programs, and what SMs keep for a kernel.
//!
//! Programs with many launches run few different kernels, often on few SMs and little of their code: what was not touched need not be cleared.

use warpwatt_exec::stepping::Resident;
use warpwatt_isa::Uop;

use super::threads::Cells;
use crate::sm::{Decoded, Kernel, KernelState};

/// Kernels that are remembered; more than these are forgotten together.
const MOST: usize = 64;

struct Known {
    /// Where its image is, and what is in it: another one may come to lie in the same place.
    image: usize,
    uops: Vec<Uop>,
    decoded: Option<Decoded>,
    /// By SM: as it is when a run starts, but for blocks.
    states: Cells<Option<KernelState>>,
}

#[derive(Default)]
pub struct Left {
    kernels: Vec<Known>,
}

impl Left {
    fn find(&mut self, image: usize, uops: &[Uop]) -> Option<&mut Known> {
        self.kernels.iter_mut().find(|known| known.image == image && known.uops == uops)
    }

    /// The decoded program of an image, if one was left.
    pub fn decoded(&mut self, image: usize, uops: &[Uop]) -> Option<Decoded> {
        self.find(image, uops)?.decoded.take()
    }

    /// What each SM keeps for a kernel, with the residents of earlier kernels that fit it.
    pub fn states(&mut self, kernel: &Kernel, spare: &mut [Vec<Resident>]) -> Vec<KernelState> {
        let image = std::ptr::from_ref(kernel.prepared.image()).addr();
        let mut known = self.find(image, &kernel.prepared.image().program().uops);
        let states = spare.iter_mut().enumerate().map(|(sm, spare)| {
            match known.as_mut().and_then(|known| known.states.as_mut_slice().get_mut(sm)?.take()) {
                Some(mut state) => {
                    let fits = |resident: &mut Resident| resident.fits(&kernel.prepared, kernel.checks);
                    state.residents.extend(spare.extract_if(.., fits));
                    state.unused.extend((0..state.residents.len() as u32).rev());
                    state
                }
                None => KernelState::new(kernel, spare),
            }
        });
        states.collect()
    }

    /// Takes what a kernel leaves: by SM, what it kept for the kernel, without residents, and whether it took a block.
    pub fn leave(&mut self, kernel: Kernel, states: impl Iterator<Item = (Option<KernelState>, bool)>) {
        let image = std::ptr::from_ref(kernel.prepared.image()).addr();
        let uops = &kernel.prepared.image().program().uops;
        let states = states.map(|(state, took)| {
            let mut state = state?;
            state.unused.clear();
            if took {
                clear(&mut state);
            }
            Some(state)
        });
        if let Some(known) = self.find(image, uops) {
            known.decoded = Some(kernel.decoded);
            known.states = states.collect();
            return;
        }
        if self.kernels.len() >= MOST {
            self.kernels.clear();
        }
        let (uops, states) = (uops.clone(), states.collect());
        self.kernels.push(Known { image, uops, decoded: Some(kernel.decoded), states });
    }
}

/// Makes a state as it was when its kernel started.
fn clear(state: &mut KernelState) {
    state.stepper.restart();
    for stalls in &mut state.stalls {
        if stalls.iter().fold(0, |any, &count| any | count) != 0 {
            *stalls = Default::default();
        }
    }
    state.lines.fill(0);
    state.barriers = 0;
}
