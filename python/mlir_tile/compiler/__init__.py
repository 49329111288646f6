# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages verify to ptx: from MLIR to a lowered module. Independent of the runtime."""
