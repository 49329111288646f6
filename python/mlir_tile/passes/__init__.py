# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes and pipelines in Python, each in a module named as its flag without `tile-`.

Importing this package registers them, beside those of `lib/Transforms/Passes.td`. Whatever lists
passes asks MLIR's registry, as `tile-opt --help` does.
"""

from . import legalize_to_nvvm, to_binary

__all__ = ["legalize_to_nvvm", "to_binary"]
