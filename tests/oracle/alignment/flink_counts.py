"""Counts windows in Flink's SQL: for an interpreter that has apache-flink, which reads this file alone.

    python flink_counts.py JOBS.json

JOBS.json is a list of `{"directories", "size_ms", "advance_ms", "grace_ms", "parallelism"}`; each directory holds one partition as lines of key and
milliseconds, and is a table with a watermark of its own. Prints one JSON list a job, of `[key, start of the window, count]`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment


def counts(job: dict) -> list[list]:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", str(job["parallelism"]))
    environment.get_config().set("table.local-time-zone", "UTC")
    names = [f"p{number}" for number in range(len(job["directories"]))]
    for name, directory in zip(names, job["directories"], strict=True):
        environment.execute_sql(
            f"CREATE TABLE {name} (k STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
            f"WATERMARK FOR ts AS ts - INTERVAL '{seconds(job['grace_ms'])}' SECOND) "
            f"WITH ('connector' = 'filesystem', 'path' = '{directory}', 'format' = 'csv')"
        )
    union = " UNION ALL ".join(f"SELECT k, ts FROM {name}" for name in names)
    environment.execute_sql(f"CREATE TEMPORARY VIEW orders AS {union}")
    size = f"INTERVAL '{seconds(job['size_ms'])}' SECOND"
    advance = f"INTERVAL '{seconds(job['advance_ms'])}' SECOND"
    table = environment.execute_sql(
        "SELECT k, CAST(EXTRACT(EPOCH FROM window_start) AS BIGINT) * 1000 + EXTRACT(MILLISECOND FROM window_start), COUNT(*) "
        f"FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), {advance}, {size})) GROUP BY k, window_start, window_end"
    )
    with table.collect() as rows:
        return [list(row) for row in rows]


def seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def main() -> None:
    for job in json.loads(Path(sys.argv[1]).read_text()):
        sys.stdout.write(json.dumps(counts(job)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
