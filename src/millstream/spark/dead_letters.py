"""Dead letters: records that a source or a sink cannot use, in a topic, with headers behind their own that say why.

The names of the headers are those of Kafka Streams, so one reader serves the dead letters of both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.clients.config import ProducerConfig
from millstream.errors import KafkaError, MillstreamError
from millstream.records.builder import BatchOptions
from millstream.spark.connections import Connections, wait_until_acknowledged
from millstream.spark.sink.row_checks import too_large

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.clients import Admin

_LOGGER = logging.getLogger(__name__)
_SIZE_SETTING: Final = "max.message.bytes"
_PREFIX: Final = "__streams.errors."


def error_of(error: Exception) -> str:
    """One line that says why."""
    return " ".join(str(error).split()) or type(error).__name__


def merged_errors(parts: Sequence[tuple[str, dict[int, str]]]) -> dict[int, str]:
    """Returns what is wrong with each row, of what is wrong with its columns."""
    errors: dict[int, str] = {}
    for name, found in parts:
        for row, reason in found.items():
            told = f"{name}: {reason}"
            errors[row] = f"{errors[row]}; {told}" if row in errors else told
    return errors


def header_columns(rows: pa.RecordBatch, told: Sequence[Mapping[str, str]]) -> pa.RecordBatch:
    """Returns key, value, timestamp and headers of the rows, as a producer takes them; `told` has what goes
    behind the headers of each row.
    """
    import pyarrow as pa

    own = (
        rows.column("headers").to_pylist()
        if "headers" in rows.schema.names
        else [None] * rows.num_rows
    )
    headers = [
        [
            *(each for each in mine or () if each["key"] is not None),
            *(
                {"key": _PREFIX + name, "value": text.encode(errors="backslashreplace")}
                for name, text in more.items()
            ),
        ]
        for mine, more in zip(own, told, strict=True)
    ]
    header = pa.struct(
        [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]
    )
    kept = [name for name in ("key", "value", "timestamp") if name in rows.schema.names]
    columns = [*(rows.column(name) for name in kept), pa.array(headers, pa.list_(header))]
    return pa.RecordBatch.from_arrays(columns, [*kept, "headers"])


def fitting_letters(
    rows: pa.RecordBatch,
    told: Sequence[Mapping[str, str]],
    record_bytes_max: int,
    options: BatchOptions,
) -> pa.RecordBatch:
    """Returns the same, without what is too large for their topic: values, and where that is not enough keys and
    headers of their own. How large it is is told instead.
    """
    import pyarrow as pa

    told, letters = list(told), header_columns(rows, told)
    for name in ("value", "key", "headers"):
        large = too_large(letters, record_bytes_max, options)
        if not large:
            break
        if name in rows.schema.names:
            index = rows.schema.get_field_index(name)
            parts = rows.column(index).to_pylist()
            for row in large:
                told[row] = {**told[row], **_told_of_left_out(name, parts[row])}
                parts[row] = None
            rows = rows.set_column(index, name, pa.array(parts, rows.schema.field(index).type))
            letters = header_columns(rows, told)
    return letters


def _told_of_left_out(name: str, part: Sequence[object] | None) -> dict[str, str]:
    if name == "headers":
        return {"headers.count": str(len(part or ()))}
    size = len(part.encode()) if isinstance(part, str) else len(part or b"")
    return {f"{name}.bytes": str(size)}


async def topic_bytes_max(admin: Admin, topic: str) -> int | None:
    """Returns the size of the largest batch that a topic takes.

    None where the user may not see it: then the broker decides, and the write fails where it refuses a record.
    """
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    try:
        found = (await admin.describe_configs([resource])).result(resource)
    except KafkaError as error:
        _LOGGER.info("%s of topic %s is not known: %s", _SIZE_SETTING, topic, error)
        return None
    value = found[_SIZE_SETTING].value
    return None if value is None else int(value)


def batch_options(config: ProducerConfig, *, is_transactional: bool = False) -> BatchOptions:
    """Returns the form in which a producer with these settings sends batches."""
    return BatchOptions(
        codec=config.codec, level=config.compression_level, is_transactional=is_transactional
    )


def write_all(link: Connections, topic: str, letters: pa.RecordBatch) -> None:
    """Writes them and waits for the brokers."""
    producer = link.producer()
    try:
        delivery = link.run(producer.send_batch(topic, letters))
        link.run(wait_until_acknowledged(producer, [delivery]))
    except MillstreamError as error:
        link.discard_producer()
        raise MillstreamError(
            f"dead letters cannot be written to topic {topic}: {error}"
        ) from error
