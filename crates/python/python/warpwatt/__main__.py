# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m warpwatt`: the `warpwatt` command, from the code of this package. Array tasks of `Sweep.slurm` run it."""

import sys

from . import _warpwatt


def main() -> None:
    """Runs the command that the process was started with."""
    sys.exit(_warpwatt.main(["warpwatt", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
