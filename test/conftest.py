# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the test suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        type=int,
        default=None,
        metavar="N",
        help="draw N random cases in each test that is checked against an oracle, instead of the"
        " same few thousand every time",
    )
