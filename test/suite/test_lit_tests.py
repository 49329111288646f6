# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit tests themselves: FileCheck ignores what it does not know, so this does not.

A comment that looks like a directive but is none, or one whose prefix no RUN line gives, checks
nothing and would pass for ever.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

TEST_FOLDER = Path(__file__).parents[1]
LIT_CONFIG = (TEST_FOLDER / "lit.cfg.py").read_text()
EXCLUDED = set(ast.literal_eval(re.search(r"^config.excludes = (.*)$", LIT_CONFIG, re.M)[1]))
LIT_TESTS = [
    path
    for path in sorted(TEST_FOLDER.rglob("*.mlir"))
    if not EXCLUDED.intersection(path.relative_to(TEST_FOLDER).parts)
]

SUFFIXES = r"NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+"
# A word in capitals, behind it a suffix or not, then a colon: FileCheck takes no other.
DIRECTIVE = re.compile(rf"//\s*(?P<prefix>[A-Z][A-Z0-9_-]*?)(?:-(?:{SUFFIXES}))?(?:{{LITERAL}})?:")
# Also with a full-width or a small colon, which reads like one.
COLON = "[:;\uff1a\ufe55\ufe30]"
LOOKS_LIKE_DIRECTIVE = re.compile(
    rf"//+\s*(?P<word>\w+(?:[-_]\w+|\ [A-Z]+)*)\s*(?:\{{[A-Z]+\}})?\s*{COLON}"
)
VERIFIER_DIRECTIVE = re.compile(r"//\s*expected-(?:error|warning|note|remark)(?:-re)?\s*(?:@|\{\{)")
LIT_KEYWORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "COM"}
CHECKING_TOOLS = {"FileCheck", "cmp", "count", "diff"}


def run_lines(text: str) -> list[str]:
    """Return the commands of the RUN lines, continued ones in one piece."""
    lines = re.findall(r"^\s*//\s*RUN:\s*(.*?)\s*$", text, re.MULTILINE)
    joined, rest = [], ""
    for line in lines:
        if line.endswith("\\"):
            rest += line[:-1]
        else:
            joined.append(rest + line)
            rest = ""
    return joined + ([rest] if rest else [])


def prefixes_of(command: str) -> list[str]:
    """Return the prefixes that one call of FileCheck looks for."""
    prefixes: list[str] = []
    words = shlex.split(command)
    for place, word in enumerate(words):
        option = re.fullmatch(r"--?check-prefix(?:es)?(?:=(.*))?", word)
        if option:
            prefixes += (option[1] if option[1] is not None else words[place + 1]).split(",")
    return prefixes or ["CHECK"]


def file_checks(text: str) -> list[list[str]]:
    """Return the prefixes of each call of FileCheck in the RUN lines."""
    return [
        prefixes_of(command)
        for line in run_lines(text)
        for command in re.split(r"\||&&|;", line)
        if re.search(r"\bFileCheck\b", command)
    ]


def nearly(word: str, prefixes: set[str]) -> bool:
    """Whether `word` reads like a directive of one of `prefixes`, rightly spelt or not."""
    upper = re.sub(r"[^A-Z0-9]", "", word.upper())
    wanted = {re.sub(r"[^A-Z0-9]", "", prefix) for prefix in prefixes} | {"CHECK"}
    has_suffix = re.search(rf"[-_ ](?:{SUFFIXES}|NXT|NETX|LABLE|SMAE|DAGS|COUNT)$", word, re.I)
    return bool(has_suffix) or any(
        upper.startswith(prefix) or (upper.startswith(prefix[:4]) and len(upper) <= len(prefix) + 1)
        for prefix in wanted
    )


def complaints(text: str) -> list[str]:
    """Return what is wrong with the checks of a lit test."""
    found = []
    lines = run_lines(text)
    calls = file_checks(text)
    prefixes = {prefix for call in calls for prefix in call}
    used: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        directive = DIRECTIVE.match(line.strip())
        if directive and directive["prefix"] in prefixes:
            used.add(directive["prefix"])
            continue
        if directive and directive["prefix"] in LIT_KEYWORDS:
            continue
        like = LOOKS_LIKE_DIRECTIVE.match(line.strip())
        if (
            directive
            or (like and like["word"].isupper())
            or (like and nearly(like["word"], prefixes))
        ):
            found.append(f"line {number}: no directive of FileCheck or lit: {line.strip()}")
        elif re.search(r"//.*expected[-_ ]?(error|warn|note|remark)", line, re.I) and not re.search(
            VERIFIER_DIRECTIVE, line
        ):
            found.append(f"line {number}: no directive of -verify-diagnostics: {line.strip()}")
    if not lines:
        found.append("no RUN line")
    for call in calls:
        if not used.intersection(call):
            found.append(f"FileCheck has nothing to check for {', '.join(call)}")
    for line in lines:
        if "verify-diagnostics" in line and not VERIFIER_DIRECTIVE.search(text):
            found.append(f"nothing is expected: {line}")
        tools = {Path(word).name for word in shlex.split(line)}
        if not tools & CHECKING_TOOLS and "verify-diagnostics" not in line:
            found.append(f"nothing is checked: {line}")
    return found


@pytest.mark.parametrize("path", LIT_TESTS, ids=lambda path: str(path.relative_to(TEST_FOLDER)))
def test_each_directive_is_one(path: Path) -> None:
    assert complaints(path.read_text()) == []


def test_there_are_lit_tests() -> None:
    assert LIT_TESTS


CONTROL = """
// RUN: tile-opt %s | FileCheck %s
// A word of prose: not a directive. Neither is this NOTE.
// CHECK-LABEL: func @f
// CHECK-NEXT: return
"""


def test_the_control_passes() -> None:
    assert complaints(CONTROL) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("CHECK-NEXT:", "CHECK-NXT:"),
        ("CHECK-NEXT:", "CHECK_NEXT:"),
        ("CHECK-NEXT:", "CHECK NEXT:"),
        ("CHECK-NEXT:", "CHECK-NEXT :"),
        ("CHECK-NEXT:", "CHECK-NEXT\uff1a"),
        ("CHECK-NEXT:", "CHECK-NEXT;"),
        ("CHECK-NEXT:", "CHEKC-NEXT:"),
        ("CHECK-NEXT:", "CHECKNEXT:"),
        ("CHECK-NEXT:", "check-next:"),
        ("CHECK-NEXT:", "Check-next:"),
        ("CHECK-NEXT:", "PTX-NEXT:"),
        ("CHECK-NEXT:", "CHECKS:"),
        ("CHECK-NEXT:", "CHECK-COUNT:"),
        ("CHECK-NEXT:", "CHECK-NEXT-NOT:"),
        ("| FileCheck %s", "| FileCheck %s --check-prefix=PTX"),
        ("| FileCheck %s", "| FileCheck %s --check-prefixes PTX,NVVM"),
        (" | FileCheck %s", ""),
        (" | FileCheck %s", " -verify-diagnostics"),
        (" | FileCheck %s", " -verify-diagnostics\n// expected_error @+1 {{no}}"),
        ("RUN:", "RUNS:"),
    ],
)
def test_a_misspelt_directive_is_found(right: str, wrong: str) -> None:
    assert complaints(CONTROL.replace(right, wrong, 1)) != []


@pytest.mark.parametrize(
    "line",
    [
        "// CHECK-COUNT-2: mapa",
        "// CHECK-NOT: mapa",
        "// CHECK-DAG: mapa",
        "// CHECK-SAME: mapa",
        "// CHECK{LITERAL}: [[mapa]]",
        "// CHECK-EMPTY:",
        "// REQUIRES: gpu",
        "// RUN: tile-opt %s --check | \\\n// RUN:   FileCheck %s",
        "// RUN: tile-opt %s | FileCheck %s --check-prefixes=CHECK,PTX\n// PTX-NOT: mapa",
        "// RUN: not tile-opt %s 2>&1 | FileCheck %s --check-prefix ERROR\n// ERROR: no",
        "// c1: the source is in workgroup memory.",
        "// Elements: 16 of them.",
    ],
)
def test_a_directive_that_is_one_passes(line: str) -> None:
    assert complaints(CONTROL + line + "\n") == []
