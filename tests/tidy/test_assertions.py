"""Every test can fail: it asserts something, of something that varies, and is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.tidy.test_seed_coverage import NAMED, TEXT
from tests.tidy.test_source_rules import ROOT, python_files, tree, where

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

TESTS = ROOT / "tests"
SUPPORT = ROOT / "src" / "millstream" / "testing"
EXPECTATIONS = {"raises", "RaisesGroup", "warns", "fail"}
"""Of pytest, as `pytest.raises` or imported."""
WAITS = {"until", "wait_until", "eventually"}
"""Of tests/patience.py: they raise TimeoutError when what they wait for does not come."""
TOO_BROAD = {"Exception", "BaseException", "MillstreamError", "KafkaError"}
"""A name that is not known, or any refusal, would do."""
WITHOUT_AN_ASSERTION = {
    "tests/properties/records/test_hostile_bytes.py::test_records_that_were_tampered_with_are_read_or_refused": "any error but a MillstreamError fails it",
    "tests/unit/coordinator/share_partition/test_share_partition.py::test_acknowledgements_that_are_well_formed": "a refusal is an InvalidRequest",
    "tests/unit/coordinator/group/streams/test_request_check.py::test_plain_requests_are_fine": "a refusal is an InvalidRequest",
}  # fmt: skip
"""`path::test` of tests that fail in another way, with the way."""


def every_test() -> Iterator[tuple[Path, Function]]:
    for path in files_of_tests():
        for node in ast.walk(tree(path)):
            if is_function(node) and node.name.startswith("test_"):
                yield path, node


def files_of_tests() -> list[Path]:
    return [p for p in python_files() if p.is_relative_to(TESTS) and p.name.startswith("test_")]


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def name_of(path: Path, function: Function) -> str:
    return f"{path.relative_to(ROOT)}::{function.name}"


def called(call: ast.Call) -> str:
    """The last part of what is called, without what it is called on."""
    function = call.func
    if isinstance(function, ast.Subscript):
        function = function.value
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


@cache
def functions_in_reach(path: Path) -> dict[str, list[tuple[Path, Function]]]:
    """By name: those of the module, of the conftests above it, and of what it imports of the tests and of `testing`."""
    found: dict[str, list[tuple[Path, Function]]] = {}
    for module in (path, *imported(path)):
        for node in ast.walk(tree(module)):
            if is_function(node):
                found.setdefault(node.name, []).append((module, node))
    return found


def imported(path: Path) -> set[Path]:
    conftests = [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(TESTS)]
    modules = {each for each in conftests if each.exists() and each != path}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            modules |= {each for each in sources_of(path, node) if each != path}
    return modules


def sources_of(path: Path, node: ast.ImportFrom) -> Iterator[Path]:
    """The files, of the tests or of `testing`, that an import may take its names from."""
    if node.level:
        folder = path.parents[node.level - 1]
    elif (node.module or "").startswith("tests"):
        folder = ROOT
    elif (node.module or "").startswith("millstream.testing"):
        folder = ROOT / "src"
    else:
        return
    module = folder.joinpath(*(node.module or "").split("."))
    for candidate in (
        module.with_suffix(".py"),
        *(module / f"{alias.name}.py" for alias in node.names),
    ):
        if candidate.exists():
            yield candidate


def checks(path: Path, function: Function) -> bool:
    """Whether the function, or one that it uses, may find something wrong."""
    waiting, seen = [(path, function)], {function}
    while waiting:
        module, each = waiting.pop()
        if asserts(each):
            return True
        in_reach = functions_in_reach(module)
        for name in names_used(each):
            new = [target for target in in_reach.get(name, ()) if target[1] not in seen]
            waiting += new
            seen.update(target for _, target in new)
    return False


@cache
def asserts(function: Function) -> bool:
    return any(
        (isinstance(node, ast.Assert) and not is_constant(node.test))
        or (isinstance(node, ast.Raise) and "AssertionError" in ast.dump(node))
        or (isinstance(node, ast.Call) and called(node) in EXPECTATIONS | WAITS)
        for node in ast.walk(function)
    )


@cache
def names_used(function: Function) -> frozenset[str]:
    return frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Name | ast.Attribute)
    )


def is_constant(test: ast.expr) -> bool:
    """True whatever the code under test does: a literal, a generator (which is never empty), the same on both sides."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(is_constant(each) for each in test.values)
    if isinstance(test, ast.UnaryOp):
        return is_constant(test.operand)
    literals = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda)
    return isinstance(test, (*literals, ast.GeneratorExp)) or is_compared_with_itself(test)


def is_compared_with_itself(test: ast.expr) -> bool:
    """Of calls the second answer may be another one."""
    if not isinstance(test, ast.Compare) or any(
        isinstance(node, ast.Call | ast.Await) for node in ast.walk(test)
    ):
        return False
    return ast.dump(test.left) == ast.dump(test.comparators[0])


def test_every_test_asserts_something() -> None:
    empty = [
        name_of(path, function)
        for path, function in every_test()
        if not checks(path, function) and name_of(path, function) not in WITHOUT_AN_ASSERTION
    ]
    assert not empty, f"assert what must hold, or say in WITHOUT_AN_ASSERTION how it fails: {empty}"


def test_nothing_is_asserted_that_is_always_true() -> None:
    constant = [
        f"{where(path, node.lineno)}: {ast.unparse(node)[:80]}"
        for path in python_files()
        if path.is_relative_to(TESTS) or path.is_relative_to(SUPPORT)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Assert) and is_constant(node.test)
    ]
    assert not constant, f"assert something that may be wrong: {constant}"


def test_an_expected_error_has_a_class_of_its_own() -> None:
    """Or words that it must have, or is looked at afterwards."""
    broad = [
        f"{where(path, item.context_expr.lineno)} {function.name}"
        for path, function in every_test()
        for block in ast.walk(function)
        if isinstance(block, ast.With | ast.AsyncWith)
        for item in block.items
        if item.optional_vars is None and is_broad(item.context_expr)
    ]
    assert not broad, f"name the class of the error that must come: {broad}"


def is_broad(expectation: ast.expr) -> bool:
    if not isinstance(expectation, ast.Call) or called(expectation) not in {
        "raises",
        "RaisesGroup",
    }:
        return False
    names = {n.id for each in expectation.args for n in ast.walk(each) if isinstance(n, ast.Name)}
    says_what = any(keyword.arg in {"match", "check"} for keyword in expectation.keywords)
    return bool(names & TOO_BROAD) and not says_what


def test_what_the_rows_of_the_seeds_name_is_run() -> None:
    """A function named in docs/seed-coverage is a test that pytest collects, and no mark skips it always."""
    idle = []
    for file, name in NAMED.findall(TEXT):
        path = ROOT / file
        if not path.name.startswith("test_"):
            continue
        named = [node for node in tree(path).body if not name or getattr(node, "name", "") == name]
        if not any(runs(node) for node in named) or is_skipped_as_a_whole(tree(path)):
            idle.append(f"{file}::{name}" if name else file)
    assert not idle, f"name a test that is run: {sorted(set(idle))}"


def runs(node: ast.stmt) -> bool:
    """A test, a class of tests, or the test case of a state machine, that is not skipped."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node).startswith("Test") and ast.unparse(node).endswith(".TestCase")
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return node.name.startswith(("test_", "Test")) and not any(
        is_skip(each) for each in node.decorator_list
    )


def is_skip(mark: ast.expr) -> bool:
    """A mark that skips always, or lets the test fail."""
    condition = mark.args[0] if isinstance(mark, ast.Call) and mark.args else None
    kind = ast.unparse(mark.func if isinstance(mark, ast.Call) else mark).rpartition(".")[2]
    is_true = isinstance(condition, ast.Constant) and bool(condition.value)
    return kind in {"skip", "xfail"} or (kind == "skipif" and is_true)


def is_skipped_as_a_whole(module: ast.Module) -> bool:
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marks = (
                node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
            )
            if any(is_skip(mark) for mark in marks):
                return True
        if isinstance(node, ast.Expr) and ast.unparse(node.value).startswith("pytest.skip("):
            return True
    return False


def test_what_is_excused_needs_it_and_says_why() -> None:
    silent = {name_of(path, test) for path, test in every_test() if not checks(path, test)}
    assert set(WITHOUT_AN_ASSERTION) - silent == set()
    assert [name for name, reason in WITHOUT_AN_ASSERTION.items() if len(reason) < 15] == []


@pytest.mark.parametrize(
    "assertion",
    [
        "assert True", "assert (found, 'words')", "assert 'words'", "assert f'{found}'", "assert found is found",
        "assert (x for x in found)", "assert [x, y]", "assert not None", "assert found or True", "assert lambda: found",
    ],
)  # fmt: skip
def test_an_assertion_that_is_always_true_is_recognised(assertion: str) -> None:
    (statement,) = ast.parse(assertion).body
    assert isinstance(statement, ast.Assert)
    assert is_constant(statement.test)


@pytest.mark.parametrize(
    "assertion",
    ["assert found", "assert found == []", "assert next(found) == next(found)", "assert not found", "assert a or b"],
)  # fmt: skip
def test_an_assertion_that_may_be_wrong_is_recognised(assertion: str) -> None:
    (statement,) = ast.parse(assertion).body
    assert isinstance(statement, ast.Assert)
    assert not is_constant(statement.test)


@pytest.mark.parametrize(
    ("mark", "skips"),
    [
        ("skip(reason='later')", True), ("skip", True), ("skipif(True, reason='x')", True),
        ("xfail(reason='broken')", True), ("skipif(NO_JAVA, reason='x')", False), ("slow", False),
    ],
)  # fmt: skip
def test_a_mark_that_always_skips_is_recognised(mark: str, skips: bool) -> None:
    (function,) = ast.parse(f"@pytest.mark.{mark}\ndef test_it(): ...").body
    assert runs(function) is not skips
