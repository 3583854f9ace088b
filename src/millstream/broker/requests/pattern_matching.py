"""Texts matched with the expressions of clients, off the event loop and within a time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Protocol, TypeVar

from millstream.errors import InvalidRegularExpression
from millstream.metadata.client_pattern import ClientPattern, check_pattern
from millstream.runtime import Clock
from millstream.runtime.free_memory import give_back_free_memory

ResultT = TypeVar("ResultT")
_MATCHING_MS_MAX: Final = 10_000
"""Of one expression and all texts. A thousand ordinary matches take a millisecond."""
_LARGE_MS: Final = 20
"""An expression that kept the thread for so long took memory that is worth giving back."""


class MatchingThread(Protocol):
    """`DiskPool`, as far as it is needed here."""

    async def match(self, work: Callable[[], ResultT]) -> ResultT: ...


async def check_fits(pattern: str, thread: MatchingThread, clock: Clock) -> None:
    """Raises InvalidRegularExpression, with the reason alone, for what can be read and is too large once it is compiled."""
    await match_in(thread, lambda: _check_fits(pattern), clock)


async def matching(
    pattern: str, texts: Collection[str], thread: MatchingThread, clock: Clock
) -> frozenset[str]:
    """The texts of which the whole matches. Raises InvalidRegularExpression with the reason alone, also when time runs out."""
    return await match_in(thread, lambda: _matching(pattern, texts, clock), clock)


async def match_in(thread: MatchingThread, work: Callable[[], ResultT], clock: Clock) -> ResultT:
    """Whatever compiles expressions. What a large one took is given back: the thread would keep it."""

    def work_and_give_back() -> ResultT:
        begin_ms = clock.now().monotonic_ms
        try:
            return work()
        finally:
            if clock.now().monotonic_ms - begin_ms >= _LARGE_MS:
                give_back_free_memory()

    return await thread.match(work_and_give_back)


def _check_fits(pattern: str) -> None:
    try:
        check_pattern(pattern)
    except InvalidRegularExpression:
        return
    ClientPattern(pattern)


def _matching(pattern: str, texts: Collection[str], clock: Clock) -> frozenset[str]:
    compiled = ClientPattern(pattern)
    end_ms = clock.now().monotonic_ms + _MATCHING_MS_MAX
    matched = set()
    for text in texts:
        if compiled.matches(text):
            matched.add(text)
        if clock.now().monotonic_ms > end_ms:
            raise InvalidRegularExpression(
                f"matching {len(texts)} names takes longer than {_MATCHING_MS_MAX} ms"
            )
    return frozenset(matched)
