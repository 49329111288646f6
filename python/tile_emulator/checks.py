# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of its findings the emulator reports; imports nothing that takes long."""

from __future__ import annotations

from dataclasses import dataclass

# What a kernel can go on after, so that it may be left out, or kept for the end.
OPTIONAL = frozenset(
    {
        "arrivals",
        "early-exit",
        "in-flight",
        "not-started",
        "proxy-fence",
        "race",
        "uninitialised-barrier",
        "uninitialised-read",
    }
)
_LEVELS = ("off", "default", "strict")


@dataclass(frozen=True)
class Checks:
    """A level of checks, and the kinds that are left out."""

    level: str
    ignored: frozenset[str]

    @property
    def strict(self) -> bool:
        return self.level == "strict"

    @property
    def orders(self) -> bool:
        """Whether the order of accesses matters at all."""
        return not self.ignored >= {"in-flight", "proxy-fence", "race", "uninitialised-read"}


def parse_checks(text: str) -> Checks:
    """Read `off`, `default` or `strict`, and `,-KIND` for each kind to leave out.

    Raises TypeError for what is no text, else ValueError.
    """
    if not isinstance(text, str):
        raise TypeError(f"checks must be a str, got {text!r}")
    level, *rest = text.split(",")
    kinds = [part[1:] for part in rest if part.startswith("-")]
    if level not in _LEVELS or len(kinds) != len(rest):
        raise ValueError(
            "checks must be off, default or strict, and ,-KIND for each kind to leave out, got "
            f"'{text}'"
        )
    for kind in kinds:
        if kind not in OPTIONAL:
            known = ", ".join(sorted(OPTIONAL))
            raise ValueError(f"checks can leave out {known}; got '{kind}'")
    return Checks(level, OPTIONAL if level == "off" else frozenset(kinds))
