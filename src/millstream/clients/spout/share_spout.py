"""The spout over a share group (KIP-932): its members work on the same partitions, and brokers keep what failed.

What is given out next, and what brokers are told, is decided in `core.emitted_share_records`; the
consumer is used by `share_pump`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack, cast

from millstream.clients.config.settings import parse_settings
from millstream.clients.config.share import EXPLICIT, RECORD_LIMIT, ShareConsumerSettings
from millstream.clients.core.client_names import described, first_of
from millstream.clients.core.deserialization import AnyDeserializer
from millstream.clients.share.holding_consumer import HoldingShareConsumer
from millstream.clients.spout.core.emitted_share_records import EmittedShareRecords
from millstream.clients.spout.core.metrics import PartitionMetrics, SpoutMetrics
from millstream.clients.spout.core.settings import (
    ShareSpoutConfig,
    ShareSpoutSettings,
    divided,
    topic_names,
)
from millstream.clients.spout.message import SpoutHooks, Translate
from millstream.clients.spout.record_spout import RecordSpout
from millstream.clients.spout.share_pump import SharePump
from millstream.errors import ConfigError
from millstream.net.network import Environment


class ShareSpout(RecordSpout):
    """A Spout whose group is a share group: more members than partitions, and no commits that wait for a slow record.

    Settings are those of ShareSpoutConfig and of ShareConsumerConfig, except for share_acknowledgement_mode.
    share_acquire_mode is record_limit unless it is given. The hook on_partitions is never called.
    """

    def __init__(
        self,
        topics: str | Iterable[str],
        *,
        translate: Translate | None = None,
        hooks: SpoutHooks | None = None,
        key_deserializer: AnyDeserializer[Any] | None = None,  # Any: whatever it makes
        value_deserializer: AnyDeserializer[Any] | None = None,  # Any: whatever it makes
        environment: Environment | None = None,
        **settings: Unpack[ShareSpoutSettings],
    ) -> None:
        own, of_consumer = _divided(dict(settings))
        self.config = parse_settings(ShareSpoutConfig, own)
        self._topics = topic_names(topics)
        self._emitted = EmittedShareRecords(self.config)
        super().__init__(
            self.config,
            self._emitted,
            of_consumer,
            deserializers=(key_deserializer, value_deserializer),
            translate=translate,
            hooks=hooks,
            environment=environment,
        )
        self._consumer: HoldingShareConsumer[bytes, bytes] = HoldingShareConsumer(
            environment=environment, **cast("ShareConsumerSettings", of_consumer)
        )
        self._pump: SharePump = SharePump(
            self._consumer,
            self._emitted,
            self.config,
            settlement=self._settlement,
            clock=self._clock,
            news=self._news.set,
        )

    def __repr__(self) -> str:
        return described(
            self,
            self._consumer.config,
            is_closed=self._scope.is_closed,
            group_id=self._consumer.config.group_id,
            topics=first_of(self._topics),
        )

    def metrics(self) -> SpoutMetrics:
        """Returns counts since the start, and how many records are held of each partition. A member knows no lag."""
        return SpoutMetrics(
            self._emitted.counts,
            {
                topic_partition: PartitionMetrics(
                    earliest_time_offset=None,
                    latest_time_offset=None,
                    latest_emitted_offset=None,
                    latest_completed_offset=None,
                    committed_offset=None,
                    pending=count,
                )
                for topic_partition, count in self._emitted.pending().items()
            },
        )

    def _subscribe(self) -> None:
        self._consumer.subscribe(self._topics)

    async def _close_consumer(self) -> None:
        self._pump.tell()
        await self._consumer.close()


def _divided(settings: dict[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """The settings of the spout itself, and those of its consumer."""
    own, of_consumer = divided(settings, ShareSpoutConfig)
    names = {key.replace(".", "_") for key in of_consumer}
    if "share_acknowledgement_mode" in names:
        raise ConfigError(
            "share_acknowledgement_mode does not apply to a spout, which acknowledges each record by itself"
        )
    if "share_acquire_mode" not in names:
        of_consumer["share_acquire_mode"] = RECORD_LIMIT
    return own, of_consumer | {"share_acknowledgement_mode": EXPLICIT}
