"""Asks a cluster for what a reassignment needs: replicas and moves as they are, moves begun and called off,
throttles set and taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, final

from millstream.cli.cluster.reassignment.files import ReassignmentTarget, Replicas
from millstream.cli.cluster.reassignment.throttles import (
    BROKER_RATES,
    TOPIC_LISTS,
    Settings,
    broker_throttles,
    topic_throttles,
)
from millstream.cli.near_names import with_near_topics
from millstream.clients.admin import (
    AlterConfig,
    AlterOperation,
    ConfigResource,
    ConfigResourceType,
    TopicPartitionReplica,
)
from millstream.clients.admin.cluster.nodes import is_cordoned
from millstream.errors import (
    ConfigError,
    InvalidReplicationFactor,
    KafkaError,
    LogDirNotFound,
    NetworkException,
    ReassignmentInProgress,
    ReplicaNotAvailable,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from millstream.model import TopicPartition
from millstream.quoting import counted, some_of

if TYPE_CHECKING:
    from millstream.clients.admin import PartitionReassignment, ReplicaLogDirs
    from millstream.clients.blocking import Admin

_AGAIN_MS: Final = 500
"""A look is a few requests, and replicas take seconds to move."""
_ANSWER_MS: Final = 5_000
"""A broker that died just now is not fenced yet, and does not answer."""


@final
class Moves:
    """A context manager: it closes the client."""

    def __init__(
        self, admin: Admin, pause: Callable[[float], object] = lambda s: Event().wait(s)
    ) -> None:
        """`pause`: waits so many seconds."""
        self._admin = admin
        self._pause = pause

    def __enter__(self) -> Self:
        self._admin.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._admin.__exit__(kind, error, trace)

    def replicas(
        self, topics: Iterable[str] | None, *, or_none: bool = False
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """Returns the replicas of all partitions of these topics, or of all.

        Raises the error of a topic; `or_none` leaves unknown ones out.
        """
        names = self._admin.list_topics(include_internal=True) if topics is None else topics
        described = self._admin.describe_topics(dict.fromkeys(names))
        if not or_none:
            with_near_topics(self._admin, described)
        found: dict[TopicPartition, tuple[int, ...]] = {}
        for topic in described.values():
            if isinstance(topic, UnknownTopicOrPartition) and or_none:
                continue
            if isinstance(topic, KafkaError):
                raise topic
            found.update(
                (TopicPartition(topic.name, each.partition), each.replicas)
                for each in topic.partitions
            )
        return found

    def racks(self, brokers: Sequence[int] | None) -> dict[int, str | None]:
        """Returns these brokers with their racks; without any, all that are up and take new replicas.

        Raises ConfigError for unknown ones.
        """
        cluster = self._admin.describe_cluster(include_fenced_brokers=True)
        known = {node.node_id: node.rack for node in cluster.nodes}
        if brokers is not None:
            _check_known(brokers, known, "--broker-list")
            return {broker: known[broker] for broker in brokers}
        up = [broker for broker in known if broker not in cluster.fenced_broker_ids]
        found = self._admin.describe_log_dirs(up, [], timeout_ms=_ANSWER_MS)
        return {
            broker: known[broker]
            for broker, directories in found.items()
            if isinstance(directories, KafkaError) or not is_cordoned(directories.values())
        }

    def ongoing(self) -> dict[TopicPartition, PartitionReassignment]:
        return self._admin.list_partition_reassignments()

    def check(self, target: ReassignmentTarget, file: str, *, additional: bool) -> Replicas:
        """Returns the replicas until now. Raises what stands in the way, before anything is changed."""
        cluster = self._admin.describe_cluster(include_fenced_brokers=True)
        wanted = {broker for replicas in target.replicas.values() for broker in replicas}
        _check_known(sorted(wanted), {node.node_id: node.rack for node in cluster.nodes}, file)
        current = self.replicas(target.topics)
        unknown = [str(key) for key in target.replicas if key not in current]
        if unknown:
            raise UnknownTopicOrPartition(f"{file}: there is no partition {some_of(unknown)}")
        ongoing = self.ongoing()
        if ongoing and not additional:
            raise ReassignmentInProgress(
                f"{counted(len(ongoing), 'partition')} on the way already: wait for them (`millstream cluster reassign list`), or give "
                "--additional"
            )
        return {key: current[key] for key in target.replicas}

    def planned(
        self, target: ReassignmentTarget, before: Replicas, *, keeps_factor: bool
    ) -> tuple[set[TopicPartition], dict[TopicPartition, KafkaError]]:
        """Returns the partitions that `begin` would move, and the errors of those that it would refuse."""
        errors = self._factor_errors(target, before) if keeps_factor else {}
        moving = {key for key, replicas in target.replicas.items() if before[key] != replicas}
        current = self.directories(target)
        brokers = sorted({broker for _, broker in target.directories})
        found = self._admin.describe_log_dirs(brokers, [], timeout_ms=_ANSWER_MS) if brokers else {}
        for (key, broker), path in target.directories.items():
            there, now = found[broker], current[key, broker]
            if isinstance(there, KafkaError):
                errors.setdefault(key, there)
            elif path not in there:
                errors.setdefault(key, LogDirNotFound(f"{key}: broker {broker} has no data directory {path}"))  # fmt: skip
            elif isinstance(now, KafkaError) or now.current != path:
                moving.add(key)
        return moving - errors.keys(), errors

    def _factor_errors(
        self, target: ReassignmentTarget, before: Replicas
    ) -> dict[TopicPartition, KafkaError]:
        """Replicas that are on the way do not count, as for the controller."""
        errors: dict[TopicPartition, KafkaError] = {}
        ongoing = self.ongoing()
        for key, wanted in target.replicas.items():
            adding = ongoing[key].adding_replicas if key in ongoing else ()
            present = [broker for broker in before[key] if broker not in adding]
            if len(present) != len(wanted):
                errors[key] = InvalidReplicationFactor(f"{key}: The replication factor is changed from {len(present)} to {len(wanted)}")  # fmt: skip
        return errors

    def throttle(
        self,
        target: ReassignmentTarget,
        before: Replicas,
        rate: int | None,
        directory_rate: int | None,
    ) -> None:
        """Limits what the brokers concerned copy. Raises the first error."""
        every = (*before.values(), *target.replicas.values())
        brokers = {broker for replicas in every for broker in replicas}
        if rate is not None:
            topics = topic_throttles(before, target.replicas)
            self._set(
                {
                    ConfigResource(ConfigResourceType.TOPIC, name): given
                    for name, given in topics.items()
                }
            )
        of_brokers = broker_throttles(brokers, rate, directory_rate)
        self._set(
            {
                ConfigResource(ConfigResourceType.BROKER, str(broker)): given
                for broker, given in of_brokers.items()
            }
        )

    def take_throttles_away(self, topics: Iterable[str]) -> list[int]:
        """Takes the limits of all brokers and of these topics away.

        Returns the brokers that do not answer, which keep theirs.

        Raises the first other error; a topic that is gone has none.
        """
        cluster = self._admin.describe_cluster(include_fenced_brokers=True)
        resources: dict[ConfigResource, tuple[str, ...]] = {
            ConfigResource(ConfigResourceType.BROKER, str(node.node_id)): BROKER_RATES
            for node in cluster.nodes
            if node.node_id not in cluster.fenced_broker_ids
        }
        resources |= {
            ConfigResource(ConfigResourceType.TOPIC, name): TOPIC_LISTS for name in set(topics)
        }
        results = self._admin.incremental_alter_configs(
            {
                resource: [AlterConfig(key, None, AlterOperation.DELETE) for key in keys]
                for resource, keys in resources.items()
            }
        )
        silent: list[int] = []
        for resource, error in results.errors().items():
            if isinstance(error, UnknownTopicOrPartition):
                continue
            is_away = isinstance(error, NetworkException | RequestTimedOut)
            if resource.type is not ConfigResourceType.BROKER or not is_away:
                raise error
            silent.append(int(resource.name))
        return sorted(silent)

    def _set(self, settings: Mapping[ConfigResource, Settings]) -> None:
        if settings:
            self._admin.incremental_alter_configs(
                {
                    resource: [AlterConfig(key, value) for key, value in given.items()]
                    for resource, given in settings.items()
                }
            ).raise_errors()

    def begin(
        self, target: ReassignmentTarget, *, keeps_factor: bool, timeout_ms: int
    ) -> dict[TopicPartition, KafkaError]:
        """Begins all moves. Returns the errors of partitions that do not move."""
        results = self._admin.alter_partition_reassignments(
            target.replicas, allow_replication_factor_change=not keeps_factor
        )
        errors = results.errors()
        return errors | {
            key: error
            for key, error in self._begin_directories(target, timeout_ms).items()
            if key not in errors
        }

    def _begin_directories(
        self, target: ReassignmentTarget, timeout_ms: int
    ) -> dict[TopicPartition, KafkaError]:
        """Has replicas go to their directories; those that are not there yet are waited for."""
        left = {
            TopicPartitionReplica(key.topic, key.partition, broker): path
            for (key, broker), path in target.directories.items()
        }
        rounds_left = timeout_ms // _AGAIN_MS
        errors: dict[TopicPartitionReplica, KafkaError] = {}
        while left:
            found = self._admin.alter_replica_log_dirs(left).errors()
            early = {key for key, each in found.items() if isinstance(each, ReplicaNotAvailable)}
            errors |= {key: each for key, each in found.items() if key not in early}
            if rounds_left <= 0:
                errors |= {key: found[key] for key in early}
                break
            left = {key: left[key] for key in early}
            rounds_left -= 1
            if left:
                self._pause(_AGAIN_MS / 1000)
        return {key.topic_partition: error for key, error in errors.items()}

    def directories(
        self, target: ReassignmentTarget
    ) -> dict[tuple[TopicPartition, int], ReplicaLogDirs | KafkaError]:
        """Returns the directories of the replicas that shall be in certain ones."""
        if not target.directories:
            return {}
        wanted = [
            TopicPartitionReplica(key.topic, key.partition, broker)
            for key, broker in target.directories
        ]
        found = self._admin.describe_replica_log_dirs(wanted)
        return {(key.topic_partition, key.broker_id): each for key, each in found.items()}

    def call_off(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, KafkaError]:
        """Calls moves to other brokers off. Returns the errors."""
        wanted = dict.fromkeys(partitions)
        return self._admin.alter_partition_reassignments(wanted).errors() if wanted else {}

    def moving_directories(self, target: ReassignmentTarget) -> dict[TopicPartitionReplica, str]:
        """Returns the directories that replicas are still in which are on the way to those of the target."""
        return {
            TopicPartitionReplica(key.topic, key.partition, broker): found.current
            for (key, broker), found in self.directories(target).items()
            if not isinstance(found, KafkaError) and found.future and found.current
        }

    def call_off_directories(self, target: ReassignmentTarget) -> dict[TopicPartition, None]:
        """Has replicas stay in the directories that they are in. Returns those that were on the way."""
        moving = self.moving_directories(target)
        if moving:
            self._admin.alter_replica_log_dirs(moving).raise_errors()
        return {key.topic_partition: None for key in moving}


def _check_known(brokers: Iterable[int], known: Mapping[int, object], where: str) -> None:
    missing = [broker for broker in brokers if broker not in known]
    if missing:
        raise ConfigError(
            f"{where} names broker {missing[0]}, and the cluster has {', '.join(map(str, sorted(known)))}"
        )
