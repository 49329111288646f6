# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are replaced as a whole: a reader finds the old content or the new one."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Make `content` the content of the file `path`, which keeps its mode.

    Devices and pipes are written to. Raises `OSError` that names `path`; a file that was there is
    then as it was.
    """
    given = os.fspath(path)
    try:
        _replace(Path(path), content)
    except OSError as error:
        # A write does not say where, and a temporary file is not what the user named.
        number = error.errno or errno.EIO
        raise OSError(number, os.strerror(number), given) from None


def _replace(path: Path, content: bytes) -> None:
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        path.write_bytes(content)  # a device or a pipe has no old content to keep
        return
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "")
    temporary = path.with_name(f".tile-{secrets.token_hex(8)}")
    with temporary.open("xb") as file:  # with the mode of any new file
        try:
            file.write(content)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink()
            raise
