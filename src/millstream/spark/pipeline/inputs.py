"""DataFrames as inputs of a topology: a query writes each into a topic of the application, exactly once.

The topic is internal, as one that a sub-topology repartitions through: it is created with the application,
purged of what has been read, and deleted when the application is reset. The query's checkpoint is called
after the topic's id, so a reset ends it, too.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from millstream.clients.admin import Admin, OffsetSpec
from millstream.errors import ConfigError, MillstreamError
from millstream.model import TopicPartition, uuid_text
from millstream.quoting import some_of
from millstream.spark.data_source import register
from millstream.spark.kafka_settings import KafkaSettings
from millstream.spark.pipeline.hosted_application import EXECUTOR_PLACEHOLDER
from millstream.spark.pipeline.markers import await_ends
from millstream.spark.pipeline.micro_batches import ATTEMPTS_MAX, RETRY_FIRST_MS, PipelineFailed
from millstream.spark.pipeline.runner_options import RunnerOptions
from millstream.spark.sink.options import TRANSACTION_TIMEOUT_MS, parse_sink_options
from millstream.spark.sink.time_order import TIMESTAMP, in_time_order
from millstream.spark.told_errors import cause
from millstream.streams.topology.topology import fed_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_Trigger = dict[str, Any]  # the arguments of pyspark's trigger() are of several types
_LOOK_S: Final = 0.2
"""So soon a query is told to end once the application ends."""
READABLE_TIMEOUT_MS: Final = 2 * TRANSACTION_TIMEOUT_MS
"""A transaction that nobody ends is aborted by the brokers after its own time-out, and they look
for such ones now and then."""
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DataFrameInput:
    """A streaming DataFrame that a topology reads as if it were a topic.

    Columns are those of the sink: `value`, and if wanted `key`, `headers`, `timestamp` and `partition`.
    """

    rows: DataFrame
    partitions: int = 1
    """Those of the topic between: as many tasks read it. Topics that are joined need equal numbers."""
    checkpoint: str | None = None
    """The directory of the query's checkpoint, which must outlive the process. None: below the
    directory of the application."""
    processing_time: str | None = None
    """The interval of the query's micro-batches, as Spark writes it (`"1 second"`). None: one after another."""
    in_time_order: bool = True
    """Whether rows with a column `timestamp` are sorted by it, within a micro-batch and a
    partition of the topic between."""
    readable_timeout_ms: int = READABLE_TIMEOUT_MS
    """How long `run_available` waits until what was written to the topic between can be read to its end."""


def input_queries(
    inputs: Mapping[str, DataFrameInput],
    application_id: str,
    options: RunnerOptions,
    kafka: KafkaSettings,
) -> dict[str, InputQuery]:
    """Returns the query of each input. Raises ConfigError."""
    root = options.directory
    return {
        name: InputQuery(name, each, place_of(name, each, application_id, root), kafka)
        for name, each in inputs.items()
    }


def checked_inputs(inputs: Mapping[str, DataFrameInput]) -> dict[str, int]:
    """Returns the number of partitions of each input. Raises ConfigError for one that cannot be used."""
    for name, each in inputs.items():
        if not each.rows.isStreaming:
            raise ConfigError(
                f"input {name} is a batch: make it with readStream, or write it into a topic yourself"
            )
        if each.partitions < 1:
            raise ConfigError(f"input {name} needs at least 1 partition, got {each.partitions}")
        if each.readable_timeout_ms < 0:
            raise ConfigError(
                f"input {name}: readable_timeout_ms must not be negative, got {each.readable_timeout_ms}"
            )
        if "topic" in each.rows.columns:
            raise ConfigError(f"input {name} has a column topic: its rows go to one topic; drop it")
    return {name: each.partitions for name, each in inputs.items()}


@dataclass(frozen=True, slots=True)
class InputPlace:
    """The places that the query of an input writes to: a topic, and the directory that its checkpoints are in."""

    topic: str
    transactional_id_prefix: str
    checkpoint_root: str


def place_of(
    name: str, given: DataFrameInput, application_id: str, directory: str | None
) -> InputPlace:
    """Raises ConfigError where nothing says where a checkpoint may be kept."""
    root = given.checkpoint
    if root is None and directory is not None and EXECUTOR_PLACEHOLDER not in directory:
        root = f"{Path(directory).resolve()}/inputs/{application_id}/{name}"
    if root is None:
        raise ConfigError(
            f"input {name} needs a directory for its checkpoint, which must outlive the process: give RunnerOptions.directory "
            f"(without {EXECUTOR_PLACEHOLDER}), or DataFrameInput.checkpoint"
        )
    topic = f"{application_id}-{fed_topic(name)}"
    return InputPlace(topic, f"{application_id}-{name}-bridge", root)


class InputQuery:
    """The query that feeds one input. `run` is to be called in a thread of its own."""

    def __init__(
        self, name: str, given: DataFrameInput, place: InputPlace, kafka: KafkaSettings
    ) -> None:
        """Raises ConfigError for columns that cannot be written."""
        self._name = name
        self._given = given
        self._kafka = kafka
        self._place = place
        self._options = kafka.sink_options() | {
            "topic": place.topic,
            "deliveryGuarantee": "exactly-once",
            "transactionalIdPrefix": place.transactional_id_prefix,
        }
        parse_sink_options(self._options, given.rows.schema)
        self.query: StreamingQuery | None = None
        """The one that runs, or ran last."""

    def run(self, stopping: threading.Event) -> None:
        """Feeds the topic until the application stops.

        Raises PipelineFailed after six attempts that came no further.
        """
        trigger: _Trigger = {}
        if self._given.processing_time is not None:
            trigger = {"processingTime": self._given.processing_time}
        self._attempt(trigger, stopping)
        if not stopping.is_set():
            raise PipelineFailed(f"input {self._name} was stopped from outside the application")

    def run_available(self, stopping: threading.Event) -> None:
        """Feeds what there is now, and returns when it can be read. Raises PipelineFailed."""
        self._attempt({"availableNow": True}, stopping)
        asyncio.run(self._await_ends(stopping))

    def _attempt(self, trigger: _Trigger, stopping: threading.Event) -> None:
        attempts = 0
        while not stopping.is_set():
            self.query = None
            try:
                self.query = self._started(trigger)
                _wait_for(self.query, stopping)
            except ConfigError:
                raise
            except Exception as error:
                is_further = self.query is not None and self.query.lastProgress is not None
                attempts = 1 if is_further else attempts + 1
                said = str(error) if isinstance(error, MillstreamError) else cause(str(error))
                text = f"input {self._name} failed: {said}"
                if attempts >= ATTEMPTS_MAX:
                    raise PipelineFailed(text) from error
                pause_ms = RETRY_FIRST_MS << (attempts - 1)
                _LOGGER.warning("%s; again in %d ms", text, pause_ms)
                stopping.wait(pause_ms / 1000)
            else:
                return

    def _started(self, trigger: _Trigger) -> StreamingQuery:
        register(self._given.rows.sparkSession)
        _activate(self._given.rows.sparkSession)
        writer = (
            self._rows()
            .writeStream.format("millstream")
            .options(**self._options)
            .option("checkpointLocation", self._checkpoint())
            .queryName(self._place.transactional_id_prefix)
        )
        return (writer.trigger(**trigger) if trigger else writer).start()

    def _rows(self) -> DataFrame:
        rows = self._given.rows
        if not self._given.in_time_order or TIMESTAMP not in rows.columns:
            return rows
        return in_time_order(rows, self._options)

    def _checkpoint(self) -> str:
        """Raises ConfigError where the topic has records and the checkpoint is gone: they would be written again."""
        topic_id, has_records = asyncio.run(self._look())
        checkpoint = f"{self._place.checkpoint_root}/{topic_id}"
        if has_records and not _exists(self._given.rows.sparkSession, checkpoint):
            raise ConfigError(
                f"input {self._name} has records in {self._place.topic}, but its checkpoint {checkpoint} is not there: they would "
                "be written again. Bring it back, or reset the application"
            )
        return checkpoint

    async def _look(self) -> tuple[str, bool]:
        """The id of the topic, and whether anything was ever written to it."""
        topic = self._place.topic
        async with Admin(**self._kafka.of_client()) as admin:
            found = (await admin.describe_topics([topic])).result(topic)
            wanted = {
                TopicPartition(topic, number): OffsetSpec.LATEST
                for number in range(len(found.partitions))
            }
            ends = (await admin.list_offsets(wanted)).raise_errors()
            return uuid_text(found.topic_id), any(ends.result(tp).offset > 0 for tp in wanted)

    async def _await_ends(self, stopping: threading.Event) -> None:
        topic = self._place.topic
        async with Admin(**self._kafka.of_client()) as admin:
            found = (await admin.describe_topics([topic])).result(topic)
            partitions = [TopicPartition(topic, number) for number in range(len(found.partitions))]
            timeout_ms = self._given.readable_timeout_ms
            is_open = await await_ends(admin, partitions, stopping, timeout_ms)
        if is_open:
            raise PipelineFailed(
                f"input {self._name} cannot be read to its end: in {some_of([str(tp) for tp in is_open])} a transaction is still open after "
                f"{timeout_ms} ms (DataFrameInput.readable_timeout_ms). It is one of an attempt that died, and brokers abort it when its "
                f"own time is over: run again then, or abort it now: `millstream transactions list` shows it, its id begins with "
                f"{self._place.transactional_id_prefix}"
            )


def _wait_for(query: StreamingQuery, stopping: threading.Event) -> None:
    """Waits for the end of the query, and ends it when the application stops. Raises what it failed with."""
    while not query.awaitTermination(_LOOK_S):  # type: ignore[arg-type]  # PySpark says int and takes fractions
        if stopping.is_set():
            query.stop()


def _activate(session: SparkSession) -> None:
    """Spark looks for the format in the session that is active in the thread, and for the one of a
    new thread nowhere.
    """
    # PySpark has no method for it.
    jvm = session.sparkContext._jvm
    java_class: Any = type(session)._get_j_spark_session_class(jvm)  # py4j objects have no types
    java_class.setActiveSession(session._jsparkSession)


def _exists(session: SparkSession, path: str) -> bool:
    """Asks the file system that Spark itself writes checkpoints to."""
    jvm: Any = session.sparkContext._jvm  # py4j objects have no types
    java_session: Any = session._jsparkSession  # py4j objects have no types
    where = jvm.org.apache.hadoop.fs.Path(path)
    return bool(where.getFileSystem(java_session.sessionState().newHadoopConf()).exists(where))
