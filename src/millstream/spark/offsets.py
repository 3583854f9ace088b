"""Offsets of a streaming query, and their JSON form in Spark's offset log.

Pure: no Spark, no network. The JSON form carries a version, because a checkpoint outlives the code that wrote it; ids
of topics say whether offsets are of the topic that is there now, and other keys are kept:

    {"v": 1, "offsets": {"flights": {"0": 1200, "1": 1187}}, "topicIds": {"flights": "jxL4mxgKQ9mLRlBPhSTmWw"}}

Spark writes down the end of each micro-batch alone, and asks anew where a query begins when its first
micro-batch is run again: by then `latest` is elsewhere. So a document up to the first micro-batch says under
`begin` where the query has begun.

`leaderEpochs` has, by the id of the topic and the partition, the epochs of the leaders that said how far the logs
reach. A query that starts anew asks no older ones: a broker that is cut off from the controllers takes itself for the
leader still, and its log may end before these offsets. Releases that do not know the key hand it on as it is; as it
names topics by their ids, it is never taken for that of another one.

An offset is the next one to read, as everywhere in Kafka. The engine stores what it is given and checks nothing, so
`advanced` never lets an end fall behind its start.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from millstream.clients.cluster.core.cluster_metadata import LeaderEpochs
from millstream.errors import ConfigError
from millstream.model import ZERO_UUID, Offset, TopicPartition, Uuid, uuid_from_text, uuid_text

VERSION: Final = 1
OPAQUE_VERSION: Final = 2
"""Of queries with replay=opaque, whose ends are only a part of the truth: see
`millstream.spark.source.opaque.documents`."""

Offsets = Mapping[TopicPartition, Offset]
NO_EPOCHS: Final[LeaderEpochs] = {}
_BEGIN: Final = "begin"
_EPOCHS: Final = "leaderEpochs"


def to_json(offsets: Offsets) -> dict[str, Any]:  # JSON, nested as above
    return {"v": VERSION, "offsets": topics_json(offsets)}


def topics_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets by topic and partition, in order: what `partition_offsets` reads."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def from_json(document: Mapping[str, Any]) -> dict[TopicPartition, Offset]:  # JSON, nested as above
    """Raises ConfigError on a version this release does not know, and on anything that is not such a document."""
    version = document.get("v")
    if version not in (VERSION, OPAQUE_VERSION):
        raise ConfigError(
            f"the checkpoint holds offsets of version {version!r}, this release reads versions {VERSION} and {OPAQUE_VERSION}: "
            "use the release that wrote it, or start with a new checkpoint"
        )
    return partition_offsets(document.get("offsets"))


def partition_offsets(document: object) -> dict[TopicPartition, Offset]:
    """`{"topic": {"0": 12}}`, the form users write in `startingOffsets`, to offsets. Raises ConfigError."""
    offsets: dict[TopicPartition, Offset] = {}
    try:
        for topic, partitions in _mapping(document).items():
            for partition, offset in _mapping(partitions).items():
                offsets[TopicPartition(str(topic), int(partition))] = Offset(int(offset))
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f'offsets must look like {{"topic": {{"0": 12}}}}, not {document!r}'
        ) from error
    return offsets


def _mapping(document: object) -> Mapping[str, Any]:  # JSON
    if not isinstance(document, Mapping):
        raise TypeError("not a mapping")
    return document


def advanced(start: Offsets, end: Offsets) -> dict[TopicPartition, Offset]:
    """`end` for every known partition, never behind `start`; a partition that `end` lacks stays where it is."""
    return {
        partition: Offset(max(start.get(partition, Offset(0)), end.get(partition, Offset(-1))))
        for partition in {*start, *end}
    }


def as_beginning(document: Mapping[str, Any]) -> dict[str, Any]:  # JSON, nested as above
    """The document of a query that begins at its offsets."""
    return {**document, _BEGIN: document["offsets"]}


def followed_by(
    start: Mapping[str, Any],  # JSON, nested as above
    end: Mapping[str, Any],  # JSON
) -> dict[str, Any]:  # JSON
    """`end` as the document of the micro-batch behind `start`, from which it may have what only the first one has."""
    is_behind_the_first = end != start and start.get(_BEGIN) != start["offsets"]
    return {name: each for name, each in end.items() if name != _BEGIN or not is_behind_the_first}


def begin_of(
    start: Mapping[str, Any],  # JSON, nested as above
    end: Mapping[str, Any],  # JSON
) -> dict[TopicPartition, Offset]:
    """The offsets at which the micro-batch of two documents begins."""
    return partition_offsets(end[_BEGIN]) if _BEGIN in end else from_json(start)


def with_topic_ids(
    document: Mapping[str, Any],  # JSON, nested as above
    ids: Mapping[str, Uuid],
) -> dict[str, Any]:  # JSON
    """The document with the ids of topics beside their offsets; those that have none are left out."""
    given = {
        **topic_ids_in(document),
        **{name: str(id_) for name, id_ in ids.items() if id_ != ZERO_UUID},
    }
    mine = {name: given[name] for name in sorted(document["offsets"]) if name in given}
    return {**document, "topicIds": mine} if mine else dict(document)


def topic_ids_in(document: Mapping[str, Any]) -> dict[str, str]:  # JSON, nested as above
    """Ids of topics by name, empty for documents that were written before ids were."""
    return {str(name): str(id_) for name, id_ in _mapping(document.get("topicIds", {})).items()}


def with_leader_epochs(
    document: Mapping[str, Any],  # JSON, nested as above
    *epochs: LeaderEpochs,
) -> dict[str, Any]:  # JSON
    """The document with the latest of these epochs of the leaders of its topics."""
    ids = topic_ids_in(document)
    latest: dict[tuple[Uuid, TopicPartition], int] = {}
    for key, epoch in chain.from_iterable(each.items() for each in epochs):
        latest[key] = max(epoch, latest.get(key, epoch))
    by_id: dict[str, dict[str, int]] = {}
    for (topic_id, tp), epoch in sorted(latest.items(), key=lambda each: each[0][1]):
        text = uuid_text(topic_id)
        if ids.get(tp.topic) == text:
            by_id.setdefault(text, {})[str(tp.partition)] = epoch
    others = {name: each for name, each in document.items() if name != _EPOCHS}
    return {**others, _EPOCHS: by_id} if by_id else others


def leader_epochs_in(
    document: Mapping[str, Any],  # JSON, nested as above
) -> dict[tuple[Uuid, TopicPartition], int]:
    """Epochs of leaders of the topics in a document, empty for documents that were written before epochs were."""
    names = {id_: name for name, id_ in topic_ids_in(document).items()}
    return {
        (uuid_from_text(id_), TopicPartition(names[id_], int(partition))): int(epoch)
        for id_, partitions in _mapping(document.get(_EPOCHS, {})).items()
        if id_ in names
        for partition, epoch in _mapping(partitions).items()
    }
