# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache on disk: what hits, what misses, what is dropped, and that nothing in it is trusted."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile import cache, compiler, legalize, saved, variants
from mlir_tile.legalize import copy_async
from mlir_tile.runtime.executable import Executable

GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
BARRIER = "nvvm.cluster.arrive\n      nvvm.cluster.wait"


def program(extent: int = 16) -> str:
    tile = f"memref<{extent}xf32, #gpu.address_space<workgroup>>"
    return f"""
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @send(%rank: i32) workgroup(%src: {tile}, %dst: {tile}) kernel {{
      %c0 = arith.constant 0 : index
      %bytes = arith.constant {4 * extent} : index
      %bars = nvgpu.mbarrier.create -> {GROUP}
      nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : {GROUP}
      {BARRIER}
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : {tile} to {tile}, {GROUP}
      {BARRIER}
      gpu.return
    }}
  }}
  func.func @answer(%x: i32) -> i32 attributes {{llvm.emit_c_interface}} {{
    return %x : i32
  }}
}}
"""


# Nothing says that the peer has started, or is still there.
WARNS = program().replace(BARRIER, "")


@pytest.fixture(autouse=True)
def context() -> Iterator[ir.Context]:
    with mt.context() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the cache of this test."""
    made = tmp_path / "cache"
    monkeypatch.setenv("TILE_CACHE_DIR", str(made))
    monkeypatch.delenv("TILE_CACHE")
    cache._warn_once.cache_clear()
    return made


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One item for each module that was compiled, not found."""
    done: list[str] = []
    lower = compiler.lower

    def counted(module: ir.Module, *args: object, **options: object) -> ir.Module:
        done.append(str(module))
        return lower(module, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler, "lower", counted)
    return done


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tile"))


def check(executable: Executable, extent: int = 16) -> None:
    """That the program is the one compiled from `program(extent)`."""
    ptx = executable.ptx["kernels"]
    assert "cp.async.bulk" in ptx
    assert f", {4 * extent};" in ptx
    assert executable.invoke("answer", 42, device="emulator") == 42


def test_a_second_compile_hits(folder: Path, compiled: list[str]) -> None:
    first = mt.compile(mt.parse(program()))
    second = mt.compile(mt.parse(program()))
    assert len(compiled) == len(entries(folder)) == 1
    assert second.ptx == first.ptx
    assert second.signatures == first.signatures
    check(second)


def test_the_next_process_hits(folder: Path) -> None:
    body = f"""
        import mlir_tile as mt
        from mlir_tile import compiler
        compiler.lower = None  # who compiles, fails
        with mt.context():
            found = mt.compile(mt.parse({program()!r}))
        print(found.invoke("answer", 42, device="emulator"))
    """
    check(mt.compile(mt.parse(program())))
    command = [sys.executable, "-c", textwrap.dedent(body)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


@pytest.mark.parametrize(
    "different",
    [
        {"chip": "sm_90a"},
        {"features": "+ptx83"},
        {"opt_level": 2},
        {"line_info": True},
    ],
)
def test_each_option_is_part_of_the_key(
    different: dict[str, object], folder: Path, compiled: list[str]
) -> None:
    mt.compile(mt.parse(program()))
    mt.compile(mt.parse(program()), **different)  # type: ignore[arg-type]
    mt.compile(mt.parse(program()), **different)  # type: ignore[arg-type]
    assert len(compiled) == len(entries(folder)) == 2


def test_another_program_another_key(folder: Path, compiled: list[str]) -> None:
    for extent in (16, 32, 16):
        check(mt.compile(mt.parse(program(extent))), extent)
    assert len(compiled) == 2


def test_a_change_of_the_compiler_is_part_of_the_key(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mt.compile(mt.parse(program()))
    monkeypatch.setattr(cache, "_compiler_digest", lambda: b"another one")
    mt.compile(mt.parse(program()))
    assert len(compiled) == len(entries(folder)) == 2


def test_the_compilers_digest_is_of_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mt, "__path__", [str(tmp_path)])
    digests = []
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / "module.py").write_text(text)
        digests.append(cache._compiler_digest.__wrapped__())
    (tmp_path / "_tile.so").write_bytes(b"\0")
    digests.append(cache._compiler_digest.__wrapped__())
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("value", "keyword", "used"),
    [
        (None, None, True),
        ("1", None, True),
        ("0", None, False),
        ("off", None, False),
        ("0", True, True),
        (None, False, False),
    ],
)
def test_the_keyword_decides_before_the_environment(
    value: str | None,
    keyword: bool | None,
    used: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if value is not None:
        monkeypatch.setenv("TILE_CACHE", value)
    check(mt.compile(mt.parse(program()), cache=keyword))
    assert len(entries(folder)) == used


def test_a_user_without_a_home_has_no_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILE_CACHE_DIR")
    for found, used in ((folder, True), (Path("~/.cache/mlir-tile"), False)):
        monkeypatch.setattr(cache, "_users_folder", lambda found=found: found)
        assert (cache.chosen(True) is not None) == used


@pytest.mark.parametrize("table", [legalize.PATTERNS, copy_async.VARIANTS])
def test_a_legalization_from_outside_is_not_cached(
    table: dict[str, Callable[..., None]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mt.compile(mt.parse(program()))
    (kept,) = entries(folder)
    for name, function in list(table.items()):

        def outside(*args: object, function: Callable[..., None] = function) -> None:
            function(*args)

        monkeypatch.setitem(table, name, outside)
    kept.write_bytes(b"must not be read")
    check(mt.compile(mt.parse(program()), cache=True))
    assert kept.read_bytes() == b"must not be read"


def test_warnings_come_again(
    folder: Path, compiled: list[str], context: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: list[str] = []
    lower = compiler.lower

    def recorded(module: ir.Module, to: str, **options: object) -> ir.Module:
        stages.append(to)
        return lower(module, to, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler, "lower", recorded)
    told: list[str] = []
    context.attach_diagnostic_handler(lambda info: told.append(info.message) or True)
    for _ in range(3):
        with pytest.warns(mt.CompileWarning, match=r"warning: [\s\S]*\n.*: note: ") as heard:
            check(mt.compile(mt.parse(WARNS)))
        assert any("must follow a cluster barrier" in str(one.message) for one in heard)
        assert {one.filename for one in heard} == {__file__}
    assert len(entries(folder)) == 1
    assert stages == ["ptx", "analyze", "analyze", "analyze"]
    third = len(told) // 3
    assert third > 0
    assert told == 3 * told[:third]
    assert any("must follow a cluster barrier" in text for text in told)


def test_what_cannot_be_said_again_is_not_kept(
    folder: Path, context: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = compiler.lower

    def warns(module: ir.Module, to: str, **options: object) -> ir.Module:
        if to == "ptx":
            lower(mt.parse(WARNS), "analyze")  # stands for a warning of a later stage
        return lower(module, to, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(compiler, "lower", warns)
    check(mt.compile(mt.parse(program())))
    assert entries(folder) == []


def test_what_does_not_compile_leaves_nothing(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(mt.CompileError, match="cannot be cut into bulk copies"):
            mt.compile(mt.parse(program(extent=17)))
    assert entries(folder) == []


def test_a_damaged_entry_is_compiled_anew(folder: Path, compiled: list[str]) -> None:
    mt.compile(mt.parse(program()))
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    last = len(whole) - 1
    cuts = [whole[: last * tenth // 9] for tenth in range(10)]
    flips = []
    for place in sorted({*range(0, 48, 3), *range(48, last, last // 40), last}):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        flips.append(bytes(flipped))
    damaged = [*cuts, *flips, whole + b"\0", b"\0" * len(whole)]
    for number, content in enumerate(damaged, 2):
        assert content != whole
        with pytest.raises(mt.LoadError):
            saved.from_bytes(content)
        entry.write_bytes(content)
        check(mt.compile(mt.parse(program())))
        assert len(compiled) == number
        assert saved.from_bytes(entry.read_bytes()).ptx.keys() == {"kernels"}
    check(mt.compile(mt.parse(program())))  # the control: whole again, and found
    assert len(compiled) == number


def test_an_entry_under_the_name_of_another_is_compiled_anew(
    folder: Path, compiled: list[str]
) -> None:
    mt.compile(mt.parse(program(32)))
    (other,) = entries(folder)
    content = other.read_bytes()
    mt.compile(mt.parse(program(16)))
    (entry,) = set(entries(folder)) - {other}
    entry.write_bytes(content)
    check(mt.compile(mt.parse(program(16))), 16)
    assert len(compiled) == 3


def test_an_entry_of_another_user_is_not_run(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mt.compile(mt.parse(program()))
    if os.getuid() == 0:
        os.chown(entries(folder)[0], 4242, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4242)
    check(mt.compile(mt.parse(program())))
    assert len(compiled) == 2


def test_a_folder_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(RuntimeWarning, match=r"cannot be kept in .*; set TILE_CACHE_DIR") as told:
        check(mt.compile(mt.parse(program())))
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(mt.compile(mt.parse(program())))
    assert len(compiled) == 2


def test_a_read_only_folder_is_still_read(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, content: bytes = b"") -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    mt.compile(mt.parse(program(16)))
    monkeypatch.setattr(cache, "replace_file", refuse)  # modes do not stop root
    monkeypatch.setattr(os, "utime", refuse)
    check(mt.compile(mt.parse(program(16))))
    assert len(compiled) == 1
    with pytest.warns(RuntimeWarning, match="Permission denied"):
        check(mt.compile(mt.parse(program(32))), 32)
    assert len(entries(folder)) == 1


def test_the_longest_unused_entries_go_first(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {}
    for age, extent in enumerate((16, 32, 64)):
        mt.compile(mt.parse(program(extent)))
        (new,) = set(entries(folder)) - set(names.values())
        names[extent] = new
        os.utime(new, (1000 + age, 1000 + age))
    mt.compile(mt.parse(program(16)))  # used, so the youngest now
    limit = sum(path.stat().st_size for path in names.values()) + 200
    monkeypatch.setenv("TILE_CACHE_MIB", str(limit / 2**20))
    mt.compile(mt.parse(program(128)))
    kept = set(entries(folder))
    assert names[32] not in kept
    assert {names[16], names[64]} < kept
    assert sum(path.stat().st_size for path in kept) <= limit


def test_a_program_beyond_the_limit_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CACHE_MIB", "0.001")
    check(mt.compile(mt.parse(program())))
    assert entries(folder) == []


@pytest.mark.parametrize("text", ["many", "-1", "inf", "nan"])
def test_a_wrong_limit_is_a_value_error(
    text: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CACHE_MIB", text)
    with pytest.raises(ValueError, match=f"TILE_CACHE_MIB must be a number of MiB, got '{text}'"):
        mt.compile(mt.parse(program()))


def test_what_a_dead_process_left_is_removed(folder: Path) -> None:
    folder.mkdir()
    old, new = folder / ".tile-old", folder / ".tile-new"
    other = folder / "notes.txt"
    for path in (old, new, other):
        path.write_text("")
    for path in (old, other):
        os.utime(path, (0, 0))
    mt.compile(mt.parse(program()))
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


RACER = """
import random, sys
from pathlib import Path
import mlir_tile as mt

draw = random.Random(sys.argv[1])
programs = {programs!r}
with mt.context():
    for round in range(40):
        extent = draw.choice(sorted(programs))
        found = mt.compile(mt.parse(programs[extent]))
        assert f", {{4 * extent}};" in found.ptx["kernels"]
        assert found.invoke("answer", round, device="emulator") == round
        for path in Path(sys.argv[2]).glob("*.tile"):
            if draw.random() < 0.4:
                path.unlink(missing_ok=True)
print("right")
"""


def test_processes_race_on_the_same_entries(folder: Path) -> None:
    body = RACER.format(programs={extent: program(extent) for extent in (16, 32)})
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", body, str(number), str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(3)
    ]
    for racer in racers:
        output, _ = racer.communicate(timeout=240)
        assert (racer.returncode, output) == (0, "right\n")
    assert not list(folder.glob(".tile-*"))
    for entry in entries(folder):
        saved.from_bytes(entry.read_bytes())


def test_registered_variants_belong_to_the_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What issues a copy is known by its sources, or the cache is not used."""
    source = tmp_path / "outside_issue.py"
    keys = []
    module = mt.parse(program())
    for body in ("return None", "return 1"):
        source.write_text(f"def issue(op):\n    {body}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        sys.modules.pop("outside_issue", None)
        issue = __import__("outside_issue").issue
        monkeypatch.setattr(variants, "_registered", {})
        monkeypatch.setitem(copy_async.VARIANTS, "bulk", copy_async.VARIANTS["bulk"])
        variants.replace_variant("bulk", issue)
        assert cache.is_known_program()
        keys.append(cache.key_of(module, ()))
    monkeypatch.setattr(variants, "_registered", {})
    keys.append(cache.key_of(module, ()))
    assert len(set(keys)) == 3
    assert not cache.is_known_program(), "an issue that is not registered any more"
