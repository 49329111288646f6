# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-emulate: the emulator's own command line, with a line on its progress on a terminal."""

import sys

from .errors import report
from .progress import shown
from .startup import begin


def main() -> int:
    """Run the emulator on `sys.argv`; return its exit status."""
    begin()
    from tile_emulator import cli

    return report(lambda: cli.main(around=lambda: shown("tile-emulate: running")))


if __name__ == "__main__":
    sys.exit(main())
