"""Matches texts with the expressions of clients, off the event loop and within a time limit.

Nearly all expressions are compiled within a few milliseconds (`client_pattern.is_cheap`): a thread does. The others go
to a process of their own (`costly_patterns`), since no thread would do: compiling keeps the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from millstream.broker.patterns.costly_patterns import MATCHING_MS_MAX, CostlyPatterns
from millstream.broker.patterns.payer_turns import PayerTurns
from millstream.errors import InvalidRegularExpression
from millstream.metadata.client_pattern import ClientPattern, check_pattern, check_size, is_cheap
from millstream.runtime import Clock

ResultT = TypeVar("ResultT")


class MatchingThread(Protocol):
    """`DiskPool`, as far as it is needed here."""

    async def match(self, work: Callable[[], ResultT]) -> ResultT: ...


class PatternMatcher:
    """Matches for payers.

    A `payer` is the address of the client: clients with much to match wait for those with little.
    """

    def __init__(self, thread: MatchingThread, costly: CostlyPatterns, clock: Clock) -> None:
        self._thread = thread
        self._turns = PayerTurns()
        self._costly = costly
        self._clock = clock

    async def check_fits(self, pattern: str, payer: str) -> None:
        """Raises InvalidRegularExpression, with the reason alone, for what can be read and is too
        large once it is compiled.
        """
        if is_cheap(pattern):
            return
        try:
            await self.matching(pattern, (), payer)
        except InvalidRegularExpression:
            if _can_be_read(pattern):
                raise

    async def matching(self, pattern: str, texts: Sequence[str], payer: str) -> frozenset[str]:
        """Returns the texts of which the whole matches.

        Raises InvalidRegularExpression with the reason alone, also when time runs out, and CoordinatorNotAvailable when
        the process for a costly expression cannot be started.
        """
        if not is_cheap(pattern):
            check_size(pattern)
            return await self._costly.matching(pattern, texts, payer)
        async with self._turns.of(payer):
            return await self._thread.match(lambda: _matching(pattern, texts, self._clock))

    def close(self) -> None:
        self._costly.close()


def _can_be_read(pattern: str) -> bool:
    try:
        check_pattern(pattern)
    except InvalidRegularExpression:
        return False
    return True


def _matching(pattern: str, texts: Sequence[str], clock: Clock) -> frozenset[str]:
    compiled = ClientPattern(pattern)
    end_ms = clock.now().monotonic_ms + MATCHING_MS_MAX
    matched = set()
    for text in texts:
        if compiled.matches(text):
            matched.add(text)
        if clock.now().monotonic_ms > end_ms:
            raise InvalidRegularExpression(
                f"matching {len(texts)} names takes longer than {MATCHING_MS_MAX} ms"
            )
    return frozenset(matched)
