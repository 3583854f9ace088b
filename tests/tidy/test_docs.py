"""The documentation is true where a machine can tell: generated pages are fresh, links lead somewhere (paths: test_mentions.py)."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from pathlib import Path

import pytest

from codegen import file_map
from codegen.docs import pages
from millstream.streams import dsl

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/README.md")]
PAGES_OF_TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""The changelog tells the past: headings that it links to may have moved."""
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
ANCHORED = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
FENCED = re.compile(r"```.*?```", re.DOTALL)


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: path.name)
def test_generated_pages_are_fresh(path: Path) -> None:
    assert path.read_text() == pages()[path](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = [
        target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()
    ]
    assert not dead


@pytest.mark.parametrize("page", PAGES_OF_TODAY, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_a_heading_lead_to_one(page: Path) -> None:
    dead = [
        f"{path}#{anchor}"
        for path, anchor in ANCHORED.findall(FENCED.sub("", page.read_text()))
        if (target := page.parent / path if path else page).suffix == ".md"
        and anchor not in anchors_of(target)
    ]
    assert not dead


def anchors_of(page: Path) -> set[str]:
    """Headings as links name them: lower case, hyphens for spaces, without punctuation."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_picture_on_the_front_page_is_that_of_the_guide() -> None:
    """The guide's examples are run; the front page shows the first of them."""
    readme, guide = ((ROOT / page).read_text() for page in ("README.md", "docs/guide/streams.md"))
    (example,) = re.findall(
        r"```python\n(?:(?!```).)*?timeline\(.*?```text\n.*?```", readme, re.DOTALL
    )
    assert example in guide


def test_every_operator_has_an_example_in_the_streams_guide() -> None:
    pages = (page.read_text() for page in (ROOT / "docs/guide/streams").glob("*.md"))
    examples = "".join(
        code for page in pages for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    )
    operators = {
        name
        for kind in dsl.__all__
        for name, member in vars(getattr(dsl, kind)).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }
    assert len(operators) > 30
    assert not {name for name in operators if not re.search(rf"\.{name}\(", examples)}


PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    page
    for page in PAGES_OF_TODAY
    if PYTHON.search(page.read_text()) and page.parent.name != "kernel"
]
"""Not the kernel's own page, whose block is a list of calls."""


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_import_what_they_use(page: Path) -> None:
    """A name comes from an import or an assignment further up on the page, or on the one that the folder's pages go back to."""
    front = page.parent.with_suffix(".md")
    known = set(dir(builtins)) | {"__name__"}
    if front.exists():
        for block in PYTHON.findall(front.read_text()):
            known |= bound_in(ast.parse(block))
    unknown = []
    for block in PYTHON.finditer(page.read_text()):
        tree = ast.parse(block[1])
        known |= bound_in(tree)
        line = page.read_text().count("\n", 0, block.start()) + 1
        unknown += [f"line {line}: {name}" for name in sorted(used_in(tree) - known)]
    assert not unknown


def used_in(tree: ast.AST) -> set[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def bound_in(tree: ast.AST) -> set[str]:
    """Of all scopes together: an example is too short to use one name for two things."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(each.asname or each.name).partition(".")[0] for each in names}
    return found


def test_a_name_that_an_example_does_not_import_is_found() -> None:
    tree = ast.parse("from a import b\nb(c, window=1)\nd = [e for e in f]")
    assert used_in(tree) - bound_in(tree) == {"c", "f"}


def test_the_file_map_lists_every_module_under_its_package(tmp_path: Path) -> None:
    package = tmp_path / "log"
    package.mkdir()
    (package / "__init__.py").write_text('"""Files."""')
    (package / "segment.py").write_text('"""One file of a log,\nand its indexes.\n\nMore."""')
    assert file_map.render(tmp_path).endswith(
        "## millstream/log\n\nFiles.\n\n| module | what it owns |\n|---|---|\n"
        "| `segment.py` | One file of a log, and its indexes. |\n"
    )


def test_the_design_maps_every_package() -> None:
    design = (ROOT / "docs/DESIGN.md").read_text()
    packages = {path.parent.name for path in (ROOT / "src/millstream").glob("*/__init__.py")}
    packages |= {path.parent.name for path in (ROOT / "src/millstream").glob("*/README.md")}
    assert not sorted(name for name in packages if f"{name}/" not in design)


def test_the_modules_that_the_design_names_are_where_it_says() -> None:
    """Rows of its file map look like `| spark/ | `session.py` ... |`."""
    design = (ROOT / "docs/DESIGN.md").read_text()
    rows = re.findall(r"^\| (\w+)/ \| (.*) \|$", design, re.MULTILINE)
    assert len(rows) > 15
    missing = [
        f"{package}/{module}"
        for package, text in rows
        for module in re.findall(r"`(\w+\.py)`", text)
        if not list((ROOT / "src/millstream" / package).rglob(module))
    ]
    assert not missing


def test_what_a_handler_does_not_support_is_on_the_compatibility_page() -> None:
    page = (ROOT / "docs/compatibility.md").read_text()
    assert "**AlterConfigs.** Not supported: policies" in page
    assert "**ListOffsets.** Not supported: tiered positions (-5, -6)" in page


LOCK = re.compile(r"\b(?:asyncio|threading)\.R?Lock\(")
LOCK_BY_ANOTHER_NAME = re.compile(r"from (?:asyncio|threading) import[^\n]*\bR?Lock\b")


def test_every_file_with_a_lock_is_named_on_the_page_of_concurrency() -> None:
    """Whoever adds one says there what it keeps apart."""
    page = (ROOT / "docs/concurrency.md").read_text()
    source = ROOT / "src/millstream"
    texts = {path.relative_to(source).as_posix(): path.read_text() for path in source.rglob("*.py")}
    made = {path for path, text in texts.items() if LOCK.search(text)}
    assert len(made) > 20, "the pattern finds the locks"
    assert sorted(path for path in made if f"`{path}`" not in page) == []
    assert [path for path, text in texts.items() if LOCK_BY_ANOTHER_NAME.search(text)] == []
