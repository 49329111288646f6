# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run and read at most, unless it is said otherwise."""

DEFAULT_MAX_STEPS = 20_000_000
DEFAULT_MAX_SECONDS = 120.0

# What a launch is advised that reaches one of them.
MORE_STEPS = "look for an endless loop, or raise the limit (max_steps, or --max-steps)"
MORE_SECONDS = "use a smaller problem, or raise the limit (max_seconds, or --max-seconds)"

# Of a PTX text: compilers write far less; each one takes about 80 bytes while it is read.
MOST_CHARACTERS = 16 << 20
