# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-lsp-server answers an editor: diagnostics, hover, definitions, completion, and its end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsp_client import SECONDS, Client

TEXT = (Path(__file__).parents[2] / "examples" / "ring.mlir").read_text()
LINES = TEXT.splitlines()


def place_of(text: str) -> tuple[int, int]:
    """Return line and character of the first occurrence."""
    line = next(number for number, line in enumerate(LINES) if text in line)
    return line, LINES[line].index(text)


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    client.initialize()
    yield client
    client.close()


def test_it_says_what_it_can_do() -> None:
    client = Client()
    capabilities = client.initialize()
    client.close()
    for ability in ("hoverProvider", "definitionProvider", "completionProvider"):
        assert capabilities[ability]


def test_a_right_document_has_no_diagnostics(client: Client) -> None:
    assert client.show(TEXT) == []


def test_a_parse_error_stands_at_its_line(client: Client) -> None:
    line, character = place_of("tile.copy_async")
    (diagnostic,) = client.show(TEXT.replace("tile.copy_async", "tile.copy_asink"))
    assert diagnostic["message"] == "custom op 'tile.copy_asink' is unknown"
    assert diagnostic["range"]["start"] == {"line": line, "character": character}


def test_a_verifier_error_stands_at_its_line_while_typing(client: Client) -> None:
    assert client.show(TEXT) == []
    line, _ = place_of("tile.wait %full")
    wrong = TEXT.replace("%parity) : !barriers", "%parity) spins(0) : !barriers")
    assert wrong != TEXT
    (diagnostic,) = client.show(wrong)
    assert diagnostic["message"] == "'tile.wait' op spins must be in 1 to 2147483647, got 0"
    assert diagnostic["range"]["start"]["line"] == line
    assert client.show(TEXT) == []


def test_hovering_shows_the_op(client: Client) -> None:
    client.show(TEXT)
    line, character = place_of("tile.copy_async")
    hover = client.ask("hover", line, character + 6)
    assert "tile.copy_async" in hover["contents"]["value"]
    assert "#tile.issue<thread>" in hover["contents"]["value"]


def test_a_value_leads_to_its_definition(client: Client) -> None:
    client.show(TEXT)
    line, _ = place_of("tile.copy_async")
    (definition,) = client.ask("definition", line, LINES[line].index("%full") + 1)
    assert definition["range"]["start"]["line"] == place_of("%full = nvgpu.mbarrier.create")[0]


def test_ops_and_values_complete(client: Client) -> None:
    line, character = place_of("tile.copy_async")
    client.show(TEXT.replace("tile.copy_async", "tile."))
    labels = {item["label"] for item in client.ask("completion", line, character + 5)["items"]}
    assert {"copy_async", "expect", "wait"} <= labels
    client.show(TEXT.replace("tile.copy_async %", "tile.copy_async %", 1))
    names = client.ask("completion", line, character)["items"]
    assert {"tile", "arith", "nvgpu", "transform"} <= {item["label"] for item in names}


def test_it_ends_when_the_editor_says_so(client: Client) -> None:
    assert client.request("shutdown", None) is None
    client.send(method="exit")
    assert client.process.wait(SECONDS) == 0


def test_it_ends_on_ctrl_c(client: Client) -> None:
    client.show(TEXT)
    client.process.send_signal(signal.SIGINT)
    assert client.process.wait(SECONDS) == -signal.SIGINT
