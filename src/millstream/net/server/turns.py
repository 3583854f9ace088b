"""Gives turns to connections that have more requests than one turn lets them start.

Each gets its turn before one gets a second, and all of them together get so much time before the loop looks at its
sockets again, however much a few of them have sent, and however many have sent much.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

TURN_S: Final = 0.001
"""Ours: of one connection; a request that takes longer is a turn of its own."""
ROUND_S: Final = 0.004
"""Ours: of all of them, before others are served (docs/adr/0010)."""


class TurnTaker(Protocol):
    """A connection that is given turns; it asks for another turn when one was not enough."""

    def take_turn(self) -> None: ...


class Turns:
    """The turns of connections.

    `now_s` is a clock that only goes forward; `call_soon` calls after other work of the loop.
    """

    def __init__(
        self,
        now_s: Callable[[], float],
        call_soon: Callable[[Callable[[], None]], object],
        round_s: float = ROUND_S,
    ) -> None:
        self.now_s = now_s
        self._round_s = round_s
        self.turn_s = TURN_S
        """How long a connection goes on that begins without having asked. While others wait for theirs: one request."""
        self._call_soon = call_soon
        self._waiting: OrderedDict[TurnTaker, None] = OrderedDict()
        self._is_called = False

    def ask(self, asking: TurnTaker) -> None:
        """Gives `asking` a turn, behind all that wait already."""
        self._waiting[asking] = None
        self.turn_s = 0.0
        self._call()

    def forget(self, gone: TurnTaker) -> None:
        self._waiting.pop(gone, None)

    def _call(self) -> None:
        if not self._is_called:
            self._is_called = True
            self._call_soon(self._run)

    def _run(self) -> None:
        self._is_called = False
        end_s = self.now_s() + self._round_s
        while self._waiting:
            self._waiting.popitem(last=False)[0].take_turn()
            if self.now_s() >= end_s:
                break
        if self._waiting:
            self._call()
        else:
            self.turn_s = TURN_S
