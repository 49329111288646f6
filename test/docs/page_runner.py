# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the blocks of a page, in order, in a folder that looks like the source tree."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlir
from markdown_blocks import Block, commands_of, is_in, shows
from source_tree import PROJECT

WORKER = Path(__file__).with_name("block_worker.py")
WRAPPERS = Path(__file__).with_name("wrappers")
SECONDS = 600
"""How long a block may take: no more than hangs are ended."""


class Wrong(AssertionError):
    """A block is not what it claims to be."""


class PageRunner:
    """What the blocks of one page share: a folder, a Python process, the output of the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = ""
        self.worker: subprocess.Popen[str] | None = None
        for path in PROJECT.iterdir():
            if path.name == "examples":  # a page may write beside them
                shutil.copytree(path, folder / path.name)
            elif path.name not in ("build", ".git"):
                (folder / path.name).symlink_to(path)

    def check(self, block: Block, name: str) -> None:
        """Do what the block says; raise `Wrong` if it does not hold."""
        if block.title:
            path = (self.folder / block.title).resolve()
            if not path.is_relative_to(self.folder.resolve()):
                raise Wrong(f"{block.title} is outside of the page's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if block.action == "output":
            expect_shown(block.text, self.output)
        elif block.action == "excerpt of":
            if not is_in(block.text, (PROJECT / block.argument).read_text()):
                raise Wrong(f"is no excerpt of {block.argument}:\n{block.text}")
        elif block.language in ("python", "mlir", "json", "toml") and block.runs:
            self.ask(block, name)
        elif block.language == "sh" and block.runs:
            self.shell(block.text, int(block.argument or 0) if block.action == "exit" else 0)
        elif block.language == "console" and block.runs:
            for command, shown in commands_of(block.text):
                self.shell(command, int(block.argument) if block.action == "exit" else 0)
                expect_shown(shown, self.output)

    def ask(self, block: Block, name: str) -> None:
        """Have the page's process execute or parse the block."""
        text = block.text
        if block.action == "wrap":
            wrapper = (WRAPPERS / f"{block.argument}.mlir").read_text()
            assert wrapper.count("// BLOCK\n") == 1, f"{block.argument} must say // BLOCK once"
            text = wrapper.replace("// BLOCK\n", text)
        if self.worker is None:
            self.worker = subprocess.Popen(
                [sys.executable, WORKER],
                cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=(self.folder / ".stderr").open("w"), text=True,
            )  # fmt: skip
        assert self.worker.stdin and self.worker.stdout
        request = {"language": block.language, "text": text, "name": name}
        with time_limit(SECONDS):
            print(json.dumps(request), file=self.worker.stdin, flush=True)
            answer = self.worker.stdout.readline()
        if not answer:
            raise Wrong(f"ended the process:\n{(self.folder / '.stderr').read_text()}")
        found: dict[str, Any] = json.loads(answer)
        self.output = found["output"]
        if found["error"]:
            raise Wrong(found["error"])

    def shell(self, command: str, status: int) -> None:
        """Run commands; their output and errors are what a following block may show."""
        scripts = Path(sys.executable).parent
        upstream = Path(next(iter(mlir.__path__))) / "bin"
        path = os.pathsep.join([str(scripts), str(upstream), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder, env=environment, timeout=SECONDS, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.output = done.stdout
        if done.returncode != status:
            raise Wrong(
                f"must end with {status}, got {done.returncode}: {command}\n{self.output[-4000:]}"
            )

    def close(self) -> None:
        """End the page's process."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()


def expect_shown(shown: str, output: str) -> None:
    """Raise `Wrong` where `shown` is not the output."""
    if not shows(shown, output):
        raise Wrong(f"shows:\n{shown}\nbut the output is:\n{output[-6000:]}")


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise `Wrong` in this, the main, thread once the time is over."""

    def over(signum: int, frame: object) -> None:
        raise Wrong(f"takes more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
