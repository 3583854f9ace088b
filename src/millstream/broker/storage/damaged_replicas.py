"""Mends replicas of this broker in whose logs damage was found; see `replication.damage` for the order and why.

Told of damage by whoever reads logs, of images by `HostedPartitions`, before it has a partition followed. Nothing is
waited for here: a cut is begun, and told when it is done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, final

from millstream.errors import KafkaError, NotLeaderOrFollower
from millstream.log.log_health import LogBeingCut
from millstream.log.truncation import LogCut
from millstream.metadata.directory_ids import LOST_DIRECTORY
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.replication.partition import Partition
from millstream.runtime import Clock

if TYPE_CHECKING:
    from millstream.log.verification import Damage

_LOGGER = logging.getLogger(__name__)


_CUT_S: Final = 0.1
"""A cut is on the disk by then, mostly."""
StartCut = Callable[[Partition, LogCut, Callable[[Exception | None], None]], None]


@final
class DamagedReplicas:
    def __init__(
        self,
        broker_id: BrokerId,
        clock: Clock,
        *,
        on_placed: Callable[[TopicImage, int, Uuid], None],
        directory_of: Callable[[Partition], Uuid],
        stop_following: Callable[[TopicPartition], None],
        start_cut: StartCut,
        on_cut: Callable[[Partition], None],
    ) -> None:
        """`on_placed` tells the controller where a replica lives; `directory_of` gives the id of the
        directory that it does live in.

        `start_cut` has a replica cut, which takes a while; `on_cut` is told of one that is to be looked at
        with the newest image after that.
        """
        self._broker_id = broker_id
        self._clock = clock
        self._on_placed = on_placed
        self._directory_of = directory_of
        self._stop_following = stop_following
        self._start_cut = start_cut
        self._on_cut = on_cut
        self._being_cut: set[TopicPartition] = set()
        self._withdrawn: set[TopicPartition] = set()
        """Replicas of which the controller was told that they are lost."""
        self.found = 0
        self.mended = 0

    def __len__(self) -> int:
        """Returns the number of replicas that are not in sync again."""
        return len(self._withdrawn)

    def note(self, hosted: Partition, damage: Damage, image: MetadataImage) -> None:
        """Takes note of damage. What is to be done is done with this image, or with a later one."""
        if hosted.damaged_at is None:
            self.found += 1
        hosted.damaged_at = damage.offset
        alone = "" if len(hosted.isr) > 1 else "; no other replica in sync has what stood there"
        _LOGGER.error(
            "%s is damaged at offset %d, which is not sent to anybody: %s%s",
            hosted.topic_partition, damage.offset, damage.reason, alone,
        )  # fmt: skip
        self.follow(hosted, image)

    def follow(self, hosted: Partition, image: MetadataImage) -> bool:
        """Does what this image asks for.

        False while the replica must not follow its leader: it would come to be in sync.
        """
        name = hosted.topic_partition
        if hosted.damaged_at is None:
            if name in self._withdrawn:
                self._return(hosted, image)
            return True
        # Here, not above: nothing is damaged when a node starts for the first time.
        from millstream.replication.damage import DamageStep, next_step

        topic = image.topic(name.topic)
        if topic is None or topic.topic_id != hosted.topic_id:
            return False
        partition = topic.partitions[name.partition]
        step = next_step(partition, self._broker_id)
        if step is DamageStep.CUT and not hosted.is_leader:
            self._cut(hosted, hosted.damaged_at)
            return False
        if step is DamageStep.STAY:
            if name in self._withdrawn:
                self._place(hosted, topic)  # the others have left meanwhile: nobody else can lead
            return True
        # Before the controller has answered: the leader must not see this replica in sync again once it has left.
        self._stop_following(name)
        if name not in self._withdrawn:
            self._withdrawn.add(name)
            self._on_placed(topic, name.partition, LOST_DIRECTORY)
        return False

    def forget(self, name: TopicPartition) -> None:
        """The replica has left this broker."""
        self._withdrawn.discard(name)

    def _cut(self, hosted: Partition, damaged_at: int) -> None:
        """Has it cut; it is not followed until `on_cut` is told."""
        name = hosted.topic_partition
        if name in self._being_cut:
            return
        # Whoever fetches it must begin where it ends then.
        self._stop_following(name)
        try:
            cut = hosted.plan_cut(damaged_at, is_of_damage=True)
        except LogBeingCut:
            # Where it diverges, as its fetcher has just found out: what is left may be sound.
            asyncio.get_running_loop().call_later(_CUT_S, self._on_cut, hosted)
            return
        except KafkaError as error:
            _LOGGER.error("%s is damaged and could not be cut: %s", name, error)  # noqa: TRY400 - the sentence says it
            return
        if cut is None:
            hosted.damaged_at = None  # it has gone with another cut
            self._on_cut(hosted)
        else:
            self._being_cut.add(name)
            self._start_cut(hosted, cut, partial(self._end_cut, hosted, cut, damaged_at))

    def _end_cut(
        self, hosted: Partition, cut: LogCut, damaged_at: int, error: Exception | None
    ) -> None:
        name = hosted.topic_partition
        self._being_cut.discard(name)
        if isinstance(error, NotLeaderOrFollower | LogBeingCut):
            pass  # the newest image, and what another cut has left, say what to do with it now
        elif error is not None:
            _LOGGER.error("%s is damaged and could not be cut: %s", name, error)
            return
        else:
            self._withdrawn.add(name)  # it may have been out of the ISR before
            _LOGGER.warning("%s is cut at %s, where it is damaged: %d offsets come from its leader anew", name, damaged_at, cut.lost)  # fmt: skip
        self._on_cut(hosted)

    def _return(self, hosted: Partition, image: MetadataImage) -> None:
        name = hosted.topic_partition
        if self._broker_id not in hosted.isr:
            return
        topic = image.topic(name.topic)
        if topic is None:
            return
        self.mended += 1
        _LOGGER.warning("%s has again what was damaged, and is in sync", name)
        self._place(hosted, topic)

    def _place(self, hosted: Partition, topic: TopicImage) -> None:
        name = hosted.topic_partition
        self._withdrawn.discard(name)
        # Whatever the image says: that the replica is lost may be on its way.
        self._on_placed(topic, name.partition, self._directory_of(hosted))
