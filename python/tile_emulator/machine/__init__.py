# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine: memories, warps, CTAs, clusters, and who runs next."""
