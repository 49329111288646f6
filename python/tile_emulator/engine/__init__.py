# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous copies: what is on its way, and when it lands."""
