# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are replaced as a whole: a reader finds the old content or the new one."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Make `content` the content of the file `path`, which keeps its mode.

    Devices and pipes are written to. Raises `OSError` that names `path`; a file that was there is
    then as it was.
    """
    given, path = os.fspath(path), Path(path)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        path.write_bytes(content)  # a device or a pipe has no old content to keep
        return
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), given)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tile-")
    except OSError as error:
        raise OSError(error.errno, error.strerror, given) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, mode if mode is not None else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """Return the mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
