"""Decides whether the stores on a disk are a base from which a task may be restored.

A store is used only where its rows are a state that the changelog has gone through: otherwise all stores of the
task are deleted and restored from the beginning. What a store knows of itself is its metadata and the marker that
`StoreMarker` writes with every commit.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Protocol

from millstream.streams.kernel.task.state import TaskState
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.state.store import StateStore

TOMBSTONES_KEPT_MS: Final = 86_400_000
"""Kafka's delete.retention.ms: after that a changelog may lack the deletions that an older store has not seen."""


_NO_IDS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class StoreMarker:
    """The facts beside the rows: `topic_ids` of the changelogs and of the inputs, the input `offsets` that the rows
    cover, and the time of the write.

    `held`: what the rows cover of the records behind these offsets, as text to be compared.
    """

    topic_ids: Mapping[str, str] = field(default_factory=dict)
    offsets: Mapping[str, int] = field(default_factory=dict)
    written_ms: int = 0
    held: str = ""

    def encode(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, text: str | None) -> StoreMarker | None:
        """Decodes a marker; None for a store that has none, or one of another version."""
        if text is None:
            return None
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class StoredState:
    """The stores of a task as they describe themselves when they are opened.

    `restored_to`: by changelog topic, the next record that the store has not seen, None for an
    empty store. `is_logged`: every store has a changelog. `has_uncounted_rows`: a store does not
    know how far its rows are with its changelog. `other_layouts`: the stores whose rows are laid
    out otherwise than they would be now.
    """

    marker: StoreMarker | None
    restored_to: Mapping[str, int | None]
    is_logged: bool
    has_uncounted_rows: bool = False
    other_layouts: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """The number of changelog records that need not be restored, those that compaction has removed included."""
        return sum(offset or 0 for offset in self.restored_to.values())

    def behind(self, changelogs: Mapping[str, ReadableLog]) -> int:
        """Returns how many records of the changelogs the stores have not seen, at most."""
        return sum(
            max(0, log.end - max(log.start, self.restored_to.get(topic) or 0))
            for topic, log in changelogs.items()
        )

    def of_inputs(self, topics: Collection[str]) -> StoredState:
        """Returns the same without what the marker says of inputs that the task reads no more: a
        topic of a pattern was deleted.
        """
        if self.marker is None:
            return self
        offsets = {topic: to for topic, to in self.marker.offsets.items() if topic in topics}
        return replace(self, marker=replace(self.marker, offsets=offsets))

    def why_unusable(
        self,
        changelogs: Mapping[str, ReadableLog],
        committed: CommittedPosition,
        now_ms: int,
        input_ids: Mapping[str, str] = _NO_IDS,
    ) -> str | None:
        """Returns the reason why restoring cannot go on from the rows; None where it can.

        `input_ids`: those of the topics that the task reads.
        """
        seen = {topic: to for topic, to in self.restored_to.items() if to is not None}
        if self.has_uncounted_rows:
            return "they have lost the offset up to which their rows count"
        if self.other_layouts:
            return f"rows are laid out otherwise for windows, grace or retention of before: {', '.join(self.other_layouts)}"
        if self.marker is None:
            return "they were written by another version" if seen else None
        covered = self.marker.offsets, self.marker.held
        if not self.is_logged and covered != (committed.offsets, committed.held_text):
            return "a store without a changelog lacks input that the application has committed"
        if not self.is_logged and (other := self._other_input(input_ids)) is not None:
            return f"a store without a changelog has counted another topic {other}"
        for topic, offset in seen.items():
            why = self._why_not(topic, offset, changelogs[topic], now_ms)
            if why is not None:
                return why
        return None

    def _other_input(self, input_ids: Mapping[str, str]) -> str | None:
        """Returns a topic that is another one of its name than the rows were made from: equal offsets say nothing then.

        Markers of releases that did not note ids of inputs are believed: nothing could bring their rows back.
        """
        assert self.marker is not None, "what has no marker is refused before"
        known = self.marker.topic_ids
        others = (topic for topic, id_ in input_ids.items() if known.get(topic, id_) != id_)
        return next(others, None)

    def _why_not(self, topic: str, offset: int, log: ReadableLog, now_ms: int) -> str | None:
        assert self.marker is not None, "what has no marker is refused before"
        if self.marker.topic_ids.get(topic) != str(log.topic_id):
            return f"topic {topic} was made anew"
        if offset > log.end:
            return f"they are ahead of topic {topic}, which ends at {log.end}, not at {offset}"
        if offset < log.start:
            return f"topic {topic} begins at {log.start}, and they end at {offset}"
        if offset < log.end and now_ms - self.marker.written_ms > TOMBSTONES_KEPT_MS:
            return f"they are older than the deletions that topic {topic} keeps"
        return None


class KeptStores(Protocol):
    """The stores of a task, open in this process: a StreamTask, or those of a standby."""

    state: TaskState

    def commit(
        self, *, marker: str | None = None, changelog_offsets: Mapping[str, int] | None = None
    ) -> None: ...


def stored_state(task: KeptStores) -> StoredState:
    """Reads what the stores of a task that has been opened say of themselves."""
    restored_to = task.state.restore_positions()
    return StoredState(
        stored_marker(task),
        restored_to,
        is_logged=len(restored_to) >= len(task.state.stores),
        has_uncounted_rows=any(map(_has_uncounted_rows, task.state.stores.values())),
        other_layouts=tuple(
            sorted(name for name, store in task.state.stores.items() if store.has_other_layout)
        ),
    )


def _has_uncounted_rows(store: StateStore) -> bool:
    """Whether there are rows of a changelog without the offset that is written with them.

    Users' own stores may keep other rows, too.
    """
    is_counted = store.rows.metadata.changelog_offset is not None
    is_like_its_changelog = store.spec.logging and store.spec.supplier is None
    return is_like_its_changelog and not is_counted and store.rows.has_stored


def stored_marker(task: KeptStores) -> StoreMarker | None:
    markers = (task.state.marker_of(store) for store in task.state.stores)
    return StoreMarker.decode(next((marker for marker in markers if marker is not None), None))
