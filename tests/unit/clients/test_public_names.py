"""The public names of each client are those of docs/reference/client-methods.md: users see no parts that other modules need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream import clients

PAGE = Path(__file__).parents[3] / "docs/reference/client-methods.md"
SECTIONS = {
    title: set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    for title, section in re.findall(
        r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
}


def test_the_page_has_every_client() -> None:
    assert set(SECTIONS) == {"Producer", "Consumer", "ShareConsumer", "RangeReader", "Admin"}


@pytest.mark.parametrize("name", SECTIONS)
async def test_what_a_client_shows_is_what_the_page_lists(name: str) -> None:
    group = {"group_id": "g"} if name in {"Consumer", "ShareConsumer"} else {}
    async with getattr(clients, name)(**group) as client:
        shown = {attribute for attribute in dir(client) if not attribute.startswith("_")}
    assert shown == SECTIONS[name]
