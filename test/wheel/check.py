# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build a source distribution, a wheel from it, and test what that wheel installs.

    python test/wheel/check.py [PYTHON]

PYTHON is the interpreter to build for. Without it, another one than this is looked for, on PATH and
among pyenv's; where there is none, nothing is tested, and that is said. Nothing is written into the
tree: all happens in a temporary folder, far from the sources.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10: pip carries the same parser
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

TREE = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())
VERSIONS = ("3.12", "3.13", "3.14", "3.11", "3.10")
"""What MLIR's wheels are made for; the first that is there is taken."""
MOST_WHEEL_BYTES = 5_000_000
TOOLS = tuple(PROJECT["project"]["scripts"])


def other_interpreter() -> str | None:
    """Return an interpreter of another version than this one."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS:
        candidates = [shutil.which(f"python{version}")]
        candidates += sorted(map(str, pyenv.glob(f"{version}.*/bin/python{version}")))
        for candidate in candidates:
            # A shim of pyenv is there for versions that are not chosen, too.
            if version != own and candidate and works(candidate):
                return candidate
    return None


def works(python: str) -> bool:
    done = subprocess.run([python, "-c", "import ssl, venv, ensurepip"], capture_output=True)
    return done.returncode == 0


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command outside of the tree; end with what it printed if it fails."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-8000:]}\nerror: {' '.join(map(str, command))} failed")
    return done.stdout


def environment(python: str, folder: Path, *requirements: str) -> Path:
    """Make a virtual environment with `requirements`; return its bin folder."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    run(folder / "bin" / "python", "-m", "pip", "install", "-q", *requirements, cwd=folder.parent)
    return folder / "bin"


def built(python: str, work: Path) -> Path:
    """Build the source distribution, and the wheel from it alone; return the wheel."""
    # One environment for both steps, with nothing but what pyproject.toml asks for.
    tools = environment(python, work / "build", "build", *PROJECT["build-system"]["requires"])
    command = [tools / "python", "-m", "build", "--no-isolation", "--outdir", work / "dist"]
    run(*command, TREE, cwd=work)
    (sdist,) = (work / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for wanted in ("CMakeLists.txt", "LICENSE", "dialect/TileOps.td", "test/lit.cfg.py"):
        if wanted not in names and (TREE / wanted).exists():
            sys.exit(f"error: the source distribution lacks {wanted}")
    (wheel,) = (work / "dist").glob("*.whl")
    if wheel.stat().st_size > MOST_WHEEL_BYTES:
        sys.exit(f"error: {wheel.name} must have at most {MOST_WHEEL_BYTES} bytes")
    return wheel


def pinned(package: str) -> str:
    """Return how pyproject.toml pins a package of the tests."""
    tests = PROJECT["project"]["optional-dependencies"]["test"]
    return next(text for text in tests if text.startswith(f"{package}=="))


def main() -> None:
    """Build, install, try each tool on the examples, and run the lit tests."""
    python = sys.argv[1] if len(sys.argv) > 1 else other_interpreter()
    if python is None:
        print(f"test-wheel: skipped, no other Python here: looked for {', '.join(VERSIONS)}")
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tile wheel ") as folder:
        work = Path(folder)
        wheel = built(python, work)
        seconds = time.monotonic() - began
        print(f"test-wheel: {wheel.name}, {wheel.stat().st_size} bytes, in {seconds:.0f} s")
        tools = environment(python, work / "installed", str(wheel), pinned("lit"))
        for tool in TOOLS:
            print(f"test-wheel: {run(tools / tool, '--version', cwd=work).strip()}")
            run(tools / tool, "--help", cwd=work)
        example = TREE / "examples" / "dsmem_copy.mlir"
        run(tools / "tile-compile", example, "--to", "ptx", "-o", work / "out.ptx", cwd=work)
        assert "cp.async.bulk.shared::cluster" in (work / "out.ptx").read_text()
        arguments = ["--arg", "random:128x64xf16", "--arg", "zeros:128x64xf16", "--expect", "1=0"]
        run(tools / "tile-run", example, *arguments, "--device", "emulator", cwd=work)
        lit = run(
            *(tools / "lit", "-q", "--param", f"exec_root={work / 'lit'}", TREE / "test"), cwd=work
        )
        print(lit, end="")
    print(f"test-wheel: passed in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
