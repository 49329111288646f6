# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-emulate: the emulator's own command line, which says on a terminal that it is at work."""

import sys

from tile_emulator import cli

from .progress import shown


def main() -> int:
    """Run the command line; return its exit status."""
    return cli.main(around=lambda: shown("tile-emulate: running"))


if __name__ == "__main__":
    sys.exit(main())
