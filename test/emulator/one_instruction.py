# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run one instruction on many values, and round exactly without the emulator's code."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import tile_emulator as te

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
REGISTER = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}

# Precision, lowest exponent of a normal number, highest exponent.
FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127)}
FORMATS["f64"] = (53, -1022, 1023)


def evaluate(instruction: str, inputs: list[Any], result: Any, predicate: bool = False) -> Any:
    """Run `instruction` for each element; `%d` is the result, `%a`, `%b`, `%c` the inputs.

    With `predicate` the result is the predicate `%q`, stored as 0 or 1.
    """
    count = len(inputs[0])
    dtype = np.dtype(result)
    out = np.zeros(count, dtype=dtype)
    lines = [f".reg .{REGISTER[dtype.itemsize]} %d;", ".reg .pred %q;"]
    body = []
    for number, values in enumerate(inputs):
        name, size = "abc"[number], values.dtype.itemsize
        lines.append(f".reg .{REGISTER[size]} %{name};")
        body += [
            f"ld.param.u64 %p, [in{number}];",
            f"mad.wide.u32 %p, %i, {size}, %p;",
            f"ld.global.b{8 * size} %{name}, [%p];",
        ]
    if predicate:
        instruction += f"\nselp.b{8 * dtype.itemsize} %d, 1, 0, %q;"
    params = ", ".join([f".param .u64 in{i}" for i in range(len(inputs))] + [".param .u64 out"])
    ptx = (
        f"{HEADER}.visible .entry k({params}) {{\n"
        ".reg .b32 %i, %t, %n; .reg .b64 %p;\n" + "\n".join(lines) + "\n"
        "mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x;\n"
        "mad.lo.u32 %i, %i, %n, %t;\n" + "\n".join(body) + f"\n{instruction}\n"
        f"ld.param.u64 %p, [out];\nmad.wide.u32 %p, %i, {dtype.itemsize}, %p;\n"
        f"st.global.b{8 * dtype.itemsize} [%p], %d;\nret;\n}}\n"
    )
    block = min(count, 128)
    assert count % block == 0
    te.emulate(te.parse(ptx), "k", [*inputs, out], grid=count // block, block=block)
    return out


def round_exactly(exact: Fraction, kind: str, mode: str) -> float:
    """Round to a format by the definition: the neighbours, and which of them the mode takes."""
    precision, lowest, highest = FORMATS[kind]
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, lowest) - precision + 1)
    steps = exact / quantum
    low = steps.numerator // steps.denominator
    rest = steps - low
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1)
    elif mode == "rz":
        up = exact < 0 and rest != 0
    elif mode == "rm":
        up = False
    else:
        up = rest != 0
    value = (low + up) * quantum
    greatest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** highest
    if abs(value) > greatest:
        inward = mode == "rz" or (mode == "rm" and exact > 0) or (mode == "rp" and exact < 0)
        return math.copysign(float(greatest) if inward else math.inf, 1 if exact > 0 else -1)
    return float(value)


def fraction(value: Any) -> Fraction:
    return Fraction(float(value))


def interesting(kind: str, count: int, seed: int) -> Any:
    """Return finite values of a float format: all sizes, subnormals, small mantissas."""
    rng = np.random.default_rng(seed)
    precision, lowest, highest = FORMATS[kind]
    mantissa = rng.integers(0, 1 << (precision - 1), count)
    mantissa = np.where(rng.random(count) < 0.3, mantissa & 3, mantissa)
    wide = rng.integers(lowest - 1, highest + 1, count)
    near = rng.integers(-4, 5, count)
    exponent = np.where(rng.random(count) < 0.4, wide, near)
    biased = np.clip(exponent - lowest + 1, 0, highest - lowest + 1)
    sign = rng.integers(0, 2, count)
    width = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[kind]
    bits = (
        (sign.astype(object) << (width - 1))
        | (biased.astype(object) << (precision - 1))
        | mantissa.astype(object)
    )
    return np.array([int(b) for b in bits], dtype=f"u{width // 8}")


def as_float(bits: Any, kind: str) -> Any:
    """See the bits of a format as float64 numbers."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return bits.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]).astype(
        np.float64
    )
