"""The position that a task's last commit covers, and its form beside the committed offsets of the application's group.

Pure. The offset of each input partition is committed in the group `<application id>`, as Kafka Streams does, with Kafka
Streams' metadata: the largest timestamp of the partition, and numbers by name. What the operators of stores remember
and the ids of the changelogs that the position counts are one packed text. A broker takes 4096 bytes beside an offset
(offset.metadata.max.bytes), so the text goes in pieces: as the names of numbers, each the place of its piece. What is
done behind an offset that is not (ADR 0021) is part of the text. The name of the task that has committed an offset, the
version of its topology, the origin time that it has reached, the id of the input topic, and how many of its records
were dropped stand there in the same way. Kafka Streams' own instances carry such names along when they commit later
offsets, so the text says for which offsets it holds: at others, what the operators remember is not believed.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from millstream.clients import OffsetAndMetadata
from millstream.errors import ConfigError
from millstream.model import NO_LEADER_EPOCH, TopicPartition, Uuid, uuid_from_text
from millstream.streams.kernel.offset_metadata import OffsetMetadata
from millstream.streams.kernel.task.upstreams import DoneBehind

StoreTimes = Mapping[str, Mapping[str, int]]
"""By store, what its operators remember, by name."""

METADATA_BYTES_MAX: Final = 4096
"""Kafka's offset.metadata.max.bytes."""
_MARK: Final = "/"
"""Begins the name of a piece; no processor of Kafka Streams is called so."""
_OWNER_MARK: Final = "@"
"""Begins the name of a task."""
_VERSION_MARK: Final = "#"
"""Begins the version of the topology."""
_ORIGIN_TIME: Final = "^"
"""Names the origin time that the task has reached."""
_INPUT_MARK: Final = "%"
"""Begins the name of an input topic; after a colon follows its id. Kafka Streams writes the names of all input topics
of a task beside each."""
_DROPPED_MARK: Final = "!"
"""Begins the name of a topic, whose number is how many of its records were dropped."""


@dataclass(frozen=True, slots=True)
class CommittedPosition:
    """`offsets`: by input topic, the next offset to read; `times`: by input topic, the largest timestamp read so far.

    `changelogs`: by changelog topic, the id of the topic that holds the state at this position.
    `forms`: what its records look like (StoreSpec.changelog_form), as far as it is known.
    """

    offsets: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    store_times: StoreTimes = field(default_factory=dict)
    changelogs: Mapping[str, str] = field(default_factory=dict)
    versions: frozenset[str] = frozenset()
    """Those of the topology that have committed these offsets, as far as they have said so."""
    origin_time: int = -1
    """The largest origin time of the records before the position."""
    held: Mapping[str, DoneBehind] = field(default_factory=dict)
    """By input topic of which records behind the offset are done, which ones."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """By input topic, how many of its records were dropped before these offsets, by whatever instances; not
    of those of Kafka Streams."""
    input_ids: Mapping[str, str] = field(default_factory=dict)
    """By input topic, the id of the topic that the offset is of, as far as it is known."""
    forms: Mapping[str, str] = field(default_factory=dict)
    leader_epochs: Mapping[str, int] = field(default_factory=dict, compare=False)
    """By input topic and changelog, the epoch of the leader that was read from or written to, as far as it is known. A
    task that starts asks no older one: it may lack what this position counts."""

    def epochs_by_id(self, partition: int) -> dict[tuple[Uuid, TopicPartition], int]:
        """Returns the epochs of the topics whose ids are known, too."""
        ids = {**self.changelogs, **self.input_ids}
        return {
            (uuid_from_text(ids[topic]), TopicPartition(topic, partition)): epoch
            for topic, epoch in self.leader_epochs.items()
            if topic in ids
        }

    @property
    def held_text(self) -> str:
        """Returns `held` as text, equal for equal ones."""
        packed = {topic: _packed_held(each) for topic, each in sorted(self.held.items())}
        return json.dumps(packed, separators=(",", ":")) if packed else ""

    def encode(
        self, partition: int, owner: str | None = None, version: str | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Returns the offsets to commit for the task of this partition.

        `owner` is its name, which `owners_of` finds again, `version` that of the topology.

        Raises ConfigError where stores are too many for the input topics.
        """
        own = {} if owner is None else {_OWNER_MARK + owner: 0}
        if version is not None:
            own[_VERSION_MARK + version] = 0
        if self.origin_time >= 0:
            own[_ORIGIN_TIME] = self.origin_time
        topics = sorted(self.offsets)
        # Where all does not fit, what is not worth an application's end is left out.
        for has_dropped, has_ids, has_epochs in (
            (True, True, True),
            (False, True, True),
            (False, True, False),
            (False, False, False),
        ):
            beside = {
                topic: self._beside(topic, has_dropped=has_dropped, has_ids=has_ids)
                for topic in topics
            }
            longest = max(beside.values(), key=_length, default=own)
            pieces = self._pieces(_room_beside(own | longest), has_epochs=has_epochs)
            if len(pieces) <= len(topics):
                break
        if len(pieces) > len(topics):
            raise ConfigError(
                f"what the {len(self.changelogs)} stores of a task remember does not fit beside the offsets of its "
                f"{len(topics)} input topics: give its stores shorter names, or cut the topology with repartition(); with many hundred "
                "upstream tasks set time_across_repartitions='kafka'"
            )
        numbers = [own | {_MARK + piece: place} for place, piece in enumerate(pieces)]
        numbers += [own] * (len(topics) - len(pieces))
        return {
            TopicPartition(topic, partition): OffsetAndMetadata(
                self.offsets[topic],
                OffsetMetadata(self.times.get(topic, -1), mine | beside[topic]).encode(),
                self.leader_epochs.get(topic, int(NO_LEADER_EPOCH)),
            )
            for topic, mine in zip(topics, numbers, strict=True)
        }

    @property
    def tells_store_times(self) -> bool:
        """Whether stores that are not among `store_times` had no rows: it has them, or is of a task of ours
        that has processed nothing.

        Instances of Kafka Streams do not commit them, nor does who sets offsets by hand.
        """
        return bool(self.store_times or (self.versions and not self.times))

    @classmethod
    def decode(cls, committed: Mapping[TopicPartition, OffsetAndMetadata]) -> CommittedPosition:
        """Reads what a group has committed for the partitions of one task; topics without a commit are left out."""
        metadata = {
            tp.topic: OffsetMetadata.decode(found.metadata) for tp, found in committed.items()
        }
        pieces = {
            place: name.removeprefix(_MARK)
            for each in metadata.values()
            for name, place in each.processor_times.items()
            if name.startswith(_MARK)
        }
        packed = "".join(pieces[place] for place in sorted(pieces))
        known = _unpacked(packed)
        times = {topic: each.partition_time for topic, each in metadata.items()}
        offsets = {tp.topic: found.offset for tp, found in committed.items()}
        if any(offsets.get(topic, at) != at for topic, at in known.offsets.items()):
            known = known._replace(store_times={}, held={})
        return cls(
            offsets=offsets,
            times={topic: time for topic, time in times.items() if time >= 0},
            store_times=known.store_times,
            changelogs=known.changelogs,
            forms=known.forms,
            origin_time=max(
                (each.processor_times.get(_ORIGIN_TIME, -1) for each in metadata.values()),
                default=-1,
            ),
            held={topic: each for topic, each in known.held.items() if topic in offsets},
            versions=frozenset(
                name.removeprefix(_VERSION_MARK)
                for each in metadata.values()
                for name in each.processor_times
                if name.startswith(_VERSION_MARK)
            ),
            dropped=_dropped(metadata.values()),
            leader_epochs={
                **known.changelog_epochs,
                **{
                    tp.topic: at.leader_epoch
                    for tp, at in committed.items()
                    if at.leader_epoch >= 0
                },
            },
            input_ids={
                topic: name.removeprefix(_input_prefix(topic))
                for topic, each in metadata.items()
                for name in each.processor_times
                if name.startswith(_input_prefix(topic))
            },
        )

    def _beside(self, topic: str, *, has_dropped: bool, has_ids: bool) -> dict[str, int]:
        """Returns the numbers that stand beside the offset of one topic alone."""
        numbers = {}
        if has_dropped and topic in self.dropped:
            numbers[_DROPPED_MARK + topic] = self.dropped[topic]
        if has_ids and topic in self.input_ids:
            numbers[_input_prefix(topic) + self.input_ids[topic]] = 0
        return numbers

    def _pieces(self, size: int, *, has_epochs: bool) -> list[str]:
        if not (self.store_times or self.changelogs or self.held):
            return []
        facts = {name: dict(times) for name, times in self.store_times.items()}
        known = [facts, dict(self.changelogs), dict(self.offsets)]
        epochs = [self.leader_epochs.get(topic) for topic in self.changelogs]
        has_epochs = has_epochs and any(epoch is not None for epoch in epochs)
        if self.held or self.forms or has_epochs:
            known.append({topic: _packed_held(each) for topic, each in self.held.items()})
        if self.forms or has_epochs:
            known.append([self.forms.get(topic) for topic in self.changelogs])
        if has_epochs:
            known.append(epochs)
        text = json.dumps(known, separators=(",", ":"))
        packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode("ascii")
        return [packed[at : at + size] for at in range(0, len(packed), size)]


def owners_of(committed: Mapping[TopicPartition, OffsetAndMetadata]) -> set[str]:
    """Returns the names of the tasks that have committed these offsets."""
    return {
        name.removeprefix(_OWNER_MARK)
        for found in committed.values()
        for name in OffsetMetadata.decode(found.metadata).processor_times
        if name.startswith(_OWNER_MARK)
    }


def dropped_of(
    committed: Mapping[TopicPartition, OffsetAndMetadata],
) -> dict[TopicPartition, int]:
    """Returns how many records of each partition an application has dropped; without those of which
    its instances do not say it.
    """
    found = {}
    for tp, each in committed.items():
        numbers = OffsetMetadata.decode(each.metadata).processor_times
        if any(name.startswith(_VERSION_MARK) for name in numbers):
            found[tp] = numbers.get(_DROPPED_MARK + tp.topic, 0)
    return found


def _dropped(metadata: Iterable[OffsetMetadata]) -> dict[str, int]:
    return {
        name.removeprefix(_DROPPED_MARK): count
        for each in metadata
        for name, count in each.processor_times.items()
        if name.startswith(_DROPPED_MARK)
    }


def _input_prefix(topic: str) -> str:
    return f"{_INPUT_MARK}{topic}:"


def _length(numbers: Mapping[str, int]) -> int:
    return len(OffsetMetadata(0, numbers).encode())


def _room_beside(numbers: Mapping[str, int]) -> int:
    """Returns how many characters a piece may have beside these numbers: the text of both is base64."""
    return METADATA_BYTES_MAX // 4 * 3 - len(OffsetMetadata(0, {**numbers, _MARK: 0}).encode())


def _packed_held(held: DoneBehind) -> list[int]:
    """Returns `until`, and after it partitions of upstream tasks and offsets by turns, these as how far they
    are before `until`: in few digits.
    """
    pairs = ((number, held.until - offset) for number, offset in sorted(held.first.items()))
    return [held.until, *(each for pair in pairs for each in pair)]


def _unpacked_held(until: int, *numbers: int) -> DoneBehind:
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return DoneBehind(until, {number: until - before for number, before in pairs})


class _Packed(NamedTuple):
    """`offsets`: the committed ones that the rest belongs to. Older releases have left out the last fields."""

    store_times: StoreTimes
    changelogs: Mapping[str, str]
    offsets: Mapping[str, int]
    held: Mapping[str, DoneBehind]
    forms: Mapping[str, str]
    changelog_epochs: Mapping[str, int]


def _unpacked(packed: str) -> _Packed:
    """Returns nothing where a piece is missing: somebody has set or deleted some of the offsets by hand."""
    try:
        store_times, changelogs, *more = json.loads(zlib.decompress(base64.b85decode(packed)))
        offsets = more[0] if more else {}
        held = more[1] if len(more) > 1 else {}
        forms = more[2] if len(more) > 2 else []
        epochs = more[3] if len(more) > 3 else []
        return _Packed(
            store_times,
            changelogs,
            offsets,
            {topic: _unpacked_held(*numbers) for topic, numbers in held.items()},
            {topic: form for topic, form in zip(changelogs, forms, strict=False) if form},
            {
                topic: epoch
                for topic, epoch in zip(changelogs, epochs, strict=False)
                if epoch is not None
            },
        )
    except (binascii.Error, zlib.error, TypeError, ValueError):
        return _Packed({}, {}, {}, {}, {}, {})
