"""A share-state shard without a runtime: what it answers is written at once, and its log can be read again."""

from __future__ import annotations

from typing import Final, TypeVar

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, CoordinatorResult, Token
from millstream.coordinator.share.context import ShareCoordinatorConfig
from millstream.coordinator.share.shard import ShareShard
from millstream.coordinator.share.state import SharePartitionKey, ShareState
from millstream.metadata.image import MetadataImage
from millstream.model import Offset
from millstream.runtime import Instant

START_WALL_MS: Final = 1_700_000_000_000
Request = TypeVar("Request")


class SimShareState:
    """For unit tests and random histories: the clock moves when told, the log is a list of records."""

    def __init__(self, image: MetadataImage, **limits: int) -> None:
        self._limits = limits
        self.image = image
        self.shard = self._new_shard()
        self.log: list[CoordinatorRecord] = []
        self.elapsed_ms = 0

    @property
    def now(self) -> Instant:
        return Instant(START_WALL_MS + self.elapsed_ms, self.elapsed_ms)

    def ask(self, request: object) -> object:
        """The answer, after what it changes is in the log. Raises what the request is refused with."""
        context = Caller(Token(1), 0, "broker", "/127.0.0.1")
        result = self.shard.handle(request, context, self.now)
        self.write(result)
        (reply,) = result.replies
        return reply.outcome

    def write(self, result: CoordinatorResult) -> None:
        for record in result.records:
            self.shard.replay(Offset(len(self.log)), record)
            self.log.append(record)

    def state(self, key: SharePartitionKey) -> ShareState:
        state = self.shard.state(key)
        assert state is not None, f"{key.text} is not initialised"
        return state

    def replayed(self, first: int = 0) -> ShareShard:
        """Another shard that has read the log from `first` on."""
        shard = self._new_shard()
        for offset, record in enumerate(self.log[first:], first):
            shard.replay(Offset(offset), record)
        return shard

    def _new_shard(self) -> ShareShard:
        shard = ShareShard(ShareCoordinatorConfig(**self._limits))
        shard.apply_image(self.image)
        return shard
