# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were saved or pickled run as they did, elsewhere and later, or say why not."""

from __future__ import annotations

import copy
import hashlib
import importlib.metadata
import json
import pickle
import re
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.runtime import saved
from mlir_tile.runtime.executable import Executable

HEAD = 8 + 32 + 8


@pytest.fixture(scope="module")
def executable() -> Executable:
    text = (Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir").read_text()
    with mt.context():
        return mt.compile(mt.parse(text))


def copies(executable: Executable, device: str = "emulator") -> bool:
    a = np.arange(128 * 64, dtype=np.float16).reshape(128, 64)
    b = np.zeros_like(a)
    executable.invoke("main", a, b, device=device, timeout=600)
    return bool((a == b).all())


def test_programs_of_one_input_are_the_same_bytes(demonstration: str) -> None:
    def compiled() -> bytes:
        with mt.context():
            return saved.to_bytes(mt.compile(mt.parse(demonstration)))

    assert compiled() == compiled()


def rewritten(content: bytes, **fields: object) -> bytes:
    """Return a saved program whose header has other fields, and a digest that fits."""
    format, length = struct.unpack_from("<II", content, 40)
    header = {**json.loads(content[HEAD : HEAD + length]), **fields}
    format = header.pop("format", format)
    encoded = json.dumps(header).encode()
    rest = struct.pack("<II", format, len(encoded)) + encoded + content[HEAD + length :]
    return content[:8] + hashlib.sha256(rest).digest() + rest


def test_a_saved_program_runs(executable: Executable, tmp_path: Path, device: str) -> None:
    executable.save(tmp_path / "copy.tile")
    for loaded in (mt.load(tmp_path / "copy.tile"), Executable.load(str(tmp_path / "copy.tile"))):
        assert loaded.ptx == executable.ptx
        assert loaded.signatures == executable.signatures
        assert copies(loaded, device)


def test_a_pickled_program_runs(executable: Executable) -> None:
    for loaded in (pickle.loads(pickle.dumps(executable)), copy.deepcopy(executable)):
        assert loaded.ptx == executable.ptx
        assert copies(loaded)


def test_a_loaded_program_is_saved_as_it_was(executable: Executable) -> None:
    again = saved.from_bytes(saved.to_bytes(executable))
    assert saved.to_bytes(saved.from_bytes(saved.to_bytes(again))) == saved.to_bytes(again)


@pytest.mark.parametrize("way", ["load", "pickle"])
def test_a_fresh_process_runs_it(way: str, executable: Executable, tmp_path: Path) -> None:
    path = tmp_path / "copy.tile"
    if way == "load":
        executable.save(path)
        read = "import mlir_tile as mt; program = mt.load(sys.argv[1])"
    else:
        path.write_bytes(pickle.dumps(executable))
        read = "import pickle; program = pickle.load(open(sys.argv[1], 'rb'))"
    body = f"""
        import sys
        import numpy as np
        {read}
        a = np.arange(128 * 64, dtype=np.float16).reshape(128, 64)
        b = np.zeros_like(a)
        program.invoke("main", a, b, device="emulator")
        assert (a == b).all()
        print("right")
    """
    command = [sys.executable, "-c", textwrap.dedent(body), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_signatures_come_back_the_same() -> None:
    text = """
    func.func @f(%0: memref<?x4xf32, strided<[8, 1], offset: ?>>, %1: memref<*xi8>, %2: index,
                 %3: i1, %4: f16, %5: memref<2xui16>) -> f64 attributes {llvm.emit_c_interface} {
      %c = arith.constant 1.5 : f64
      return %c : f64
    }
    func.func @g(%0: memref<4xf32>) -> memref<4xf32> attributes {llvm.emit_c_interface} {
      return %0 : memref<4xf32>
    }
    func.func @h() attributes {llvm.emit_c_interface} { return }
    """
    with mt.context():
        made = mt.compile(mt.parse(text))
    loaded = saved.from_bytes(saved.to_bytes(made))
    assert loaded.signatures == made.signatures
    assert set(loaded.signatures) == {"f", "g", "h"}


def test_damage_is_told(executable: Executable, tmp_path: Path) -> None:
    path = tmp_path / "copy.tile"
    executable.save(path)
    whole = path.read_bytes()
    for cut in range(len(whole) // 10, len(whole), len(whole) // 10):
        path.write_bytes(whole[:cut])
        with pytest.raises(mt.LoadError, match=rf"^{path} is damaged: its {cut} bytes are not"):
            mt.load(path)
    path.write_bytes(whole)
    assert copies(mt.load(path))


@pytest.mark.parametrize("content", [b"", b"module {}", b"ML\xefR\x06", b"\x93tilt\r\n\x1a" * 9])
def test_another_file_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "copy.tile"
    path.write_bytes(content)
    with pytest.raises(mt.LoadError, match=rf"^{path} is not a program saved by mlir_tile"):
        mt.load(path)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mt.load(tmp_path / "none.tile")


def test_another_version_is_refused(executable: Executable, tmp_path: Path) -> None:
    content = saved.to_bytes(executable)
    versions = {**saved.versions(), saved.MLIR_WHEEL: "21.1.0"}
    this = re.escape(saved.versions()[saved.MLIR_WHEEL])
    with pytest.raises(mt.LoadError, match=rf"was saved with MLIR 21\.1\.0 .* this is {this}; "):
        saved.from_bytes(rewritten(content, versions=versions))
    with pytest.raises(mt.LoadError, match=r"has format 7, this version of mlir_tile reads format"):
        saved.from_bytes(rewritten(content, format=7))
    assert copies(saved.from_bytes(rewritten(content, remark="the control: nothing of weight")))


def test_wheels_without_metadata_have_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert "bytes" in saved.versions.__wrapped__()[saved.MLIR_WHEEL]


@pytest.mark.parametrize(
    "fields",
    [
        {"versions": {}},
        {"versions": 1},
        {"signatures": 1},
        {"signatures": {"main": {}}},
        {"signatures": {"main": {"arguments": ["what"], "results": [], "unsupported": ""}}},
        {"ptx": 7},
        {"opt_level": None, "signatures": None},
    ],
)
def test_a_header_that_makes_no_sense_is_told(
    fields: dict[str, object], executable: Executable
) -> None:
    with pytest.raises(mt.LoadError, match="cannot be read"):
        saved.from_bytes(rewritten(saved.to_bytes(executable), **fields))


def test_a_file_is_replaced_as_a_whole(executable: Executable, tmp_path: Path) -> None:
    path = tmp_path / "copy.tile"
    path.write_bytes(b"before")
    path.chmod(0o640)
    executable.save(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="No such file"):
        executable.save(tmp_path / "none" / "copy.tile")


def tile_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tile_tools.run", *arguments, "--device", "emulator"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_tile_run_takes_a_saved_program(executable: Executable, tmp_path: Path) -> None:
    path = tmp_path / "copy.tile"
    executable.save(path)
    arguments = ["--arg", "iota:128x64xf16", "--arg", "zeros:128x64xf16"]
    assert tile_run(str(path), *arguments, "--expect", "1=0").returncode == 0
    refused = tile_run(str(path), *arguments, "--chip", "sm_90a", "--line-info")
    assert refused.returncode == 1
    assert refused.stderr == (
        f"error: {path} is compiled already; drop --chip, --line-info, or compile it again\n"
    )
    path.write_bytes(path.read_bytes()[:-1])
    damaged = tile_run(str(path), *arguments)
    assert damaged.returncode == 1
    assert damaged.stderr.startswith(f"error: {path} is damaged: ")
