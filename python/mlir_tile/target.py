# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which GPUs and PTX versions can copy between CTAs; LLVM aborts on the others."""

import re

DEFAULT_CHIP = "sm_90"
DEFAULT_FEATURES = "+ptx81"
OLDEST_CHIP = 90
OLDEST_PTX = 80

# Source: PTX ISA, "Release Notes": the version that brought each target, as LLVM 22 knows them.
FIRST_PTX = {90: 78, 100: 86, 101: 86, 103: 88, 110: 90, 120: 87, 121: 88}


def check_target(chip: str, features: str) -> None:
    """Raise `ValueError`, with the fix, unless `chip` and `features` can copy between CTAs."""
    match = re.fullmatch(r"sm_(\d+)[af]?", chip)
    if not match:
        raise ValueError(f"chip must be sm_ and a number, got '{chip}'; set chip=sm_90")
    number = int(match[1])
    if number < OLDEST_CHIP:
        raise ValueError(
            f"chip {chip} has no shared memory of a cluster; tile.copy_async needs sm_90 or newer:"
            " set chip=sm_90"
        )
    if number not in FIRST_PTX:
        known = ", ".join(f"sm_{known}" for known in FIRST_PTX)
        raise ValueError(f"chip {chip} is not known to LLVM; it knows {known}")
    versions = re.findall(r"\+ptx(\d+)", features)
    if len(versions) != 1 or not re.fullmatch(r"\+ptx\d+", features):
        raise ValueError(
            f"features must be one PTX version, got '{features}'; set features={DEFAULT_FEATURES}"
        )
    version = int(versions[0])
    text = f"PTX {version // 10}.{version % 10}"
    if version < OLDEST_PTX:
        raise ValueError(f"features ask for {text}; tile.copy_async needs 8.0: set features=+ptx80")
    if version < FIRST_PTX[number]:
        first = FIRST_PTX[number]
        raise ValueError(
            f"features ask for {text}; {chip} needs {first // 10}.{first % 10}: "
            f"set features=+ptx{first}"
        )
