# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run and read at most, unless it is said otherwise."""

DEFAULT_MAX_STEPS = 2_000_000_000
DEFAULT_MAX_SECONDS = 120.0

# Of a PTX text: compilers write far less; each one takes about 80 bytes while it is read.
MOST_CHARACTERS = 16 << 20
