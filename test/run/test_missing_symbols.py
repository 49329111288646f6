# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host function that cannot be linked says what it lacks, and leaves the others alone."""

from __future__ import annotations

import pytest

import mlir_tile as mt

PROGRAM = """
func.func private @no_such_symbol(i32) -> i32
func.func private @abs(i32) -> i32
func.func private @between(%a: i32) -> i32 {
  %r = func.call @no_such_symbol(%a) : (i32) -> i32
  return %r : i32
}
func.func @broken(%a: i32) -> i32 attributes {llvm.emit_c_interface} {
  %r = func.call @between(%a) : (i32) -> i32
  return %r : i32
}
func.func @whole(%a: i32) -> i32 attributes {llvm.emit_c_interface} {
  %r = func.call @abs(%a) : (i32) -> i32
  return %r : i32
}
"""


def test_the_symbol_is_named_and_other_functions_run(capfd: pytest.CaptureFixture[str]) -> None:
    with mt.context():
        program = mt.compile(mt.parse(PROGRAM))
    for _ in range(2):
        assert program.whole(-3, device="emulator") == 3
        with pytest.raises(mt.Error, match=r"'broken' cannot be called: .*'no_such_symbol'"):
            program.broken(-3, device="emulator")
    assert capfd.readouterr() == ("", "")
