# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module that the generated op classes import: upstream's, unchanged."""

from mlir.dialects._ods_common import (
    _cext,
    equally_sized_accessor,
    get_default_loc_context,
    get_op_results_or_values,
    segmented_accessor,
)

__all__ = [
    "_cext",
    "equally_sized_accessor",
    "get_default_loc_context",
    "get_op_results_or_values",
    "segmented_accessor",
]
