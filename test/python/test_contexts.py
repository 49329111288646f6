# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importing the package makes known to the installed `mlir` package."""

from __future__ import annotations

import subprocess
import sys

import pytest
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile.dialects import tile

PLAN = (
    "#tile.copy_plan<bulk, chunk = 16, count = 1, loops = [], "
    "src = {start = 0, steps = []}, dst = {start = 0, steps = []}>"
)


def python(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )


def test_a_context_made_after_the_import_knows_tile() -> None:
    with ir.Context():
        assert str(ir.Attribute.parse(PLAN)) == PLAN


def test_a_context_of_ours_has_tile_loaded() -> None:
    with mt.context():
        assert isinstance(ir.Attribute.parse("#tile.issue<warp>"), tile.IssueAttr)


def test_a_context_made_before_the_import_says_that_tile_is_not_known() -> None:
    done = python(f"""
from mlir import ir
before = ir.Context()
import mlir_tile
with before:
    try:
        ir.Attribute.parse("{PLAN}")
    except ir.MLIRError as error:
        print("refused:", "tile" in str(error))
with ir.Context():
    print(ir.Attribute.parse("#tile.issue<cta>"))
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "refused: True\n#tile.issue<cta>\n"


def test_the_package_can_be_imported_in_either_order_and_twice() -> None:
    for order in ("import mlir_tile, mlir.ir", "import mlir.ir, mlir_tile"):
        done = python(
            f"{order}\nimport importlib, mlir_tile.registration\n"
            "importlib.import_module('mlir_tile')\nprint('imported')"
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "imported\n", "")


def test_an_error_within_a_kernel_beside_others_is_an_exception() -> None:
    """With worker threads the diagnostic comes from one of them, and the process ends."""
    done = python("""
import mlir_tile
from mlir import ir
kernels = '''
gpu.module @kernels {
  gpu.func @wrong(%t: memref<8xf32, 3>) kernel {
    %s = tile.slice %t[0] [9] : memref<8xf32, 3> to memref<9xf32, 3>
    gpu.return
  }
  gpu.func @right() kernel { gpu.return }
}
func.func @main() { return }
'''
for _ in range(30):
    with ir.Context():
        try:
            ir.Module.parse(kernels)
        except ir.MLIRError as error:
            print(error.error_diagnostics[0].message[:12])
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 30 * "'tile.slice'\n"


def test_a_context_has_worker_threads_only_if_it_is_told_so() -> None:
    assert ir.Context().get_num_threads() == 1
    pool = ir.ThreadPool()
    assert ir.Context(thread_pool=pool).get_num_threads() == pool.get_max_concurrency()
    threaded = ir.Context()
    threaded.enable_multithreading(True)
    assert threaded.get_num_threads() == pool.get_max_concurrency()


@pytest.mark.parametrize("name", ["tile-analyze-layout", "tile-legalize-to-nvvm", "tile-to-binary"])
def test_pass_managers_know_the_passes_by_name(name: str) -> None:
    with ir.Context():
        assert PassManager.parse(f"builtin.module({name})") is not None


def test_a_misspelt_pass_is_refused() -> None:
    with ir.Context(), pytest.raises(ValueError, match="tile-analyse-layout"):
        PassManager.parse("builtin.module(tile-analyse-layout)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("chip=sm_80", "set chip to sm_90"),
        ("chip=sm90", "set chip to sm_90"),
        ("features=+ptx78", "needs 8.0"),
        ("opt-level=4", "opt-level must be in 0 to 3"),
        ("format=elf", "format must be one of"),
        ("chips=sm_90", "chips"),
    ],
)
def test_a_wrong_option_of_the_pipeline_is_refused(options: str, message: str) -> None:
    with ir.Context(), pytest.raises(ValueError, match=message):
        PassManager.parse(f"builtin.module(tile-to-binary{{{options}}})")


def test_ops_in_a_module_of_another_package_are_our_classes() -> None:
    group = "!nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 1>"
    with ir.Context():
        module = ir.Module.parse(f"""
func.func @copy(%src: memref<16xf32, 3>, %dst: memref<16xf32, 3>, %rank: i32, %bars: {group},
                %i: index) {{
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, 3> to memref<16xf32, 3>, {group}
  return
}}
""")
        op = module.body.operations[0].body.blocks[0].operations[0]
        assert isinstance(op, tile.CopyAsyncOp)
        assert op.issue.value == "thread"
