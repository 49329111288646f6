# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m tile_emulator` is `tile-emulate`."""

from __future__ import annotations

import sys

from tile_emulator.cli import main

sys.exit(main())
