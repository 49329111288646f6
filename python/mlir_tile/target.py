# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which GPUs and PTX versions can copy between CTAs; LLVM aborts on the others."""

import re

from mlir import ir

from .runtime.ptx_versions import dotted
from .scripted import PassFailure, register_pass

DEFAULT_CHIP = "sm_90"
DEFAULT_FEATURES = "+ptx81"
OLDEST_CHIP = 90
OLDEST_PTX = 80
ST_ASYNC_PTX = 81

# What LLVM 22 compiles, found by trying every pair; its own table is not in the wheels. An unknown
# version is a warning there, and the chip's first one is taken.
PTX_VERSIONS = (80, 81, 82, 83, 84, 85, 86, 87, 88, 90)
# The first PTX version of each processor. "f" stands for a family of chips, "a" for one chip only.
FIRST_PTX = {
    "sm_90": 80,
    "sm_90a": 80,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_100f": 88,
    "sm_101": 86,
    "sm_101a": 86,
    "sm_101f": 88,
    "sm_103": 88,
    "sm_103a": 88,
    "sm_103f": 88,
    "sm_110": 90,
    "sm_110a": 90,
    "sm_110f": 90,
    "sm_120": 87,
    "sm_120a": 87,
    "sm_120f": 88,
    "sm_121": 88,
    "sm_121a": 88,
    "sm_121f": 88,
}


def check_target(chip: str, features: str) -> None:
    """Raise `ValueError`, with the fix, unless `chip` and `features` can copy between CTAs."""
    fault = fault_of_target(chip, features)
    if fault:
        what, fix = fault
        raise ValueError(f"the compilation {what}: {fix}")


def fault_of_target(chip: str, features: str) -> tuple[str, str] | None:
    """Return what is wrong, as `targets ...`, and how to mend it; None if nothing is."""
    match = re.fullmatch(r"sm_(\d+)[a-z]?", chip)
    if not match:
        return f"targets '{chip}', which is not of the form sm_90", f"set chip to {DEFAULT_CHIP}"
    if int(match[1]) < OLDEST_CHIP:
        return (
            f"targets {chip}, which has no clusters; tile.copy_async needs sm_{OLDEST_CHIP}",
            f"set chip to {DEFAULT_CHIP}",
        )
    if chip not in FIRST_PTX:
        known = ", ".join(FIRST_PTX)
        return f"targets {chip}, which LLVM does not know", f"set chip to one of {known}"
    first = FIRST_PTX[chip]
    version_text = re.fullmatch(r"\+ptx(\d+)", features)
    if not version_text:
        return (
            f"targets features '{features}', which are not one PTX version",
            f"set features to +ptx{max(first, 81)}",
        )
    version = int(version_text[1])
    if version < OLDEST_PTX:
        return (
            f"targets PTX {dotted(version)}; tile.copy_async needs {dotted(OLDEST_PTX)}",
            f"set features to +ptx{max(first, OLDEST_PTX)}",
        )
    if version < first:
        return (
            f"targets PTX {dotted(version)}; {chip} needs {dotted(first)}",
            f"set features to +ptx{first}",
        )
    if version not in PTX_VERSIONS:
        known = ", ".join(dotted(known) for known in PTX_VERSIONS)
        return (
            f"targets PTX {dotted(version)}, which LLVM does not know; it knows {known}",
            f"set features to +ptx{PTX_VERSIONS[-1]}",
        )
    return None


@register_pass(
    "tile-check-target",
    "Refuse gpu.modules whose own target cannot copy between CTAs",
    changes_nothing=True,
)
def check_modules(module: ir.Operation) -> None:
    """Raise `PassFailure` at the first `gpu.module` with a target that LLVM would abort on."""

    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "gpu.module":
            return ir.WalkResult.ADVANCE
        found.append(op)
        return ir.WalkResult.SKIP

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in found:
        name = ir.StringAttr(op.attributes["sym_name"]).value
        for target in op.attributes.get("targets", ()):
            fault = fault_of_attribute(str(target))
            if fault:
                raise PassFailure(op, f"gpu.module '{name}' {fault[0]}", fault[1])
            version = re.search(r'\bfeatures = "\+ptx(\d+)"', str(target))
            if version and int(version[1]) < ST_ASYNC_PTX and (store := first_st_async(op)):
                raise PassFailure(
                    store,
                    f"gpu.module '{name}' targets PTX {dotted(int(version[1]))}; st.async needs "
                    f"{dotted(ST_ASYNC_PTX)}",
                    f'set features to +ptx{ST_ASYNC_PTX}, or variant = "bulk" on the copy',
                )


def ptx_versions(module: ir.Operation, features: str) -> set[int]:
    """Return the PTX versions that the `gpu.module`s of `module` name, and that of `features`."""
    text = " ".join(
        str(op.operation.attributes["targets"])
        for op in module.regions[0].blocks[0]
        if op.operation.name == "gpu.module" and "targets" in op.operation.attributes
    )
    return {int(digits) for digits in re.findall(r"\+ptx(\d+)", text + features)}


def first_st_async(module: ir.Operation) -> ir.Operation | None:
    """Return the first `st.async` under `module`, which the legalization writes as inline PTX."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "llvm.inline_asm":
            return ir.WalkResult.ADVANCE
        if ir.StringAttr(op.attributes["asm_string"]).value.startswith("st.async"):
            found.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[0] if found else None


def fault_of_attribute(target: str) -> tuple[str, str] | None:
    """Return the fault of a target attribute, given as its text."""
    if not target.startswith("#nvvm.target"):
        return f"targets {target}, which is not NVVM", "use #nvvm.target, or drop the target"

    def field(name: str, default: str) -> str:
        found = re.search(rf'\b{name} = "([^"]*)"', target)
        return found[1] if found else default

    # Where the attribute is silent, its own defaults count: the oldest that LLVM takes.
    chip = field("chip", "sm_50")
    features = field("features", "+ptx78" if chip.startswith("sm_90") else "")
    return fault_of_target(chip, features or f"+ptx{FIRST_PTX.get(chip, 0)}")
