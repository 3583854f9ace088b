"""Commits the end of the last micro-batch of a query that has ended.

A planner hears that a micro-batch is in the checkpoint when Spark plans the next one; of a query that is stopped Spark
ends its planner without a word. So a listener in the driver's program commits what is left, once Spark says that the
query has ended and the planner is gone: one of them commits at a time. It only moves offsets forward, and failing is
only logged. The same listener tells `EndedQueries` which queries are idle.

The settings of the clients, secrets among them, come from the plan of the query, in memory: they
are in no progress and no file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from millstream.clients import OffsetAndMetadata
from millstream.clients.blocking import Admin
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.query_metrics.progress import completed_document, source_report
from millstream.spark.source.ended_queries import EndedQueries
from millstream.spark.source.offset_commits import marked
from millstream.spark.source.options import OffsetCommitMode, SourceOptions, parse_source_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGER = logging.getLogger(__name__)
_ATTACHED: Final[WeakSet[Any]] = WeakSet()  # sessions
_COMMIT_MAX_MS: Final = 10_000
"""Spark's thread for listeners, and the stop of a session, wait so long for a cluster that does not answer."""
_BY_CHECKPOINT: Final = {OffsetCommitMode.ON_CHECKPOINTS, OffsetCommitMode.PERIODIC}


def attach_last_commits(session: SparkSession, format_name: str) -> None:
    """Has the queries of a session commit their last micro-batch.

    Once a session; not through Spark Connect, whose queries run elsewhere.
    """
    if session in _ATTACHED or getattr(session, "_jsparkSession", None) is None:
        return
    session.streams.addListener(LastCommits(session, format_name))
    _ATTACHED.add(session)


@dataclass(frozen=True, slots=True)
class _Query:
    """A query that commits, as the driver's JVM has it, also when it has ended."""

    in_java: Any = field(repr=False)  # py4j objects have no types
    sources: tuple[SourceOptions, ...]

    def last_progress(self) -> dict[str, Any] | None:  # JSON of StreamingQueryProgress
        found = self.in_java.lastProgress()
        return None if found is None else json.loads(found.json())


class LastCommits(StreamingQueryListener):
    def __init__(self, session: SparkSession, format_name: str) -> None:
        self._session = session
        self._format_name = format_name
        self._queries: dict[str, _Query] = {}
        """By their runs."""
        self.ended = EndedQueries()

    @property
    def _jlistener(self) -> Any:  # py4j objects have no types
        if not hasattr(self, "_jlistenerobj"):
            jvm: Any = self._session.sparkContext._jvm  # py4j objects have no types
            self._jlistenerobj = jvm.PythonStreamingQueryListenerWrapper(_Ends(self))
        return self._jlistenerobj

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        query = self._session.streams.get(str(event.id))
        if query is None:
            return
        try:
            sources = tuple(_sources(query._jsq, self._format_name))
        except (
            Py4JError,
            MillstreamError,
        ) as error:  # plans of another version of Spark, functions that this program lacks
            _LOGGER.warning(
                "the last micro-batch of a query will not be committed when it ends: %s", error
            )
            return
        self.ended.add(str(event.runId), query._jsq, sources)
        committing = tuple(each for each in sources if _commits_its_end(each))
        if committing:
            self._queries[str(event.runId)] = _Query(query._jsq, committing)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        self.ended.stop_if_ended(str(event.runId))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        self.ended.forget(str(event.runId))
        query = self._queries.pop(str(event.runId), None)
        progress = None if query is None else query.last_progress()
        if query is None or progress is None:
            return
        for options, completed in last_offsets(progress, query.sources):
            commit_forward(options, completed)


class _Ends(JStreamingQueryListener):
    """Leaves out progress: to turn it into Python objects costs the driver milliseconds for each micro-batch."""

    def onQueryProgress(self, jevent: object) -> None:  # noqa: N802 - Spark's name
        pass


def _sources(query: Any, format_name: str) -> Iterator[SourceOptions]:  # Any: of py4j
    """The options of the sources of a query that are ours."""
    leaves = query.streamingQuery().analyzedPlan().collectLeaves()
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if "StreamingRelationV2" in leaf.getClass().getName() and leaf.sourceName() == format_name:
            yield parse_source_options(dict(leaf.extraOptions().asCaseSensitiveMap()))


def _commits_its_end(options: SourceOptions) -> bool:
    """Not with opaque replay: the end of a micro-batch, which is all that progress has, may
    not be where partitions are.
    """
    return options.offset_commit_mode in _BY_CHECKPOINT and not options.is_opaque


def last_offsets(
    progress: Mapping[str, Any],  # JSON of StreamingQueryProgress
    committing: Iterable[SourceOptions],
) -> Iterator[tuple[SourceOptions, Mapping[TopicPartition, OffsetAndMetadata]]]:
    """Yields what each source that commits has completed."""
    options_of = {options.group_id: options for options in committing}
    query = {"queryId": progress["id"], "runId": progress["runId"], "batchId": progress["batchId"]}
    for source in progress["sources"]:
        report = source_report(source)
        if report is not None and report.commits is not None:
            options = options_of.get(report.commits.group_id)
            document = completed_document(progress, source)
            ids, epochs = plan.topic_ids_in(document), plan.leader_epochs_in(document)
            completed = marked(plan.from_json(document), ids, epochs, **query)
            if options is not None and completed:
                yield options, completed


def commit_forward(
    options: SourceOptions, completed: Mapping[TopicPartition, OffsetAndMetadata]
) -> None:
    """Commits what is further than what the group has. Failing is logged: nothing depends on it."""
    assert options.group_id is not None, "commits need a group"
    try:
        with Admin(**options.kafka.of_client(), default_api_timeout_ms=_COMMIT_MAX_MS) as admin:
            found = admin.list_consumer_group_offsets({options.group_id: list(completed)})
            # Another start of the query may commit between the two requests: its offsets go back then until its next
            # commit. Nobody reads them but who looks at the lag, and new queries that begin at committed offsets.
            forward = moved_forward(completed, found.result(options.group_id))
            if forward:
                admin.alter_consumer_group_offsets(options.group_id, forward).raise_errors()
    except MillstreamError as error:
        _LOGGER.warning(
            "the last micro-batch of a query was not committed in group %s: %s",
            options.group_id,
            error,
        )


def moved_forward(
    completed: Mapping[TopicPartition, OffsetAndMetadata],
    committed: Mapping[TopicPartition, object],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets that are further than what is committed.

    Another start of the query may have come further meanwhile.
    """
    return {
        tp: each
        for tp, each in completed.items()
        if not isinstance(at := committed.get(tp), OffsetAndMetadata) or at.offset < each.offset
    }
