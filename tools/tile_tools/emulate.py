# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-emulate: the emulator's own command line, which says on a terminal that it is at work."""

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
