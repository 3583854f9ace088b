"""Cuts a long list into pages: a filter, then fifty names at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

PAGE_SIZE: Final = 50


@dataclass(frozen=True, slots=True)
class Selection:
    """The request of a reader: names that contain `filter` in any case, and a page counted from 1."""

    filter: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the list. `item_count` counts what passed the filter; an empty list has one empty page."""

    filter: str
    page: int
    page_count: int
    item_count: int


def select_page(names: Iterable[str], selection: Selection) -> tuple[list[str], Page]:
    """Returns the names of one page, sorted. A page beyond the end is the last one."""
    wanted = selection.filter.casefold()
    matching = sorted(name for name in names if wanted in name.casefold())
    page_count = max(1, -(-len(matching) // PAGE_SIZE))
    page = min(max(1, selection.page), page_count)
    first = (page - 1) * PAGE_SIZE
    return matching[first : first + PAGE_SIZE], Page(
        selection.filter, page, page_count, len(matching)
    )
