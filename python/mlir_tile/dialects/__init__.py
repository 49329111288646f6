# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python builders and op classes of the dialects of this project."""
