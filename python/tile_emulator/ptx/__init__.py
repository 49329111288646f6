# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX text in, a module of functions and instructions out; nothing here executes."""
