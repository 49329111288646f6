# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What leaves each stage of a compilation, in files of the folder that MLIR_TILE_DUMP names."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path

from mlir import ir

from ..binaries import embedded_ptx
from ..scripted import run_passes

VARIABLE = "MLIR_TILE_DUMP"
_numbers = itertools.count()


class Dump:
    """The files of one compilation: `3_analyze.mlir` for a stage of the process's fourth."""

    def __init__(self) -> None:
        """Take the folder from the environment; without it nothing is written."""
        folder = os.environ.get(VARIABLE)
        self._folder = Path(folder) if folder else None
        self._number = next(_numbers) if folder else 0

    def stages(self, module: ir.Operation, stages: Mapping[str, str]) -> None:
        """Write what each of these pipelines makes of `module`, up to the first that fails.

        What a stage says is said again when the module itself is lowered.
        """
        if self._folder is None:
            return
        self._write("input.mlir", str(module))
        silence = module.context.attach_diagnostic_handler(lambda diagnostic: True)
        try:
            for stage, pipeline in stages.items():
                copy = module.clone()
                run_passes(copy.operation, f"builtin.module({pipeline})")
                self._write(f"{stage}.mlir", str(copy))
        except ir.MLIRError:
            return
        finally:
            silence.detach()

    def ptx(self, lowered: ir.Operation) -> None:
        """Write the PTX of each `gpu.module`, if there is some."""
        if self._folder is not None:
            for name, text in embedded_ptx(lowered).items():
                self._write(f"{name}.ptx", text)

    def _write(self, name: str, text: str) -> None:
        assert self._folder is not None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{self._number}_{name}").write_text(text)
        except OSError as error:
            raise ValueError(f"{VARIABLE} must name a folder to write to: {error}") from None
