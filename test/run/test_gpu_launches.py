# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels launched on tensors of PyTorch and CuPy, on a GPU: values, streams, graphs, devices."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernel_programs
import numpy as np
import pytest

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
RUNS = 20
SLEEP_CYCLES = 20_000_000  # ten milliseconds or so

VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda w: w,
    "rows": lambda w: w[2:5],
    "columns": lambda w: w[:, 3:7],
    "steps": lambda w: w[::3, 1::4],
    "transposed": lambda w: w.T,
    "one row": lambda w: w[5:6],
    "one element": lambda w: w[7:, 11:],
    "no rows": lambda w: w[3:3],
    "nothing": lambda w: w[8:, 12:],
}


def kernel(name: str, device: str = "auto") -> Any:
    return kernel_programs.executable().kernel("kernels", name, device)


def fresh(name: str) -> Any:
    """Return a kernel that has not been loaded anywhere."""
    return kernel_programs.fresh().kernel("kernels", name)


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    return module


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


class Gate:
    """Keeps what is queued on a stream from beginning until it is opened.

    Meanwhile nothing may be loaded or allocated that has not been before: that may wait.
    """

    def __init__(self, torch: Any) -> None:
        self._word = torch.zeros(1, dtype=torch.int32).pin_memory()
        self._wait = ctypes.CDLL("libcuda.so.1").cuStreamWaitValue32_v2
        self._wait.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint]

    def close(self, stream: int) -> None:
        self._word.zero_()
        assert self._wait(stream, self._word.data_ptr(), 1, 0) == 0  # until it is at least 1

    def open(self) -> None:
        self._word.fill_(1)


def base() -> np.ndarray[Any, Any]:
    return np.arange(96, dtype=np.float32).reshape(8, 12)


def expected_of(view: str) -> np.ndarray[Any, Any]:
    source = VIEWS[view](base())
    target = np.full((source.shape[0] + 2, 2 * source.shape[1] + 1), -1, np.float32)
    target[1:-1, 1::2] = source + 0.5
    return target


@pytest.mark.parametrize("view", VIEWS)
def test_torch_views_are_read_and_written_as_numpy_does(view: str, torch: Any) -> None:
    source = VIEWS[view](torch.from_numpy(base()).cuda())
    expected = expected_of(view)
    target = torch.full(expected.shape, -1.0, device="cuda")
    for _ in range(2):
        kernel("any")[1, 1](source, target[1:-1, 1::2], 0.5)
    assert np.array_equal(target.cpu().numpy(), expected)


def test_a_torch_view_of_stride_0_is_read(torch: Any) -> None:
    source = torch.arange(4.0, device="cuda").expand(3, 4)
    target = torch.zeros(3, 4, device="cuda")
    kernel("any")[1, 1](source, target, 0.0)
    assert torch.equal(target, source)
    with pytest.raises(ValueError, match="must have stride 4 in dimension 0"):
        kernel("dense")[1, 1](source, target, 0.0)


@pytest.mark.parametrize("view", VIEWS)
def test_cupy_views_are_read_and_written_as_numpy_does(view: str, cupy: Any) -> None:
    source = VIEWS[view](cupy.asarray(base()))
    expected = expected_of(view)
    target = cupy.full(expected.shape, -1, np.float32)
    for _ in range(2):
        kernel("any")[1, 1](source, target[1:-1, 1::2], 0.5)
    assert np.array_equal(cupy.asnumpy(target), expected)


class Wrapped:
    """A tensor that shows one protocol alone."""

    def __init__(self, tensor: Any, *names: str) -> None:
        self.tensor, self.names = tensor, names

    def __getattr__(self, name: str) -> Any:
        if name in self.names:
            return getattr(self.tensor, name)
        raise AttributeError(name)


@pytest.mark.parametrize(
    "names", [("__cuda_array_interface__",), ("__dlpack__", "__dlpack_device__")], ids=str
)
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_the_protocols_alone_are_enough(
    names: tuple[str, ...], library: str, request: pytest.FixtureRequest
) -> None:
    module = request.getfixturevalue(library)
    on_gpu = (lambda a: module.from_numpy(a).cuda()) if library == "torch" else module.asarray
    source, target = on_gpu(base())[2:, ::2], on_gpu(np.zeros((6, 6), np.float32))
    kernel("any")[1, 1](Wrapped(source, *names), Wrapped(target, *names), 0.5)
    assert (target == source + 0.5).all()


def test_bf16_tensors_are_taken(torch: Any) -> None:
    a = torch.zeros(4, dtype=torch.bfloat16, device="cuda")
    b = torch.zeros(4, dtype=torch.float8_e4m3fn, device="cuda")
    kernel("bytes")[1, 1](a, b)
    with pytest.raises(TypeError, match="must have element type bf16"):
        kernel("bytes")[1, 1](a.to(torch.float16), b)


def test_arrays_on_the_host_are_refused(torch: Any) -> None:
    a, b = np.zeros((2, 2), np.float32), torch.zeros(2, 2)
    for host in (a, b):
        with pytest.raises(TypeError, match="must be on a GPU"):
            kernel("dense")[1, 1](host, host, 0.0)
    with pytest.raises(TypeError, match=r"must be in host memory.*exe\.kernel"):
        import host_programs

        program = host_programs.compile_text(host_programs.FILL)
        program.invoke("main", torch.zeros(64, device="cuda"), 1.0)


def ordered_runs(torch: Any, launch_stream: Callable[[Any], Any]) -> int:
    """Count runs in which our launch saw what is queued before it, and what follows saw it."""
    bound = kernel("dense")[1, 1]
    side, gate = torch.cuda.Stream(), Gate(torch)
    right = 0
    for run in range(-1, RUNS):
        a, b, c = (torch.full((4, 4), -1.0, device="cuda") for _ in range(3))
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            if run >= 0:  # once without, to load all that is used
                gate.close(side.cuda_stream)
            a.fill_(float(run))
            stream = launch_stream(side)
            (bound if stream is None else bound.on(stream))(a, b, 0.5)
            c.copy_(b)
        # What is on another stream by mistake is then done.
        for other in {stream, torch.cuda.default_stream()} - {None, side}:
            other.synchronize()
        gate.open()
        torch.cuda.synchronize()
        right += run >= 0 and bool((c == run + 0.5).all())
    return right


def test_a_launch_is_ordered_on_a_side_stream_every_time(torch: Any) -> None:
    kernel("dense").load()
    assert ordered_runs(torch, lambda side: None) == RUNS
    assert ordered_runs(torch, lambda side: side) == RUNS


def test_the_order_would_be_missed_on_another_stream(torch: Any) -> None:
    """The control: what the test above looks for can be seen."""
    kernel("dense").load()
    other = torch.cuda.Stream()
    assert ordered_runs(torch, lambda side: other) == 0


def test_cupys_current_stream_is_taken(cupy: Any) -> None:
    torch = pytest.importorskip("torch")
    side = cupy.cuda.Stream(non_blocking=True)
    a, b = cupy.zeros((4, 4), np.float32), cupy.zeros((4, 4), np.float32)
    a.fill(1)  # compiles what fills; 0 takes another way
    kernel("dense")[1, 1](a, b, 0.0)
    gate = Gate(torch)
    for run in range(1, RUNS):
        cupy.cuda.runtime.deviceSynchronize()
        with side:
            gate.close(side.ptr)
            a.fill(run)
            kernel("dense")[1, 1](a, b, 0.5)
            is_done = side.done
            gate.open()
            assert not is_done
            assert (cupy.asnumpy(b) == run + 0.5).all()


def test_tensors_of_two_libraries_need_one_stream(torch: Any, cupy: Any) -> None:
    a, b = torch.zeros(2, 2, device="cuda"), cupy.zeros((2, 2), np.float32)
    kernel("dense")[1, 1](a, b, 1.0)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        with pytest.raises(ValueError, match="the current streams of the tensors' libraries"):
            kernel("dense")[1, 1](a, b, 1.0)
        kernel("dense")[1, 1, None, None, side](a, b, 1.0)
    torch.cuda.synchronize()
    assert (b == 1).all()


def test_a_launch_does_not_wait(torch: Any) -> None:
    a, b = (torch.zeros(2, 2, device="cuda") for _ in range(2))
    kernel("dense")[1, 1](a, b, 0.0)
    torch.cuda.synchronize()
    gate, stream = Gate(torch), torch.cuda.current_stream()
    gate.close(stream.cuda_stream)
    kernel("dense")[1, 1](a, b, 1.0)
    is_done = stream.query()
    gate.open()
    assert not is_done
    torch.cuda.synchronize()
    assert (b == 1).all()


@pytest.mark.parametrize("is_loaded", [True, False])
def test_launches_are_captured_and_replayed(is_loaded: bool, torch: Any) -> None:
    a, b, c = (torch.zeros(4, 4, device="cuda") for _ in range(3))
    dense = fresh("dense")
    if is_loaded:
        dense.load()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dense[1, 1](a, b, 1.0)
        dense[1, 1](b, c, 2.0)
    assert (c == 0).all()
    for run in range(20):
        a.fill_(float(run))
        graph.replay()
        torch.cuda.synchronize()
        assert (b == run + 1).all() and (c == run + 3).all()


def test_clusters_are_captured(torch: Any) -> None:
    out = torch.full((8,), -1, dtype=torch.int32, device="cuda")
    ranks = fresh("ranks")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ranks[8, 1, 4](out)
    graph.replay()
    assert out.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_shared_memory_of_the_kernels_own_is_added(torch: Any) -> None:
    out = torch.zeros(2, dtype=torch.int32, device="cuda")
    kernel("front")[1, 1, None, 16](out)
    assert out.tolist() == [7, 8]


def test_dropping_the_program_while_its_kernel_waits_does_no_harm(torch: Any) -> None:
    a, b = torch.ones(4, 4, device="cuda"), torch.zeros(4, 4, device="cuda")
    dense = fresh("dense")
    dense.load()
    dense[1, 1](a, b, 0.0)
    torch.cuda.synchronize()
    torch.cuda._sleep(SLEEP_CYCLES)  # no gate: to unload the kernel may wait for it
    dense[1, 1](a, b, 1.0)
    del dense
    gc.collect()
    torch.cuda.synchronize()
    assert (b == 2).all()


def test_other_threads_launch_too(torch: Any) -> None:
    tensors = [torch.zeros(4, 4, device="cuda") for _ in range(8)]
    source = torch.ones(4, 4, device="cuda")
    torch.cuda.synchronize()
    bound = kernel("dense")[1, 1]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(200):
                bound(source, tensors[number], float(number))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert failures == []
    assert [tensor[0, 0].item() for tensor in tensors] == [1.0 + n for n in range(8)]


def test_two_devices_are_told_apart(torch: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip(f"needs two GPUs, there is {torch.cuda.device_count()}")
    here, there = (torch.ones(4, 4, device=f"cuda:{n}") for n in range(2))
    target = torch.zeros(4, 4, device="cuda:1")
    for _ in range(2):
        kernel("dense")[1, 1](there, target, 1.0)
        kernel("dense")[1, 1](here, here, 1.0)
    torch.cuda.synchronize(1)
    torch.cuda.synchronize(0)
    assert (target == 2).all() and (here == 3).all()
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="argument 1 of kernel 'dense' must be on GPU 0"):
        kernel("dense")[1, 1](here, target, 1.0)
    with pytest.raises(ValueError, match="must be on GPU 0"):
        kernel("dense", "cuda:0")[1, 1](there, target, 1.0)


SCRIPT = """
import kernel_programs, torch
made = kernel_programs.executable().kernel("kernels", "ranks")
out = torch.full((4,), -1, dtype=torch.int32, device="cuda")
made[4, 1, 2](out)
print(torch.cuda.device_count(), out.tolist(), torch.cuda.get_device_properties(0).uuid)
"""


def run(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
    )


def test_visible_devices_are_counted_as_the_driver_counts_them(torch: Any) -> None:
    for ordinal in range(torch.cuda.device_count()):
        done = run(["-c", SCRIPT], CUDA_VISIBLE_DEVICES=str(ordinal))
        assert done.returncode == 0, done.stderr
        uuid = torch.cuda.get_device_properties(ordinal).uuid
        assert done.stdout.split("\n")[0] == f"1 [0, 1, 0, 1] {uuid}"


def test_no_visible_device_leaves_the_emulator() -> None:
    script = SCRIPT.split("out =")[0].replace(", torch", ", numpy")
    script += "out = numpy.zeros(4, numpy.int32)\nmade[4, 1, 2](out)\nprint(out.tolist())"
    done = run(["-c", script], CUDA_VISIBLE_DEVICES="")
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0, 1]\n"), done.stderr


def test_the_example_runs(torch: Any) -> None:
    done = run(["examples/pytorch_copy.py"])
    assert done.returncode == 0, done.stderr


def test_numbas_arrays_are_taken() -> None:
    cuda = pytest.importorskip("numba.cuda")
    if not cuda.is_available():
        pytest.skip("numba finds no GPU")
    a, b = cuda.to_device(base()), cuda.to_device(np.zeros((8, 12), np.float32))
    kernel("any")[1, 1](a, b, 0.5)
    cuda.synchronize()
    assert (b.copy_to_host() == base() + 0.5).all()


def test_jaxs_arrays_are_taken(cupy: Any) -> None:
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX finds no GPU")
    a, b = jax.numpy.asarray(base()), cupy.zeros((8, 12), np.float32)
    kernel("any")[1, 1](a, b, 0.5)
    assert (cupy.asnumpy(b) == base() + 0.5).all()
