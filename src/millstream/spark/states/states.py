"""States that a micro-batch changes exactly once, however often it is run: each value is kept with
the id of its last micro-batch.

Pure, over a `Backing`. A key is changed at most once by each call, and once by each micro-batch: fold all rows of a
micro-batch that have the same key into one update. Micro-batches come in the order of their ids, so one state belongs
to one query and its checkpoint: the state says of which query it is, and how far it is as a whole, so that keys which a
later micro-batch left alone are no way round.
"""

from __future__ import annotations

import json
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from millstream.errors import MillstreamError


class Backing(Protocol):
    """Bytes by key. `multi_put` returns when all of it is safe.

    Where it fails half-way, any of the keys may be written.
    """

    def multi_get(self, keys: Sequence[str]) -> list[bytes | None]: ...
    def multi_put(self, values: Mapping[str, bytes]) -> None: ...


class MemoryBacking:
    """For tests, and for what may be lost with its process."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def multi_get(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def multi_put(self, values: Mapping[str, bytes]) -> None:
        self.values.update(values)


_Value = TypeVar("_Value")
Update = Callable[[_Value | None], _Value]
"""A function from the value before a micro-batch to the one after it."""

_VERSION: Final = 1
_KEYS: Final = "\0keys"
_KEYS_KIND: Final = "the keys of an opaque state"
_HEAD: Final = "\0state"
_HEAD_KIND: Final = "a state as a whole"
_QUERY: Final = "sql.streaming.queryId"
_LOGGER = logging.getLogger(__name__)


class StateUnusable(MillstreamError):
    """The stored state cannot be used: it was written by a later micro-batch, by another query or kind of
    state, or by something else.
    """


class Kept(NamedTuple, Generic[_Value]):
    """A value, the value before its last micro-batch, and that micro-batch's id. None: no value.

    `previous` is of opaque states only.
    """

    value: _Value | None
    previous: _Value | None
    batch: int


def running_query() -> str:
    """The id of the query of Spark whose function calls; empty outside of queries."""
    pyspark = sys.modules.get("pyspark")
    context = None if pyspark is None else pyspark.SparkContext._active_spark_context
    return "" if context is None else context.getLocalProperty(_QUERY) or ""


class _State(ABC, Generic[_Value]):
    _kind: str

    def __init__(
        self,
        backing: Backing,
        *,
        encode: Callable[[_Value], object] | None = None,
        decode: Callable[[Any], _Value] | None = None,  # Any: JSON
        query: Callable[[], str] = running_query,
    ) -> None:
        """Values are kept as JSON. `encode` makes of a value what JSON can hold, and `decode` the value again.

        `query` says which query a micro-batch is of.
        """
        self._backing = backing
        self._query = query
        self._encode: Callable[[_Value], object] = _itself if encode is None else encode
        self._decode: Callable[[Any], _Value] = _itself if decode is None else decode  # Any: JSON

    def get(self, keys: Iterable[str]) -> dict[str, _Value]:
        """Returns the values of those keys that have one."""
        found = self._kept(list(keys))
        return {key: kept.value for key, kept in found.items() if kept.value is not None}

    def update(self, batch_id: int, updates: Mapping[str, Update[_Value]]) -> dict[str, _Value]:
        """Gives each key the value that its function makes of the one before the micro-batch, which is None at first.

        To be called once in a micro-batch, with all keys. Returns their values. Raises StateUnusable when a later
        micro-batch or another query has changed the state; nothing is changed then.
        """
        query = self._query()
        self._require_mine(batch_id, query)
        kept = self._kept(self._concerned(batch_id, updates))
        for key, each in kept.items():
            _require_not_behind(f"key {key!r}", each.batch, batch_id)
        after = self._after(batch_id, kept, updates)
        if after:
            head = {"v": _VERSION, "kind": _HEAD_KIND, "batch": batch_id, "query": query}
            values = {key: self._to_bytes(each) for key, each in after.items()}
            self._backing.multi_put({_HEAD: _json(head)} | values)
        now = {**kept, **after}
        return {key: value for key in updates if (value := now[key].value) is not None}

    def _require_mine(self, batch_id: int, query: str) -> None:
        """A state of a release that did not say of which query it is becomes that of this query."""
        (data,) = self._backing.multi_get([_HEAD])
        if data is None:
            if batch_id > 0:
                _LOGGER.warning(
                    "a state begins with micro-batch %d: where it should have had one of before, it is in another place",
                    batch_id,
                )
            return
        head = _parsed(_HEAD, data, _HEAD_KIND)
        if head["query"] != query:
            raise StateUnusable(
                f"the state belongs to query {head['query'] or 'of no id'}, and this is query {query or 'of no id'}: a state belongs to one "
                "checkpoint. Go on with the checkpoint of before, or begin a new state with a new checkpoint"
            )
        _require_not_behind("the state", head["batch"], batch_id)

    @abstractmethod
    def _concerned(self, batch_id: int, updates: Mapping[str, Update[_Value]]) -> list[str]:
        """Returns the keys that may change."""

    @abstractmethod
    def _after(
        self, batch_id: int, kept: Mapping[str, Kept[_Value]], updates: Mapping[str, Update[_Value]]
    ) -> dict[str, Kept[_Value]]:
        """Returns what is to be written."""

    def _kept(self, keys: list[str]) -> dict[str, Kept[_Value]]:
        found = zip(keys, self._backing.multi_get(keys), strict=True)
        return {key: self._from_bytes(key, data) for key, data in found if data is not None}

    def _to_bytes(self, kept: Kept[_Value]) -> bytes:
        document: dict[str, object] = {"v": _VERSION, "kind": self._kind, "batch": kept.batch}
        for name, value in (("value", kept.value), ("previous", kept.previous)):
            if value is not None:
                document[name] = self._encode(value)
        return _json(document)

    def _from_bytes(self, key: str, data: bytes) -> Kept[_Value]:
        document = _parsed(key, data, self._kind)
        value, previous = (
            self._decode(document[name]) if name in document else None
            for name in ("value", "previous")
        )
        return Kept(value, previous, document["batch"])


class TransactionalState(_State[_Value]):
    """For sources that give a repeated micro-batch the same rows, as ours: what it has changed is left as it is."""

    _kind = "a transactional state"

    def _concerned(self, batch_id: int, updates: Mapping[str, Update[_Value]]) -> list[str]:  # noqa: ARG002 - as the base has it
        return list(updates)

    def _after(
        self, batch_id: int, kept: Mapping[str, Kept[_Value]], updates: Mapping[str, Update[_Value]]
    ) -> dict[str, Kept[_Value]]:
        after: dict[str, Kept[_Value]] = {}
        for key, function in updates.items():
            before = kept.get(key)
            if before is None:
                after[key] = Kept(function(None), None, batch_id)
            elif before.batch != batch_id:
                after[key] = Kept(function(before.value), None, batch_id)
        return after


class OpaqueState(_State[_Value]):
    """For sources whose repeated micro-batch may have other rows, as those that skip what is lost: it changes
    the value before it once more.

    Keys that an earlier attempt has changed and this one does not have get their value before the micro-batch
    back. Trident leaves them as they are. For this the state keeps a list of the keys of the last
    micro-batch, written before them.
    """

    _kind = "an opaque state"

    def _concerned(self, batch_id: int, updates: Mapping[str, Update[_Value]]) -> list[str]:
        keys = set(updates)
        (data,) = self._backing.multi_get([_KEYS])
        if data is not None:
            document = _parsed(_KEYS, data, _KEYS_KIND)
            _require_not_behind("the state", document["batch"], batch_id)
            if document["batch"] == batch_id:
                keys |= set(document["keys"])
        return sorted(keys)

    def _after(
        self, batch_id: int, kept: Mapping[str, Kept[_Value]], updates: Mapping[str, Update[_Value]]
    ) -> dict[str, Kept[_Value]]:
        touched = {key for key, each in kept.items() if each.batch == batch_id}
        self._note_keys(batch_id, touched | updates.keys())
        before = {
            key: each.previous if key in touched else each.value for key, each in kept.items()
        }
        after = {key: Kept(before[key], before[key], batch_id) for key in touched}
        for key, function in updates.items():
            value = before.get(key)
            after[key] = Kept(function(value), value, batch_id)
        return after

    def _note_keys(self, batch_id: int, keys: set[str]) -> None:
        document = {"v": _VERSION, "kind": _KEYS_KIND, "batch": batch_id, "keys": sorted(keys)}
        self._backing.multi_put({_KEYS: _json(document)})


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _itself(value: Any) -> Any:  # a value that is JSON
    return value


def _parsed(key: str, data: bytes, kind: str) -> dict[str, Any]:  # JSON
    try:
        document = json.loads(data)
        found = (document["v"], document["kind"], int(document["batch"]))
    except (ValueError, KeyError, TypeError) as error:
        raise _foreign(key, kind) from error
    if found[:2] != (_VERSION, kind):
        raise _foreign(key, kind)
    return dict(document)


def _foreign(key: str, kind: str) -> StateUnusable:
    return StateUnusable(
        f"key {key!r} holds what this release has not written for {kind}: give each state a place of its own"
    )


def _require_not_behind(what: str, last: int, batch_id: int) -> None:
    if last > batch_id:
        raise StateUnusable(
            f"{what} was changed by micro-batch {last}, and this is micro-batch {batch_id}: a state belongs to one checkpoint. "
            "Begin a new state with a new checkpoint"
        )
