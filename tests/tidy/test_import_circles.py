"""Modules do not import each other in circles, not even for types alone, but where two ideas are made of each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

CIRCLES = (
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

UPWARDS_FOR_A_TYPE = {
    # A stream becomes a table and a table a stream, so one of the two names the other's type before it is defined.
    "millstream.streams.dsl.table": "millstream.streams.dsl.stream",
    # Branches are streams, and the split that makes them is a method of one.
    "millstream.streams.dsl.branched": "millstream.streams.dsl.stream",
}
"""Modules that name one class of a module which imports them, in an annotation alone. The graph is checked without these."""


def test_no_circle_of_imports() -> None:
    modules = {_name(path): path for path in SOURCE.rglob("*.py") if "generated" not in path.parts}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        above = UPWARDS_FOR_A_TYPE.get(name)
        named = _imported(ast.parse(path.read_text()), modules)
        imported = {_house(each) for each in named if each != above}
        graph.setdefault(_house(name), set()).update(imported - {_house(name)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize(("module", "above"), UPWARDS_FOR_A_TYPE.items())
def test_an_import_upwards_is_for_a_type_alone(module: str, above: str) -> None:
    modules = {_name(path): path for path in SOURCE.rglob("*.py")}
    assert module in set(_imported(ast.parse(modules[above].read_text()), modules))
    tree = ast.parse(modules[module].read_text())
    for_types = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
    ]
    assert above in {each for block in for_types for each in _imported(block, modules)}
    for block in for_types:
        tree.body.remove(block)
    assert above not in set(_imported(tree, modules))


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _house(name: str) -> str:
    """The name that stands for a module in the graph: its own, or that of the circle it is part of."""
    return next((circle[0] for circle in CIRCLES if name.startswith(circle)), name)


def _imported(tree: ast.AST, modules: dict[str, Path]) -> Iterator[str]:
    """Modules that are named in an import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                module = inner if inner in modules else node.module
                if module in modules:
                    yield module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
