# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python side of the legalization: exceptions, leftovers and threads."""

from __future__ import annotations

import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile import legalize, scripted
from mlir_tile.legalize import copy_async
from mlir_tile.legalize.copy import Copy
from mlir_tile.scripted import run_passes

GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
TILE = "memref<8x16xf32, strided<[32, 1]>, #gpu.address_space<workgroup>>"
KERNEL = f"""
gpu.func @send(%rank: i32, %bars: {GROUP}, %i: index)
    workgroup(%src: {TILE}, %dst: {TILE}) kernel {{
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : {TILE} to {TILE}, {GROUP}
  gpu.return
}}
"""
PIPELINE = "builtin.module(tile-analyze-layout, tile-legalize-to-nvvm)"


def modules(count: int) -> str:
    return "".join(f"gpu.module @kernels_{i} {{ {KERNEL} }}\n" for i in range(count))


def run(text: str, pipeline: str = PIPELINE) -> str:
    module = ir.Module.parse(text)
    run_passes(module.operation, pipeline)
    return str(module)


class Broken(Exception):
    pass


def broken_pattern(op: ir.OpView, rewriter: object) -> None:
    raise Broken(f"cannot rewrite {op.operation.name}")


def broken_variant(copy: Copy) -> None:
    raise Broken(f"cannot issue {copy.plan.variant}")


def test_an_exception_in_a_pattern_arrives_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(legalize.PATTERNS, "tile.copy_async", broken_pattern)
    with mt.context(), pytest.raises(Broken, match=r"^cannot rewrite tile\.copy_async$") as raised:
        run(modules(1))
    frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert frames[-1] == "broken_pattern"
    assert raised.value.__context__ is None


def test_upstreams_pass_manager_says_what_was_raised_and_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(legalize.PATTERNS, "tile.copy_async", broken_pattern)
    with mt.context(), pytest.raises(ir.MLIRError) as raised:
        PassManager.parse(PIPELINE).run(ir.Module.parse(modules(1)).operation)
    (error,) = raised.value.error_diagnostics
    said = "'tile-legalize-to-nvvm' raised Broken: cannot rewrite tile.copy_async"
    assert error.message == said
    line = broken_pattern.__code__.co_firstlineno + 1
    assert f"in broken_pattern, {__file__}:{line}" in [note.message for note in error.notes]


def test_an_exception_in_a_variant_arrives_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(copy_async.VARIANTS, "bulk", broken_variant)
    with mt.context(), pytest.raises(Broken, match=r"^cannot issue bulk$") as raised:
        run(modules(1))
    frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert frames[-2:] == ["legalize_copy_async", "broken_variant"]


def test_mt_lower_raises_what_a_pattern_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(legalize.PATTERNS, "tile.copy_async", broken_pattern)
    with mt.context(), pytest.raises(Broken):
        mt.lower(
            mt.parse(f"module attributes {{gpu.container_module}} {{ {modules(1)} }}"), "legalize"
        )


def test_a_keyboard_interrupt_in_a_pattern_is_not_swallowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(op: ir.OpView, rewriter: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(legalize.PATTERNS, "tile.copy_async", interrupted)
    with mt.context(), pytest.raises(KeyboardInterrupt):
        run(modules(1))


def test_after_an_exception_the_next_run_starts_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    with mt.context():
        with monkeypatch.context() as patch:
            patch.setitem(legalize.PATTERNS, "tile.copy_async", broken_pattern)
            with pytest.raises(Broken):
                run(modules(1))
        assert "cp.async.bulk" in run(modules(1))
        with pytest.raises(ir.MLIRError, match="has no plan"):
            run(modules(1), "builtin.module(tile-legalize-to-nvvm)")


def test_tile_opt_prints_the_traceback_and_fails() -> None:
    script = f"""
import sys
from mlir_tile import legalize, scripted
from tile_tools import opt
def broken_pattern(op, rewriter):
    raise RuntimeError("cannot rewrite")
legalize.PATTERNS["tile.copy_async"] = broken_pattern
sys.argv = ["tile-opt", "-", "--pass-pipeline={PIPELINE}"]
sys.exit(opt.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=modules(1),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "'tile-legalize-to-nvvm' raised RuntimeError: cannot rewrite" in done.stderr
    assert "in broken_pattern" in done.stderr
    assert done.stderr.rstrip().endswith("RuntimeError: cannot rewrite")


def test_a_tile_op_without_a_pattern_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(legalize.PATTERNS, "tile.copy_async")
    with (
        mt.context(),
        pytest.raises(ir.MLIRError, match=r"'tile\.copy_async' op has no legalization"),
    ):
        run(modules(1))


def test_two_gpu_modules_do_not_hang_with_threading_on() -> None:
    script = f"""
import sys
import mlir_tile as mt
from mlir import ir
from mlir.passmanager import PassManager
with mt.context() as context:
    context.enable_multithreading(True)
    for _ in range(100):
        module = ir.Module.parse(sys.argv[1])
        PassManager.parse("{PIPELINE}").run(module.operation)
        assert str(module).count("gpu.module") == 2
        assert "tile." not in str(module).replace("tile.alignment", "")
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, modules(2)], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("where", ["gpu.module", "gpu.func", "func.func"])
def test_the_pass_cannot_be_scheduled_below_the_module(where: str) -> None:
    with mt.context(), pytest.raises(ValueError, match="tile-legalize-to-nvvm"):
        PassManager.parse(f"builtin.module({where}(tile-legalize-to-nvvm))")


def test_several_threads_legalize_at_once() -> None:
    def legalized(count: int) -> str:
        with mt.context():
            return run(modules(count))

    counts = [1, 2, 3, 4] * 6
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(legalized, counts))
    assert [text.count("gpu.module @") for text in texts] == counts
    assert len(set(texts)) == 4


def test_an_exception_stays_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    legalize_well = legalize.PATTERNS["tile.copy_async"]

    def fails_in_wide_modules(op: ir.OpView, rewriter: object) -> None:
        module = op.operation.parent.parent
        if ir.StringAttr(module.attributes["sym_name"]).value == "kernels_1":
            raise Broken
        legalize_well(op, rewriter)  # type: ignore[arg-type]

    def outcome(count: int) -> str:
        with mt.context():
            try:
                return "copied" if "cp.async.bulk" in run(modules(count)) else "lost"
            except Broken:
                return "broken"

    monkeypatch.setitem(legalize.PATTERNS, "tile.copy_async", fails_in_wide_modules)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(outcome, [1, 2] * 12)) == ["copied", "broken"] * 12


@pytest.mark.parametrize("changes_nothing", [True, False])
def test_a_pass_that_changes_nothing_is_not_verified(changes_nothing: bool) -> None:
    name = f"test-drop-name-{changes_nothing}".lower()

    @scripted.register_pass(name, "Break a gpu.module", changes_nothing=changes_nothing)
    def drop_name(module: ir.Operation) -> None:
        del module.regions[0].blocks[0].operations[0].attributes["sym_name"]

    with mt.context():
        module = ir.Module.parse("gpu.module @kernels {}")
        manager = PassManager.parse(f"builtin.module({name})")
        if changes_nothing:
            manager.run(module.operation)
        else:
            with pytest.raises(ir.MLIRError, match="requires attribute 'sym_name'"):
                manager.run(module.operation)
