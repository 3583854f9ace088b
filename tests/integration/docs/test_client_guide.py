"""The guide to the clients is true: each of its Python blocks runs as printed, but for the broker's address."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.testing import Broker

GUIDE = Path(__file__).resolve().parents[3] / "docs/guide"
PAGES = [GUIDE / "clients.md", *sorted((GUIDE / "clients").glob("*.md"))]
PRINTED_ADDRESS = "localhost:9092"
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
async def test_a_block_of_the_guide_runs(block: str, broker: Broker) -> None:
    """Blocks may await at their top level, as in `python -m asyncio`."""
    source = block.replace(PRINTED_ADDRESS, broker.bootstrap_servers)
    code = compile(source, "guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    outcome = eval(code, {"__name__": "guide"})
    if code.co_flags & inspect.CO_COROUTINE:
        await outcome
    assert PRINTED_ADDRESS not in source
