# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-emulate: the command line of the emulator, which is a package of its own."""

import sys

from .startup import end_on_interrupt


def main() -> int:
    """Run the emulator on `sys.argv`; return its exit status."""
    end_on_interrupt()
    from tile_emulator.cli import main as emulate

    return emulate()


if __name__ == "__main__":
    sys.exit(main())
