"""What says that it is pure touches nothing outside: neither itself, nor through any module of ours that it imports.

A package or module says so in docs/DESIGN.md (`PURE` among the layers), in a README (a row `| \\`core/\\` | PURE`), or in its own
docstring (`Pure` or `PURE`). A package named `core` is pure without saying so.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.tidy.test_source_rules import ROOT, SOURCE, python_files, tracked, tree

IMPURE_MODULES = {
    "asyncio", "concurrent", "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select", "selectors", "shutil", "signal",
    "socket", "ssl", "subprocess", "tempfile", "threading", "time", "uvloop",
}  # fmt: skip
IMPURE_MODULES_OF_OURS = {"millstream.runtime.system"}
ALLOWED = {
    "millstream.runtime.native": "chooses between a leaf and its compiled twin, once, when it is imported",
    "millstream.testing.sim_random": "chance that its seed decides",
}
"""Modules whose imports are not followed, with the reason."""


@cache
def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in python_files(generated=True)
        if path.is_relative_to(SOURCE)
    }


@cache
def imports(module: str, *, for_types: bool = False) -> frozenset[str]:
    """Modules that it imports when it runs, at the top or in a function, and with `for_types` also those for checkers alone."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree(modules()[module])]
    while waiting:
        node = waiting.pop()
        if is_for_checkers(node) and not for_types:
            assert isinstance(node, ast.If)
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules() else str(node.module))
    return frozenset(found)


def is_for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def impure(module: str) -> bool:
    return module.partition(".")[0] in IMPURE_MODULES or module in IMPURE_MODULES_OF_OURS


def ways_out(module: str) -> Iterator[str]:
    """From a module to everything impure that it names, or reaches through others; each by a shortest way."""
    yield from (f"{module} -> {each}" for each in imports(module, for_types=True) if impure(each))
    came_from: dict[str, str | None] = {module: None}
    waiting = deque([module])
    while waiting:
        here = waiting.popleft()
        for target in sorted(imports(here)):
            if impure(target) and here != module:
                way: list[str | None] = [target, here]
                while came_from[str(way[-1])] is not None:
                    way.append(came_from[str(way[-1])])
                yield " -> ".join(map(str, reversed(way)))
            elif target in modules() and target not in came_from and target not in ALLOWED:
                came_from[target] = here
                waiting.append(target)


def packages_of_the_design() -> set[Path]:
    """Rows of its layers look like `controller | coordinator   PURE; PURE` or `streams   dsl → topology (PURE) → kernel (PURE)`."""
    layers = (
        (ROOT / "docs/DESIGN.md").read_text().partition("### Layers")[2].partition("## Paths")[0]
    )
    found: set[Path] = set()
    for left, right in re.findall(r"^ {4}(\w[\w |,]*?) {2,}(\S.*)$", layers, re.MULTILINE):
        names, sayings = re.split(r"[ |,]+", left), right.split("; ")
        for number, name in enumerate(names):
            saying = sayings[min(number, len(sayings) - 1)]
            if saying.startswith("PURE"):
                found.add(SOURCE / name)
            found |= {SOURCE / name / part for part in re.findall(r"(\w+) \(PURE\)", saying)}
    return found


def packages_of_the_readmes() -> set[Path]:
    return {
        page.parent / name
        for page in tracked()
        if page.name == "README.md" and page.is_relative_to(SOURCE)
        for name in re.findall(r"^\| `([\w/]+)/` \| PURE", page.read_text(), re.MULTILINE)
    }


def says_pure(path: Path) -> bool:
    return re.search(r"\b(PURE|Pure)\b", ast.get_docstring(tree(path)) or "") is not None


def pure_modules() -> list[str]:
    packages = packages_of_the_design() | packages_of_the_readmes()
    packages |= {
        path.parent for path in modules().values() if path.name == "__init__.py" and says_pure(path)
    }
    packages |= {path.parent for path in modules().values() if path.parent.name == "core"}
    return [
        name
        for name, path in modules().items()
        if says_pure(path) or any(path.is_relative_to(package) for package in packages)
    ]


def test_pure_packages_are_those_that_say_so() -> None:
    assert packages_of_the_design() >= {
        SOURCE / name
        for name in ("protocol", "records", "security", "raft", "metadata", "controller", "coordinator", "streams/topology", "streams/kernel")
    }  # fmt: skip
    assert SOURCE / "console/views" in packages_of_the_readmes()
    assert not [package for package in packages_of_the_design() if not package.is_dir()]
    assert len(pure_modules()) > 400


def test_what_is_pure_reaches_nothing_outside() -> None:
    """Pass it in: runtime.Clock, Random, FileSystem."""
    found = sorted({way for module in pure_modules() for way in ways_out(module)}, key=len)
    assert not found, "\n".join(found[:20])


def test_a_way_out_through_other_modules_is_found() -> None:
    """As of a layer that may do everything."""
    ways = list(ways_out("millstream.testing.broker"))
    assert "millstream.testing.broker -> tempfile" in ways
    assert "millstream.testing.broker -> millstream.testing.node_runner -> subprocess" in ways


def test_what_is_allowed_is_needed() -> None:
    reached = {target for module in pure_modules() for target in imports(module)}
    assert set(ALLOWED) - reached == set()
