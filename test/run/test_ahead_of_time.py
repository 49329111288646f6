# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects and headers of `tile-compile` in C++ programs, built and run without Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fake_cuda
import pytest

import mlir_tile as mt
from mlir_tile import native, paths
from mlir_tile.runtime.devices import device_info

EXAMPLES = Path(__file__).parents[2] / "examples"
INPUTS = Path(__file__).parent / "ahead_of_time"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
THROUGH = (INPUTS / "through.mlir").read_text()
TYPES = (INPUTS / "types.mlir").read_text()


Compile = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Compile:
    """Return what builds a C++ program, or a shared library, of sources and objects."""
    if fake_cuda.compiler() is None:
        pytest.skip("no C++ compiler")

    def run(output: str, *inputs: str | Path, options: tuple[str, ...] = ()) -> Path:
        made = tmp_path / output
        libraries = paths.library_dir()
        command = [str(fake_cuda.compiler()), "-std=c++17", *WARNINGS, *options]
        command += [f"-I{tmp_path}", f"-I{paths.include_dir()}", "-o", str(made), *map(str, inputs)]
        command += [f"-L{libraries}", "-ltile_runtime", "-ldl", f"-Wl,-rpath,{libraries}"]
        subprocess.run(command, check=True, timeout=600)
        return made

    return run


@pytest.fixture
def tile_compile(tmp_path: Path) -> Compile:
    """Return what compiles MLIR to an object and a header beside it."""

    def run(name: str, text: str, embed: str = "ptx") -> Path:
        with mt.context():
            module = mt.parse(text)
            (tmp_path / f"{name}.h").write_text(native.header_of(module))
            made = tmp_path / f"{name}.o"
            made.write_bytes(native.object_of(mt.lower(module, embed)))
        return made

    return run


@pytest.fixture
def fake_environment(tmp_path: Path, fake_driver_library: Path) -> dict[str, str]:
    """An environment in which libcuda.so.1 is the fake driver."""
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(fake_driver_library)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def start(
    program: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program], env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_two_objects_in_one_program(
    build: Compile,
    tile_compile: Compile,
    fake_environment: dict[str, str],
    demonstration: str,
) -> None:
    through = tile_compile("through", THROUGH + demonstration_kernels(demonstration))
    types = tile_compile("types", TYPES + demonstration_kernels(demonstration))
    done = start(build("program", INPUTS / "calls.cpp", through, types), fake_environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def demonstration_kernels(text: str) -> str:
    """Return the `gpu.module @kernels` of the demonstration: the same name in each object."""
    aliases = "".join(line + "\n" for line in text.splitlines() if line.startswith("!"))
    start, end = text.index("  gpu.module @kernels"), text.index("  func.func @main")
    return aliases + text[start:end]


def test_an_object_links_into_a_shared_library(
    tmp_path: Path, build: Compile, tile_compile: Compile, fake_environment: dict[str, str]
) -> None:
    through = tile_compile("through", THROUGH)
    library = build("libthrough.so", through, options=("-shared", "-Wl,-z,text,-z,defs"))
    source = tmp_path / "main.cpp"
    source.write_text(
        '#include "through.h"\nint main() {\n  float a[4] = {1, 2, 3, 4}, b[4] = {};\n'
        "  auto from = tile_memref_f32_2d_of(a, 4, 1), to = tile_memref_f32_2d_of(b, 4, 1);\n"
        "  return tile_main(from, to, nullptr, nullptr) + (b[3] != 4);\n}\n"
    )
    program = build("program", source, library, options=(f"-Wl,-rpath,{tmp_path}",))
    assert start(program, fake_environment).returncode == 0


def test_the_header_is_c_too(tmp_path: Path, build: Compile, tile_compile: Compile) -> None:
    tile_compile("types", TYPES)
    tile_compile("through", THROUGH)
    source = tmp_path / "unit.c"
    source.write_text('#include "types.h"\n#include "through.h"\n#include "types.h"\nint unit;\n')
    command = ["cc", "-std=c11", *WARNINGS, f"-I{tmp_path}", f"-I{paths.include_dir()}", "-c"]
    subprocess.run([*command, str(source), "-o", str(tmp_path / "unit.o")], check=True, timeout=600)


def example(build: Compile, tile_compile: Compile, embed: str = "ptx") -> Path:
    made = tile_compile("dsmem_copy", (EXAMPLES / "dsmem_copy.mlir").read_text(), embed)
    return build("example", EXAMPLES / "ahead_of_time" / "main.cpp", made)


def test_the_example_says_that_there_is_no_driver(build: Compile, tile_compile: Compile) -> None:
    if device_info().driver_version:
        pytest.skip("there is a driver")
    done = start(example(build, tile_compile))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no CUDA driver: libcuda.so.1: ")


def test_the_example_builds_with_cmake(tmp_path: Path, fake_environment: dict[str, str]) -> None:
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("no cmake")
    configure = [cmake, "-S", str(EXAMPLES / "ahead_of_time"), "-B", str(tmp_path / "build")]
    for command in (
        [*configure, f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_CXX_FLAGS=-Werror"],
        [cmake, "--build", str(tmp_path / "build")],
    ):
        subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
    done = start(tmp_path / "build" / "dsmem_copy", fake_environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: other bytes arrived than were sent\n"


def test_the_example_checks_its_bytes(
    build: Compile, tile_compile: Compile, fake_environment: dict[str, str]
) -> None:
    """The fake driver launches nothing, so that nothing arrives."""
    done = start(example(build, tile_compile), fake_environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: other bytes arrived than were sent\n"


@pytest.mark.gpu
@pytest.mark.parametrize("embed", ["ptx", "cubin", "fatbin"])
def test_the_example_runs(embed: str, build: Compile, tile_compile: Compile) -> None:
    if embed != "ptx" and not all(map(shutil.which, ("ptxas", "fatbinary"))):
        pytest.skip("not on PATH: ptxas or fatbinary")
    done = start(example(build, tile_compile, embed))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "The tile arrived in the shared memory of the other CTA.\n"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("@f(%a: f16)", "argument 0 of @f must be a memref or one of i1, i8, .* got f16"),
        ("@f(%a: i32, %b: vector<4xf32>)", "argument 1 of @f must be a memref or one of"),
        ("@f(%a: memref<4xcomplex<f32>>)", "argument 0 of @f must have elements that C can"),
        ("@f(%a: memref<4xi4>)", "argument 0 of @f must have elements that C can address, got i4"),
        (
            "@f(%a: memref<8x8xf32, #tile.layout<(8, 8) : (8, 1), swizzle = <2, 2, 3>>>)",
            "argument 0 of @f must have strides, got memref<8x8xf32, #tile.layout",
        ),
        ('@"f.g"(%a: i32)', "@f.g must have a name that C can spell"),
    ],
)
def test_what_c_cannot_pass_is_refused_at_the_function(function: str, message: str) -> None:
    text = f"func.func {function} attributes {{llvm.emit_c_interface}} {{ return }}"
    with mt.context(), pytest.raises(mt.CompileError, match=rf"^-:1:1: error: {message}"):
        native.header_of(mt.parse(text))


def header_of_function(name: str) -> str:
    text = f"func.func @{name}(%a: memref<f32>) attributes {{llvm.emit_c_interface}} {{ return }}"
    with mt.context():
        return native.header_of(mt.parse(text))


def test_names_of_the_library_are_refused() -> None:
    library = (paths.include_dir() / "TileRuntime.h").read_text() + header_of_function("f")
    names = set(re.findall(r"\btile_(\w+)", library)) - {"f"}
    assert {"runtime_begin", "memref_f32_0d_of", "memref_f32_0d", "refuse_call"} <= names
    for name in names:
        with pytest.raises(
            mt.CompileError, match=rf"^-:1:1: error: @{name} must leave tile_{name}"
        ):
            header_of_function(name)
    for name in ("runtime", "memref", "refuse_calls", "a_runtime_begin", "main", "int"):
        assert f"static inline int tile_{name}(" in header_of_function(name)


def test_quotes_in_a_type_end_no_string() -> None:
    text = (
        'func.func @f(%a: memref<2xf32, "a space">) attributes {llvm.emit_c_interface} { return }'
    )
    with mt.context():
        header = native.header_of(mt.parse(text))
    assert r"must be memref<2xf32, \"a space\">" in header


def test_several_results_are_refused() -> None:
    text = """func.func @f(%a: i32) -> (i32, i32) attributes {llvm.emit_c_interface} {
      return %a, %a : i32, i32
    }"""
    with mt.context(), pytest.raises(mt.CompileError, match=r"one result at most, got 2"):
        native.header_of(mt.parse(text))


def test_a_module_without_an_interface_is_refused() -> None:
    with mt.context():
        module = mt.parse("func.func @f() { return }")
        with pytest.raises(mt.CompileError, match=r"give a func\.func the attribute"):
            native.header_of(module)
        with pytest.raises(mt.CompileError, match=r"give a func\.func the attribute"):
            native.object_of(mt.lower(module, "ptx"))
