# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print the folders of the files that programs compiled ahead of time are built with."""

import argparse
import sys

from mlir_tile import paths

FOLDERS = {
    "includedir": (paths.include_dir, "the folder of TileRuntime.h"),
    "libdir": (paths.library_dir, "the folder of libtile_runtime.so"),
    "cmakedir": (paths.cmake_dir, "the folder of TileRuntimeConfig.cmake, with tile::runtime"),
}


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mlir_tile", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    for name, (_, text) in FOLDERS.items():
        group.add_argument(f"--{name}", dest="name", action="store_const", const=name, help=text)
    find, _ = FOLDERS[parser.parse_args().name]
    print(find())
    return 0


if __name__ == "__main__":
    sys.exit(main())
