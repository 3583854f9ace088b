"""The requests that come from this node itself, or with what it knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from millstream.model import Uuid
from millstream.protocol.generated.txn_offset_commit import TxnOffsetCommitRequest


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """Topics have come, gone or grown since the last image. Answered with None."""


@dataclass(frozen=True, slots=True)
class TopicsDeleted:
    """The topics of these names are gone. Answered with None."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class TransactionalCommit:
    """A TxnOffsetCommit, whose topics are named only, with their ids as they were when it came.

    Answered with TxnOffsetCommitResponse.
    """

    commit: TxnOffsetCommitRequest
    topic_ids: Mapping[str, Uuid]
