"""Every dependency is wanted for a stated reason, pinned, and known by its hashes, wherever it is downloaded from."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.runtime.extras import MODULES

ROOT = Path(__file__).resolve().parents[2]
WANTED = sorted((ROOT / "requirements").glob("*.in"))
PINNED = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][^\s;]*)( ; [^\\]*)?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
INDEX = re.compile(
    r"://|--(extra-)?index-url|--find-links|--trusted-host|(^|\s)-[if]\s|\s@\s", re.MULTILINE
)


OTHER_NAMES = {"google-re2": "re2"}
"""Packages of the product whose modules have another name."""

PLACES = {
    "avro": ("clients/serdes/avro_data.py", "spark/formats/"),
    "console": ("console/",),
    "demo": ("cli/demo/",),
    "json-schema": ("clients/serdes/registry/json_schema.py",),
    "oauth": ("broker/login/jwt_validation.py",),
    "protobuf": ("clients/serdes/", "spark/"),
    "queries": ("streams/query_server/",),
    "spark": ("spark/",),
    "tls": ("cli/certs/issuing.py",),
}
"""By extra, where below src/millstream what it brings is imported by name."""

COMES_WITH = {"py4j": "pyspark", "referencing": "jsonschema"}
"""Modules of packages that those of an extra want themselves."""

WHERE_OTHERS_HAVE_IT = {"cython", "pytest", "pytest_asyncio"}
"""Imported where a build has it or in what pytest itself imports: the leaves, the plug-in."""


def normalised(name: str) -> str:
    """The name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {
        normalised(match[0]) for line in requirements if (match := NAME.match(line)) is not None
    } - {"millstream"}


def wanted_in_files(files: list[Path]) -> set[str]:
    return names([line for path in files for line in path.read_text().splitlines()])


def wanted_by_project() -> set[str]:
    project = PROJECT["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return names(project["dependencies"] + extras + PROJECT["build-system"]["requires"])


def documented() -> set[str]:
    """The first cells of the tables of docs/dependencies.md, which may hold several names each."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    return names([cell.strip() for row in rows for cell in row.split(",")]) - {"package"}


def pins(path: Path) -> dict[str, list[str]]:
    """Requirement -> its options; a requirement and its options are one line, continued with backslashes."""
    logical = re.sub(r"\s*\\\n\s*", " ", path.read_text()).splitlines()
    lines = [line for line in logical if line and not line.startswith("#")]
    return {line.split(" --")[0]: ["--" + part for part in line.split(" --")[1:]] for line in lines}


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_requirement_is_one_version_with_hashes(path: Path) -> None:
    requirements = pins(path)
    assert requirements, "an empty lock file installs nothing"
    wrong = [
        requirement
        for requirement, options in requirements.items()
        if not PIN.fullmatch(requirement)
        or not options
        or not all(HASH.fullmatch(option) for option in options)
    ]
    assert not wrong, f"run `make lock`: {wrong}"


@pytest.mark.parametrize("path", [*WANTED, *PINNED], ids=lambda path: path.name)
def test_no_requirement_says_where_to_download(path: Path) -> None:
    found = INDEX.findall(path.read_text())
    assert not found, "where packages come from is the user's configuration, not ours"


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_what_is_wanted_is_pinned(path: Path) -> None:
    included = re.findall(r"^-r (\S+)", path.with_suffix(".in").read_text(), re.MULTILINE)
    if "demo.in" in included:
        included += ["run.in", "build.in"]
    wanted = wanted_in_files([path.with_suffix(".in"), *(path.parent / name for name in included)])
    pinned = {requirement.split("==")[0] for requirement in pins(path)}
    assert not wanted - pinned, "run `make lock`"


@pytest.mark.parametrize(("inner", "outer"), [("build.txt", "demo.txt"), ("demo.txt", "dev.txt")])
def test_sets_that_share_an_environment_pin_the_same_versions(inner: str, outer: str) -> None:
    part, whole = (
        {requirement.split(" ;")[0] for requirement in pins(ROOT / "requirements" / name)}
        for name in (inner, outer)
    )
    assert not part - whole, "run `make lock`"


def test_the_package_wants_what_run_in_wants() -> None:
    assert names(PROJECT["project"]["dependencies"]) == wanted_in_files(
        [ROOT / "requirements/run.in"]
    )


def test_every_dependency_has_its_reason_and_every_reason_its_dependency() -> None:
    wanted = wanted_in_files(WANTED) | wanted_by_project()
    assert documented() == wanted, (
        f"docs/dependencies.md lacks {wanted - documented()}, has too much {documented() - wanted}"
    )


def imported(path: Path) -> Iterator[str]:
    """The modules of others that a file imports when it runs: what types need alone is left out."""
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            left += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module
        left += ast.iter_child_nodes(node)


def is_of_an_extra(module: str, place: str) -> bool:
    """Whether an extra brings the module where it is imported."""
    wanted = COMES_WITH.get(module.partition(".")[0], module)
    return any(
        place.startswith(places) and f"{wanted}.".startswith(f"{brought}.")
        for extra, places in PLACES.items()
        for brought in MODULES[extra]
    )


def test_what_the_product_imports_is_installed_with_it_or_with_an_extra_of_its_place() -> None:
    """NumPy was not: applications of Streams ended with "No module named" where nothing else had brought it."""
    core = names(PROJECT["project"]["dependencies"])
    always = {OTHER_NAMES.get(name, name) for name in core} | WHERE_OTHERS_HAVE_IT
    always |= sys.stdlib_module_names | {"millstream"}
    sources = ROOT / "src/millstream"
    missing = [
        f"{place} imports {module}"
        for path in sorted(sources.rglob("*.py"))
        for place in [path.relative_to(sources).as_posix()]
        for module in imported(path)
        if module.partition(".")[0] not in always and not is_of_an_extra(module, place)
    ]
    assert missing == []
