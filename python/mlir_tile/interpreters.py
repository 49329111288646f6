# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which interpreter of the process this is: MLIR's bindings hang in any but the first."""


def refuse_sub_interpreters() -> None:
    """Raise `ImportError` in a sub-interpreter."""
    try:
        import ctypes
    except ImportError:  # which an isolated one may be refused
        is_main = False
    else:
        current, main = (
            getattr(ctypes.pythonapi, f"PyInterpreterState_{which}") for which in ("Get", "Main")
        )
        current.restype = main.restype = ctypes.c_void_p
        is_main = current() == main()
    if not is_main:
        raise ImportError(
            "mlir_tile must be imported in the main interpreter of a process, as MLIR's bindings "
            "work in no other, got a sub-interpreter: use a thread or a process of its own",
            name="mlir_tile",
        )
