# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage ptx: the pipelines from tile IR to a binary, over upstream's passes.

Each function returns the text of a pipeline on the outermost module, so that `tile-opt`, Python's
`PassManager.parse` and `mlir_tile.compile` run the same.
"""

from dataclasses import dataclass

from ..compiler.target import DEFAULT_CHIP, DEFAULT_FEATURES, check_target
from ..scripted import register_pipeline

FORMATS = ("isa", "bin", "fatbin", "offload")


@dataclass(frozen=True)
class Options:
    """The options of `tile-to-binary`.

    `chip` is an LLVM processor such as `sm_90`, `features` a PTX version such as `+ptx81`, `format`
    what `tile-embed-kernels` embeds, by the tools in the folder `toolkit`; `line_info` keeps
    source places as `.loc` lines of the PTX.
    """

    chip: str = DEFAULT_CHIP
    features: str = DEFAULT_FEATURES
    format: str = "isa"
    opt_level: int = 3
    line_info: bool = False
    remarks: bool = False
    toolkit: str = ""

    def check(self) -> None:
        """Raise `ValueError` for what LLVM would abort on."""
        check_target(self.chip, self.features)
        if self.format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got '{self.format}'")
        if not 0 <= self.opt_level <= 3:
            raise ValueError(f"opt-level must be in 0 to 3, got {self.opt_level}")


# A kernel's own buffers can only be aligned once it is a function.
PREPARE = "tile-check-types, tile-insert-sync, gpu-kernel-outlining"


def plan(remarks: bool = False) -> str:
    """Plan every copy of a module that was prepared."""
    return f"tile-analyze-layout{'{remarks=true}' if remarks else ''}"


def analyze(remarks: bool = False) -> str:
    """Plan every copy, and check the synchronisation around them."""
    return f"{PREPARE}, {plan(remarks)}, tile-check-sync"


# Loops and accesses of `affine` become those that all later passes know.
LEGALIZE = (
    "tile-lower-all-reduce, tile-legalize-to-nvvm, lower-affine, tile-lower-subbyte-elements, "
    "tile-expand-layout, tile-lower-peers"
)


def legalize(remarks: bool = False) -> str:
    """Go on from `analyze` until no tile op is left."""
    return f"{analyze(remarks)}, {LEGALIZE}"


def nvvm(options: Options) -> str:
    """Go on from `legalize` until device code is LLVM IR."""
    target = (
        f"tile-attach-target{{chip={options.chip} features={options.features} "
        f"O={options.opt_level}}}"
    )
    return ", ".join(
        [
            analyze(options.remarks),
            target,  # which is verified sooner while copies are still single ops
            "tile-check-target",
            "tile-guard-arguments",
            LEGALIZE,
            "tile-check-memrefs",
            "convert-nvgpu-to-nvvm",
            # Of what the host's program has of nvgpu, nvvm must not be left.
            "tile-check-kernels",
            "tile-place-shared-memory",
            "convert-vector-to-scf",
            "convert-scf-to-cf",
            "convert-nvvm-to-llvm",
            "expand-strided-metadata",
            "lower-affine",
            "convert-index-to-llvm",
            "tile-legalize-printf",
            "gpu.module(convert-gpu-to-nvvm, canonicalize, cse, reconcile-unrealized-casts, "
            "tile-check-lowered)",
            *(["tile-add-line-info"] if options.line_info else []),
        ]
    )


def binary(options: Options) -> str:
    """Go on from `nvvm` until host code is LLVM IR with the kernels embedded."""
    return f"{nvvm(options)}, {embed(options)}"


def embed(options: Options) -> str:
    """Do what `binary` does after `nvvm`."""
    toolkit = f' toolkit="{options.toolkit}"' if options.toolkit else ""
    line_info = str(options.line_info).lower()
    return ", ".join(
        [
            "tile-legalize-memcpy",
            "gpu-to-llvm",
            "tile-guard-launches",
            f"tile-embed-kernels{{format={options.format} line-info={line_info}{toolkit}}}",
            "convert-math-to-llvm",
            "canonicalize",
            "cse",
            "reconcile-unrealized-casts",
            "tile-check-lowered",
        ]
    )


@register_pipeline(
    "tile-to-binary",
    "From tile IR to host LLVM IR with the GPU binary embedded",
    [
        ("chip", "LLVM processor to compile for, sm_90 or newer", DEFAULT_CHIP),
        ("features", "PTX version, +ptx80 or newer", DEFAULT_FEATURES),
        ("format", "what to embed: isa (PTX), bin, fatbin or offload", "isa"),
        ("opt-level", "LLVM optimization level, 0 to 3", "3"),
        ("line-info", "keep source places as .loc lines of the PTX", "false"),
    ],
)
def to_binary(chip: str, features: str, format: str, opt_level: str, line_info: str) -> str:
    """Go the whole way: analyze, legalize, lower device code to PTX or a binary, embed it.

    What is left is host LLVM IR, which MLIR's `ExecutionEngine` runs with the run-time library. A
    `gpu.module` that carries a target of its own keeps it; the options are for the others. Options
    that no GPU has are refused before anything runs.
    """
    if not opt_level.isdecimal():
        raise ValueError(f"opt-level must be in 0 to 3, got '{opt_level}'")
    if line_info not in ("true", "false", "1", "0"):
        raise ValueError(f"line-info must be true or false, got '{line_info}'")
    options = Options(chip, features, format, int(opt_level), line_info in ("true", "1"))
    options.check()
    return binary(options)
