# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of all modules of the tree, and how compilations of them end.

As a script it compiles many, each three ways: in a worker process as by default, isolated in
another, and now and then by `tile-compile`. It prints how many ended the process, by what LLVM said
last, and whether a net had a hole. A seed and a number make a mutant again.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker import Died, Outcome, Worker

TREE = Path(__file__).parents[2]
EDGES = [
    *("0", "1", "2", "3", "7", "8", "15", "16", "33", "1024", "65536", "1048576", "-1", "-8"),
    *("2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808"),
]
TYPES = [
    *("i1", "i2", "i4", "i7", "i8", "i16", "i24", "i32", "i64", "i128", "i256", "index", "none"),
    *("f16", "bf16", "f32", "f64", "f80", "f128", "tf32", "f8E4M3FN", "f8E5M2", "f4E2M1FN"),
    *("vector<4xf32>", "vector<[4]xf32>", "vector<8xf16>", "vector<2x2xi8>", "complex<f32>"),
    *("memref<8xf32>", "memref<?xf16>", "memref<*xf32>", "memref<4x4xi8, 3>", "tensor<4xf32>"),
    *("!llvm.ptr", "!llvm.ptr<3>", "!nvgpu.device.async.token", "tuple<i32>", "ui8", "si32"),
]
TOKEN = re.compile(
    r'"[^"\n]*"|[%@#!^][\w.$-]*|-?\d+|(?<=[\d?\]])x(?=[\d?\[a-z!])|[A-Za-z_][\w.$]*|->|\S|\s+'
)
TYPE = re.compile(r"(?:[su]?i\d+|index|b?f\d+\w*|tf32)$")


@functools.cache
def modules() -> list[str]:
    """Return the modules of all files of MLIR that can be parsed, without comments.

    Of those that must compile there are four times as many: a mutant of the others seldom gets far.
    """
    folders = TREE / "examples", TREE / "test"
    texts = []
    for file in sorted(file for folder in folders for file in folder.rglob("*.mlir")):
        for part in file.read_text().split("// -----"):
            text = re.sub(r"^\s*//.*\n", "", part, flags=re.MULTILINE).strip() + "\n"
            if 20 < len(text) < 20000 and is_parsed(text):
                texts += [text] * (1 if file.stem.endswith("_errors") else 4)
    return texts


def is_parsed(text: str) -> bool:
    import mlir_tile as mt

    with mt.context():
        try:
            mt.parse(text)
        except mt.CompileError:
            return False
    return True


@functools.cache
def lines() -> list[str]:
    return [line for text in modules() for line in text.splitlines() if line.strip()]


@functools.cache
def words() -> dict[str, list[str]]:
    """Return what may stand in place of a token, by its kind."""
    found: dict[str, set[str]] = {}
    for text in modules():
        for token in TOKEN.findall(text):
            found.setdefault(kind(token), set()).add(token)
    return {name: sorted(tokens) for name, tokens in found.items()}


def kind(token: str) -> str:
    if token[0] in '%@#!^"':
        return token[0]
    if re.fullmatch(r"-?\d+", token):
        return "number"
    if TYPE.match(token):
        return "type"
    if re.match(r"[A-Za-z_]", token):
        return "op" if "." in token else "word"
    return "mark"


def text_mutant(seed: int, number: int) -> bytes:
    """Return a module in which one to three things are changed: lines, tokens, one or all equal."""
    draw = random.Random(f"text {seed} {number}")
    text = draw.choice(modules())
    for _ in range(draw.choice([1, 1, 1, 2, 2, 3])):
        text = draw.choice([with_token, with_token, with_token, with_line])(draw, text)
    return text.encode(errors="replace")


def with_token(draw: random.Random, text: str) -> str:
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return text
    # Of few kinds there are many: what is chosen first is the kind.
    by_kind: dict[str, list[int]] = {}
    for place in places:
        by_kind.setdefault(kind(tokens[place]), []).append(place)
    chosen = draw.choice(sorted(by_kind))
    place = draw.choice(by_kind[chosen])
    action = draw.choice(["replace"] * 4 + ["everywhere"] * 4 + ["drop", "double", "swap"])
    if action in ("replace", "everywhere"):
        here = sorted({tokens[i] for i in by_kind[chosen]})
        pool = {"number": EDGES, "type": TYPES, "%": here, "^": here, "@": here}.get(chosen)
        old, new = tokens[place], draw.choice(pool or words()[chosen])
        # Where it stands for one thing, such as a type, the module stays one that can be right.
        everywhere = {i for i, token in enumerate(tokens) if token == old}
        for i in everywhere if action == "everywhere" else (place,):
            tokens[i] = new
    elif action == "drop":
        tokens[place] = ""
    elif action == "double":
        tokens[place] += " " + tokens[place]
    else:
        other = draw.choice(by_kind[chosen])
        tokens[place], tokens[other] = tokens[other], tokens[place]
    return "".join(tokens)


def with_line(draw: random.Random, text: str) -> str:
    found = text.splitlines(keepends=True)
    place = draw.randrange(len(found))
    action = draw.choice(["drop", "double", "move", "insert"])
    if action == "insert":
        found.insert(place, draw.choice(lines()) + "\n")
    elif action == "double":
        found.insert(draw.randrange(len(found)), found[place])
    else:
        line = found.pop(place)
        if action == "move":
            found.insert(draw.randrange(len(found) + 1), line)
    return "".join(found)


@functools.cache
def bytecodes() -> list[bytes]:
    """Return the bytecode of the modules."""
    import mlir_tile as mt

    found = []
    for text in modules():
        with mt.context():
            content = io.BytesIO()
            mt.parse(text).operation.write_bytecode(content)
            found.append(content.getvalue())
    return found


def bytecode_mutant(seed: int, number: int) -> bytes:
    """Return the bytecode of a module with one to four places damaged."""
    draw = random.Random(f"bytecode {seed} {number}")
    content = bytearray(draw.choice(bytecodes()))
    for _ in range(draw.randint(1, 4)):
        if len(content) <= 4:  # Cut off after the magic number.
            break
        place = draw.randrange(4, len(content))
        action = draw.choice(["bit", "byte", "byte", "drop", "insert", "cut", "copy"])
        if action == "bit":
            content[place] ^= 1 << draw.randrange(8)
        elif action == "byte":
            content[place] = draw.choice([0, 1, 127, 128, 255, draw.randrange(256)])
        elif action == "drop":
            del content[place : place + draw.choice([1, 2, 8])]
        elif action == "insert":
            content[place:place] = draw.randbytes(draw.choice([1, 2, 8]))
        elif action == "copy":
            start = draw.randrange(4, len(content))
            content[place : place + 8] = content[start : start + 8]
        elif draw.random() < 0.2:
            del content[place:]
    return bytes(content)


MUTANTS = {"text": text_mutant, "bytecode": bytecode_mutant}


@dataclass
class Result:
    """What a run has found.

    `ends` are the kinds of crash that came back from isolated compilations. `holes` are what must
    not be; `differences` are where only one of two ways crashed, as where host code is generated.
    """

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    holes: list[str] = field(default_factory=list)
    longer_than_20_s: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    by_default: int = 0
    tools: int = 0
    tool_ends: int = 0
    longest_seconds: float = 0.0
    growth_kib: int = 0


SECONDS = 20.0


def reason(said: str) -> str:
    """Return the line that names the kind of a crash, the same for two of one kind."""
    found = [line for line in said.splitlines() if line.startswith("crash: ")]
    pass_name, _, text = found[-1].removeprefix("crash: ").partition(": ")
    if failed := re.search(r"(\w+\.(?:cpp|h):\d+): .*(Assertion .*)", text):
        return f"{pass_name or 'no pass'}: {failed[1]}: {failed[2]}"[:200]
    return f"{pass_name or 'no pass'}: " + re.sub(r"0x[0-9a-f]+|\d+", "N", text)[:120]


def compile_mutants(
    name: str,
    seed: int,
    numbers: range,
    *,
    tool_each: int,
    default_each: int = 1,
    keep: Path | None = None,
) -> Result:
    """Compile mutants isolated, each `default_each`th by default and each `tool_each`th by tool."""
    result = Result()
    plain, isolated = Worker(), Worker()
    first_kib = 0
    try:
        for number in numbers:
            data = MUTANTS[name](seed, number)
            result.inputs += 1
            crash = caught(isolated, result, f"{name} {seed} {number}", data)
            if crash:
                if keep is not None and not result.ends[crash]:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{name}-{seed}-{number}").write_bytes(data)
                result.ends[crash] += 1
            if number % default_each == 0:
                result.by_default += 1
                ends = died(plain, result, f"{name} {seed} {number}", data)
                if ends != bool(crash):
                    how = f"{'ended' if ends else 'did not end'} by default"
                    result.differences.append(f"{name} {seed} {number}: {how}, {crash or 'fine'}")
            is_new = bool(crash) and result.ends[crash] == 1
            if tool_each and (number % tool_each == 0 or is_new) and not crash.endswith("no end"):
                by_tool(result, f"{name} {seed} {number}", data)
            if result.inputs == len(numbers) // 4:
                first_kib = isolated.resident_kib()
        if first_kib:
            result.growth_kib = isolated.resident_kib() - first_kib
    finally:
        plain.stop()
        isolated.stop()
    return result


def died(worker: Worker, result: Result, label: str, data: bytes) -> bool:
    """Compile as by default; return whether that ended the process."""
    try:
        outcome = worker.run("compiled", data, SECONDS)
    except Died as end:
        if "took more than" in str(end):
            result.longer_than_20_s.append(label)
        return True
    check(result, label, outcome)
    return False


def caught(worker: Worker, result: Result, label: str, data: bytes) -> str:
    """Compile isolated; return the kind of crash that came back, empty for none."""
    try:
        outcome = worker.run("isolated", data, SECONDS)
    except Died as end:
        result.holes.append(f"{label}: ends an isolated caller: {end}")
        return "a hole"
    check(result, label, outcome)
    result.accepted += outcome.status == 0
    result.refused += outcome.status == 1
    return reason(outcome.stderr) if outcome.status == 3 else ""


def by_tool(result: Result, label: str, data: bytes) -> None:
    """Compile by `tile-compile`."""
    done = subprocess.run(
        [sys.executable, "-m", "tile_tools.compile", "-", "--to", "ptx", "-o", "/dev/null"],
        input=data, capture_output=True, timeout=600, check=False,
    )  # fmt: skip
    said = done.stderr.decode(errors="replace")
    result.tools += 1
    result.tool_ends += "error: internal error" in said
    # How long that takes is measured above.
    check(result, f"{label} by tile-compile", Outcome(done.returncode, said, 0.0))


def check(result: Result, label: str, outcome: Outcome) -> None:
    result.longest_seconds = max(result.longest_seconds, outcome.seconds)
    if outcome.status not in (0, 1, 3):
        result.holes.append(f"{label}: status {outcome.status}: {outcome.stderr[-300:]}")
    if "Traceback" in outcome.stderr:
        result.holes.append(f"{label}: {outcome.stderr[-600:]}")
    if outcome.status == 1 and "error: " not in outcome.stderr:
        result.holes.append(f"{label}: no error: {outcome.stderr[-300:]}")


def main() -> None:
    """Run on `sys.argv` and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1000, metavar="N")
    parser.add_argument("--bytecodes", type=int, default=250, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--default-each", type=int, default=1, metavar="N")
    parser.add_argument("--tool-each", type=int, default=50, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="one input of each kind")
    options = parser.parse_args()
    found: dict[str, Any] = {"seed": options.seed}
    for name, count in (("text", options.texts), ("bytecode", options.bytecodes)):
        numbers = range(options.first, options.first + count)
        result = compile_mutants(
            name,
            options.seed,
            numbers,
            tool_each=options.tool_each,
            default_each=options.default_each,
            keep=options.keep,
        )
        found[name] = vars(result) | {"ends": dict(result.ends.most_common())}
        print(json.dumps(found, indent=1), flush=True)


if __name__ == "__main__":
    main()
