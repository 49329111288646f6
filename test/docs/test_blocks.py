# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every code block of every page is executed, compared, or says why it is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_blocks import Block, blocks_of, commands_of, is_in, pages, shows
from page_runner import PageRunner, Wrong
from source_tree import PROJECT

PAGES = {str(page.relative_to(PROJECT)): blocks_of(page.read_text()) for page in pages()}


def is_for_gpu(block: Block) -> bool:
    return block.action == "gpu"


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[PageRunner]:
    made = PageRunner(tmp_path)
    yield made
    made.close()


def run(runner: PageRunner, page: str, subtests: pytest.Subtests, gpu: bool) -> None:
    after_gpu = False
    for block in PAGES[page]:
        # What shows the output of a block that is left out is left out with it.
        after_gpu = is_for_gpu(block) or (after_gpu and block.action == "output")
        if after_gpu and not gpu:
            continue
        place = f"{page}:{block.line}"
        with subtests.test(place):
            runner.check(block, place)


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks])
def test_the_blocks_of_a_page_hold(
    page: str, runner: PageRunner, subtests: pytest.Subtests
) -> None:
    run(runner, page, subtests, gpu=False)


@pytest.mark.gpu
@pytest.mark.parametrize("page", [p for p, blocks in PAGES.items() if any(map(is_for_gpu, blocks))])
def test_the_blocks_of_a_page_hold_on_a_gpu(
    page: str, runner: PageRunner, subtests: pytest.Subtests
) -> None:
    run(runner, page, subtests, gpu=True)


@pytest.mark.parametrize("page", PAGES)
def test_each_block_says_how_it_is_tested(page: str) -> None:
    complaints = [
        f"{page}:{block.line}: {block.complaint}" for block in PAGES[page] if block.complaint
    ]
    assert complaints == []


def test_few_blocks_are_not_tested() -> None:
    """More than this, and the pages are on their way to rot: think before you raise it."""
    untested = [
        f"{page}:{block.line}: {block.argument}"
        for page, blocks in PAGES.items()
        for block in blocks
        if block.action == "not run,"
    ]
    assert len(untested) <= UNTESTED, "\n".join(untested)


UNTESTED = 8


def test_there_are_blocks_of_each_kind() -> None:
    languages = {block.language for blocks in PAGES.values() for block in blocks if block.runs}
    assert languages >= {"mlir", "python", "sh", "console"}


GOOD = """
```python
print("three", 1 + 2)
```

<!-- test: output -->
```text
three ...
```

```mlir title="empty.mlir"
func.func private @f()
```

```console
$ echo one; \\
  echo two
one
...
$ tile-opt empty.mlir
module { func.func private @f() }
```

<!-- test: exit 2 -->
```sh
exit 2
```

```json
{"a": 1}
```

```toml
a = [1]
```

<!-- test: excerpt of Makefile -->
```make
demo: install
...
```

<!-- test: not run, a diagram -->
```text
a -> b
```

<!-- test: wrap copy -->
```mlir
tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !barriers
```
"""


def outcome(text: str, folder: Path) -> str:
    """Return what is wrong first with the blocks of a page; empty if nothing is."""
    runner = PageRunner(folder)
    try:
        for block in blocks_of(text):
            if block.complaint:
                return block.complaint
            runner.check(block, "page")
    except Wrong as wrong:
        return str(wrong)
    finally:
        runner.close()
    return ""


def test_a_good_page_is_accepted(tmp_path: Path) -> None:
    assert outcome(GOOD, tmp_path) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "because"),
    [
        ("1 + 2", "1 + nothing", "name 'nothing' is not defined"),
        ("three ...", "four ...", "shows:"),
        ("three ...\n", "three\n", "shows:"),
        ("private @f()\n```", "@f()\n```", "error: "),
        ("one\n...", "one\n", "shows:"),
        ("$ tile-opt empty.mlir", "$ tile-opt missing.mlir", "must end with 0, got 1"),
        ("exit 2\n```", "exit 3\n```", "must end with 2, got 3"),
        ('{"a": 1}', '{"a": 1,}', "JSONDecodeError"),
        ("a = [1]", "a = [1", "TOMLDecodeError"),
        ("demo: install\n...", "demo: nothing", "is no excerpt of Makefile"),
        ("test: not run, a diagram", "a diagram", "it must say why"),
        ("test: not run, a diagram", "test: not run,", "must say more"),
        ("test: not run, a diagram", "test: ignore", "got 'test: ignore'"),
        ("```sh\nexit 2\n```", "    exit 2", "must be fenced"),
        ("test: wrap copy", "a copy", "error: "),
        ("empty.mlir\"", "../empty.mlir\"", "outside"),
        ('print("three", 1 + 2)', "import os; os._exit(3)", "ended the process"),
    ],
)  # fmt: skip
def test_a_wrong_block_is_found(right: str, wrong: str, because: str, tmp_path: Path) -> None:
    assert GOOD.count(right) == 1
    because = because.replace("error: ", "cannot parse|error:")
    found = outcome(GOOD.replace(right, wrong), tmp_path)
    assert any(words in found for words in because.split("|")), found


def test_what_is_left_out_is_told_by_dots() -> None:
    assert shows("a ... d", "a b c d\n")
    assert shows("a\n...", "a\nb\n")
    assert not shows("a", "a b")
    assert not shows("a d", "a b c d")
    assert is_in("b c", "a b  c d")
    assert not is_in("b d", "a b c d")


def test_a_console_block_is_cut_into_commands() -> None:
    text = "$ first \\\n    --more\nout\n$ second <<X\n> line\n> X\n"
    assert commands_of(text) == [("first \\\n    --more", "out\n"), ("second <<X\nline\nX", "")]
    with pytest.raises(ValueError, match=r"begins with"):
        commands_of("output\n")
