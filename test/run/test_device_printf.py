# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels print is what C prints of the same values."""

from __future__ import annotations

import pytest

import mlir_tile as mt

PROGRAM = """
module attributes {{gpu.container_module}} {{
  gpu.module @k {{
    gpu.func @f() kernel {{
      {values}
      gpu.printf "{format}\\0A", {names} : {types}
      gpu.return
    }}
  }}
  func.func @main() attributes {{llvm.emit_c_interface}} {{
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }}
}}
"""


@pytest.mark.parametrize(
    ("format", "values", "expected"),
    [
        ("rank %d parity %d q %d", "7:i32 1:i1 3:i8", "rank 7 parity 1 q 3"),
        ("%d %u %x|%5d|%-5i|", "-3:i8 -1:i16 -1:i8 9:i16 -9:i8", "-3 65535 ff|    9|-9   |"),
        ("%d %d %x", "5000000000:i64 1:i32 -1:i64", "5000000000 1 ffffffffffffffff"),
        ("%d %d %ld %lld", "4:index 1:i32 2:i32 3:i32", "4 1 2 3"),
        ("%g %.2f %d%%", "1.5:f16 2.25:f32 100:i8", "1.5 2.25 100%"),
        ("%c%c|", "65:i8 66:i64", "AB|"),
    ],
)
def test_a_line(format: str, values: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    pairs = [value.split(":") for value in values.split()]
    text = PROGRAM.format(
        values="\n".join(f"%v{n} = arith.constant {v} : {t}" for n, (v, t) in enumerate(pairs)),
        format=format,
        names=", ".join(f"%v{n}" for n in range(len(pairs))),
        types=", ".join(t for _, t in pairs),
    )
    with mt.context():
        mt.compile(mt.parse(text)).main(device="emulator")
    assert capfd.readouterr().out == f"{expected}\n"
