"""Nothing takes more arguments than a reader can hold, keyword-only ones included; stand-ins of tests say what they stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.test_source_rules import ROOT, product_files, python_files, tree

PARAMETERS_MAX = 7
WIDE = {
    "ConsumerRecord.__init__": 10,
    "RecordAppender.place": 8,
    "KStream.join": 10,
    "KStream.left_join": 10,
    "StreamTask.__init__": 10,
    "TopologyBuilder.add_global_store": 8,
    "TopologyBuilder.add_read_only_state_store": 8,
}
"""What takes more today. Narrow one and take it off; add none. A record is its fields, also where it is placed (an object for
them would be one for each record), and joins have Kafka Streams' parameters."""
STAND_INS_MAX = 18
STAND_INS_MENDED_AT_MOST = 4
"""So many may be gone before the limit has to follow."""


def wide(node: ast.AST, outer: str = "") -> Iterator[tuple[str, int]]:
    """Commands of click are left out: they have a parameter for each option that users type."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield from wide(child, f"{outer}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                count = parameters(child)
                if count > PARAMETERS_MAX and not is_command(child):
                    yield f"{outer}{name}", count
                yield from wide(child, f"{outer}{name}.")
            case _:
                yield from wide(child, outer)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Without the object or class that a method belongs to."""
    every = function.args
    names = [each.arg for each in (*every.posonlyargs, *every.args, *every.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(".command(" in ast.unparse(each) for each in function.decorator_list)


def test_nothing_takes_more_than_seven_arguments() -> None:
    found = {
        name if "." in name else f"{path.stem}.{name}": count
        for path in product_files()
        for name, count in wide(tree(path))
    }
    too_wide = {name: count for name, count in found.items() if count > WIDE.get(name, 0)}
    assert not too_wide, f"group them in a frozen dataclass, or split what takes them: {too_wide}"
    assert not set(WIDE) - set(found), "these are narrow now: take them off WIDE"


def test_keyword_only_arguments_count() -> None:
    source = "class A:\n def f(self, a, b, c, d, e, *, f, g, h): ..."
    assert list(wide(ast.parse(source))) == [("A.f", 8)]


def test_stand_ins_without_a_type_become_fewer() -> None:
    """A SimpleNamespace has what a test gave it, and goes on passing when what it stands for has changed."""
    count = sum(
        isinstance(node, ast.Call) and ast.unparse(node.func).endswith("SimpleNamespace")
        for path in python_files()
        if path.is_relative_to(ROOT / "tests")
        for node in ast.walk(tree(path))
    )
    assert count <= STAND_INS_MAX, "use the class itself, or a small one of the test's own"
    assert count >= STAND_INS_MAX - STAND_INS_MENDED_AT_MOST, f"there are {count}: lower the limit"
