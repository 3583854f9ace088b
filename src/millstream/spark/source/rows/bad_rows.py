"""Records that cannot be decoded: the error that names one, and the topic in which they are kept."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import MillstreamError
from millstream.quoting import counted
from millstream.spark.connections import Connections
from millstream.spark.dead_letters import (
    batch_options,
    fitting_letters,
    topic_bytes_max,
    write_all,
)

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)


class BadRow(MillstreamError):
    """A record that cannot be decoded ends the query, unless badRows says otherwise."""

    def __init__(self, topic: str, partition: int, offset: int, reason: str) -> None:
        super().__init__(
            f"{topic}-{partition} offset {offset} cannot be decoded: {reason}. badRows=null or badRows=deadLetter goes on without it"
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Spark pickles it on the way to the driver."""
        return _again, (str(self),)


def _again(text: str) -> MillstreamError:
    error = BadRow.__new__(BadRow)
    MillstreamError.__init__(error, text)
    return error


@dataclass(frozen=True)
class UndecodedRecords:
    """Records as they were read, with their headers, and for each the reason."""

    rows: pa.RecordBatch
    reasons: list[str]


def write_dead_letters(link: Connections, topic: str, letters: UndecodedRecords) -> None:
    """Returns when the brokers have them. A task that is run again writes them again.

    A record may be larger than what its topic of dead letters takes, or become so by the headers that say why.
    """
    rows = letters.rows
    places = zip(
        rows.column("topic").to_pylist(),
        rows.column("partition").to_pylist(),
        rows.column("offset").to_pylist(),
        letters.reasons,
        strict=True,
    )
    told = [
        {
            "exception": f"{BadRow.__module__}.{BadRow.__qualname__}",
            "message": reason,
            "topic": source,
            "partition": str(partition),
            "offset": str(offset),
        }
        for source, partition, offset, reason in places
    ]
    write_all(link, topic, _fitting(link, topic, rows, told))
    _LOGGER.warning(
        "not decoded, and now in %s: %s, the first: %s",
        topic,
        counted(len(told), "record"),
        told[0],
    )


def _fitting(
    link: Connections, topic: str, rows: pa.RecordBatch, told: list[dict[str, str]]
) -> pa.RecordBatch:
    config = parse_settings(ProducerConfig, link.kafka.of_producer())
    of_topic = link.run(topic_bytes_max(link.admin(), topic)) or config.max_request_size
    bytes_max = min(config.max_request_size, of_topic)
    return fitting_letters(rows, told, bytes_max, batch_options(config))
