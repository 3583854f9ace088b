"""Rows that cannot be written go to a topic of dead letters, through the producer of the other rows: in a
transaction they share its fate.

Where that one waits for no broker, dead letters do.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from millstream.clients import BatchDelivery, Producer
from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import InvalidTimestamp, MillstreamError
from millstream.quoting import counted
from millstream.spark.connections import Connections
from millstream.spark.dead_letters import batch_options, fitting_letters, topic_bytes_max
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions
from millstream.spark.sink.row_checks import RowLimits, faults, illegal_name

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)


class UnwritableRows:
    """Those of one task. What a topic takes is asked for once."""

    def __init__(self, link: Connections, options: SinkOptions, topic: str) -> None:
        config = parse_settings(ProducerConfig, options.kafka.of_producer())
        self._admin = link.admin()
        self._topic = topic
        self._request_bytes_max = config.max_request_size
        is_transactional = options.delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE
        self._options = batch_options(config, is_transactional=is_transactional)
        self._bytes_max: dict[str, int] = {}
        is_unacknowledged = options.delivery_guarantee is DeliveryGuarantee.NONE
        self._acknowledged = link.producer() if is_unacknowledged else None

    async def sorted_out(
        self, producer: Producer, topic: str, rows: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, list[BatchDelivery]]:
        """Returns the rows that can be written, and the deliveries of the dead letters of the others."""
        import pyarrow as pa

        found = await self._faults(producer, topic, rows)
        if not found:
            return rows, []
        bad = sorted(found)
        letters = await self._letters(
            topic, rows.take(pa.array(bad, pa.int64())), [found[row] for row in bad]
        )
        _LOGGER.warning(
            "not written, and sent to %s: %s, the first: %s",
            self._topic,
            counted(len(bad), "row"),
            found[bad[0]],
        )
        is_good = pa.array([row not in found for row in range(rows.num_rows)], pa.bool_())
        return rows.filter(is_good), [
            await (self._acknowledged or producer).send_batch(self._topic, letters)
        ]

    async def _faults(
        self, producer: Producer, topic: str, rows: pa.RecordBatch
    ) -> dict[int, MillstreamError]:
        error = illegal_name(topic)
        if error is not None:
            return dict.fromkeys(range(rows.num_rows), error)
        partitions = await producer.partitions_for(topic)
        limits = RowLimits(topic, len(partitions), await self._limit(topic), self._options)
        return faults(rows, limits)

    async def _letters(
        self, topic: str, rows: pa.RecordBatch, errors: list[MillstreamError]
    ) -> pa.RecordBatch:
        places = (
            rows.column("partition").to_pylist()
            if "partition" in rows.schema.names
            else [None] * rows.num_rows
        )
        told = [_told(topic, place, error) for place, error in zip(places, errors, strict=True)]
        rows = _without_invalid_timestamps(rows, errors)
        return fitting_letters(rows, told, await self._limit(self._topic), self._options)

    async def _limit(self, topic: str) -> int:
        """The smaller one of what the producer sends and what the topic takes."""
        if topic not in self._bytes_max:
            of_topic = await topic_bytes_max(self._admin, topic)
            self._bytes_max[topic] = min(
                self._request_bytes_max, of_topic or self._request_bytes_max
            )
        return self._bytes_max[topic]


def _told(topic: str, partition: int | None, error: MillstreamError) -> dict[str, str]:
    kind = type(error)
    told = {
        "exception": f"{kind.__module__}.{kind.__qualname__}",
        "message": str(error),
        "topic": topic,
    }
    return told if partition is None else told | {"partition": str(partition)}


def _without_invalid_timestamps(
    rows: pa.RecordBatch, errors: list[MillstreamError]
) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    if "timestamp" not in rows.schema.names:
        return rows
    index = rows.schema.get_field_index("timestamp")
    is_valid = pa.array([not isinstance(error, InvalidTimestamp) for error in errors], pa.bool_())
    times = rows.column(index)
    kept = pc.if_else(is_valid, times, pa.scalar(None, times.type))
    return rows.set_column(index, "timestamp", kept)
