"""`millstream.testing` ships what users' tests may use and what that needs; the harness of our own tests is in tests/support."""

from __future__ import annotations

import re
from importlib import import_module

from tests.tidy.test_purity import imports, modules
from tests.tidy.test_source_rules import ROOT

TESTING = "millstream.testing"


def named_for_users() -> set[str]:
    """Modules of its public names, and those that the guide names."""
    package = import_module(TESTING)
    public = {getattr(package, name).__module__ for name in package.__all__}
    pages = (page.read_text() for page in (ROOT / "docs/guide").rglob("*.md"))
    told = {name for page in pages for name in re.findall(rf"{TESTING}(?:\.[a-z_]+)+", page)}
    return public | (told & set(modules()))


def test_every_module_is_public_or_needed_by_one_that_is() -> None:
    reached, waiting = set[str](), named_for_users()
    assert {f"{TESTING}.pytest_plugin", f"{TESTING}.faults.proxy"} <= waiting
    while waiting:
        module = waiting.pop()
        reached.add(module)
        waiting |= {name for name in imports(module) if name.startswith(TESTING)} - reached
    shipped = {
        name
        for name, path in modules().items()
        if name.startswith(TESTING) and path.name != "__init__.py"
    }
    assert shipped - reached == set(), "move it to tests/support"


def test_the_product_needs_nothing_of_the_tests() -> None:
    assert {
        module for module in modules() for name in imports(module) if name.startswith("tests")
    } == set()
