# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `make docs` adds to the pages of docs/: the generated reference, and what they link to.

Pages are written so that their relative links work where the sources are read. A link that leaves
docs/ leads to a copy of that file in the site. A comment `<!-- insert: WHAT -->` stands for text
that a tool prints while the site is built, so that no copy of it can grow old.
"""

from __future__ import annotations

import ast
import inspect
import os
import posixpath
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).parents[1]
SCRIPTS = Path(sys.executable).parent

INSERT = re.compile(r"^<!-- insert: (.*?) -->$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?!\w+:|/|#)(?P<path>[^)#\s]+)")
FENCE = {".py": "python", ".mlir": "mlir", ".td": "tablegen", ".cpp": "cpp", ".h": "cpp"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the front page, and each file of the source tree that a page leads to."""
    in_nav = re.findall(r"(?<=source/)[\w./-]+", str(config.nav))
    waiting = ["README.md", *in_nav]
    waiting += [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    seen = set()
    while waiting:
        path = waiting.pop()
        if (PROJECT / path / "README.md").is_file():
            path += "/README.md"
        if path in seen or not (PROJECT / path).is_file():
            continue  # what is missing, MkDocs reports at the link
        seen.add(path)
        if not path.startswith("docs/"):
            files.append(copied(path, config, in_nav=path == "README.md" or path in in_nav))
        if path.endswith(".md"):
            text = (PROJECT / path).read_text()
            waiting += [target(path, link["path"]) for link in LINK.finditer(text)]
    return files


def copied(path: str, config: MkDocsConfig, in_nav: bool) -> File:
    """Return the page that shows `path` of the source tree."""
    text = (PROJECT / path).read_text()
    if not path.endswith(".md"):
        language = FENCE.get(posixpath.splitext(path)[1], "text")
        text = f"# {path}\n\n````{language}\n{text}\n````\n"
    included = InclusionLevel.INCLUDED if in_nav else InclusionLevel.NOT_IN_NAV
    return File.generated(config, site_path(path), content=text, inclusion=included)


def target(page: str, link: str) -> str:
    """Return the path in the source tree to which `link` leads from `page`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def site_path(path: str) -> str:
    """Return where a file of the source tree is among the pages of the site."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def source_path(page: str) -> str:
    """Return where a page of the site is in the source tree."""
    if page == "index.md":
        return "README.md"
    return page.removeprefix("source/") if page.startswith("source/") else f"docs/{page}"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert what is generated, and turn links between sources into links between pages."""
    here = page.file.src_uri

    def moved(link: re.Match[str]) -> str:
        path = target(source_path(here), link["path"])
        if (PROJECT / path / "README.md").is_file():
            path += "/README.md"
        if not (PROJECT / path).is_file():
            return link["path"]
        return posixpath.relpath(site_path(path), posixpath.dirname(here) or ".")

    return INSERT.sub(lambda match: inserted(match[1]), LINK.sub(moved, markdown))


def inserted(what: str) -> str:
    """Return the text for which a comment stands."""
    if what == "dialect":
        text = tablegen("-gen-dialect-doc", "-dialect=tile", "dialect/TileOps.td")
        # This generator has no filter for enums, and lists those of included dialects as well.
        text, _, _ = text.partition("\n## Enums")
        enums = tablegen("-gen-enum-doc", "dialect/TileEnums.td").replace("#### Cases:", "")
        return below_title(f"{text}\n## Enums\n{enums}")
    if what == "attributes":
        return stub_classes("LayoutAttr", "CopyPlanAttr")
    if what == "pass order":
        return pass_order()
    if what == "passes":
        in_cpp = below_title(tablegen("-gen-pass-doc", "lib/Transforms/Passes.td"))
        return f"{in_cpp}\n{passes_in_python()}"
    if what == "tile-opt":
        return f"```text\n{tile_options(output('tile-opt', '--help'))}```"
    if what == "tools":
        sections = [f"## {tool}\n\n```text\n{output(tool, '--help')}```\n" for tool in tools()]
        return "\n".join(sections)
    raise PluginError(f"nothing is known to insert as '{what}'")


def pass_order() -> str:
    """Return a table of the passes of `tile-to-binary` in their order, with their stages."""
    from mlir_tile.passes import to_binary as pipeline

    options = pipeline.Options(line_info=True)
    stages = {
        "analyze": pipeline.analyze(),
        "legalize": pipeline.legalize(),
        "nvvm": pipeline.nvvm(options),
        "ptx": pipeline.binary(options),
    }
    names = dict.fromkeys(re.findall(r"\btile-[\w-]+", stages["ptx"]))
    rows = []
    for name in names:
        stage = next(stage for stage, text in stages.items() if re.search(rf"{name}\b", text))
        rows.append(f"| [`{name}`](#{name}) | {stage} |")
    return "\n".join(["| pass | stage |", "|---|---|", *rows])


def passes_in_python() -> str:
    """Return a section for each pass and pipeline of `mlir_tile.passes`: its docstring."""
    from mlir_tile import passes

    sections = []
    for name in passes.__all__:
        function = getattr(getattr(passes, name), name)
        sections.append(f"### `tile-{name.replace('_', '-')}`\n\n{inspect.getdoc(function)}\n")
    return "\n".join(sections)


def stub_classes(*names: str) -> str:
    """Return classes of the extension as its stub declares them, which holds their docstrings."""
    package = find_spec("mlir_tile")
    folders = (package and package.submodule_search_locations) or []
    stubs = [path for folder in folders if (path := Path(folder) / "_tile.pyi").exists()]
    if not stubs:
        raise PluginError("no stub of mlir_tile: install the project in this environment")
    text = stubs[0].read_text()
    classes = {s.name: s for s in ast.parse(text).body if isinstance(s, ast.ClassDef)}
    return "\n".join(
        f"### {name} {{ #mlir_tile.dialects.tile.{name} }}\n\n"
        f"```python\n{ast.get_source_segment(text, classes[name])}\n```\n"
        for name in names
    )


def tools() -> list[str]:
    """Return the project's tools but tile-opt, whose help is upstream's for the most part."""
    project = (PROJECT / "pyproject.toml").read_text()
    _, _, scripts = project.partition("[project.scripts]\n")
    names = re.findall(r"^([\w-]+) = ", scripts.partition("\n[")[0], re.MULTILINE)
    return [name for name in names if name != "tile-opt"]


def output(tool: str, *arguments: str) -> str:
    """Return what one of the environment's tools prints."""
    if not (SCRIPTS / tool).exists():
        raise PluginError(f"no {SCRIPTS / tool}: install the project in this environment")
    done = subprocess.run(
        [SCRIPTS / tool, *arguments],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        env={**os.environ, "COLUMNS": "100"},
        timeout=60,
    )
    if done.returncode:
        raise PluginError(f"{tool} {' '.join(arguments)} failed: {done.stderr}")
    return done.stdout


def tablegen(*arguments: str) -> str:
    """Return the Markdown that mlir-tblgen writes from an ODS file."""
    spec = find_spec("mlir")
    if spec is None or not spec.submodule_search_locations:
        raise PluginError("no package 'mlir': build the site in the project's environment")
    wheel = Path(next(iter(spec.submodule_search_locations)))
    folders = [f"-I{wheel / 'include'}", f"-I{PROJECT / 'dialect'}", f"-I{PROJECT}"]
    return output(str(wheel / "bin" / "mlir-tblgen"), *folders, *arguments)


def below_title(text: str) -> str:
    """Drop the generator's title and its table of contents, and what only C++ wants to know."""
    text = re.sub(r"^<!-- Autogenerated.*?-->\n|^# .*\n|^\[TOC\]\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(Traits|Interfaces|Effects): .*\n\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(#+) (`tile\.\w+`) \(::tile::\w+\)$", r"\1 \2", text, flags=re.MULTILINE)
    return re.sub(r"^### `-(tile-[\w-]+)`$", r"### `\1`", text, flags=re.MULTILINE)


def tile_options(text: str) -> str:
    """Return the part of tile-opt's help that tells of the project's passes and pipelines."""
    kept = []
    inside = False
    for line in text.splitlines(keepends=True):
        depth = len(line) - len(line.lstrip())
        if depth == 6 or (depth < 6 and not line.lstrip().startswith("=")):
            inside = line.lstrip().startswith("--tile-")
        if inside:
            kept.append(line[6:] if depth >= 6 else line)
    return "".join(kept)
