"""Chooses the share requests that go to each broker, and interprets the answers (KIP-932).

One request per broker is in flight. Records are asked for only while the application waits for some, because a member
that fetches ahead holds locks that run out. Acknowledgements ride with the next fetch, or go before it when they are
committed. An acknowledgement of which the outcome is unknown has failed: the broker gives the records to another member
when their locks run out, or when it sees the connection go.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.consumer.core.fetched import partition_error
from millstream.clients.share.core.buffer import ShareBuffer
from millstream.clients.share.core.commit import CommitPart, OutcomeLog, ShareCommit
from millstream.clients.share.core.fetched import AcquiredRange, ShareFetched
from millstream.clients.share.core.node import ShareNode, left_out
from millstream.clients.share.core.planned_requests import (
    PlannedAcknowledge,
    PlannedShareFetch,
    PlannedShareRequest,
    answers,
    partitions_by_id,
)
from millstream.clients.share.core.requests import (
    FetchLimits,
    SharePolicy,
    fetch_request,
    has_renewals,
)
from millstream.clients.share.core.values import (
    Acknowledgements,
    NodeAcknowledgements,
    TopicIdPartition,
)
from millstream.errors import CorruptMessage, KafkaError, UnknownServerError, error_for
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.share_acknowledge import ShareAcknowledgeResponse
from millstream.protocol.generated.share_fetch import PartitionData, ShareFetchResponse
from millstream.runtime import Random


class ShareFetchPlanner:
    def __init__(
        self, policy: SharePolicy, buffer: ShareBuffer, backoff: Backoff, random: Random
    ) -> None:
        self._policy = policy
        self._buffer = buffer
        self._backoff = backoff
        self._random = random
        self._nodes: dict[int, ShareNode] = {}
        self._records_wanted = 0
        self._reader: int | None = None
        """With a limit of records: the one broker that is being asked for some."""
        self._reads = 0
        self._metadata_wanted = False
        self.outcomes = OutcomeLog()

    def take_metadata_wanted(self) -> bool:
        """Returns True once after something that newer metadata may cure."""
        wanted = self._metadata_wanted or any(n.metadata_wanted for n in self._nodes.values())
        self._metadata_wanted = False
        for node in self._nodes.values():
            node.metadata_wanted = False
        return wanted

    # ---- what the application does

    def fetch(self, acknowledgements: Iterable[NodeAcknowledgements], count: int) -> None:
        """Ask for about `count` records, until some come, and tell the brokers of those before on the way."""
        self._records_wanted = count
        for node_id, partition, said in acknowledgements:
            self._node(node_id).acknowledge_with_fetch(partition, said)

    def commit(
        self,
        acknowledgements: Iterable[NodeAcknowledgements],
        cluster: ClusterMetadata,
        deadline_ms: int,
    ) -> ShareCommit:
        """Tells the brokers now."""
        commit = ShareCommit()
        by_node: dict[int, dict[TopicIdPartition, Acknowledgements]] = {}
        for node_id, partition, said in acknowledgements:
            by_node.setdefault(node_id, {})[partition] = said
        for node_id, part in by_node.items():
            self._node(node_id).enqueue(CommitPart(commit, part, deadline_ms), cluster)
        return commit

    def close(
        self,
        acknowledgements: Iterable[NodeAcknowledgements],
        cluster: ClusterMetadata,
        deadline_ms: int,
    ) -> ShareCommit:
        """Tells every broker the last of it; each releases what is not acknowledged."""
        self.fetch(acknowledgements, 0)
        commit = ShareCommit()
        for node in self._nodes.values():
            node.enqueue(CommitPart(commit, {}, deadline_ms, closes_session=True), cluster)
        return commit

    # ---- what is to be sent

    def plan(
        self, assigned: Iterable[TopicIdPartition], cluster: ClusterMetadata, now_ms: int
    ) -> list[PlannedShareRequest]:
        """Returns a request for each broker that has none in flight and is to be told or asked something."""
        acknowledges = [
            node.plan_acknowledge(now_ms) for node in self._nodes.values() if node.is_free(now_ms)
        ]
        planned: list[PlannedShareRequest] = [each for each in acknowledges if each is not None]
        if self._records_wanted:
            planned += self._plan_fetches(assigned, cluster, now_ms)
        return planned

    def next_turn_ms(self, now_ms: int) -> int | None:
        """Returns the time for which `plan` has nothing new if nothing happens; None when that is for good."""
        turns = [at for node in self._nodes.values() for at in node.turns_ms() if at > now_ms]
        return min(turns) - now_ms if turns else None

    def _plan_fetches(
        self, assigned: Iterable[TopicIdPartition], cluster: ClusterMetadata, now_ms: int
    ) -> list[PlannedShareFetch]:
        wanted: dict[int, list[TopicIdPartition]] = {
            node_id: [] for node_id, node in self._nodes.items() if node.has_acknowledgements
        }
        for partition in assigned:
            leader = cluster.leader(partition.topic_partition)
            if leader is None:
                self._metadata_wanted = True
            else:
                wanted.setdefault(leader, []).append(partition)
        free = [node for node in map(self._node, wanted) if node.is_free(now_ms)]
        readers = self._choose_readers([node for node in free if wanted[node.node_id]])
        fetches = [
            self._plan_fetch(node, wanted[node.node_id], cluster, reads=node in readers)
            for node in free
        ]
        return [each for each in fetches if each is not None]

    def _choose_readers(self, able: list[ShareNode]) -> list[ShareNode]:
        """Returns the brokers that are asked for records.

        With a limit of records one broker at a time: each would keep to it by itself.
        """
        if not self._policy.is_record_limit:
            return able
        if self._reader is not None or not able:
            return []
        reader = min(able, key=lambda node: node.last_read)
        self._reads += 1
        self._reader, reader.last_read = reader.node_id, self._reads
        return [reader]

    def _plan_fetch(
        self,
        node: ShareNode,
        partitions: list[TopicIdPartition],
        cluster: ClusterMetadata,
        *,
        reads: bool,
    ) -> PlannedShareFetch | None:
        """None when there is nothing to ask for and nothing to say."""
        said = node.take_with_fetch(cluster)
        if not (partitions or said):
            return None
        epoch = node.session.epoch
        change = node.session.look_at(partitions)
        if not (reads or said or change.added or change.forgotten):
            return None
        limits = FetchLimits()
        policy = self._policy
        if reads and not has_renewals(said):
            limits = FetchLimits(
                policy.max_wait_ms, policy.min_bytes, policy.max_bytes, self._records_wanted
            )
        request = fetch_request(policy, epoch, change, said, limits)
        node.is_busy = True
        return PlannedShareFetch(
            node.node_id, request, said, partitions_by_id((*partitions, *said))
        )

    # ---- what comes back

    def handle_fetch(
        self, planned: PlannedShareFetch, response: ShareFetchResponse, now_ms: int
    ) -> None:
        node = self._answered(planned)
        if response.error_code:
            error = error_for(response.error_code, response.error_message)
            node.handle_refusal(error, now_ms)
            self._settle_all(planned.acknowledgements, error)
            if not error.retriable:
                self._buffer.fail(error)
            return
        node.session.handle_answer()
        failed = False
        lock_ms = response.acquisition_lock_timeout_ms or None
        waiting = dict(planned.acknowledgements)
        for partition, answer in answers(planned.partitions, response.responses):
            if partition in waiting:
                code, message = answer.acknowledge_error_code, answer.acknowledge_error_message
                refused = error_for(code, message) if code else None
                self.outcomes.settle(partition, waiting.pop(partition), refused, lock_ms)
            failed |= self._take(node.node_id, partition, answer, lock_ms)
        self._settle_all(waiting, left_out())
        node.settle_down(now_ms, failed=failed)

    def handle_acknowledge(
        self, planned: PlannedAcknowledge, response: ShareAcknowledgeResponse, now_ms: int
    ) -> None:
        self._nodes[planned.node_id].handle_acknowledge(planned, response, now_ms)

    def handle_failure(self, planned: PlannedShareRequest, error: KafkaError, now_ms: int) -> None:
        """The request could not be sent, or no answer came."""
        if isinstance(planned, PlannedShareFetch):
            self._answered(planned).handle_failure(now_ms)
            self._settle_all(planned.acknowledgements, error)
        else:
            node = self._nodes[planned.node_id]
            node.handle_failure(now_ms)
            node.finish(planned.part, error)

    def _answered(self, planned: PlannedShareFetch) -> ShareNode:
        if self._reader == planned.node_id:
            self._reader = None
        return self._nodes[planned.node_id]

    def _take(
        self, node_id: int, partition: TopicIdPartition, answer: PartitionData, lock_ms: int | None
    ) -> bool:
        """Into the buffer. True for an error that a later fetch may not meet."""
        if answer.error_code:
            error = partition_error(answer.error_code, partition.topic_partition)
            transient = error.retriable and not isinstance(error, CorruptMessage)
            if transient or isinstance(error, UnknownServerError):
                self._metadata_wanted = True
                return True
            self._buffer.fail(error)
        elif answer.acquired_records:
            self._records_wanted = 0
            acquired = [
                AcquiredRange(each.first_offset, each.last_offset, each.delivery_count)
                for each in answer.acquired_records
            ]
            records = answer.records or b""
            assert isinstance(records, bytes | memoryview), (
                "records of a decoded answer are a view of its frame"
            )
            fetched = ShareFetched(
                node_id,
                partition,
                memoryview(records),
                acquired,
                lock_timeout_ms=lock_ms,
                check_crcs=self._policy.check_crcs,
            )
            self._buffer.add(fetched)
        return False

    # ---- inside

    def _node(self, node_id: int) -> ShareNode:
        node = self._nodes.get(node_id)
        if node is None:
            node = ShareNode(node_id, self._policy, self.outcomes, self._backoff, self._random)
            self._nodes[node_id] = node
        return node

    def _settle_all(
        self, said: dict[TopicIdPartition, Acknowledgements], error: KafkaError
    ) -> None:
        for partition, acknowledgements in said.items():
            self.outcomes.settle(partition, acknowledgements, error)
