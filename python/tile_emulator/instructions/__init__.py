# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each instruction does: the table of families, and the decoder that turns them into steps."""
