"""The guide to the clients is true: each of its Python blocks runs in a file of its own, but for the broker's address.

A block that awaits is put into a function first, as docs/guide/clients.md tells readers to do.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.testing import Broker

GUIDE = Path(__file__).resolve().parents[3] / "docs/guide"
PAGES = [GUIDE / "clients.md", *sorted((GUIDE / "clients").glob("*.md"))]
PRINTED_ADDRESS = "localhost:9092"
FILE = re.findall(r"```python\n(.*?)```", (GUIDE / "clients.md").read_text(), re.DOTALL)[0]
HOW_TO_RUN = "clients.md#how-to-run-the-examples"
NOT_RUN = "<!-- not run: "
"""Before a block that needs what a test cannot bring; the comment says what that is."""

BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, (comment, block) in enumerate(
        re.findall(r"(<!--[^\n]*-->\n)?```python\n(.*?)```", page.read_text(), re.DOTALL), start=1
    )
    if not comment.startswith(NOT_RUN)
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False) as running:
        yield running


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_guide_runs(block: str, broker: Broker) -> None:
    source = as_file(block).replace(PRINTED_ADDRESS, broker.bootstrap_servers)
    exec(compile(source, "guide", "exec", dont_inherit=True), {"__name__": "guide"})
    assert PRINTED_ADDRESS not in source


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_with_blocks_that_await_says_how_to_run_them(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    if any(awaits(block) for block in blocks):
        assert HOW_TO_RUN in page.read_text()


def as_file(block: str) -> str:
    """As docs/guide/clients.md has it: a block that awaits becomes the body of main()."""
    if not awaits(block):
        return block
    return FILE.replace("    ...  # the block, indented\n", textwrap.indent(block, "    "))


def awaits(block: str) -> bool:
    code = compile(block, "guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return bool(code.co_flags & inspect.CO_COROUTINE)
