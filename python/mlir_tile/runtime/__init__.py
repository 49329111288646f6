# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage run: the run-time library, the devices it runs on, and the calls and launches on them."""
