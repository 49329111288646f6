# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command lines.

tile-opt, tile-compile, tile-run, tile-layout, tile-emulate and, for editors, tile-lsp-server.
"""
