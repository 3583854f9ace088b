"""Docstrings begin with a sentence, not a fragment; public classes and their methods have one, and a `repr()`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module

import pytest

from tests.tidy.test_source_rules import SOURCE, product_files, tree, where

FACADES = (
    "millstream.clients",
    "millstream.clients.admin",
    "millstream.clients.blocking",
    "millstream.clients.serdes.registry",
    "millstream.streams",
    "millstream.streams.queries",
    "millstream.testing",
)


def classes(facade: str) -> Iterator[type]:
    module = import_module(facade)
    for name in module.__all__:
        exported = getattr(module, name)
        if inspect.isclass(exported):
            yield exported


def methods(kind: type) -> Iterator[str]:
    """Those that our own classes define, properties included."""
    ours = [each for each in kind.__mro__ if each.__module__.startswith("millstream.")]
    for name in {name: None for each in ours for name in vars(each)}:
        member = inspect.getattr_static(kind, name)
        documented = (staticmethod, classmethod, property, cached_property)
        if not name.startswith("_") and (
            inspect.isroutine(member) or isinstance(member, documented)
        ):
            yield name


@pytest.mark.parametrize("facade", FACADES)
def test_every_public_method_has_a_docstring(facade: str) -> None:
    found = [(kind, name) for kind in classes(facade) for name in methods(kind)]
    assert len(found) > 10
    missing = [
        f"{kind.__qualname__}.{name}"
        for kind, name in found
        if not inspect.getdoc(inspect.getattr_static(kind, name))
        and not inspect.getdoc(getattr(kind, name))  # of the method of a base that it implements
    ]
    assert not missing


TO_BE_DERIVED_FROM = {
    "ConsumerInterceptor",
    "ContextualProcessor",
    "ProducerInterceptor",
    "RebalanceListener",
}
"""What these are is said by the class that a user derives from them."""

WITHOUT_STATE = {"RoundRobinPartitioner"}


@pytest.mark.parametrize("facade", FACADES)
def test_every_public_class_has_a_repr(facade: str) -> None:
    missing = [
        kind.__name__
        for kind in classes(facade)
        if kind.__repr__ is object.__repr__
        and kind.__name__ not in TO_BE_DERIVED_FROM | WITHOUT_STATE
        and not getattr(kind, "_is_protocol", False)
    ]
    assert not missing


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
QUESTION_WORDS = {"How", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"}

FRAGMENT_WORDS = {
    "About", "After", "Also", "Around", "As", "At", "Before", "During", "From", "In", "Of", "Once", "Only", "Those", "To", "Until", "Up",
    "With", "Without", "Anybody", "Everybody", "Nobody", "Somebody", "Whoever", "Milliseconds",
}  # fmt: skip
"""A docstring of a function that begins so does not say what the function does or returns. ("Of the codec that is used.")"""


def test_a_docstring_begins_with_a_sentence() -> None:
    found = [
        where(path, line)
        for path in product_files()
        for line, node in public_nodes(tree(path))
        if begins_with_a_fragment(node)
    ]
    assert not found, f"say what it is or does, do not ask: {found}"


def public_nodes(node: Documented, line: int = 1) -> Iterator[tuple[int, Documented]]:
    """The module and its public classes, functions and methods, each with its line."""
    yield line, node
    for child in node.body:
        if isinstance(child, Documented) and not child.name.startswith("_"):
            yield from public_nodes(child, child.lineno)


def begins_with_a_fragment(node: Documented) -> bool:
    """Whether the docstring begins with a question word or, that of a function, with a fragment.

    "Whether ..." is right for a function that returns a bool.
    """
    words = (ast.get_docstring(node) or " ").split(maxsplit=1)[:1]
    word = "".join(words).rstrip(",:")
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return word in QUESTION_WORDS
    if word == "Whether":
        return node.returns is None or ast.unparse(node.returns) != "bool"
    return word in QUESTION_WORDS | FRAGMENT_WORDS


DOCSTRING_COLUMNS_MAX = 120
AT_THEIR_LIMIT = {
    "broker/handlers/produce.py",
    "broker/metadata_log/driver.py",
    "log/directory/log_directory.py",
    "log/partition_log.py",
    "log/segments/segment.py",
    "replication/partition.py",
    "streams/application/kafka_streams.py",
    "streams/dsl/stream.py",
    "streams/kernel/task/stream_task.py",
}
"""These would have more than 600 lines: wrap what is left of their docstrings when one of their parts has moved out."""
_DRAWING_INDENT = 4


def long_docstring_lines(parsed: ast.Module, text: str) -> Iterator[tuple[int, int]]:
    """Yields line numbers and lengths. What is indented more than its docstring is a drawing or an example."""
    lines = text.splitlines()
    for node in ast.walk(parsed):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                deeper = " " * (node.col_offset + _DRAWING_INDENT)
                for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    line = lines[number - 1]
                    if len(line) > DOCSTRING_COLUMNS_MAX and not line.startswith(deeper):
                        yield number, len(line)


def test_docstrings_are_as_wide_as_a_page() -> None:
    wide = {
        path.relative_to(SOURCE).as_posix(): [
            where(path, number) for number, _ in long_docstring_lines(tree(path), path.read_text())
        ]
        for path in product_files()
    }
    assert {name for name in AT_THEIR_LIMIT if not wide[name]} == set(), "wrapped: take them off"
    too_wide = [
        place for name, places in wide.items() if name not in AT_THEIR_LIMIT for place in places
    ]
    assert too_wide == [], f"at most {DOCSTRING_COLUMNS_MAX} columns"


def test_drawings_may_be_wider_than_prose() -> None:
    wide = "x" * 130
    text = f'"""Sums up.\n\n    {wide}\n\n{wide}\n"""\n'
    assert list(long_docstring_lines(ast.parse(text), text)) == [(5, 130)]
