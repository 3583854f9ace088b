"""No error is its own cause: who follows the causes of an error would never come to the first one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.test_assertions import called, is_function
from tests.tidy.test_source_rules import product_files, tree, where


def test_what_may_return_the_error_itself_is_not_raised_from_it() -> None:
    """Such a function gives what it makes its cause, and its caller raises what it returns from that: `raise told from told.__cause__`."""
    returning = {
        node.name
        for path in product_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and _returns_what_it_is_given(node)
    }
    found = [
        where(path, node.lineno)
        for path in product_files()
        for node, made in _raised_from_their_argument(path)
        if called(made) in returning
    ]
    assert found == [], found


def _returns_what_it_is_given(function: ast.FunctionDef) -> bool:
    given = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    return any(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Name) and node.value.id in given
        for node in ast.walk(function)
    )


def _raised_from_their_argument(path: Path) -> Iterator[tuple[ast.Raise, ast.Call]]:
    """Each `raise made(error) from error`, and `told = made(error)` with `raise told from error`, with the call."""
    for function in filter(is_function, ast.walk(tree(path))):
        nodes = list(ast.walk(function))
        calls = {
            node.targets[0].id: node.value
            for node in nodes
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
        }
        for node in nodes:
            if not isinstance(node, ast.Raise) or not isinstance(node.cause, ast.Name):
                continue
            made = calls.get(node.exc.id) if isinstance(node.exc, ast.Name) else node.exc
            if isinstance(made, ast.Call) and any(
                isinstance(each, ast.Name) and each.id == node.cause.id for each in made.args
            ):
                yield node, made
