from __future__ import annotations

from millstream.console.views.paging import Page, Selection, select_page

NAMES = [f"topic-{number:03d}" for number in range(120)]


def test_a_page_is_fifty_sorted_names() -> None:
    names, page = select_page(reversed(NAMES), Selection())
    assert names == NAMES[:50]
    assert page == Page("", page=1, page_count=3, item_count=120)


def test_a_page_beyond_the_end_is_the_last_one() -> None:
    names, page = select_page(NAMES, Selection(page=99))
    assert names == NAMES[100:]
    assert page.page == 3


def test_page_zero_is_the_first() -> None:
    assert select_page(NAMES, Selection(page=0))[1].page == 1


def test_the_filter_finds_parts_of_names_in_any_case() -> None:
    names, page = select_page(["Orders", "border", "flights"], Selection("ORDER"))
    assert names == ["Orders", "border"]
    assert page == Page("ORDER", page=1, page_count=1, item_count=2)


def test_nothing_found_is_one_empty_page() -> None:
    assert select_page(NAMES, Selection("?")) == ([], Page("?", 1, 1, 0))
