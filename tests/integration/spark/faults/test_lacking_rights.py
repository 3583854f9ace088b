"""Sources, sinks and topologies on Spark with the rights of the guide's tables, and without each of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from millstream.clients import RangeReader
from millstream.clients.admin import Operation
from millstream.spark import RunnerOptions, SparkStreams
from millstream.streams import StreamsConfig
from tests.compat.permissions.users import KafkaWithUsers, ours_with_users
from tests.integration.rights.cases import REFUSALS, Case
from tests.integration.streams.application.instances import counting
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.late_workers import started
from tests.support.rights import Right, rights

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

RECORDS = 3
PATIENCE_S = 250
SOURCE, GROUPED, EXACT = (
    "A source on Spark",
    "A source on Spark with a group",
    "An exactly-once sink on Spark",
)
READING: Final = {
    SOURCE: {},
    GROUPED: {"group.id": "billing", "startingOffsets": "committed:earliest"},
}
GUARANTEES: Final = {"A sink on Spark": "at-least-once", EXACT: "exactly-once"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaWithUsers]:
    with ours_with_users() as ours:
        yield ours


def case_of(
    kafka: KafkaWithUsers, allowed: tuple[Right, ...] | list[Right], *of_guide: str
) -> Case:
    """With topics that have some records."""

    async def made() -> Case:
        case = await Case.of(kafka, allowed)
        await case.create(*of_guide, records=RECORDS)
        return case

    return asyncio.run(made())


def options(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"kafka.{name.replace('_', '.')}": value for name, value in settings.items()}


def read(spark: Any, case: Case, kind: str, checkpoint: Path) -> None:
    """A query that reads the topic `orders` to its end."""
    reading = {
        key: case.name(value) if key == "group.id" else value
        for key, value in READING[kind].items()
    }
    rows = (
        spark.readStream.format("millstream")
        .options(**options(case.settings), **{"startingOffsets": "earliest", **reading})
        .option("subscribe", case.name("orders"))
        .load()
    )
    name = case.name("read").replace("-", "_")

    def run() -> None:
        query = (
            rows.writeStream.format("memory")
            .queryName(name)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(PATIENCE_S), "it goes on for ever"
        finally:
            query.stop()

    started(run)
    assert spark.table(name).count() == RECORDS


def write(spark: Any, case: Case, kind: str) -> None:
    exactly = {"transactionalIdPrefix": case.name("copy")} if kind == EXACT else {}
    (
        spark.range(RECORDS)
        .selectExpr("CAST(id AS string) AS value")
        .write.format("millstream")
        .options(**options(case.settings), **exactly, deliveryGuarantee=GUARANTEES[kind])
        .option("topic", case.name("totals"))
        .mode("append")
        .save()
    )


def written(case: Case, topic: str) -> int:
    """What a reader sees that waits for transactions."""

    async def count() -> int:
        async with RangeReader(
            **case.kafka.admin_settings, isolation_level="read_committed"
        ) as reader:
            ends = await reader.offsets(case.name(topic), -1)
            batches = reader.read(case.name(topic), 0, 0, ends[0])
            return sum([batch.num_rows async for batch in batches])

    return asyncio.run(count())


def is_refused(error: BaseException, right: Right, case: Case) -> bool:
    """Whether the sentence stands in what is raised, or in what Spark says of it."""
    told = f"{type(error).__name__}: {error}"
    name = REFUSALS[right.resource_type].__name__
    sentence = rf"{name}: .*{case.name(right.name)}.*Not authorized .*its user needs .*{right.operation.name}"
    return re.search(sentence, told) is not None


@pytest.mark.parametrize("kind", READING)
def test_a_source_with_these_rights(
    spark: Any, kafka: KafkaWithUsers, kind: str, tmp_path: Path
) -> None:
    read(spark, case_of(kafka, rights(kind), "orders"), kind, tmp_path)


@pytest.mark.parametrize("lacking", rights(GROUPED), ids=str)
def test_a_source_without_one_of_them(
    spark: Any, kafka: KafkaWithUsers, lacking: Right, tmp_path: Path
) -> None:
    case = case_of(kafka, [each for each in rights(GROUPED) if each != lacking], "orders")
    with pytest.raises(Exception) as refused:  # Spark has classes of its own
        read(spark, case, GROUPED, tmp_path)
    assert is_refused(refused.value, lacking, case), refused.value


@pytest.mark.parametrize("kind", GUARANTEES)
def test_a_sink_with_these_rights(spark: Any, kafka: KafkaWithUsers, kind: str) -> None:
    case = case_of(kafka, rights(kind), "totals")
    write(spark, case, kind)
    assert written(case, "totals") == 2 * RECORDS, "beside those that were there"


@pytest.mark.parametrize("lacking", rights(EXACT), ids=str)
def test_an_exactly_once_sink_without_one_of_them(
    spark: Any, kafka: KafkaWithUsers, lacking: Right
) -> None:
    case = case_of(kafka, [each for each in rights(EXACT) if each != lacking], "totals")
    with pytest.raises(Exception) as refused:  # Spark has classes of its own
        write(spark, case, EXACT)
    assert is_refused(refused.value, lacking, case), refused.value
    assert written(case, "totals") == RECORDS, "nothing of it is seen"


def application(spark: Any, case: Case, guarantee: str, directory: Path) -> SparkStreams:
    settings = dict(case.settings)
    return SparkStreams(
        counting(case.name("clicks"), case.name("counts")),
        StreamsConfig(application_id=case.name("counting"), processing_guarantee=guarantee),
        spark,
        RunnerOptions(
            bootstrap_servers=settings.pop("bootstrap_servers"),
            directory=str(directory),
            client_settings=settings,
        ),
    )


def count_words(spark: Any, case: Case, guarantee: str, directory: Path) -> None:
    with application(spark, case, guarantee, directory) as counting_application:
        counting_application.run_available()


@pytest.mark.parametrize(
    ("kind", "guarantee"),
    [("At least once", "at_least_once"), ("Exactly once", "exactly_once_v2")],
)
def test_a_topology_with_these_rights(
    spark: Any, kafka: KafkaWithUsers, kind: str, guarantee: str, tmp_path: Path
) -> None:
    case = case_of(kafka, rights(kind), "clicks")
    asyncio.run(case.create("counts"))
    count_words(spark, case, guarantee, tmp_path)
    assert written(case, "counts") == RECORDS


LACKING: Final = [
    each
    for each in rights("Exactly once")
    if each.name in {"clicks", "counting@"}
    or (each.is_prefix and each.operation is Operation.WRITE)
]
"""Those that a driver and a task host find out about; what else a task says is that of a stream thread."""


@pytest.mark.parametrize("lacking", LACKING, ids=str)
def test_a_topology_without_one_of_them(
    spark: Any, kafka: KafkaWithUsers, lacking: Right, tmp_path: Path
) -> None:
    case = case_of(kafka, [each for each in rights("Exactly once") if each != lacking], "clicks")
    asyncio.run(case.create("counts"))
    with pytest.raises(Exception) as refused:  # Spark has classes of its own
        count_words(spark, case, "exactly_once_v2", tmp_path)
    assert is_refused(refused.value, lacking, case), refused.value


def test_a_topology_ends_with_the_right_that_is_taken_away(
    spark: Any, kafka: KafkaWithUsers, tmp_path: Path
) -> None:
    (write,) = [each for each in rights("Exactly once") if each.name == "counts"]
    case = case_of(kafka, rights("Exactly once"), "clicks")
    asyncio.run(case.create("counts"))
    with application(spark, case, "exactly_once_v2", tmp_path) as running:
        running.start()
        wait_until(lambda: written(case, "counts") == RECORDS)
        asyncio.run(case.take_away(write))
        asyncio.run(case.put("clicks", b"more"))
        with pytest.raises(Exception) as refused:  # Spark has classes of its own
            running.await_termination(LONG_ENOUGH_S)
    assert is_refused(refused.value, write, case), refused.value
