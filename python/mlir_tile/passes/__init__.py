# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes and pipelines in Python, each in a module named as its flag without `tile-`.

Importing this package registers them, in addition to those of `lib/Transforms/Passes.td`. MLIR's
registry is the list of all: `tile-opt --help` prints it.
"""

from . import legalize_to_nvvm, to_binary

__all__ = ["legalize_to_nvvm", "to_binary"]
