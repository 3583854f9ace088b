"""The marks that an exactly-once sink leaves in groups, and how they are written down.

Pure. Each transaction of a writer commits an offset in the writer's group, whose metadata says which micro-batch of
which query it has written, and where: records and mark become visible together or not at all. A start of a query leaves
a mark of its own when it has looked at those of all writers. What they say about an attempt is decided in `verdicts`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from millstream.errors import MillstreamError

_VERSION: Final = 2
_FIRST_VERSION: Final = 1
"""Of releases whose marks did not say where rows had gone."""
_START: Final = "start"
_TOPICS_LENGTH_MAX: Final = 600
"""Brokers take 4,096 bytes of metadata (`offset.metadata.max.bytes`)."""


class MarkUnreadable(MillstreamError):
    """A group of the sink holds a mark of a release that is newer than this one."""


@dataclass(frozen=True, slots=True)
class Target:
    """The place that rows went to: a cluster and topics, by ids, because a name may come to belong to another one.

    Empty in marks of old releases.
    """

    cluster: str = ""
    topics: str = ""

    @classmethod
    def of(cls, cluster: str | None, topic_ids: Mapping[str, object]) -> Self:
        topics = " ".join(f"{name}:{topic_ids[name]}" for name in sorted(topic_ids))
        if len(topics) > _TOPICS_LENGTH_MAX:
            whole = hashlib.sha256(topics.encode()).hexdigest()[:32]
            topics = f"{len(topic_ids)} topics:{whole}"
        return cls(cluster or "", topics)

    def __str__(self) -> str:
        return f"{self.topics or 'no topic'} in cluster {self.cluster}"


@dataclass(frozen=True, slots=True)
class BatchMark:
    """One write of one Spark partition.

    `query` is Spark's query id, `run` one start of it, `write` one writer of a micro-batch.
    """

    query: str
    batch: int
    run: str
    write: str
    records: int = 0
    digest: int = 0
    target: Target = Target()
    is_of_old_release: bool = False

    def encode(self) -> str:
        document = asdict(self)
        del document["is_of_old_release"]
        return _encoded({**document, "target": [self.target.cluster, self.target.topics]})

    @classmethod
    def decode(cls, metadata: str) -> BatchMark | None:
        """None for what no sink has written: somebody else has committed in this group. Raises MarkUnreadable."""
        document = _decoded(metadata, (_FIRST_VERSION, _VERSION))
        if document is None or _START in document:
            return None
        is_old = document.pop("v") == _FIRST_VERSION
        try:
            target = Target() if is_old else Target(*document.pop("target"))
            return cls(**document, target=target, is_of_old_release=is_old)
        except (TypeError, KeyError):
            return None


@dataclass(frozen=True, slots=True)
class StartMark:
    """The mark of a start of a query: the marks of all writers were looked at before micro-batch `batch` was committed.

    Every writer from `writers` on is fenced and has written nothing of that micro-batch. `number` grows with each mark.
    One that is not `is_complete` only says that the start is looking.
    """

    query: str
    batch: int
    run: str
    write: str
    writers: int
    number: int
    is_complete: bool = True

    def encode(self) -> str:
        return _encoded({_START: True} | asdict(self))

    @classmethod
    def newest(cls, metadata: Iterable[str]) -> StartMark | None:
        """Returns the newest in a group: the topic of the last record may be another one each time.

        Raises MarkUnreadable.
        """
        found = [mark for each in metadata if (mark := cls._decode(each)) is not None]
        return max(found, key=lambda mark: mark.number, default=None)

    @classmethod
    def _decode(cls, metadata: str) -> StartMark | None:
        document = _decoded(metadata, (_VERSION,))
        if document is None or not document.pop(_START, False):
            return None
        del document["v"]
        try:
            return cls(**document)
        except TypeError:
            return None


def prefix_in_query(prefix: str, query: str) -> str:
    """Returns the prefix that a query uses of its own.

    Flows of a pipeline and queries of one program may share their options, and would overwrite each other's marks.
    """
    return f"{prefix}-{query}"


def _encoded(document: Mapping[str, object]) -> str:
    return json.dumps({"v": _VERSION, **document}, separators=(",", ":"))


def _decoded(metadata: str, versions: tuple[int, ...]) -> dict[str, Any] | None:  # Any: JSON
    """None for what is no mark."""
    try:
        document = json.loads(metadata)
    except ValueError:
        return None
    if not isinstance(document, dict) or not {"v", "query", "batch"} <= document.keys():
        return None
    if document["v"] not in (_FIRST_VERSION, _VERSION):
        raise MarkUnreadable(
            f"a mark of version {document['v']} stands in a group of this sink, and this release reads versions {_FIRST_VERSION} and "
            f"{_VERSION}: go on with the release that wrote it, or give another transactionalIdPrefix"
        )
    return document if document["v"] in versions else None
