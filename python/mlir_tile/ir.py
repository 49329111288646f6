# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the generated enums import by this name: upstream's, unchanged."""

from mlir.ir import register_attribute_builder

__all__ = ["register_attribute_builder"]
