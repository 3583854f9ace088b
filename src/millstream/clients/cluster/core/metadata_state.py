"""Decides when to ask for metadata, for which topics, and what to do when no broker answers (KIP-899, KIP-1102)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.errors import RebootstrapRequired, UnknownTopicOrPartition
from millstream.net.client.core.outages import Backoff
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from millstream.runtime import Random

_LOGGER = logging.getLogger(__name__)
_RELIABLE_EPOCHS_VERSION = 9
"""Before it, brokers may tell leader epochs that are older than the leaders beside them (Kafka before 2.4)."""


@dataclass(frozen=True, slots=True)
class MetadataPolicy:
    max_age_ms: int
    backoff: Backoff
    rebootstrap: bool
    rebootstrap_trigger_ms: int
    allow_auto_create_topics: bool = True
    topic_idle_ms_max: int | None = 300_000
    """A topic that was not used for this long is no longer asked for (Kafka's
    metadata.max.idle.ms); None: it always is."""


class MetadataState:
    """The current metadata of the cluster and the need for a newer one.

    `version` rises with every change of the metadata, so that waiters can tell news from noise.
    """

    def __init__(self, policy: MetadataPolicy, random: Random) -> None:
        self._policy = policy
        self._random = random
        self._topics: dict[str, int] = {}  # name -> last use, monotonic ms
        self._answered: set[str] = set()
        self._missing: set[str] = set()
        self._all_topics = False
        self._requested = True
        self._last_success_ms = -1
        self._last_refusal_ms = -1
        self._next_attempt_ms = 0
        self._failures = 0
        self._failing_since_ms = -1
        self.cluster = ClusterMetadata()
        self.version = 0
        self.rebootstrap_needed = False

    def use_topics(self, topics: Iterable[str], now_ms: int) -> bool:
        """Remember that these topics matter; True when one is new and metadata must be fetched.

        As in Kafka, that is done at once: the time between refreshes is for asking the same again.
        """
        fresh = False
        for topic in topics:
            fresh = fresh or (topic not in self._topics)
            self._topics[topic] = now_ms
        if fresh and not self._all_topics:
            self.request_update()
            self._next_attempt_ms = now_ms
        return fresh

    def use_all_topics(self, wanted: bool) -> None:
        """A pattern subscription needs the names of all topics."""
        if wanted and not self._all_topics:
            self.request_update()
        self._all_topics = wanted

    def request_update(self) -> None:
        self._requested = True

    def due_ms(self, now_ms: int) -> int:
        """Returns the milliseconds until a refresh should start; 0 means now."""
        due = self._next_attempt_ms
        settled_ms = max(self._last_success_ms, self._last_refusal_ms)
        if not self._requested and settled_ms >= 0:
            due = max(due, settled_ms + self._policy.max_age_ms)
        return max(0, due - now_ms)

    def plan_request(self, now_ms: int) -> MetadataRequest:
        self._forget_idle_topics(now_ms)
        self._requested = False
        topics = None
        if not self._all_topics:
            topics = [MetadataRequestTopic(name=name) for name in sorted(self._topics)]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=self._may_create())

    def handle_response(self, response: MetadataResponse, now_ms: int, version: int) -> None:
        """Takes in a response. Its `version` counts, as old ones say less than their fields look like."""
        if response.error_code == RebootstrapRequired.code:
            self.handle_failure(now_ms)
            self.rebootstrap_needed = self._policy.rebootstrap
            return
        if not response.brokers:
            self.handle_failure(now_ms)
            return
        self.cluster = self.cluster.with_response(
            response,
            complete=self._all_topics,
            epochs_reliable=version >= _RELIABLE_EPOCHS_VERSION,
        )
        self.version += 1
        self._last_success_ms = now_ms
        self._failing_since_ms = -1
        if self._found_missing(response):
            self._requested = True
            self._next_attempt_ms = now_ms
        elif self._has_gaps():
            self._requested = True
            self._count_failure(now_ms)
        else:
            self._failures = 0
            self._next_attempt_ms = now_ms + self._policy.backoff.delay_ms(1, self._random)

    def handle_refusal(self, now_ms: int) -> None:
        """We were told no: asking again by ourselves would not change it, only when a caller wants metadata anew."""
        self._last_refusal_ms = now_ms
        self._count_failure(now_ms)

    def handle_failure(self, now_ms: int, *, nobody_reachable: bool = False) -> None:
        """Notes that no broker answered. `nobody_reachable`: there was not even a connection to any of them."""
        self._requested = True
        self._count_failure(now_ms)
        if self._failing_since_ms < 0:
            self._failing_since_ms = now_ms
        silent_ms = now_ms - self._failing_since_ms
        too_long = silent_ms >= self._policy.rebootstrap_trigger_ms
        if self._policy.rebootstrap and (nobody_reachable or too_long):
            self.rebootstrap_needed = True

    def rebootstrap(self) -> None:
        """The caller went back to the bootstrap servers; what we knew of brokers is void."""
        self.cluster = self.cluster.without_nodes()
        self.rebootstrap_needed = False
        self._failing_since_ms = -1
        self.request_update()

    def replace_cluster(self, cluster: ClusterMetadata) -> None:
        """Takes over metadata that a response other than Metadata's made newer."""
        if cluster is not self.cluster:
            self.cluster = cluster
            self.version += 1

    def _count_failure(self, now_ms: int) -> None:
        self._failures += 1
        self._next_attempt_ms = now_ms + self._policy.backoff.delay_ms(self._failures, self._random)

    def _may_create(self) -> bool:
        """Whether the broker may create topics that do not exist. Not before it said which these are: only then is it
        known, and can be logged, that a topic came to be because its name was asked for.
        """
        return (
            self._policy.allow_auto_create_topics
            and bool(self._missing)
            and self._topics.keys() <= self._answered
        )

    def _found_missing(self, response: MetadataResponse) -> bool:
        """Whether there are topics to create that were not known to be missing. Logs those that were created."""
        if not self._policy.allow_auto_create_topics:
            return False
        missing = set()
        for topic in response.topics:
            name = topic.name
            if name is None or name not in self._topics:
                continue
            self._answered.add(name)
            if topic.error_code == UnknownTopicOrPartition.code:
                missing.add(name)
            elif topic.error_code == 0 and name in self._missing:
                _LOGGER.warning(
                    "topic %r did not exist and was created, because this client asked for it, with the broker's"
                    " num.partitions (%d); check the name if that was not meant",
                    name,
                    len(topic.partitions),
                )
                self._missing.discard(name)
        new = missing - self._missing
        self._missing |= missing
        return bool(new)

    def _has_gaps(self) -> bool:
        """A topic that is being created or has no leader yet is asked for again soon."""
        known = self.cluster.topics
        for name in self._topics:
            topic = known.get(name)
            if topic is None or any(p.leader < 0 for p in topic.partitions.values()):
                return True
        return False

    def _forget_idle_topics(self, now_ms: int) -> None:
        idle_ms_max = self._policy.topic_idle_ms_max
        if idle_ms_max is None:
            return
        for name, used_ms in list(self._topics.items()):
            if now_ms - used_ms > idle_ms_max:
                del self._topics[name]
                self._answered.discard(name)
                self._missing.discard(name)
