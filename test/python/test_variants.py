# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants from outside: found, planned by the analysis, legalized by their package, refused.

Registration is for the whole process, so whatever registers runs in one of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import mlir_tile as mt
from mlir_tile import variants

PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "examples" / "custom_variant"
TRANSPOSED = EXAMPLE / "transposed.mlir"
SECONDS = 600

RUN = """
import sys
import numpy as np
import mlir_tile as mt
from mlir_tile import variants

with mt.context():
    module = mt.parse_file(sys.argv[1])
    plans = [line for line in str(mt.lower(module, "analyze")).splitlines() if "copy_plan" in line]
    executable = mt.compile(module)
print(plans[0].split("copy_plan<")[1].split(",")[0])
for schedule in ("eager", "late", "random:1"):
    a = np.random.default_rng(0).random((2, 8, 16), np.float32)
    b = np.zeros((2, 128), np.float32)
    executable.invoke("main", a, b, device="emulator", schedule=schedule)
    # The columns of each CTA's rows lie in the other's buffer.
    np.testing.assert_array_equal(b[::-1].reshape(2, 16, 8), a.transpose(0, 2, 1))
"""

ONE_COPY = """
gpu.module @kernels {{
  gpu.func @send(%rank: i32)
      workgroup(%src: memref<{shape}, #gpu.address_space<workgroup>>,
                %dst: memref<{shape}, #gpu.address_space<workgroup>>)
      kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create ->
        !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) issue({issue}) {attributes}
        : memref<{shape}, #gpu.address_space<workgroup>>
          to memref<{shape}, #gpu.address_space<workgroup>>,
          !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
    gpu.return
  }}
}}
"""

ANALYZE = """
import sys
import mlir_tile as mt
{registration}
with mt.context():
    text = str(mt.lower(mt.parse(sys.argv[1]), "analyze"))
print(text[text.index("#tile.copy_plan"):].partition("}} :")[0])
"""


def finding(site: Path) -> dict[str, str]:
    """Return the environment of a process that finds packages in `site`, too."""
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def python(
    code: str, *arguments: object, site: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `code` in a process of its own, which finds packages in `site`, too."""
    environment = finding(site) if site else dict(os.environ)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def planned(
    registration: str, shape: str = "8x64xf16", issue: str = "thread", attributes: str = ""
) -> subprocess.CompletedProcess[str]:
    """Plan one copy where `registration`, Python code, has registered something."""
    text = ONE_COPY.format(shape=shape, issue=issue, attributes=attributes)
    return python(ANALYZE.format(registration=registration), text)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example package into a folder of its own."""
    pytest.importorskip("flit_core")
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", folder, EXAMPLE],
        check=True,
        timeout=SECONDS,
    )
    return folder


def test_without_the_package_the_copy_is_refused() -> None:
    result = python(RUN, TRANSPOSED)
    assert result.returncode != 0
    assert "cannot be cut into bulk copies" in result.stderr


def test_an_installed_package_brings_its_variant(site: Path) -> None:
    result = python(RUN, TRANSPOSED, site=site)
    assert (result.stdout, result.stderr) == ("lone_stores\n", "")


@pytest.mark.gpu
def test_its_copies_arrive_on_the_gpu() -> None:
    emulated = 'device="emulator", schedule=schedule'
    assert emulated in RUN
    on_gpu = "import lone_stores\n" + RUN.replace(emulated, 'device="cuda", timeout=600')
    result = python(on_gpu, TRANSPOSED, site=EXAMPLE)
    assert (result.stdout, result.stderr) == ("lone_stores\n", "")


def test_the_tools_know_it(site: Path) -> None:
    tile_opt = Path(sysconfig.get_path("scripts")) / "tile-opt"
    command = [tile_opt, "--tile-analyze-layout", "--tile-legalize-to-nvvm", TRANSPOSED]
    result = subprocess.run(
        command, env=finding(site), capture_output=True, text=True, timeout=SECONDS
    )
    assert result.returncode == 0, result.stderr
    assert "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32" in result.stdout


def test_importing_the_module_first_registers_once(site: Path) -> None:
    result = python(
        "import lone_stores\nfrom mlir_tile import variants\nprint(*variants.names())",
        site=site,
    )
    assert (result.stdout, result.stderr) == ("bulk st_async lone_stores\n", "")


def test_a_variant_that_brings_too_few_bytes_is_found_out(site: Path) -> None:
    fewer = (
        "import lone_stores\nfrom mlir_tile import variants\n"
        "offsets = variants.chunk_offsets\n"
        "def all_but_one(plan):\n"
        "    for place, pair in enumerate(offsets(plan)):\n"
        "        if place: yield pair\n"
        "variants.chunk_offsets = all_but_one\n"
    )
    result = python(fewer + RUN, TRANSPOSED, site=site)
    assert result.returncode != 0
    assert "EmulatorError" in result.stderr


ISSUE = "def issue(op): raise NotImplementedError('issue was called')\n"


def test_a_declared_variant_has_copies_of_its_granule() -> None:
    declared = ISSUE + "mt.register_variant('mine', issue, granule_bytes=8, max_bytes=48)"
    # 1024 bytes in one run: 32 is the longest that divides it and is at most 48.
    result = planned(declared, attributes='{variant = "mine"}')
    assert result.stdout.startswith(
        "#tile.copy_plan<mine, chunk = 32, count = 32, loops = [32], "
        "src = <start = 0, steps = [32]>, dst = <start = 0, steps = [32]>>"
    ), result.stderr


@pytest.mark.parametrize(
    ("cost", "chosen"),
    [("", "bulk"), (", cost=mt.Cost(5)", "mine"), (", cost=mt.Cost(10**6)", "bulk")],
)
def test_a_variant_is_chosen_by_its_cost(cost: str, chosen: str) -> None:
    declared = ISSUE + f"mt.register_variant('mine', issue, granule_bytes=16{cost})"
    assert planned(declared).stdout.startswith(f"#tile.copy_plan<{chosen},")


def test_the_cost_counts_copies_for_each_thread_and_bytes() -> None:
    declared = ISSUE + (
        "mt.register_variant('mine', issue, granule_bytes=4, max_bytes=4, cooperative=True, "
        "cost=mt.Cost(1000, 10, 0.5))"
    )
    # 256 copies by 32 lanes are 8 for each; 1024 bytes.
    result = planned(declared, issue="warp", attributes='{variant = "mine"}')
    assert ", threads = 32, cycles = 1592>" in result.stdout


def test_a_variant_that_is_spread_needs_a_warp() -> None:
    declared = ISSUE + "mt.register_variant('mine', issue, granule_bytes=4, cooperative=True)"
    result = planned(declared, attributes='{variant = "mine"}')
    assert "spread over the threads of a warp or a CTA, got issue(thread)" in result.stderr


def test_what_is_declared_is_proved() -> None:
    declared = ISSUE + "mt.register_variant('mine', issue, granule_bytes=64)"
    rule = "the longest run common to both layouts is 1024 bytes, it must be a multiple of"
    assert planned(declared, attributes='{variant = "mine"}').returncode == 0
    result = planned(declared, shape="8x65xf16", attributes='{variant = "mine"}')
    assert f"cannot be cut into mine copies: {rule.replace('1024', '1040')} 64" in result.stderr


def test_the_kernels_buffers_are_aligned_to_the_granule() -> None:
    declared = ISSUE + "mt.register_variant('mine', issue, granule_bytes=256)"
    whole = ANALYZE.format(registration=declared).replace("print(text[", "print(text)\n(text[")
    text = ONE_COPY.format(shape="8x64xf16", issue="thread", attributes='{variant = "mine"}')
    assert python(whole, text).stdout.count("{llvm.align = 256 : i64}") == 2


def test_the_plans_of_bulk_can_be_issued_otherwise() -> None:
    replaced = ISSUE + "mt.replace_variant('bulk', issue)"
    assert planned(replaced).stdout == planned("").stdout
    legalize = ANALYZE.format(registration=replaced).replace('"analyze"', '"legalize"')
    text = ONE_COPY.format(shape="8x64xf16", issue="thread", attributes="")
    # What a variant raises arrives as it is.
    assert "NotImplementedError: issue was called" in python(legalize, text).stderr


def test_a_name_belongs_to_the_module_that_took_it() -> None:
    twice = ISSUE + (
        "mt.register_variant('mine', issue, granule_bytes=4)\n"
        "mt.register_variant('mine', issue, granule_bytes=8)\n"
        "issue.__module__ = 'other'\n"
        "mt.register_variant('mine', issue, granule_bytes=4)"
    )
    result = planned(twice)
    assert "ValueError: name must not be taken, got 'mine', which is that of __main__" in (
        result.stderr
    )


def test_a_package_that_cannot_be_loaded_is_a_warning(tmp_path: Path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mlir_tile.variants]\nbroken = no_such_module\n")
    result = python("import mlir_tile", site=tmp_path)
    assert result.returncode == 0
    assert "RuntimeWarning: cannot load the variants of no_such_module" in result.stderr


def nothing(op: object) -> None:
    pass


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"name": "Mine"}, ValueError, "name must be lower-case letters, digits and '_'"),
        ({"name": "bulk"}, ValueError, "name must be new, got 'bulk'"),
        ({"issue": 3}, TypeError, "issue must be callable, got 3"),
        ({"granule_bytes": 12}, ValueError, "must be a power of two in 1 to 1024, got 12"),
        ({"granule_bytes": 0}, ValueError, "must be a power of two in 1 to 1024, got 0"),
        ({"granule_bytes": 4.0}, TypeError, "granule_bytes must be an int, got 4.0"),
        ({"max_bytes": 6}, ValueError, "must be a multiple of granule_bytes, 4, got 6"),
        ({"max_bytes": 0}, ValueError, "must be a multiple of granule_bytes, 4, got 0"),
        ({"max_bytes": "4"}, TypeError, "max_bytes must be an int or None, got '4'"),
        ({"cost": 3}, TypeError, "cost must be a Cost or None, got 3"),
    ],
)
def test_a_wrong_declaration_is_refused(
    arguments: dict[str, object], kind: type[Exception], message: str
) -> None:
    declared: dict[str, object] = {"name": "mine", "issue": nothing, "granule_bytes": 4}
    with pytest.raises(kind, match=message.replace("(", r"\(")):
        mt.register_variant(**declared | arguments)
    assert variants.names() == ["bulk", "st_async"]


def test_a_cost_is_a_finite_number() -> None:
    with pytest.raises(TypeError, match="cycles_per_copy must be a finite number, got nan"):
        mt.Cost(cycles_per_copy=float("nan"))
    with pytest.raises(ValueError, match="base_cycles must be in 0 to 1e9, got -1"):
        mt.Cost(base_cycles=-1)


def test_only_the_projects_own_variants_can_be_replaced() -> None:
    with pytest.raises(ValueError, match="name must be one of bulk, st_async, got 'mine'"):
        mt.replace_variant("mine", nothing)
