"""`python -m codegen.file_map` writes out/file-map.md: every module of the product with the first sentence of its own docstring.

The page is made when somebody wants to read it and is not kept: the modules say it all, and a kept copy is changed by every
change of a module.
"""

from __future__ import annotations

import ast
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_HEADER = """# File map

Written by `make file-map` from the modules' docstrings. [DESIGN.md](../docs/DESIGN.md) has the short map and tells how the parts work together.
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


def main() -> int:
    page = ROOT / "out/file-map.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(render(ROOT / "src/millstream"))
    print(f"wrote {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
