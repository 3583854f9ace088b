"""Files and modules that docstrings, comments and pages mention exist.

What counts as a mention is decided by these rules, and by nothing else:

- Prose is docstrings, comments and pages of Markdown; not examples (fenced code, and lines of a docstring that are indented more
  than it), not CHANGELOG.md, which tells the past, and not pages that are generated or about another project.
- A path is a word with a slash that begins with a folder at the root of the repository or with one of our packages, or any word
  that ends in `.py`. Some tracked file or folder has it as its end. `*` and `<name>` stand for any part of a name, and
  `docs/adr/0005` is short for the page with that number.
- A dotted name is a word that begins with `millstream`, with a folder of Python at the root, with one of our packages or with
  one of LAYERS. The longest part of it that is the end of a module's name is the module; what follows is defined there, or below
  there when it is a package. Settings and features of Kafka that begin like a package are no mentions. The guide, which is for
  users, has full names alone.
- After "the module" or "the modules", words of small letters in backticks that a docstring of a module lists are modules or folders
  beside it or below; and what it has in backticks with an underscore inside is a word that some code of ours has.
- In the first column of a table of a package's README a word of small letters is a module or folder below that package.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.test_source_rules import ROOT, SOURCE, is_generated, tracked, tree, where

GENERATED_OR_FOREIGN = ("docs/reference/", "docs/kafka-python-tests.md", "CHANGELOG.md")
FOLDERS_OF_PYTHON = ("benchmarks", "codegen", "tests")
FOLDERS = ("docs", "examples", "requirements", "scripts", "src", *FOLDERS_OF_PYTHON)
PACKAGES = tuple(
    sorted(path.parent.name for path in SOURCE.glob("*/__init__.py") if path.parent.name != "spark")
)
"""Without spark: settings of Apache Spark begin so."""
LAYERS = ("core", "handlers", "kernel")
"""Packages inside packages, which are known by their last name."""
FEATURES = {
    "metadata.version", "group.version", "share.version", "streams.version", "transaction.version", "broker.id", "records/s",
}  # fmt: skip
"""Other words of this form that are not ours."""

PATH = re.compile(
    r"(?<![\w/.:<>*$-])((?:\.\./)*"
    rf"(?:(?:{'|'.join((*FOLDERS, *PACKAGES, 'spark'))})/[\w.*<>/-]*[\w*>]|[\w*<>-]+(?:/[\w.*<>-]+)*\.py))(?![\w-])"
)
DOTTED = re.compile(
    rf"(?<![\w/.:<>*$@-])((?:millstream|{'|'.join((*FOLDERS_OF_PYTHON, *PACKAGES, *LAYERS))})(?:\.[\w*]+)+)(?![\w/=(<-])"
)
FILE_ENDINGS = re.compile(r"\.(py|md|html|svg|txt|log|gz)$")


@cache
def paths() -> frozenset[str]:
    """Of every tracked file and every folder above one."""
    files = [path.relative_to(ROOT) for path in tracked()]
    return frozenset(each.as_posix() for file in files for each in (file, *file.parents))


@cache
def ends() -> frozenset[str]:
    """Each path without none, one, two, ... of its first parts."""
    return frozenset(
        "/".join(parts[i:]) for parts in (p.split("/") for p in paths()) for i in range(len(parts))
    )


@cache
def modules() -> dict[str, list[str]]:
    """Full names of modules and packages, by every end of them."""
    found: dict[str, list[str]] = {}
    for file in tracked():
        if file.suffix != ".py":
            continue
        parts = list(file.relative_to(ROOT).with_suffix("").parts)
        parts = parts[1:] if parts[0] == "src" else parts
        for last in range(1, len(parts) + 1):
            full = ".".join(parts[:last]).removesuffix(".__init__")
            for first in range(last):
                names = found.setdefault(".".join(parts[first:last]).removesuffix(".__init__"), [])
                if full not in names:
                    names.append(full)
    return found


@cache
def defined_in(module: str) -> frozenset[str]:
    """Names of classes, functions, variables, fields and imports, of a package those of all its modules."""
    base = ROOT / "src" if module.startswith("millstream") else ROOT
    path = base.joinpath(*module.split("."))
    files = [path.with_suffix(".py")] if path.with_suffix(".py").exists() else path.rglob("*.py")
    return frozenset().union(*map(names_in, files))


@cache
def names_in(file: Path) -> frozenset[str]:
    return frozenset(name for node in tree(file).body for name in defines(node))


def defines(node: ast.AST) -> Iterator[str]:
    """What a statement of a module or of a class gives a name to; local variables are of no module."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name, body=body) as kind:
            yield name
            for statement in body:
                yield from defines(statement)
            yield from fields_of(kind)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name).rpartition(".")[2] for each in names)
        case ast.If(body=body, orelse=other) | ast.Try(body=body, orelse=other):
            for statement in (*body, *other):
                yield from defines(statement)
        case ast.Assign() | ast.AnnAssign():
            targets = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            yield from (each.id for each in targets if isinstance(each.ctx, ast.Store))


def fields_of(kind: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(kind):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            yield each.attr


@cache
def settings() -> frozenset[str]:
    """Kafka's settings and their beginnings, from the pages and tables that list them."""
    texts = [page.read_text() for page in (ROOT / "docs/reference").glob("*-configs.md")]
    texts.append((ROOT / "codegen/java_client_configs.txt").read_text())
    keys = {key for text in texts for key in re.findall(r"\b[a-z]+(?:\.[a-z]+)+\b", text)}
    return frozenset(
        ".".join(parts[:i])
        for parts in (key.split(".") for key in keys)
        for i in range(2, len(parts) + 1)
    )


def is_path(word: str) -> bool:
    word = re.sub(r"<[^>]*>", "*", word).replace("../", "").rstrip("/")
    if "*" in word:
        return any(fnmatchcase(end, word) for end in ends())
    return word in ends() or any(
        end.startswith(f"{word}-") for end in ends() if word.startswith("docs/adr/")
    )


def is_name(word: str) -> bool:
    parts = word.split(".")
    for last in range(len(parts), 0, -1):
        if homes := modules().get(".".join(parts[:last])):
            return any(all(has(defined_in(home), name) for name in parts[last:]) for home in homes)
    return False


def has(names: frozenset[str], name: str) -> bool:
    return name in names or ("*" in name and any(fnmatchcase(each, name) for each in names))


def is_foreign(word: str) -> bool:
    setting = word.removesuffix(".*")
    return word in FEATURES or setting in settings() or bool(FILE_ENDINGS.search(word))


def stale(line: str, *, short_forms: bool = True) -> list[str]:
    dead = [word for word in PATH.findall(line) if word not in FEATURES and not is_path(word)]
    for word in DOTTED.findall(line):
        if (
            (short_forms or word.startswith("millstream."))
            and not is_foreign(word)
            and not is_name(word)
        ):
            dead.append(word)  # noqa: PERF401 - reads better than one long comprehension
    return dead


def pages() -> list[Path]:
    """Those that are written by hand and speak of what is there today."""
    return [
        path
        for path in tracked()
        if path.suffix in {".py", ".md"}
        and not path.relative_to(ROOT).as_posix().startswith(GENERATED_OR_FOREIGN)
        and not is_generated(path)
    ]


def stale_in(path: Path) -> list[str]:
    short_forms = not path.is_relative_to(ROOT / "docs/guide")
    text = path.read_text()
    if not stale(
        text, short_forms=short_forms
    ):  # says it soon of most, without telling prose from code
        return []
    prose = prose_of_page(text) if path.suffix == ".md" else prose_of_module(path, text)
    return [
        f"{where(path, number)}: {word}"
        for number, line in prose
        for word in stale(line, short_forms=short_forms)
    ]


def names_in_first_column(page: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if cell := re.match(r"\| (`[^|]*) \|", line):
            for word in re.findall(r"`([a-z_*][\w*/]*(?:\.py)?)`", cell.group(1)):
                yield number, word


def is_below(package: Path, word: str) -> bool:
    name = word.rstrip("/").removesuffix(".py")
    return any(package.rglob(f"{name}.py")) or any(each.is_dir() for each in package.rglob(name))


def prose_of_page(text: str) -> Iterator[tuple[int, str]]:
    is_example = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_example = not is_example
        elif not is_example:
            yield number, line


def prose_of_module(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    lines = text.splitlines()
    for node in ast.walk(tree(path)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(), end_lineno=int(last))):
                for number in range(node.lineno, last + 1):
                    line = lines[number - 1]
                    if number == node.lineno or len(line) - len(line.lstrip()) <= node.col_offset:
                        yield number, line


def test_what_prose_mentions_exists() -> None:
    dead = [each for path in pages() for each in stale_in(path)]
    assert not dead, "these are gone or elsewhere:\n" + "\n".join(dead)


def test_the_modules_that_a_readme_lists_are_below_it() -> None:
    readmes = [
        page for page in tracked() if page.name == "README.md" and page.is_relative_to(SOURCE)
    ]
    listed = [
        (where(page, number), word, is_below(page.parent, word))
        for page in readmes
        for number, word in names_in_first_column(page)
    ]
    assert len(listed) > 200
    assert not [f"{place}: {word}" for place, word, exists in listed if not exists]


LISTED = re.compile(r"\bmodules?((?:[\s,]|and|`[a-z_]+`)+)")
SNAKE = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)`")


@cache
def names_of_code() -> frozenset[str]:
    """Names of files, and words that our code has somewhere without backticks."""
    ours = [path for path in tracked() if path.suffix == ".py" and path.is_relative_to(SOURCE)]
    words = (re.findall(r"(?<![`\w])[a-z]\w*(?![`\w])", path.read_text()) for path in ours)
    return frozenset(path.stem for path in ours).union(*words)


def stale_names(path: Path, docstring: str) -> list[str]:
    beside = [
        word
        for listed in LISTED.findall(docstring)
        for word in re.findall(r"`([a-z_]+)`", listed)
        if not is_below(path.parent, word)
    ]
    made_elsewhere = ("_compiled", "millstream_")  # by setup.py; metrics, whose names have parts
    names = [
        word
        for word in SNAKE.findall(docstring)
        if not word.endswith(made_elsewhere) and not word.startswith(made_elsewhere)
    ]
    return beside + [word for word in names if word not in names_of_code()]


def test_modules_and_names_that_a_docstring_of_a_module_has_in_backticks_exist() -> None:
    dead = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(SOURCE) and not is_generated(path)
        for word in stale_names(path, ast.get_docstring(tree(path)) or "")
    ]
    assert not dead, "these are gone or elsewhere:\n" + "\n".join(dead)


@pytest.mark.parametrize(
    ("docstring", "gone"),
    [("The modules `join`,\n`gone` and `leave` decide.", ["gone"]), ("Requests are `share_gone`'s.", ["share_gone"])],
)  # fmt: skip
def test_a_module_that_is_gone_is_found_in_a_docstring(docstring: str, gone: list[str]) -> None:
    group = SOURCE / "coordinator/group/classic/group.py"
    assert stale_names(group, docstring) == gone


@pytest.mark.parametrize(
    "line",
    [
        "see `tests/unit/log/test_gone.py`", "`log/gone.py` cuts it", "gone.py does", "docs/adr/0999 says", "`broker/gone/` holds it",
        "`log.Gone` does", "as millstream.log.gone says", "`log.PartitionLog.gone`", "tests.gone does", "`testing/faults/<gone>/x.py`",
    ],
)  # fmt: skip
def test_a_mention_of_what_is_gone_is_found(line: str) -> None:
    assert len(stale(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "`tests/tidy/test_mentions.py`", "docs/adr/0005 says", "tidy/test_*.py", "runtime/<module>.py", "`runtime.interfaces.Clock`", "millstream.runtime",
        "`log.retention.ms`", "all of log.cleaner", "`metadata.version` 25", "and/or", "`runtime.Clock`", "tests.tidy does", "2 records/s",
    ],
)  # fmt: skip
def test_other_words_are_no_mentions_or_exist(line: str) -> None:
    assert stale(line) == []
