# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code blocks of the project's Markdown pages, and what each says about how it is tested.

CONTRIBUTING.md describes the convention. Nothing here runs a block.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from source_tree import PROJECT, source_files

EXECUTED = {"mlir", "python", "sh", "console", "json", "toml"}
"""The languages of blocks that are executed, or parsed, unless they say something else."""

ACTIONS = {"wrap", "output", "excerpt of", "exit", "gpu", "not run,"}
"""What a comment `<!-- test: ... -->` in front of a block may begin with."""

COMMENT = re.compile(r"\s*<!--\s*test:\s*(?P<text>.*?)\s*-->\s*", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block: `line` is that of its first line of text, `action` empty without a comment."""

    line: int
    language: str
    text: str
    title: str = ""
    action: str = ""
    argument: str = ""

    @property
    def runs(self) -> bool:
        """Whether the block itself is executed, here or on a GPU."""
        return self.language in EXECUTED and self.action in ("", "wrap", "exit", "gpu")

    @property
    def complaint(self) -> str:
        """What is wrong with how the block is marked; empty if nothing is."""
        if not self.language:
            return "a block must be fenced and name its language"
        if self.action == "unknown":
            return f"must be one of {', '.join(sorted(ACTIONS))}, got 'test: {self.argument}'"
        if self.action in ("wrap", "excerpt of", "exit", "not run,") and not self.argument:
            return f"'test: {self.action}' must say more"
        if self.action == "wrap" and self.language != "mlir":
            return "only mlir blocks are wrapped"
        if self.action == "exit" and self.language not in ("sh", "console"):
            return "only commands have an exit status"
        if not self.runs and self.action not in ("output", "excerpt of", "not run,"):
            return f"a block of '{self.language}' is not executed, so it must say why"
        return ""


def pages() -> list[Path]:
    """Return the Markdown pages of the source tree."""
    return [PROJECT / path for path in source_files() if path.suffix == ".md"]


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = []
    before: Token | None = None
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block"):
            found.append(block_of(token, before))
        if token.nesting != -1 or token.type == "html_block":
            before = token
    return found


def block_of(token: Token, before: Token | None) -> Block:
    """Return the block of a token, `before` being the one in front of it."""
    language, _, rest = token.info.strip().partition(" ")
    titles = [word[6:] for word in shlex.split(rest) if word.startswith("title=")]
    comment = COMMENT.fullmatch(before.content) if before and before.type == "html_block" else None
    action, argument = action_of(comment["text"]) if comment else ("", "")
    assert token.map is not None
    line = token.map[0] + (2 if token.type == "fence" else 1)
    title = titles[0] if titles else ""
    return Block(line, language, token.content, title, action, argument)


def action_of(text: str) -> tuple[str, str]:
    """Split the text of a comment into what to do and with what."""
    for action in ACTIONS:
        if text == action or text.startswith(action + " "):
            return action, " ".join(text[len(action) :].split())
    return "unknown", text


def matcher(shown: str) -> re.Pattern[str]:
    """Return the pattern of what is shown: white space is one blank, `...` stands for anything."""
    words = " ".join(shown.split())
    return re.compile(".*?".join(re.escape(part.strip()) for part in words.split("...")))


def shows(shown: str, text: str) -> bool:
    """Whether `shown` is all of `text`, but for what it leaves out."""
    words = " ".join(text.split())
    return bool(re.fullmatch(f"(?:{matcher(shown).pattern}) ?", words))


def is_in(shown: str, text: str) -> bool:
    """Whether `shown` is part of `text`, but for what it leaves out."""
    return bool(matcher(shown).search(" ".join(text.split())))


def commands_of(text: str) -> list[tuple[str, str]]:
    """Split a `console` block into commands, behind `$ ` and `> `, and what is shown of each."""
    found: list[tuple[str, str]] = []
    in_command = False
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
            in_command = True
        elif in_command and (line.startswith("> ") or found[-1][0].endswith("\\")):
            command = line[2:] if line.startswith("> ") else line
            found[-1] = (f"{found[-1][0]}\n{command}", "")
        else:
            in_command = False
            if not found:
                raise ValueError("a console block begins with '$ '")
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found
