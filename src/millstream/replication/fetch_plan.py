"""One incremental fetch session of a follower with a leader (KIP-227): what the next request names, so that
it says what changed. Pure.

    full request -> session -> requests with what is new, changed or gone
         ^                        |
         +---- refused, lost -----+

A request costs what changed since the one before it, not what the session holds. One is under way at a time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from millstream.errors import FetchSessionIdNotFound
from millstream.model import Uuid
from millstream.replication.follower import AskedFetch

_NO_SESSION: Final = 0
_INITIAL_EPOCH: Final = 0
_EPOCH_MAX: Final = (1 << 31) - 1
_NONE: Final = 0


class FollowedKey(NamedTuple):
    topic_id: Uuid
    partition: int


@dataclass(frozen=True, slots=True)
class SessionFetch:
    """One request: `asked` names what is new or has changed, or, in a full one, everything."""

    session_id: int
    session_epoch: int
    asked: dict[FollowedKey, AskedFetch]
    forgotten: tuple[FollowedKey, ...]

    @property
    def is_full(self) -> bool:
        return self.session_epoch == _INITIAL_EPOCH


@final
class FetchPlan:
    def __init__(self) -> None:
        self._session_id = _NO_SESSION
        self._epoch = _INITIAL_EPOCH
        self._wanted: dict[FollowedKey, AskedFetch] = {}
        """What is to be fetched. What changed last stands last: a full answer fills up from the front."""
        self._told: dict[FollowedKey, AskedFetch] = {}
        """What the leader has been asked, by the session or by the full request under way."""
        self._changed: dict[FollowedKey, None] = {}

    def __len__(self) -> int:
        """Returns how many partitions are to be fetched."""
        return len(self._wanted)

    def want(self, key: FollowedKey, asked: AskedFetch) -> None:
        """Has a partition fetched from the next request on."""
        if self._wanted.get(key) != asked:
            self._wanted.pop(key, None)
            self._wanted[key] = asked
            self._changed[key] = None

    def forget(self, key: FollowedKey) -> None:
        """Has a partition fetched no more."""
        if self._wanted.pop(key, None) is not None:
            self._changed[key] = None

    def told(self, key: FollowedKey) -> AskedFetch | None:
        """Returns what the leader was asked of a partition; None where it was not asked at all."""
        return self._told.get(key)

    def next(self) -> SessionFetch:
        """Returns the request that is sent now."""
        if self._epoch == _INITIAL_EPOCH:
            self._told = dict(self._wanted)
            self._changed.clear()
            return SessionFetch(self._session_id, self._epoch, dict(self._wanted), ())
        asked: dict[FollowedKey, AskedFetch] = {}
        forgotten: list[FollowedKey] = []
        for key in self._changed:
            wanted = self._wanted.get(key)
            if wanted is None:
                if self._told.pop(key, None) is not None:
                    forgotten.append(key)
            elif self._told.get(key) != wanted:
                asked[key] = self._told[key] = wanted
        self._changed.clear()
        return SessionFetch(self._session_id, self._epoch, asked, tuple(forgotten))

    def take_answer(
        self, planned: SessionFetch, error_code: int, session_id: int, keys: Collection[FollowedKey]
    ) -> bool:
        """Takes what an answer says of the session; `keys` are the partitions in it. False: the answer is of no use.

        The next request is a full one after an error, and where the answer names what was not asked for or,
        being full, not everything.
        """
        if error_code == FetchSessionIdNotFound.code:
            self._begin_anew(_NO_SESSION)
            return False
        is_whole = not planned.is_full or len(keys) == len(self._told)
        if error_code != _NONE or not is_whole or any(key not in self._told for key in keys):
            self.note_failure()
            return False
        if session_id == _NO_SESSION:
            self._begin_anew(_NO_SESSION)
        elif planned.is_full:
            self._session_id, self._epoch = session_id, 1
        else:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1
        return True

    def note_failure(self) -> None:
        """Begins anew after a request without an answer: nobody knows what the leader has taken of it.

        The next one closes the session.
        """
        self._begin_anew(self._session_id)

    def _begin_anew(self, session_id: int) -> None:
        self._session_id, self._epoch = session_id, _INITIAL_EPOCH
