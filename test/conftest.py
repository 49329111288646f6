# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the test suite."""

import signal

import pytest

# A shell starts what it has in the background deaf to Ctrl-C, which tools leave as it is.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        type=int,
        default=None,
        metavar="N",
        help="draw N random cases in each test that is checked against an oracle, instead of the"
        " same few thousand every time",
    )
    parser.addoption(
        "--first-case",
        type=int,
        default=1000,
        metavar="N",
        help="the seed of the first of the programs that are drawn one by one with --cases",
    )
    parser.addoption(
        "--fuzz-minutes",
        type=float,
        default=None,
        metavar="M",
        help="draw new inputs for M minutes in each test that damages input, instead of the same"
        " few every time",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured, wherever they ran: a worker process cannot print it itself."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(f"{report.nodeid}: {value}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked `gpu` where there is none that can, and say why."""
    if item.get_closest_marker("gpu"):
        from mlir_tile.runtime.devices import device_info

        info = device_info()
        if not info.usable:
            pytest.skip(f"no usable GPU: {info.reason or 'none found'}")
