"""Dead letters: records that a source or a sink cannot use, in a topic, with headers behind their own that say why.

The names of the headers are those of Kafka Streams, so one reader serves the dead letters of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from millstream.errors import MillstreamError
from millstream.spark.connections import Connections, wait_until_acknowledged

if TYPE_CHECKING:
    import pyarrow as pa

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
