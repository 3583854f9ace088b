"""What is compiled knows its constants, has one type for a name, and waits for nothing while it handles an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.compiled.finder import CONSTANTS_FROM, MODULES, source_path

SOURCES = Path(__file__).resolve().parents[2] / "src"


def constants_of(module: str) -> set[str]:
    """The names at the top of a module that are `Final` and whose value is a number, a string or bytes: these are copied."""
    path = SOURCES / source_path(module)
    if not path.exists():
        path = path.with_suffix("") / "__init__.py"
    return {
        line.target.id
        for line in ast.parse(path.read_text()).body
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and ast.unparse(line.annotation).startswith("Final")
        and line.value is not None
        and isinstance(_literal(line.value), int | float | str | bytes)
    }


def _literal(value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None


def imported_constants(module: str) -> set[tuple[str, str]]:
    tree = ast.parse((SOURCES / source_path(module)).read_text())
    return {
        (line.module, name.name)
        for line in ast.walk(tree)
        if isinstance(line, ast.ImportFrom)
        and line.module is not None
        and line.module.startswith("millstream.")
        and line.module not in (*MODULES, *CONSTANTS_FROM)
        for name in line.names
        if name.name in constants_of(line.module)
    }


@pytest.mark.parametrize("module", MODULES)
def test_constants_come_from_modules_that_count_when_it_is_looked_for(module: str) -> None:
    """Else a changed value would leave the old one in code that still counts as fresh."""
    assert imported_constants(module) == set()


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_awaited_while_an_error_is_handled(module: str) -> None:
    """A function that waits there leaves its error behind in the thread: whatever else runs has it for its own.

    The code that mypyc makes does not put `sys.exc_info()` back before it waits (2.4). Other tracebacks then tell of an
    error that was theirs never, and it stays in memory with all that its frames hold.
    """
    tree = ast.parse((SOURCES / source_path(module)).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            handling = [*node.finalbody, *(line for each in node.handlers for line in each.body)]
            waits = [wait.lineno for line in handling for wait in waits_in(line)]
            assert not waits, f"wait behind the handler: lines {waits}"


def waits_in(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Those of the function that the node is in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith | ast.Yield | ast.YieldFrom):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from waits_in(child)


@pytest.mark.parametrize("module", MODULES)
def test_errors_that_a_function_catches_under_one_name_are_of_one_type(module: str) -> None:
    """A name has one type in what is compiled. An error of another one is refused with a TypeError in its place."""
    tree = ast.parse((SOURCES / source_path(module)).read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            caught: dict[str, set[str]] = {}
            for handler in ast.walk(function):
                if isinstance(handler, ast.ExceptHandler) and handler.name and handler.type:
                    caught.setdefault(handler.name, set()).add(ast.unparse(handler.type))
            for name, types in caught.items():
                assert len(types) == 1, f"{function.name} catches {sorted(types)} as {name}"
