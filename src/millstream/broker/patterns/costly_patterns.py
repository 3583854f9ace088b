"""Matches expressions of clients that are costly to compile, in a process of its own, one after the other.

The process is started for the first of them, ended once it was not asked for a while, and started anew after it died,
or was killed because one expression took too long. Who asks for much waits behind who asks for little (`payer_turns`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, compress
from typing import Final, Protocol

from millstream.broker.patterns.frames import compile_message, match_message, portions
from millstream.broker.patterns.payer_turns import PayerTurns
from millstream.errors import CoordinatorNotAvailable, InvalidRegularExpression

_LOGGER = logging.getLogger(__name__)
MATCHING_MS_MAX: Final = 10_000
"""Of one expression and all texts. A thousand ordinary matches take a millisecond."""
IDLE_S_MAX: Final = 60.0


class MatchingProcess(Protocol):
    """`PatternProcess`, as far as it is needed here."""

    @property
    def has_ended(self) -> bool: ...
    async def ask(self, message: bytes) -> bytes:
        """Sends a message to the process and returns its answer.

        Raises OSError when the process ends instead of answering.
        """
        ...

    def end(self) -> None: ...


class PatternProcessDied(InvalidRegularExpression):
    """The process ended while it worked on the expression. The next attempt may succeed."""


class CostlyPatterns:
    """Matches costly expressions, on one event loop. `start` returns a process that is ready, or raises OSError."""

    def __init__(self, start: Callable[[], Awaitable[MatchingProcess]]) -> None:
        self._start = start
        self._process: MatchingProcess | None = None
        self._turns = PayerTurns()
        self._idle: asyncio.TimerHandle | None = None

    async def matching(self, pattern: str, texts: Sequence[str], payer: str) -> frozenset[str]:
        """Returns the texts of which the whole matches.

        Raises InvalidRegularExpression with the reason alone, also when time runs out or the process dies
        (PatternProcessDied), and CoordinatorNotAvailable when there can be no process. A caller that is cancelled costs
        the others a start of the process.
        """
        async with self._turns.of(payer):
            process = await self._running_process()
            try:
                async with asyncio.timeout(MATCHING_MS_MAX / 1000):
                    matched = await _matching(process, pattern, texts)
            except TimeoutError:
                self.close()
                reason = f"matching {len(texts)} names takes longer than {MATCHING_MS_MAX} ms"
                _LOGGER.warning("%.100r: %s; its process was ended", pattern, reason)
                raise InvalidRegularExpression(reason) from None
            except OSError:
                self.close()
                reason = "the process that worked on it has died"
                _LOGGER.warning("%.100r: %s", pattern, reason)
                raise PatternProcessDied(reason) from None
            except InvalidRegularExpression:
                self._end_when_idle()
                raise
            except BaseException:
                self.close()
                raise
            self._end_when_idle()
            return matched

    def close(self) -> None:
        """Ends the process, if it runs."""
        if self._idle is not None:
            self._idle.cancel()
        process, self._process, self._idle = self._process, None, None
        if process is not None:
            process.end()

    async def _running_process(self) -> MatchingProcess:
        if self._idle is not None:
            self._idle.cancel()
        if self._process is not None and self._process.has_ended:
            self.close()
        if self._process is None:
            try:
                self._process = await self._start()
            except OSError as error:
                raise CoordinatorNotAvailable(
                    f"the process for costly regular expressions cannot be started: {error}"
                ) from None
        return self._process

    def _end_when_idle(self) -> None:
        self._idle = asyncio.get_running_loop().call_later(IDLE_S_MAX, self.close)


async def _matching(process: MatchingProcess, pattern: str, texts: Sequence[str]) -> frozenset[str]:
    refusal = await process.ask(compile_message(pattern))
    if refusal:
        raise InvalidRegularExpression(refusal.decode())
    matches = [await process.ask(match_message(portion)) for portion in portions(texts)]
    return frozenset(compress(texts, chain.from_iterable(matches)))
