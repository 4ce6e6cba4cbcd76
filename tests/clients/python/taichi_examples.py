# SPDX-License-Identifier: MIT OR Apache-2.0
"""Examples that come with Taichi, unmodified, but for the window: what they would show in their first frames is taken down. Each runs on the
CPU and on the simulated GPU, and both have to show the same; where an example starts from random numbers, a picture of the same kind.

    taichi_examples.py [NAME ...]    a few of them, by their file names"""

import contextlib
import io
import runpy
import sys
from pathlib import Path

import numpy as np

import taichi as ti

FOLDER = Path(ti.__file__).parent / "examples"
# Path, frames, and whether it starts from random numbers.
EXAMPLES = [
    ("minimal.py", 1, False),
    ("algorithm/laplace.py", 1, False),
    ("algorithm/print_offset.py", 1, False),
    ("autodiff/minimization.py", 1, True),
    ("rendering/simple_uv.py", 1, False),
    ("rendering/taichi_logo.py", 1, False),
    ("simulation/fractal.py", 1, False),
    ("simulation/mandelbrot_zoom.py", 1, False),
    ("simulation/waterwave.py", 2, False),
    ("simulation/ad_gravity.py", 1, True),
    ("simulation/game_of_life.py", 2, True),
    ("simulation/nbody.py", 1, True),
    ("simulation/mpm88.py", 1, True),
    ("simulation/initial_value_problem.py", 1, True),
]
initialise = ti.init


class Headless:
    """Stands in for a window: takes down what is shown, and ends the program after some frames."""

    frames, shown = 1, []
    running, fps_limit, res, frame = True, None, (512, 512), 0

    def __init__(self, *_, **__):
        pass

    def get_event(self, *_):
        return False

    def get_events(self, *_):
        return []

    def is_pressed(self, *_):
        return False

    def get_cursor_pos(self):
        return 0.5, 0.5

    def show(self, *_):
        self.frame += 1
        if self.frame >= Headless.frames:
            raise SystemExit(0)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def draw(*arguments, **options):
            for a in arguments:
                values = a.to_numpy() if hasattr(a, "to_numpy") else a
                if isinstance(values, np.ndarray):
                    Headless.shown.append((name, np.array(values)))

        return draw


WINDOW = ti.GUI
for constant in dir(WINDOW):
    if constant.isupper():
        setattr(Headless, constant, getattr(WINDOW, constant))


def run(path, frames, arch):
    """What an example shows and prints on a machine."""
    Headless.frames, Headless.shown = frames, []

    def init(*_, **options):
        initialise(**(options | {"arch": arch, "offline_cache": False, "log_level": ti.ERROR, "random_seed": 1}))
        assert ti.lang.impl.current_cfg().arch == arch, "Taichi did not take the GPU"

    ti.init, ti.GUI = init, Headless
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        runpy.run_path(str(FOLDER / path), run_name="__main__")
    lines = [line for line in said.getvalue().splitlines() if not line.startswith("[Taichi]")]
    return "\n".join(lines), Headless.shown


def compare(path, random, cpu, gpu):
    assert len(cpu[1]) == len(gpu[1]), f"{path} shows {len(gpu[1])} things, not {len(cpu[1])}"
    for (name, want), (_, got) in zip(cpu[1], gpu[1]):
        assert want.shape == got.shape and want.dtype == got.dtype, f"{path}, {name}: another shape"
        want, got = want.astype(np.float64), got.astype(np.float64)
        assert np.isfinite(got).all(), f"{path}, {name}: not a number"
        if random:
            assert abs(want.mean() - got.mean()) <= 0.2 * want.std() + 1e-6, f"{path}, {name}: {want.mean()} against {got.mean()}"
            assert 0.5 * want.std() <= got.std() + 1e-6 <= 2 * want.std() + 1e-5, f"{path}, {name}: {want.std()} against {got.std()}"
        else:
            # Edges may fall on either side of a pixel.
            wrong = np.abs(want - got) > 1e-3 * (1 + np.abs(want))
            assert wrong.mean() < 0.002, f"{path}, {name}: {wrong.mean():.2%} of the values differ"
    assert random or cpu[0] == gpu[0], f"{path} prints\n{gpu[0]}\nnot\n{cpu[0]}"
    assert cpu[1] or cpu[0] or random, f"{path} shows nothing"


def main():
    chosen = [e for e in EXAMPLES if len(sys.argv) == 1 or Path(e[0]).stem in sys.argv[1:]]
    for path, frames, random in chosen:
        compare(path, random, run(path, frames, ti.cpu), run(path, frames, ti.cuda))
        print(f"{path} is right", flush=True)
    print(f"{len(chosen)} examples of Taichi's")


main()
