"""The group coordinator of one `__consumer_offsets` partition: the front of everything in this package.

Operations may move soft state (who waits, who is expected, which session runs), which a new coordinator rebuilds by
asking the members. Hard state (committed offsets, the stored assignment of a generation, which groups exist in the log)
changes in `replay` alone, live and at load.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group import operations
from millstream.coordinator.group.bounds import GroupBounds
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.context import GroupContext, GroupTimer
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets import delete as offset_delete
from millstream.coordinator.group.offsets import expiry as offset_expiry
from millstream.coordinator.group.offsets import records as offset_replay
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.coordinator.group.size import GroupSizes
from millstream.coordinator.record import CoordinatorKey, CoordinatorRecord
from millstream.coordinator.result import NODE_ITSELF, Caller, CoordinatorResult, TimerKey
from millstream.metadata.image import MetadataImage
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.group_records import OffsetCommitKey
from millstream.runtime import Instant, Random

_BOUNDS: Final = GroupBounds()


class GroupShard:
    """Satisfies `coordinator.runtime.Shard`."""

    def __init__(
        self, config: GroupCoordinatorConfig, random: Random, bounds: GroupBounds = _BOUNDS
    ) -> None:
        self._config = config
        self._random = random
        self._groups = Groups()
        self._offsets = OffsetStore()
        self._image = MetadataImage()
        self._topics_version = 0
        self._sizes = GroupSizes()
        self._bounds = bounds

    def change_config(self, config: GroupCoordinatorConfig) -> None:
        """The broker's settings were changed while it runs: they count from the next operation on."""
        self._config = config

    @property
    def image(self) -> MetadataImage:
        """The newest metadata this node has applied: topics, brokers, the dynamic configs of groups."""
        return self._image

    def apply_image(self, image: MetadataImage) -> None:
        """Takes in a new image, before what happens after it. What it changes for groups is `TopicsChanged`."""
        if image.topics is not self._image.topics:
            self._topics_version = image.offset
        self._image = image

    @property
    def groups(self) -> Groups:
        """The groups, to look at, not to change."""
        return self._groups

    @property
    def offsets(self) -> OffsetStore:
        """The committed offsets, to look at, not to change."""
        return self._offsets

    # What the runtime asks for

    def handle(self, request: object, caller: Caller, now: Instant) -> CoordinatorResult:
        """Handles any request of `operations.OPERATIONS`. Where it raises a KafkaError nothing has changed."""
        self._bounds.check(self._groups, self._offsets, request)
        result = operations.OPERATIONS[type(request)](self._context(caller, now), request)
        group_id = getattr(request, "group_id", None)
        if group_id is not None:
            self._groups.measure(group_id)
        return result

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        """A stored group is taken as alive: each member has a whole session to show itself."""
        self._groups.is_loaded = True
        context = self._context(NODE_ITSELF, now)
        for group in self._groups:
            operations.KINDS[group.kind].resume(context, group)
        offset_expiry.start_timer(context)
        offset_delete.start_to_forget(context)
        return context.result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        assert isinstance(key, GroupTimer), "a timer of another shard"
        context = self._context(NODE_ITSELF, now)
        group = self._groups.find(key.group_id)
        if key.kind in operations.TIMERS:
            operations.TIMERS[key.kind](context, key)
        elif group is not None:
            operations.KINDS[group.kind].expire(context, group, key)
            self._groups.measure(key.group_id)
        return context.result

    def takes_long(self, asked: object) -> bool:
        return self._sizes.takes_long(asked, self._groups, self._offsets, self._image.topics)

    def handle_append_failed(self, failed: CoordinatorResult, now: Instant) -> CoordinatorResult:
        return self._context(NODE_ITSELF, now).undo(failed)

    # Hard state

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None:
        """Replays a record.

        Records of group types that are not served are passed over, as Kafka does with types it does not know.
        """
        if isinstance(record.key, OffsetCommitKey):
            offset_replay.replay(self._groups, self._offsets, offset, record)
        elif type(record.key) in operations.REPLAYS:
            operations.REPLAYS[type(record.key)](self._groups, record)
            self._groups.measure(_group_of(record.key))

    def transaction_size(self, producer_id: ProducerId) -> int:
        return self._offsets.count_of_transaction(producer_id)

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        self._offsets.end_transaction(producer_id, committed=committed)

    def _context(self, caller: Caller, now: Instant) -> GroupContext:
        return GroupContext(
            caller,
            now,
            self._groups,
            self._offsets,
            self._config,
            self._image,
            self._topics_version,
            self._random,
        )


def _group_of(key: CoordinatorKey) -> str:
    """Returns the group that a record is about: keys name it in one of two ways."""
    group_id: str = getattr(key, "group_id", "") or getattr(key, "group", "")
    return group_id
