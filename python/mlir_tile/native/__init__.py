# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host functions compiled ahead of time: an object file and its header, for use without Python."""

from mlir_tile.native.header import header_of
from mlir_tile.native.object_file import object_of

__all__ = ["header_of", "object_of"]
