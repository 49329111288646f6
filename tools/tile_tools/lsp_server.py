# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-lsp-server: MLIR's language server, which knows the tile dialect and all upstream ones.

Two processes: the server, which takes over stdin and stdout, and in front of its stdout one that
adds the descriptions of ops, which the server lacks, to what it shows of the op under the cursor.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from typing import BinaryIO

from .errors import report
from .guard import CRASHES, report_crash
from .hover import with_description
from .startup import open_closed_streams, utf8
from .version import version_line

LENGTH = b"Content-Length:"


def main() -> int:
    """Speak the language server protocol on stdin and stdout until the editor ends it."""
    open_closed_streams()
    return report(lambda: run(utf8(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run the server and the filter of its output; return the server's exit status."""
    if "--version" in arguments:
        print(version_line("tile-lsp-server"))
        return 0
    read_end, write_end = os.pipe()
    server = os.fork()
    if not server:
        os.dup2(write_end, sys.stdout.fileno())
        os.close(read_end)
        os.close(write_end)
        return serve(arguments)
    os.close(write_end)
    # The end of the editor's messages is for the server alone to see.
    os.close(sys.stdin.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, functools.partial(end_with, server))
    with os.fdopen(read_end, "rb") as messages:
        try:
            relay(messages, sys.stdout.buffer)
        except OSError:
            os.kill(server, signal.SIGTERM)
            os.waitpid(server, 0)
            raise
    status = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
    if -status in CRASHES:
        return report_crash(signal.strsignal(-status) or "")
    return status if status >= 0 else 128 - status


def serve(arguments: list[str]) -> int:
    """Be the server."""
    # Python notes a signal for later, and the server never comes back to Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    import mlir_tile.registration  # noqa: F401  (registers by being imported)
    from mlir_tile import _tile

    status: int = _tile.lsp_server_main(["tile-lsp-server", *arguments])
    return status


def end_with(server: int, number: int, frame: object) -> None:
    """End the server and then this process by the signal `number`."""
    os.kill(server, number)
    os.waitpid(server, 0)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def relay(messages: BinaryIO, editor: BinaryIO) -> None:
    """Hand on each message, with a description where it can have one; other text as it is."""
    while line := messages.readline():
        if line.startswith(LENGTH):
            while messages.readline().strip():
                pass  # no other header says anything that the body does not
            body = with_description(messages.read(int(line[len(LENGTH) :])))
            line = b"%s %d\r\n\r\n%s" % (LENGTH, len(body), body)
        editor.write(line)
        editor.flush()


if __name__ == "__main__":
    sys.exit(main())
