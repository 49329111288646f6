# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-lsp-server answers an editor: diagnostics, hover, definitions, completion, and its end."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsp_client import SECONDS, SERVER, Client
from mlir.dialects import nvgpu

from mlir_tile.dialects import tile

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


def test_hovering_shows_the_op_and_its_description(client: Client) -> None:
    client.show(TEXT)
    line, character = place_of("tile.copy_async")
    shown = client.ask("hover", line, character + 6)["contents"]["value"]
    assert shown.startswith('"tile.copy_async"')
    assert "#tile.issue<thread>" in shown
    assert inspect.getdoc(tile.CopyAsyncOp) in shown


def test_hovering_describes_ops_of_upstream(client: Client) -> None:
    client.show(TEXT)
    line, character = place_of("nvgpu.mbarrier.create")
    shown = client.ask("hover", line, character + 6)["contents"]["value"]
    assert inspect.getdoc(nvgpu.MBarrierCreateOp) in shown


def test_hovering_a_value_shows_what_the_server_says(client: Client) -> None:
    client.show(TEXT)
    line, _ = place_of("tile.copy_async")
    shown = client.ask("hover", line, LINES[line].index("%full") + 1)["contents"]["value"]
    assert "nvgpu.mbarrier.create" in shown


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_by_a_signal_and_leaves_nothing(client: Client, number: signal.Signals) -> None:
    client.show(TEXT)
    task = f"/proc/{client.process.pid}/task/{client.process.pid}"
    (server,) = Path(f"{task}/children").read_text().split()
    client.process.send_signal(number)
    assert client.process.wait(SECONDS) == -number
    assert not Path(f"/proc/{server}").exists()


def test_a_crash_of_the_server_is_an_error(client: Client) -> None:
    client.show(TEXT)
    pid = client.process.pid
    (server,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(int(server), signal.SIGSEGV)
    assert client.process.wait(SECONDS) == 1
    assert client.process.stderr is not None
    said = client.process.stderr.read().decode()
    assert "error: internal error of the compiler: Segmentation fault; report it" in said


def test_it_ends_with_the_editors_messages(client: Client) -> None:
    client.show(TEXT)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(SECONDS) != 0  # without a shutdown before


def test_its_options_are_explained() -> None:
    result = subprocess.run([SERVER, "--help"], capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0
    assert "--log=<value>" in result.stdout
