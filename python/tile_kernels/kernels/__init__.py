# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels, a module for each family: what they compute, and the functions that launch them."""
