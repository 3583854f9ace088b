"""Writes docs/file-map.md: every module of the product with the first sentence of its own docstring."""

from __future__ import annotations

import ast
from itertools import groupby
from pathlib import Path

_HEADER = """# File map

Written by `make docs` from the modules' docstrings. [DESIGN.md](DESIGN.md) has the short map and tells how the parts work together.
Generated message modules (`src/millstream/protocol/generated`) are left out: one for each API, named after it.
"""


def render(source: Path) -> str:
    modules = sorted(path for path in source.rglob("*.py") if _is_listed(path, source))
    sections = []
    for package, paths in groupby(modules, key=lambda path: path.parent.relative_to(source)):
        name = "millstream" if package == Path() else f"millstream/{package.as_posix()}"
        rows = [
            f"| `{path.name}` | {_first_sentence(path)} |"
            for path in paths
            if path.name != "__init__.py"
        ]
        purpose = _first_sentence(source / package / "__init__.py")
        if rows:
            sections.append(
                "\n".join(
                    [f"## {name}", "", purpose, "", "| module | what it owns |", "|---|---|", *rows]
                )
            )
    return (
        _HEADER
        + "\n"
        + "\n\n".join(section.replace("\n\n\n", "\n\n") for section in sections)
        + "\n"
    )


def _is_listed(path: Path, source: Path) -> bool:
    return "generated" not in path.relative_to(source).parts and "__pycache__" not in path.parts


def _first_sentence(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) if path.exists() else None
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    return paragraph.replace("|", "\\|")
