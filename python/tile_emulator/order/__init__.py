# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Happens-before: vector clocks of threads and a shadow of shared memory."""
