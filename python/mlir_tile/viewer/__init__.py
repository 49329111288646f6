# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of layouts and of planned copies: where each element is, and how a copy is cut.

`notation` reads layouts, `copies` runs the analysis, `model` makes a description without any looks
of them, and `terminal`, `svg` and `html` draw it. Places are computed by the layout algebra, chunks
are read from plans: nothing here decides anything.
"""
