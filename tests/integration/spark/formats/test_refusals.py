"""What a user reads when offsets of a query are no longer to be had: one sentence, and how to go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from millstream.clients.blocking import Admin
from millstream.model import TopicPartition
from tests.integration.spark.formats.late_workers import started

pytestmark = pytest.mark.spark


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_that_loses_records_ends_with_the_sentence_and_goes_on_with_a_policy(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % n} for n in range(6)])
    with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 4}).raise_errors()

    def run(**options: str) -> Any:
        rows = (
            spark.readStream.format("millstream")
            .options(**{"bootstrap.servers": topics.bootstrap_servers}, subscribe=topic)
            .options(startingOffsets=f'{{"{topic}": {{"0": 2}}}}', **options)
            .load()
        )
        query = (
            rows.writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)
        return query

    with pytest.raises(
        StreamingQueryException,
        match=rf"offsets 2 to 4 of {topic}-0 are not in the log, which holds 4 to 6",
    ):
        started(run)
    query = started(lambda: run(failOnDataLoss="skip"))
    assert [p.numInputRows for p in query.recentProgress if p.numInputRows] == [2]
