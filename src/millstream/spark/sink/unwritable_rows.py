"""Rows that cannot be written go to a topic of dead letters, through the producer of the other rows: in a
transaction they share its fate.

Where that one waits for no broker, dead letters do.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from millstream.clients import Admin, BatchDelivery, Producer
from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import InvalidTimestamp, KafkaError, MillstreamError
from millstream.quoting import counted
from millstream.records.builder import BatchOptions
from millstream.spark.connections import Connections
from millstream.spark.dead_letters import header_columns
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions
from millstream.spark.sink.row_checks import RowLimits, faults, illegal_name, too_large

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)
_SIZE_SETTING: Final = "max.message.bytes"


class UnwritableRows:
    """Those of one task. What a topic takes is asked for once."""

    def __init__(self, link: Connections, options: SinkOptions, topic: str) -> None:
        config = parse_settings(ProducerConfig, options.kafka.of_producer())
        self._admin = link.admin()
        self._topic = topic
        self._request_bytes_max = config.max_request_size
        self._options = BatchOptions(
            codec=config.codec,
            level=config.compression_level,
            is_transactional=options.delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE,
        )
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
        """A value that is too large for the topic of dead letters, too, is left out; its length is told instead."""
        import pyarrow as pa

        places = (
            rows.column("partition").to_pylist()
            if "partition" in rows.schema.names
            else [None] * rows.num_rows
        )
        told = [_told(topic, place, error) for place, error in zip(places, errors, strict=True)]
        rows = _without_invalid_timestamps(rows, errors)
        letters = header_columns(rows, told)
        large = too_large(letters, await self._limit(self._topic), self._options)
        if not large:
            return letters
        values = rows.column("value").to_pylist()
        for row in large:
            told[row] |= {"value.bytes": str(len(values[row] or b""))}
            values[row] = None
        index = rows.schema.get_field_index("value")
        kind = rows.schema.field(index).type
        return header_columns(rows.set_column(index, "value", pa.array(values, kind)), told)

    async def _limit(self, topic: str) -> int:
        """The smaller one of what the producer sends and what the topic takes."""
        if topic not in self._bytes_max:
            of_topic = await _message_bytes_max(self._admin, topic)
            self._bytes_max[topic] = min(
                self._request_bytes_max, of_topic or self._request_bytes_max
            )
        return self._bytes_max[topic]


async def _message_bytes_max(admin: Admin, topic: str) -> int | None:
    """None where the user may not see it: then the broker decides, and the write fails where it refuses a record."""
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    try:
        found = (await admin.describe_configs([resource])).result(resource)
    except KafkaError as error:
        _LOGGER.info("%s of topic %s is not known: %s", _SIZE_SETTING, topic, error)
        return None
    value = found[_SIZE_SETTING].value
    return None if value is None else int(value)


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
