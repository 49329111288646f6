# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures for tests of the run stage: a fake CUDA driver, and programs to run on it."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_cuda
import fake_tensors
import kernel_programs
import pytest

from mlir_tile.runtime import devices, executable, kernel
from mlir_tile.runtime.library import library


@pytest.fixture(scope="session")
def fake_driver_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if fake_cuda.compiler() is None:
        pytest.skip("no C++ compiler to build the fake driver with")
    return fake_cuda.build(tmp_path_factory.mktemp("fake_driver"))


MakeFake = Callable[[], fake_cuda.FakeDriver]


@pytest.fixture
def make_fake(fake_driver_library: Path, monkeypatch: pytest.MonkeyPatch) -> MakeFake:
    """Return what puts a fresh fake driver in the place of libcuda.so.1."""

    def make() -> fake_cuda.FakeDriver:
        driver = fake_cuda.FakeDriver(fake_driver_library)
        why = ctypes.c_char_p()
        path = str(fake_driver_library).encode()
        handle = library().tile_runtime_driver_load(path, ctypes.byref(why))
        assert handle, why.value
        for module in (devices, executable, kernel):
            monkeypatch.setattr(module, "cuda_driver", lambda: handle)
        return driver

    return make


@pytest.fixture
def fake(make_fake: MakeFake, request: pytest.FixtureRequest) -> Iterator[fake_cuda.FakeDriver]:
    """A fresh fake driver, checked for leaks at the end of the test."""
    driver = make_fake()
    yield driver
    driver.fail(nth=0)
    gc.collect()
    assert driver.leaks() == {}
    if "program" not in request.fixturenames:  # which is still alive, and with it its module
        assert driver.live("modules") == 0
    assert driver.live("contexts") == 0


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> fake_tensors.Streams:
    made = fake_tensors.Streams()
    for name, module in made.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    return made


@pytest.fixture
def program(fake: fake_cuda.FakeDriver) -> Iterator[Any]:
    yield kernel_programs.executable()
    # Its modules would count in other tests.
    kernel_programs.executable.cache_clear()


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """Each device that programs run on."""
    return str(request.param)


@pytest.fixture
def demonstration() -> str:
    """The text of examples/dsmem_copy.mlir."""
    return (Path(__file__).parents[2] / "examples" / "dsmem_copy.mlir").read_text()
