# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A client of the language server protocol, as small as the tests of tile-lsp-server need it."""

from __future__ import annotations

import json
import subprocess
import sysconfig
import threading
from pathlib import Path
from typing import Any

SERVER = Path(sysconfig.get_path("scripts")) / "tile-lsp-server"
URI = "file:///kernel.mlir"
SECONDS = 600


class Client:
    """A server that runs, and one document that is open in it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        # A server that says nothing must not hang the tests.
        self.timer = threading.Timer(SECONDS, self.process.kill)
        self.timer.start()
        self.number = 0
        self.version = 0

    def close(self) -> None:
        self.timer.cancel()
        self.process.terminate()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.wait(SECONDS)

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def request(self, method: str, params: object) -> Any:
        """Return the result of a request."""
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        answer = self.receive()
        assert answer["id"] == self.number
        return answer["result"]

    def initialize(self) -> dict[str, Any]:
        """Return what the server says it can do."""
        result = self.request(
            "initialize", {"processId": None, "rootUri": None, "capabilities": {}}
        )
        self.send(method="initialized", params={})
        return result["capabilities"]

    def show(self, text: str) -> list[dict[str, Any]]:
        """Open the document, or change it, and return its diagnostics."""
        self.version += 1
        document = {"uri": URI, "version": self.version}
        if self.version == 1:
            opened = document | {"languageId": "mlir", "text": text}
            self.send(method="textDocument/didOpen", params={"textDocument": opened})
        else:
            changed = {"textDocument": document, "contentChanges": [{"text": text}]}
            self.send(method="textDocument/didChange", params=changed)
        published = self.receive()
        assert published["method"] == "textDocument/publishDiagnostics"
        assert published["params"]["version"] == self.version
        return published["params"]["diagnostics"]

    def ask(self, what: str, line: int, character: int) -> Any:
        """Return what the server knows of a place, lines and characters counted from 0."""
        place = {"line": line, "character": character}
        return self.request(
            f"textDocument/{what}", {"textDocument": {"uri": URI}, "position": place}
        )
