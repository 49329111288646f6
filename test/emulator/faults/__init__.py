# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small correct kernels, and the edits that break each of them in exactly one way."""
