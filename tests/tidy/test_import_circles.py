"""Modules do not import each other in circles, not even for types alone, but where two ideas are made of each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

CIRCLES = (
    # A stream makes tables and a table makes streams: every operation knows both.
    ("millstream.streams.dsl",),
    # A topology describes and draws itself, and both read it.
    ("millstream.streams.topology",),
    # The driver hands out topics, and a topic is a view of its driver.
    (
        "millstream.testing.streams.topology_test_driver",
        "millstream.testing.streams.topology_test_topics",
    ),
    # A cluster tells brokers of itself, through its own connections.
    ("millstream.clients.cluster.cluster", "millstream.clients.telemetry.telemetry"),
)
"""Packages and modules that may import each other. Add none without such a reason."""


def test_no_circle_of_imports() -> None:
    modules = {_name(path): path for path in SOURCE.rglob("*.py") if "generated" not in path.parts}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        imported = {_house(each) for each in _imported(path, modules)}
        graph.setdefault(_house(name), set()).update(imported - {_house(name)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _house(name: str) -> str:
    """What stands for a module in the graph: itself, or the circle it is part of."""
    return next((circle[0] for circle in CIRCLES if name.startswith(circle)), name)


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Modules that this one names in an import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                module = inner if inner in modules else node.module
                if module in modules:
                    yield module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
