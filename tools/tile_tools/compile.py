# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-compile: print what leaves a stage of the compilation."""

from __future__ import annotations

import argparse
import errno
import os
import re
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from .errors import report
from .progress import shown
from .version import version_line

DESCRIPTION = """\
Compile an MLIR module with tile ops and print what leaves a stage:

  analyze    tile IR whose copies have a plan
  legalize   the same in NVVM and other upstream dialects, without tile ops
  nvvm       device code in LLVM IR, shared memory placed, the target attached
  ptx        the PTX of each gpu.module, after a comment with its name where there are several

A gpu.module that carries a target of its own keeps it; --chip, --features and --opt-level are for
the others."""

EPILOG = "Exit status: 0 on success, 1 for a wrong input or target, 2 for wrong usage."


def parser() -> argparse.ArgumentParser:
    """Return the command line's grammar."""
    from mlir_tile.compiler import STAGES
    from mlir_tile.target import DEFAULT_CHIP, DEFAULT_FEATURES

    made = argparse.ArgumentParser(
        "tile-compile",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=version_line("tile-compile"))
    made.add_argument("file", metavar="FILE", help="MLIR text or bytecode; - reads standard input")
    made.add_argument("--to", required=True, choices=STAGES, help="the stage to stop after")
    made.add_argument(
        "--chip",
        metavar="C",
        default=DEFAULT_CHIP,
        help="LLVM processor, sm_90 or newer (default %(default)s)",
    )
    made.add_argument(
        "--features",
        metavar="F",
        default=DEFAULT_FEATURES,
        help="PTX version, +ptx80 or newer (default %(default)s)",
    )
    made.add_argument(
        "--opt-level",
        metavar="N",
        type=int,
        choices=range(4),
        default=3,
        help="LLVM optimization level, 0 to 3 (default %(default)s)",
    )
    made.add_argument(
        "--line-info", action="store_true", help="keep source places as .loc lines of the PTX"
    )
    made.add_argument(
        "--remarks",
        action="store_true",
        help="tell for each copy which variants were considered, and what each would cost",
    )
    made.add_argument(
        "-o", dest="output", metavar="OUT", default="-", help="write there, not to standard output"
    )
    return made


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    options = parser().parse_args()

    def work() -> None:
        with shown("tile-compile: compiling"):
            text = compiled(options)
        write(options.output, text)

    return report(work)


def compiled(options: argparse.Namespace) -> str:
    """Return what leaves the stage; raise what is wrong with the input or the target."""
    import mlir_tile as mt
    from mlir_tile.compiler import diagnostic_lines, embedded_ptx

    content = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    lines = content.decode(errors="replace").splitlines()

    def with_lines(texts: list[str]) -> str:
        return "\n".join(with_source(text, options.file, lines) for text in texts)

    def show(info: Any) -> bool:
        """Print what is less than an error; errors arrive as exceptions."""
        texts = diagnostic_lines(info)
        if "error: " not in texts[0]:
            print(with_lines(texts), file=sys.stderr)
        return True

    with mt.context() as context:
        handler = context.attach_diagnostic_handler(show)
        try:
            module = mt.parse(content) if options.file == "-" else mt.parse_file(options.file)
            lowered = mt.lower(
                module,
                options.to,
                chip=options.chip,
                features=options.features,
                opt_level=options.opt_level,
                line_info=options.line_info,
                remarks=options.remarks,
            )
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
        if options.to != "ptx":
            return f"{lowered}".rstrip("\n") + "\n"
        found = embedded_ptx(lowered)
    if not found:
        raise mt.CompileError(f"{options.file}: error: no gpu.module in it to compile to PTX")
    if len(found) == 1:
        return next(iter(found.values()))
    return "".join(f"// gpu.module '{name}'\n{ptx}" for name, ptx in found.items())


def with_source(text: str, source: str, lines: list[str]) -> str:
    """Add the source line and a mark below the column to `file:line:column: severity: message`."""
    match = re.match(re.escape(source) + r":(\d+):(\d+): ", text)
    if not match or not 0 < int(match[1]) <= len(lines):
        return text
    line = lines[int(match[1]) - 1]
    column = int(match[2]) - 1
    indent = re.sub(r"[^\t]", " ", line[:column])
    return f"{text}\n{line}\n{indent}^"


def write(output: str, text: str) -> None:
    """Write all of `text` to a file or, for `-`, standard output; a file is replaced at once."""
    if output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(output)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        path.write_text(text)  # a device or a pipe has no old content to keep
        return
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), output)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, output) from None
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(temporary, mode if mode is not None else 0o666 & ~umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def umask() -> int:
    """Return the mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    sys.exit(main())
