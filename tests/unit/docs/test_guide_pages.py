"""What a page of a guide shows is what its examples print."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from codegen.guide_pages import GuideError, render

PAGE = Path("docs/guide/page.md")


def page(*lines: str) -> str:
    return "\n".join((*lines, ""))


def test_the_block_after_an_example_becomes_what_it_prints() -> None:
    stale = page("```python", "print(1 + 1)", "```", "", "```text", "3", "```", "after")
    fresh = page("```python", "print(1 + 1)", "```", "", "```text", "2", "```", "after")
    assert render(stale, PAGE) == fresh
    assert render(fresh, PAGE) == fresh


def test_examples_of_a_page_share_their_names() -> None:
    text = page(
        "```python", "a = 2", "```", "", "```python", "print(a)", "```", "", "```text", "2", "```"
    )
    assert render(text, PAGE) == text


def test_a_text_block_elsewhere_is_left_alone() -> None:
    text = page("```python", "a = 2", "```", "", "words", "", "```text", "3", "```")
    assert render(text, PAGE) == text


def test_what_is_printed_must_be_shown() -> None:
    with pytest.raises(GuideError, match=r"docs/guide/page.md:2: the block prints"):
        render(page("words", "```python", "print(1)", "```"), PAGE)


def test_an_example_that_raises_says_on_which_line_of_the_page() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        render(page("words", "", "```python", "a = 0", "1 / a", "```"), PAGE)
    where = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (where.filename, where.lineno) == (str(PAGE), 5)
