# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SVG, HTML and text say the same as the grids that they draw."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile.dialects.tile import LayoutAttr
from mlir_tile.viewer import copies, html, looks, model, svg, terminal
from mlir_tile.viewer.model import Picture, Window
from mlir_tile.viewer.notation import parse

SVG = "{http://www.w3.org/2000/svg}"
PAIRS = [
    ("(8,64):(64,1) f16", "(8,(2,32)):(32,(256,1)) f16", "thread"),
    ("(64,64):(64,1) f32", "(64,64):(1,64) f32", "cta"),
    ("((4,64)):((64,1)) f16", "((4,64)):((1,4)) f16", "thread"),
]


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with mt.context():
        yield


def pictures() -> list[Picture]:
    """Return a layout, a copy, a copy with conflicts and one that is declined."""
    found = [
        model.picture_of_layout(
            parse("#tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>"), None, Window()
        )
    ]
    for src, dst, issue in PAIRS:
        copy = copies.between(parse(src), parse(dst), issue, None, 256)
        found.append(model.picture_of_copy(copy, None, Window(12, 8)))
    return found


def cells_of(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [g for g in root.iter(f"{SVG}g") if g.get("class") == "c"]


def test_an_svg_has_a_group_for_each_cell_with_its_numbers_and_colour() -> None:
    for picture in pictures():
        root = ElementTree.fromstring(svg.render([picture]))
        expected = [(cell, grid) for grid in picture.grids for cell in grid.cells()]
        drawn = cells_of(root)
        assert len(drawn) == len(expected)
        for group, (cell, grid) in zip(drawn, expected, strict=True):
            texts = [text.text for text in group.iter(f"{SVG}text")]
            assert texts[0] == str(cell.place)
            assert "".join(texts[1:]) == looks.value(cell, grid, picture.color)
            assert group[0].get("fill") == looks.fill(cell, picture.color)
            assert bool(list(group.iter(f"{SVG}path"))) == (cell.moved.cycles > 1)
            frames = [r for r in group.iter(f"{SVG}rect") if r.get("class") == "m"]
            assert bool(frames) == cell.marked


def test_cells_of_an_svg_do_not_overlap_and_stay_inside() -> None:
    for picture in pictures():
        root = ElementTree.fromstring(svg.render([picture]))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        boxes = set()
        for group in cells_of(root):
            match = re.fullmatch(r"translate\((\S+) (\S+)\)", group.attrib["transform"])
            assert match
            x, y = float(match[1]), float(match[2])
            w, h = float(group[0].attrib["width"]), float(group[0].attrib["height"])
            assert min(x, y) >= 0 and x + w <= width and y + h <= height
            # All text fits into its cell.
            for text, character in zip(group.iter(f"{SVG}text"), (7.3, 6.1), strict=False):
                assert len(text.text or "") * character <= w
            boxes.add((x, y))
        assert len(boxes) == len(cells_of(root))


def test_the_lines_of_a_picture_stand_below_it_whole() -> None:
    for picture in pictures():
        root = ElementTree.fromstring(svg.render([picture]))
        text = " ".join((t.text or "").strip() for t in root.iter(f"{SVG}text"))
        for line in picture.lines:
            assert line.replace(" ", "") in text.replace(" ", "")


def test_several_pictures_stand_below_each_other() -> None:
    root = ElementTree.fromstring(svg.render(pictures()))
    heights = [
        float(ElementTree.fromstring(svg.render([picture])).attrib["height"])
        for picture in pictures()
    ]
    assert float(root.attrib["height"]) == pytest.approx(sum(heights), abs=1)


def test_the_colours_can_be_told_apart_and_carry_black_text() -> None:
    def luminance(color: str) -> float:
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert len(set(looks.PALETTE)) == 8
    for color in looks.PALETTE:
        # WCAG: 7 to 1 is enough for all text.
        assert (luminance(color) + 0.05) / 0.05 >= 7, color


def test_a_page_loads_nothing_and_is_whole() -> None:
    page = html.page(pictures())
    assert not re.search(r"""(?:src|href)=|@import|url\(|fetch\(|XMLHttpRequest""", page)
    # The namespaces of SVG are names, not places.
    urls = set(re.findall(r"\w+://[^\"'\s<>]+", page))
    assert urls == {"http://www.w3.org/2000/svg"}
    assert page.count("<svg ") == page.count("</svg>") == len(pictures())
    assert "BANK" not in page


def test_cells_of_a_page_say_where_they_lie() -> None:
    for picture in pictures():
        page = html.page([picture])
        root = ElementTree.fromstring(page[page.index("<svg ") : page.index("</svg>") + 6])
        expected = [(cell, grid) for grid in picture.grids for cell in grid.cells()]
        for group, (cell, grid) in zip(cells_of(root), expected, strict=True):
            assert group.get("data-at") == ",".join(map(str, cell.coordinate))
            assert group.get("data-place") == str(cell.place)
            assert group.get("data-piece") == str(grid.piece)
            assert group.get("data-bits") == str(grid.element_bits)
            chunk = cell.moved.chunk
            assert group.get("data-chunk") == (None if chunk is None else str(chunk))


@pytest.mark.skipif(shutil.which("node") is None, reason="no node to run the page's script")
def test_the_script_of_a_page_tells_where_the_element_below_the_mouse_lies(tmp_path: Path) -> None:
    page = html.page([])
    script = page[page.index("<script>") + 8 : page.index("</script>")]
    cell = {"at": "1,8", "place": "64", "piece": "8", "bits": "16", "chunk": "3", "cycles": "2"}
    program = tmp_path / "page.js"
    program.write_text(
        "const document = {getElementById: () => ({}), querySelectorAll: () => []};\n"
        + script
        + f"const box = {{left: 100, width: 80}}, dataset = {json.dumps(cell)};\n"
        "const cell = {dataset, querySelector: () => ({getBoundingClientRect: () => box})};\n"
        "console.log([99, 131, 179, 181].map(x => describe(cell, x)).join('\\n\\n'));\n"
    )
    done = subprocess.run(
        ["node", str(program)], capture_output=True, text=True, timeout=600, check=True
    )
    shown = [dict(re.findall(r"^(\w+) +(\d+)$", part, re.MULTILINE)) | {"at": part.split("\n")[0]}
             for part in done.stdout.strip().split("\n\n")]  # fmt: skip
    for part, i in zip(shown, (0, 3, 7, 7), strict=True):
        byte = (64 + i) * 2
        assert part == {
            "at": f"(1, {8 + i})", "place": str(64 + i), "byte": str(byte),
            "bank": str(byte // 4 % 32), "copy": "3",
        }  # fmt: skip
    assert done.stdout.count("loaded in 2 cycles instead of 1") == 4


def test_text_has_the_same_numbers_with_and_without_colours() -> None:
    for picture in pictures():
        plain = terminal.render(picture, 400, False)
        colored = terminal.render(picture, 400, True)
        assert "\x1b" not in plain and "\x1b[30;48;2;" in colored
        assert re.sub(r"\x1b\[[\d;]*m", "", colored).split() == plain.split()
        for grid in picture.grids:
            for cell in grid.cells():
                value = looks.value(cell, grid, picture.color)
                assert f"{cell.place} {value}" in plain
        assert ("!" in plain) == any(c.moved.cycles > 1 for g in picture.grids for c in g.cells())


def test_grids_stand_side_by_side_where_there_is_room() -> None:
    picture = pictures()[1]
    beside, below = terminal.render(picture, 200, False), terminal.render(picture, 100, False)
    assert len(beside.splitlines()) < len(below.splitlines())
    assert max(map(len, beside.splitlines()[2:11])) > 100
    assert max(map(len, below.splitlines()[2:20])) <= 100


def test_notebooks_show_layouts_and_plans() -> None:
    layout = LayoutAttr.get((8, 64), (64, 1), swizzle=(3, 3, 3))
    plan = ir.Attribute.parse(
        "#tile.copy_plan<bulk, chunk = 64, count = 16, loops = [8, 2], "
        "src = <start = 0, steps = [128, 64]>, dst = <start = 0, steps = [64, 512]>>"
    )
    for attribute, cells in ((layout, 64), (plan, 128)):
        root = ElementTree.fromstring(attribute._repr_html_())
        assert len(cells_of(root)) == cells
        titles = [title.text or "" for title in root.iter(f"{SVG}title")]
        assert len(titles) == cells
        assert "place 0, byte 0" in titles[0]
    assert "copy 1" in titles[4]
