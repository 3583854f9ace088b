"""Words of messages: text from outside, shortened so that it is known still, and numbers with their nouns."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Final

TEXT_CHARACTERS_MAX: Final = 300
"""More than the longest name of a topic."""
NAMES_MAX: Final = 10


def shortened(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """Returns `text`, or its beginning and its length."""
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]}… ({len(text):,} characters)"


def some_of(names: Collection[str]) -> str:
    """Returns the first few of `names`, and how many more there are."""
    told = ", ".join(map(shortened, islice(names, NAMES_MAX)))
    more = len(names) - NAMES_MAX
    return f"{told} and {more:,} more" if more > 0 else told


def counted(count: int, noun: str) -> str:
    """Returns a number with its noun: `1 record`, `2 records`, `2 batches`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"
