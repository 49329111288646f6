# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands at the head of each example are run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_runner import PageRunner, Wrong
from source_tree import PROJECT

EXAMPLES = sorted(path.name for path in (PROJECT / "examples").glob("*.*") if path.suffix != ".md")


def commands(name: str) -> list[str]:
    """Return the commands in the comment or the docstring that an example begins with."""
    text = (PROJECT / "examples" / name).read_text()
    if name.endswith(".py"):
        (usage,) = re.findall(r"^(python examples/\S+(?: \[--\w+\])?)", text, re.MULTILINE)
        return [re.sub(r" \[.*", "", usage), *re.findall(r"\[(--\w+)\]", usage)]
    head = "".join(re.match(r"(?://.*\n)*", text)[0])  # type: ignore[index]
    found = re.findall(r"^//   (\S(?:.*\\\n//)*.*)$", head, re.MULTILINE)
    return [command.replace("\n//", "\n") for command in found]


def needs_gpu(name: str) -> bool:
    """Whether an example says that it runs on a GPU only."""
    return bool(re.search(r"needs .*GPU", (PROJECT / "examples" / name).read_text()[:1000]))


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.gpu if needs_gpu(n) else []) for n in EXAMPLES],
)
def test_its_commands_run(name: str, tmp_path: Path) -> None:
    runner = PageRunner(tmp_path)
    first, *others = commands(name)
    runner.shell(first, 0)
    for option in others:
        runner.shell(f"{first} {option}" if option.startswith("--") else option, 0)
        assert "cp.async.bulk" in runner.output


def test_there_are_examples() -> None:
    assert {"dsmem_copy.mlir", "dsmem_copy.py", "ring.mlir"} <= set(EXAMPLES)
    assert commands("dsmem_copy.py") == ["python examples/dsmem_copy.py", "--ptx"]
    assert commands("ring.mlir")[0].startswith("tile-run examples/ring.mlir --entry main")
    assert "--expect 1=0" in commands("dsmem_copy.mlir")[0]


def test_a_command_that_fails_is_found(tmp_path: Path) -> None:
    command = commands("dsmem_copy.mlir")[0].replace("--expect 1=0", "--expect 1=2")
    with pytest.raises(Wrong, match="must end with 0"):
        PageRunner(tmp_path).shell(command, 0)
