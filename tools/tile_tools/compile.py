# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-compile: print the output of a stage of the compilation."""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from tile_emulator.usage import file_name

from .errors import report
from .guard import guarded, watch
from .progress import shown
from .source import read
from .startup import import_mlir_without_numpy
from .usage import TARGET, add_target_options, check_outputs, target_of, tool_parser

if TYPE_CHECKING:
    from mlir import ir

    from mlir_tile.errors import CompileError, Diagnostic

DESCRIPTION = """\
Compile an MLIR module with tile ops and print the output of a stage:

  analyze    tile IR whose copies have a plan
  legalize   the same in NVVM and other upstream dialects, without tile ops
  nvvm       device code in LLVM IR, shared memory placed, the target attached
  ptx        the PTX of each gpu.module, after a comment with its name where there are several
  cubin      the PTX of one gpu.module, assembled by ptxas, for --chip only
  fatbin     the same and the PTX, for later chips, in one file
  program    the whole program, for mlir_tile.load and tile-run
  object     the host functions and what --embed says, as an object file to link without Python
  header     the C and C++ declarations of those functions

A gpu.module that carries a target of its own keeps it; --chip, --features and --opt-level are for
the others. cubin and fatbin need ptxas and fatbinary of a CUDA toolkit, from CUDA_HOME, PATH, or
the wheel nvidia-cuda-nvcc."""

Content = TypeVar("Content", str, bytes)

WHOLE = ("program", "object", "header")
BINARY = ("cubin", "fatbin", "program", "object")

COMPILED = ("analyze", "legalize", "nvvm", "ptx", "cubin", "fatbin", "program", "object")
USES = {
    "module": ("ptx", "cubin", "fatbin"),
    "embed": ("object",),
    "remarks": tuple(stage for stage in COMPILED if stage != "program"),
    **dict.fromkeys(TARGET, COMPILED),
}
"""The stages that an option applies to; with another it is wrong usage."""

EPILOG = "Exit status: 0 on success, 1 for a wrong input or target, 2 for wrong usage."


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    from mlir_tile.compiler.lowering import STAGES

    made = tool_parser("tile-compile", DESCRIPTION, EPILOG)
    made.add_argument(
        "file",
        metavar="FILE",
        type=file_name,
        help="MLIR text or bytecode; - reads standard input",
    )
    made.add_argument(
        "--to", required=True, choices=(*STAGES, *WHOLE), help="the stage to stop after"
    )
    add_target_options(made)
    made.add_argument(
        "--remarks",
        action="store_true",
        default=None,
        help="for each copy, list the variants that were considered and their costs",
    )
    made.add_argument(
        "--module", metavar="NAME", help="the gpu.module to print the ptx, cubin or fatbin of"
    )
    made.add_argument(
        "--embed",
        choices=("ptx", "cubin", "fatbin"),
        help="what an object holds for the GPU (default ptx: the driver compiles it)",
    )
    made.add_argument(
        "-o",
        dest="output",
        metavar="OUT",
        type=file_name,
        default="-",
        help="write there, not to standard output",
    )
    return made


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    return report(run)


def run() -> None:
    """Read the command line, compile and write; raise what goes wrong."""
    import_mlir_without_numpy()
    usage = parser()
    options = usage.parse_args()
    for name, use in USES.items():
        if getattr(options, name) is not None and options.to not in use:
            flag = f"--{name.replace('_', '-')}"
            usage.error(f"{flag} is for {', '.join(use)}, got --to {options.to}")
    if options.to in BINARY and options.output == "-" and sys.stdout.isatty():
        usage.error(f"--to {options.to} prints bytes: give a file with -o")
    check_outputs(usage, options.file, [("-o", options.output)])
    with shown("tile-compile: compiling"):
        content = compiled(options)
    write(options.output, content)


def compiled(options: argparse.Namespace) -> str | bytes:
    """Return the output of the stage; raise what is wrong with the input or the target."""
    import mlir_tile as mt
    from mlir_tile.diagnostics import diagnostic_lines

    source = read(options.file)
    lines = source.content.decode(errors="replace").splitlines()

    def with_lines(said: list[Diagnostic]) -> str:
        return "\n".join(with_source(each, source.name, lines) for each in said)

    def show(info: Any) -> bool:
        """Print warnings and remarks; errors arrive as exceptions."""
        said = diagnostic_lines(info)
        if said[0].severity != "error":
            print(with_lines(said), file=sys.stderr)
        return True

    with mt.context() as context:
        watch(context)
        handler = context.attach_diagnostic_handler(show)
        try:
            return printed(source.module(), options)
        except mt.CompileError as error:
            if error.diagnostics:
                raise mt.CompileError(with_lines(error.diagnostics), error.diagnostics) from None
            raise
        except ValueError:
            raise
        except Exception as error:
            # A scripted pass raised; under tile-opt it shows its traceback.
            raise mt.Error(f"{type(error).__name__}: {error}") from error
        finally:
            handler.detach()


def printed(module: ir.Module, options: argparse.Namespace) -> str | bytes:
    """Lower `module`, and return the output of the stage."""
    import mlir_tile as mt
    from mlir_tile import native
    from mlir_tile.binaries import embedded_binaries, embedded_ptx
    from mlir_tile.runtime import saved

    if options.to == "header":
        return native.header_of(module)
    target = target_of(options)
    if options.to == "program":
        with warnings.catch_warnings():
            # They were printed with their lines.
            warnings.simplefilter("ignore", mt.CompileWarning)
            return saved.to_bytes(mt.compile(module, **target))
    stage = (options.embed or "ptx") if options.to == "object" else options.to
    lowered = mt.lower(module, stage, remarks=bool(options.remarks), **target)
    if options.to == "object":
        return native.object_of(lowered, target.get("opt_level", 3))
    if options.to == "ptx":
        texts = chosen(embedded_ptx(lowered), options)
        if len(texts) == 1:
            return next(iter(texts.values()))
        return "".join(f"// gpu.module '{name}'\n{ptx}" for name, ptx in texts.items())
    if options.to in BINARY:
        binaries = chosen(embedded_binaries(lowered), options)
        if len(binaries) > 1:
            raise refusal(
                options.file,
                f"a {options.to} holds one gpu.module, got {', '.join(binaries)}; choose one with "
                "--module",
            )
        return next(iter(binaries.values()))
    return f"{lowered}".rstrip("\n") + "\n"


def chosen(found: dict[str, Content], options: argparse.Namespace) -> dict[str, Content]:
    """Return the code of the gpu.module that --module names, or of all."""
    if not found:
        raise refusal(options.file, "no gpu.module in it to compile to PTX")
    if options.module is None:
        return found
    if options.module not in found:
        raise refusal(
            options.file, f"no gpu.module '{options.module}' in it, have: {', '.join(found)}"
        )
    return {options.module: found[options.module]}


def refusal(file: str, message: str) -> CompileError:
    """Return the error for what the module in `file` lacks."""
    from mlir_tile.errors import CompileError, Diagnostic

    return CompileError(diagnostics=[Diagnostic.elsewhere(file, message)])


def with_source(said: Diagnostic, source: str, lines: list[str]) -> str:
    """Add the source line, and a mark below the column, to a diagnostic of the file `source`."""
    if said.file != source or not 0 < said.line <= len(lines):
        return said
    line = lines[said.line - 1]
    indent = "".join(c if c == "\t" else " " for c in line[: said.column - 1])
    return f"{said}\n{line}\n{indent}^"


def write(output: str, content: str | bytes) -> None:
    """Write all of `content` to a file or, for `-`, standard output; a file is replaced at once."""
    from mlir_tile.files import replace_file

    encoded = content.encode() if isinstance(content, str) else content
    if output != "-":
        replace_file(output, encoded)
        return
    try:
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.buffer.write(encoded)
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def command() -> int:
    """Run on `sys.argv` as a tool; return the exit status."""
    return guarded(main)


if __name__ == "__main__":
    sys.exit(command())
