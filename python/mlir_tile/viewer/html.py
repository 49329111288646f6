# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures as one page without anything to load: hovering a cell shows its copy on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from . import svg
from .model import BANK_BITS, BANKS, Picture

STYLE = """\
:root{color-scheme:light dark}
body{margin:24px;font:15px/1.4 system-ui,sans-serif;background:#ffffff;color:#1a1a1a}
figure{margin:0 0 32px;overflow-x:auto}
svg.tile{max-width:none}
.tile g.c{cursor:crosshair}
.tile.dim g.c:not(.hot){opacity:.3}
#tip{position:fixed;display:none;pointer-events:none;white-space:pre;padding:6px 10px;
border-radius:6px;background:#1a1a1a;color:#ffffff;font:12px 'DejaVu Sans Mono',Menlo,monospace}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}
#tip{background:#e6edf3;color:#0d1117}}
"""

# A cell has the offset of its first element; the others follow it.
SCRIPT = """\
const tip = document.getElementById("tip");
function describe(cell, x) {
  const box = cell.querySelector("rect").getBoundingClientRect(), d = cell.dataset;
  const piece = +d.piece, bits = +d.bits;
  const i = Math.max(0, Math.min(piece - 1, Math.floor((x - box.left) / box.width * piece)));
  const at = d.at === "" ? [] : d.at.split(",").map(Number);
  if (at.length) at[at.length - 1] += i;
  const place = +d.place + i, bit = place * bits;
  const lines = ["(" + at.join(", ") + ")", "place  " + place,
    "byte   " + Math.floor(bit / 8) + (bit % 8 ? ", bit " + bit % 8 : ""),
    "bank   " + Math.floor(bit / BANK_BITS) % BANKS];
  if (d.phase) lines.push("XOR    " + d.phase);
  if (d.chunk) lines.push("copy   " + d.chunk);
  if (d.thread) lines.push("thread " + d.thread);
  if (d.cycles > 1) lines.push("loaded in " + d.cycles + " cycles instead of 1");
  return lines.join("\\n");
}
for (const picture of document.querySelectorAll("svg.tile")) {
  const cells = [...picture.querySelectorAll("g.c")];
  const key = cell => cell.dataset.chunk ? "c" + cell.dataset.chunk : cell.dataset.at;
  const groups = new Map();
  for (const cell of cells) groups.set(key(cell), [...(groups.get(key(cell)) || []), cell]);
  let shown = null;
  const show = name => {
    if (name === shown) return;
    for (const cell of groups.get(shown) || []) cell.classList.remove("hot");
    for (const cell of groups.get(name) || []) cell.classList.add("hot");
    picture.classList.toggle("dim", name !== null);
    shown = name;
  };
  picture.addEventListener("mousemove", event => {
    const cell = event.target.closest("g.c");
    show(cell ? key(cell) : null);
    tip.style.display = cell ? "block" : "none";
    if (!cell) return;
    tip.textContent = describe(cell, event.clientX);
    const left = event.clientX + 16, top = event.clientY + 16;
    tip.style.left = Math.min(left, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(top, innerHeight - tip.offsetHeight - 8) + "px";
  });
  picture.addEventListener("mouseleave", () => { show(null); tip.style.display = "none"; });
}
"""


def page(pictures: Sequence[Picture]) -> str:
    """Return pictures as one HTML page."""
    title = pictures[0].title if len(pictures) == 1 else f"{len(pictures)} copies"
    figures = "\n".join(
        f"<figure>\n{svg.render([picture], data=True)}</figure>" for picture in pictures
    )
    script = SCRIPT.replace("BANK_BITS", str(BANK_BITS)).replace("BANKS", str(BANKS))
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}</style>\n</head>\n<body>\n{figures}\n"
        f'<div id="tip"></div>\n<script>\n{script}</script>\n</body>\n</html>\n'
    )


def fragment(picture: Picture) -> str:
    """Return a picture for a page of others, such as a notebook: no script, texts on cells."""
    return svg.render([picture], tooltips=True)
