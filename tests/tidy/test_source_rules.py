"""Rules of the repository that no linter knows. Each failure names the place and what to do."""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "millstream"

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60

FORBIDDEN_TEXT = {
    r"/work/": "a path of one machine",
    r"/root/": "a path of one machine",
    r"pypi\.org|pythonhosted|npmjs|crates\.io|repo1?\.maven": "the host of a package index",
    r"\b(FIXME|TODO|XXX|HACK)\b": "a leftover: do it, or write an issue",
    r"<{7} |>{7} ": "half of a merge",
}
BANNED_MODULE_NAMES = {"utils", "util", "helpers", "helper", "base", "common", "misc"}


@cache
def tracked() -> tuple[Path, ...]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return tuple(path for name in listing.stdout.splitlines() if (path := ROOT / name).is_file())


def python_files(*, generated: bool = False) -> list[Path]:
    return [
        path for path in tracked() if path.suffix == ".py" and (generated or not is_generated(path))
    ]


def is_generated(path: Path) -> bool:
    return "generated" in path.relative_to(ROOT).parts or path == SOURCE / "errors.py"


def product_files() -> list[Path]:
    return [path for path in python_files() if path.is_relative_to(SOURCE)]


def where(path: Path, line: int = 0) -> str:
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    """Kept to the end. The garbage collector would look through all trees again and again, for longer than parsing takes."""
    gc.disable()
    try:
        parsed = ast.parse(path.read_text(), str(path))
        gc.freeze()
    finally:
        gc.enable()
    return parsed


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = [where(p) for p in python_files() if len(p.read_text().splitlines()) > MODULE_LINES_MAX]
    assert not long, f"split by idea: {long}"


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{where(path, f.lineno)} {f.name}"
        for path in product_files()
        for f in functions(path)
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert not long, f"split by idea: {long}"


def test_every_module_says_what_it_owns() -> None:
    silent = [
        where(path)
        for path in product_files()
        if path.read_text().strip() and ast.get_docstring(tree(path)) is None
    ]
    assert not silent, f"write a module docstring: {silent}"


def test_no_module_is_named_for_nothing() -> None:
    vague = [where(path) for path in product_files() if path.stem in BANNED_MODULE_NAMES]
    assert not vague, f"name the subject: {vague}"


GROUPS_OF_THE_LIBRARY = {
    "net/client/tasks.py": "the TaskGroup of all others is made of it",
    "net/server/http_server.py": "a connection ends alone",
    "net/server/socket_server.py": "a connection ends alone",
    "streams/query_server/crowded_server.py": "a connection ends alone",
    "testing/faults/connection.py": "a connection ends alone",
    "testing/faults/links.py": "a connection ends alone",
    "testing/faults/proxy.py": "a connection ends alone",
}


def test_no_task_ends_in_silence() -> None:
    groups = {
        path.relative_to(SOURCE).as_posix()
        for path in product_files()
        if re.search(r"asyncio\.TaskGroup\b(?!`)", path.read_text())
    }
    assert groups == set(GROUPS_OF_THE_LIBRARY), "take the TaskGroup of millstream.net.client.tasks"


def test_escapes_from_the_type_checker_and_the_linter_have_reasons() -> None:
    bare = []
    for path in product_files():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            escape = re.search(
                r"#\s*(noqa|type:\s*ignore)(:\s*[A-Z0-9, ]+|\[[a-z0-9, -]+\])?(.*)", line
            )
            if escape and len(escape.group(3).strip(" -#:")) < 3:
                bare.append(where(path, number))
    assert not bare, f"say why on the same line: {bare}"


def test_any_has_a_reason_on_its_line() -> None:
    bare = []
    for path in product_files():
        lines = path.read_text().splitlines()
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Name)
                and node.id == "Any"
                and "#" not in lines[node.lineno - 1]
            ):
                bare.append(where(path, node.lineno))  # noqa: PERF401 - reads better than one long comprehension
    assert not bare, f"say why, or type it: {sorted(set(bare))}"


def test_nothing_is_swallowed() -> None:
    swallowed = []
    for path in product_files():
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            broad = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
            )
            if broad and all(isinstance(s, ast.Pass | ast.Continue) for s in node.body):
                swallowed.append(where(path, node.lineno))
    assert not swallowed, f"handle it or let it go up: {swallowed}"


def test_public_names_are_sorted() -> None:
    unsorted = []
    for path in product_files():
        for node in tree(path).body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == "__all__"
            ):
                names = ast.literal_eval(node.value)
                if list(names) != sorted(names):
                    unsorted.append(where(path, node.lineno))
    assert not unsorted, f"sort __all__: {unsorted}"


def test_init_modules_only_re_export() -> None:
    busy = [
        where(path, node.lineno)
        for path in product_files()
        if path.name == "__init__.py"
        for node in tree(path).body
        if isinstance(node, ast.ClassDef | ast.For | ast.While | ast.With)
    ]
    assert not busy, f"move the code to a module with a name: {busy}"


def test_packages_that_load_their_names_late_list_the_same_names_everywhere() -> None:
    for path in product_files():
        body = tree(path).body
        for node in body:
            if path.name != "__init__.py" or not isinstance(node, ast.If) or not node.orelse:
                continue
            late = node.orelse[0]
            assert isinstance(late, ast.Assign), where(path, late.lineno)
            assert isinstance(late.value, ast.Call), where(path, late.lineno)
            by_module = ast.literal_eval(late.value.args[1])
            for_checkers: dict[str, set[str]] = {}
            for each in node.body:
                assert isinstance(each, ast.ImportFrom), where(path, each.lineno)
                names = {alias.name for alias in each.names}
                for_checkers.setdefault(each.module or "", set()).update(names)
            assert {m: set(names.split()) for m, names in by_module.items()} == for_checkers
            public = next(
                ast.literal_eval(other.value)
                for other in body
                if isinstance(other, ast.Assign) and ast.unparse(other.targets[0]) == "__all__"
            )
            early = {
                alias.name
                for other in body
                if isinstance(other, ast.ImportFrom) and other.module != "__future__"
                for alias in other.names
            }
            assert set(public) - early == set().union(*for_checkers.values()), where(path, 1)


def test_text_speaks_of_the_product_alone() -> None:
    this = Path(__file__)
    found = []
    for path in tracked():
        if (
            path == this
            or path.suffix in {".gz", ".png", ".lock"}
            or path.stat().st_size > 2_000_000
        ):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for pattern, reason in FORBIDDEN_TEXT.items():
            found += [
                f"{where(path, text[: m.start()].count(chr(10)) + 1)}: {reason}"
                for m in re.finditer(pattern, text)
            ]
    assert not found, found


PATCHED_FOR_ALL = re.compile(
    r"""(?:setattr|patch(?:\.object)?)\(\s*["']?(?:[\w.]+\.)?(?:asyncio|os|select|signal|socket|ssl|threading|time)\b(?:["']?,|\.)"""
)


def test_no_test_changes_the_standard_library_for_everybody() -> None:
    """Threads of the same process use it, too: nodes and clients that outlive the test. `patch_library` changes it for one
    module; a patch that does for all what it did before has a comment on its line.
    """
    found = [
        f"{where(path, number)}: {line.strip()}"
        for path in python_files()
        if path.is_relative_to(ROOT / "tests")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PATCHED_FOR_ALL.search(line) and "  # " not in line
    ]
    assert not found, "\n".join(found)


def test_every_skip_names_its_reason() -> None:
    bare = []
    for path in python_files():
        if not path.is_relative_to(ROOT / "tests"):
            continue
        with tokenize.open(path) as file:
            for number, line in enumerate(file, 1):
                if re.search(r"pytest\.skip\(\s*\)|mark\.skip\b(?!\(.*reason|if)", line):
                    bare.append(where(path, number))
    assert not bare, bare


def test_a_name_of_an_enum_of_the_protocol_stands_once() -> None:
    """What both ends of a connection name is in `protocol/enums.py`, and not once more in a client and in the broker."""
    shared = {
        n.name for n in tree(SOURCE / "protocol/enums.py").body if isinstance(n, ast.ClassDef)
    }
    again = [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path in python_files()
        if path != SOURCE / "protocol/enums.py"
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and node.name in shared
    ]
    assert shared
    assert not again
