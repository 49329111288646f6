# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importing the package makes known to the installed `mlir` package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile.dialects import tile

ROOT = Path(__file__).parents[2]
PLAN = (
    "#tile.copy_plan<bulk, chunk = 16, count = 1, loops = [], "
    "src = <start = 0, steps = []>, dst = <start = 0, steps = []>>"
)


def python(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, cwd=ROOT
    )


def test_a_context_made_after_the_import_knows_tile() -> None:
    with ir.Context():
        assert str(ir.Attribute.parse(PLAN)) == PLAN


def test_a_context_of_ours_has_tile_loaded() -> None:
    with mt.context():
        assert isinstance(ir.Attribute.parse("#tile.issue<warp>"), tile.IssueAttr)


def test_a_module_is_parsed_in_a_context() -> None:
    with pytest.raises(RuntimeError, match="must be parsed in a context"):
        mt.parse("module {}")
    with mt.context():
        assert str(mt.parse("module {}")).split() == ["module", "{", "}"]


def test_a_context_made_before_the_import_knows_tile_once_it_is_loaded() -> None:
    done = python(f"""
from mlir import ir
before = ir.Context()
import mlir_tile
with before:
    try:
        ir.Attribute.parse("{PLAN}")
    except ir.MLIRError as error:
        print("refused:", "tile" in str(error))
    for _ in range(2):
        mlir_tile.load_dialect(before)
    print(ir.Attribute.parse("#tile.issue<warp>"))
with ir.Context():
    print(ir.Attribute.parse("#tile.issue<cta>"))
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "refused: True\n#tile.issue<warp>\n#tile.issue<cta>\n"


def test_the_dialect_is_loaded_in_a_context_and_nothing_else() -> None:
    with pytest.raises(TypeError, match=r"context must be an mlir\.ir\.Context, got None"):
        mt.load_dialect(None)  # type: ignore[arg-type]


def test_a_program_compiles_in_a_context_made_before_the_import() -> None:
    done = python("""
from mlir import ir
before = ir.Context()
import mlir_tile as mt
mt.load_dialect(before)
with before:
    exe = mt.compile(mt.parse_file("examples/dsmem_copy.mlir"))
print("cp.async.bulk" in exe.ptx["kernels"])
""")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "True\n")


def test_the_package_can_be_imported_in_either_order_and_twice() -> None:
    for order in ("import mlir_tile, mlir.ir", "import mlir.ir, mlir_tile"):
        done = python(
            f"{order}\nimport importlib, mlir_tile.registration\n"
            "importlib.import_module('mlir_tile')\nprint('imported')"
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "imported\n", "")


KERNELS = """
gpu.module @kernels {
  gpu.func @wrong(%t: memref<8xf32, 3>) kernel {
    %s = tile.slice %t[0] [9] : memref<8xf32, 3> to memref<9xf32, 3>
    gpu.return
  }
  gpu.func @right() kernel { gpu.return }
}
func.func @main() { return }
"""


@pytest.mark.parametrize(
    ("context", "parse"),
    [
        ("mt.context()", "ir.Module.parse(text)"),
        ("mt.context()", "mt.parse(text)"),
        ("ir.Context()", "mt.parse(text)"),
        ("ir.Context()", "mt.parse_file(file)"),
    ],
)
def test_an_error_within_a_kernel_beside_others_is_an_exception(
    context: str, parse: str, tmp_path: Path
) -> None:
    """From a worker thread the diagnostic would end the process."""
    file = tmp_path / "wrong.mlir"
    file.write_text(KERNELS)
    done = python(f"""
import mlir_tile as mt
from mlir import ir
text, file = {KERNELS!r}, {str(file)!r}
for _ in range(30):
    with {context}:
        try:
            {parse}
        except (ir.MLIRError, mt.CompileError) as error:
            print("'tile.slice' op" in str(error))
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 30 * "True\n"


def test_an_error_of_a_pass_in_a_context_with_threads_is_an_exception() -> None:
    copy = """
  gpu.func @KERNEL(%r: i32, %b: !b, %i: index) workgroup(%s: !t, %d: !t) kernel {
    tile.copy_async %s to %d cta(%r) mbarrier(%b[%i]) : !t to !t, !b
    gpu.return
  }
"""
    text = (
        "!b = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 1>\n!t = memref<3xi8, 3>\n"
        f"gpu.module @kernels {{ {copy.replace('KERNEL', 'f')} {copy.replace('KERNEL', 'g')} }}"
    )
    with ir.Context() as context:
        threads = context.get_num_threads()
        module = mt.parse(text)
        for to in ("analyze", "ptx"):
            with pytest.raises(mt.CompileError, match="cannot be cut into bulk copies"):
                mt.lower(module, to)
        assert context.get_num_threads() == threads


def test_contexts_of_ours_work_in_one_thread_unless_they_are_told_otherwise() -> None:
    context = mt.context()
    assert context.get_num_threads() == 1
    context.enable_multithreading(True)
    assert context.get_num_threads() == ir.ThreadPool().get_max_concurrency()


@pytest.mark.parametrize("pooled", [True, False])
def test_what_we_do_in_a_context_of_others_leaves_its_threads(pooled: bool) -> None:
    pool = ir.ThreadPool()
    context = ir.Context(thread_pool=pool) if pooled else ir.Context()
    before = context.get_num_threads()
    assert before == pool.get_max_concurrency()
    with context:
        module = mt.parse("gpu.module @kernels { gpu.func @k() kernel { gpu.return } }")
        assert context.get_num_threads() == before
        assert mt.compile(module).ptx
        assert context.get_num_threads() == before
        with pytest.raises(mt.CompileError):
            mt.parse("gpu.module")
        assert context.get_num_threads() == before


def test_a_sub_interpreter_is_refused_at_once() -> None:
    """In which upstream's bindings would hang."""
    done = python("""
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = f'''
import sys
sys.path[:0] = {sys.path!r}
try:
    import mlir_tile
except ImportError as error:
    print(error, flush=True)
'''
interpreters.run_string(interpreters.create(), code)
import mlir_tile
print("imported")
""")
    said = "mlir_tile must be imported in the main interpreter of a process, "
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(said) and done.stdout.endswith("\nimported\n")


def test_the_import_changes_nothing_of_upstreams() -> None:
    """Neither how contexts and pass managers work, nor what else can be imported meanwhile."""
    done = python("""
import sys
from mlir import ir, passmanager
from mlir.passmanager import PassManager
names = [(kind, name) for kind in (ir.Context, ir.Module, ir.Operation, PassManager)
         for name in dir(kind)]
before = {(kind, name): getattr(kind, name) for kind, name in names}
modules = dict(vars(ir)), dict(vars(passmanager))
threads = ir.Context().get_num_threads()

class Watch:
    def find_spec(self, name, *rest):
        if sys.modules.get("numpy", sys) is None:
            print("numpy looks uninstalled to", name)

sys.meta_path.insert(0, Watch())
import mlir_tile
changed = [f"{kind.__name__}.{name}" for (kind, name), value in before.items()
           if getattr(kind, name) != value and not name.startswith("__abstract")]
print(changed, (dict(vars(ir)), dict(vars(passmanager))) == modules)
print(ir.Context().get_num_threads() == threads)
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[] True\nTrue\n"


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
