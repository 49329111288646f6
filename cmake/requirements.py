# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print what pyproject.toml requires to build, run and test it, in the form that `pip -r` reads."""

from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10: pip carries the same parser
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

project = tomllib.loads(Path("pyproject.toml").read_text())
print(*project["build-system"]["requires"], sep="\n")
print(*project["project"]["dependencies"], sep="\n")
for name, extra in project["project"]["optional-dependencies"].items():
    if name != "bench":
        print(*extra, sep="\n")
