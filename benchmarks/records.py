"""Records to and from Arrow with each twin of the leaves, and batch headers validated: `python -m benchmarks.records`.

Records of 100 B without keys. The best of several rounds counts, in CPU seconds of this process; rates are millions of
records (or batches) a second. `--json` prints one object instead of the table.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import pyarrow as pa

from millstream.records import arrow, builder, record
from millstream.records.batch import iterate_batches, validate_batch
from millstream.records.builder import BatchBuilder, BatchOptions
from millstream.records.compression import Codec

VALUE = b"x" * 100
ROUNDS = 7


class Twin(NamedTuple):
    name: str
    walker: ModuleType
    writer: ModuleType
    records: int


class Row(NamedTuple):
    """One line of the table; `rate` in millions a second."""

    what: str
    twin: str
    rate: float
    unit: str


def twins() -> list[Twin]:
    found = []
    for name, suffix, records in (("compiled", "_compiled", 500_000), ("interpreted", "", 20_000)):
        try:
            walker = importlib.import_module(f"millstream.records.walker{suffix}")
            writer = importlib.import_module(f"millstream.records.writer{suffix}")
        except ModuleNotFoundError:
            print(f"{name}: not built")
            continue
        found.append(Twin(name, walker, writer, records))
    return found


def use(twin: Twin) -> None:
    arrow.walker = record.walker = twin.walker  # type: ignore[attr-defined]  # reason: the benchmark swaps twins
    arrow.writer = builder.writer = twin.writer  # type: ignore[attr-defined]  # reason: the benchmark swaps twins


def table_of(records: int) -> pa.Table:
    return pa.table({"value": [VALUE] * records, "timestamp": list(range(records))})


def best_seconds(action: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def arrow_rows(twin: Twin) -> list[Row]:
    use(twin)
    table = table_of(twin.records)
    rows = []
    for codec, batch_bytes in (
        (Codec.NONE, 16_384), (Codec.NONE, 131_072), (Codec.NONE, 1_048_576), (Codec.LZ4, 131_072), (Codec.ZSTD, 131_072)
    ):  # fmt: skip
        options = BatchOptions(codec=codec)
        label = f"{codec.name.lower()}, batches of {batch_bytes // 1024} KiB"

        def write(
            options: BatchOptions = options, batch_bytes: int = batch_bytes
        ) -> list[bytearray]:
            return arrow.from_arrow(table, options, batch_bytes_max=batch_bytes)

        log = b"".join(write())
        for what, action in (
            ("to_arrow", lambda log=log: arrow.to_arrow(log)),
            ("from_arrow", write),
        ):
            rate = twin.records / best_seconds(action) / 1e6
            rows.append(Row(f"{what} ({label})", twin.name, rate, "M records/s"))
    return rows


def record_rows(twin: Twin) -> list[Row]:
    """The record API, a Python object each."""
    use(twin)
    count = min(twin.records, 100_000)

    def build() -> bytearray:
        batch = BatchBuilder(BatchOptions(), 1 << 30)
        for timestamp in range(count):
            batch.append(timestamp, None, VALUE)
        return batch.build()

    [(header, view)] = iterate_batches(build())

    def iterate() -> None:
        for _ in record.iterate_records(header, view):
            pass

    return [
        Row("BatchBuilder.append", twin.name, count / best_seconds(build) / 1e6, "M records/s"),
        Row("iterate_records", twin.name, count / best_seconds(iterate) / 1e6, "M records/s"),
    ]


def header_row(batch_bytes: int) -> Row:
    log = b"".join(arrow.from_arrow(table_of(100_000), batch_bytes_max=batch_bytes))

    def validate() -> int:
        count = 0
        for header, view in iterate_batches(log):
            validate_batch(header, view)
            count += 1
        return count

    rate = validate() / best_seconds(validate) / 1e6
    return Row(f"read and validate header ({batch_bytes // 1024} KiB)", "-", rate, "M batches/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    as_json = parser.parse_args().json
    available = twins()
    rows = [row for twin in available for row in arrow_rows(twin) + record_rows(twin)]
    use(available[0])
    rows += [header_row(1_024), header_row(16_384), header_row(1_048_576)]
    if as_json:
        print(json.dumps([row._asdict() for row in rows]))
        return
    for row in rows:
        print(f"{row.what:45} {row.twin:12} {row.rate:8.3f} {row.unit}")


if __name__ == "__main__":
    main()
