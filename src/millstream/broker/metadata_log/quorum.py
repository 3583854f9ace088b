"""Opens what this node keeps of the metadata quorum: log, election state and newest snapshot, and who votes by them.

The quorum is static (kraft.version 0) where `controller.quorum.voters` names the voters and
the log does not, as in Kafka.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.kraft_settings import KRaftSettings
from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.driver import MetadataDriver, MetadataListener
from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.metadata_log.quorum_peers import QuorumPeers
from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.snapshots import (
    MetadataSnapshots,
    SnapshotFiles,
    SnapshotSettings,
    image_of,
)
from millstream.broker.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    damage_of,
    decoded_records,
    read_bootstrap,
)
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.hosted_partitions import tell_repairs
from millstream.errors import ConfigError, KafkaStorageError
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.directory.log_environment import LogEnvironment
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import METADATA_VERSION_4_3, default_levels, feature_records
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, Offset
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.replica import RaftReplica
from millstream.raft.snapshot import SNAPSHOT_DAMAGE
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from millstream.runtime import Clock

_LOGGER = logging.getLogger(__name__)
_KEEP_FOR_EVER: Final = -1


class MetadataQuorum:
    """The opened metadata quorum.

    `image` is that of the newest snapshot; the driver replays the rest of the log on top of it.
    """

    def __init__(
        self,
        config: BrokerConfig,
        directory: LogDirectory,
        environment: LogEnvironment,
        *,
        pool: DiskPool,
        clock: Clock,
        endpoints: Sequence[Listener] = (),
    ) -> None:
        """`endpoints`: where this node listens to other replicas; nowhere, in a quorum of one that nobody follows.

        Raises ConfigError for the directory of a larger quorum, KafkaStorageError and
        DamagedFile when it cannot be read.
        """
        self._config = config
        self._settings = config.read(KRaftSettings)
        self._environment = environment
        self._directory = directory.path
        self._bootstrap_values: Sequence[bytes] = ()
        """Records in the snapshot that stands before the log, where Kafka 4.4 has them (KIP-1170)."""
        self._pool = pool
        self._clock = clock
        self._log = MetadataLog.open(
            directory, environment.file_system, _log_config(config), clock.now()
        )
        tell_repairs(self._log.log)
        self._endpoints = tuple(
            VoterEndpoint(each.name, each.host, each.port) for each in endpoints
        )
        self._local = ReplicaKey(BrokerId(config.node_id), directory.meta.directory_id)
        self._files = SnapshotFiles(self._log.log.directory, environment.file_system)
        self._history = self._initial_history()
        self.image = self._restored(directory.meta.cluster_id)
        self.kraft_version: Final = self._history.kraft_version
        """At the start: UpdateFeatures may raise it while the node runs."""

    @property
    def voters(self) -> VoterSet:
        """Voters at the start, as the log, a snapshot or the configuration names them."""
        return self._history.voters

    def driver(
        self, listener: MetadataListener, peers: QuorumPeers | None = None
    ) -> MetadataDriver:
        """`peers`: those to speak to; None where there is nobody."""
        replica = RaftReplica(
            RaftIdentity(
                self._local,
                self._endpoints,
                self._bootstrap_servers(),
                self._settings.controller_quorum_auto_join_enable,
            ),
            self._history,
            self._config.read(RaftTimeouts),
            self._environment.random,
            self._log,
            stored=self._log.read_election_state(),
            now=self._clock.now(),
        )
        return MetadataDriver(
            replica,
            self._log,
            listener,
            self._pool,
            self._clock,
            installer=self._files,
            peers=peers,
        )

    def requests(self, driver: MetadataDriver) -> QuorumRequests:
        """Returns what answers other replicas for the driver."""
        return QuorumRequests(
            driver, self._log, self._files, self._pool, lambda: self._clock.now().monotonic_ms
        )

    def snapshots(self, voters: Callable[[Offset], VoterSet | None]) -> MetadataSnapshots:
        """`voters` is asked for those that the log names below the end of each snapshot."""
        settings = self._config.read(SnapshotSettings)
        return MetadataSnapshots(
            self._files, self._log, voters, settings, pool=self._pool, clock=self._clock
        )

    def _initial_history(self) -> VoterHistory:
        """Returns the voters that the configuration names (kraft.version 0), or none: those that the directory was
        formatted with come then.

        A controller that is told of nobody begins a quorum of itself.
        """
        configured, stored = self._configured_voters(), self._log.static_voter_ids()
        if stored and stored != (configured.ids or {self._local.id}):
            raise ConfigError(
                f"{self._log.log.directory} belongs to a metadata quorum whose voters are {_named(stored)}, and "
                f"controller.quorum.voters names {_named(configured.ids) or 'nobody'}: name those voters there"
            )
        is_static = bool(configured.ids or stored)
        if not self._config.is_controller or self._settings.other_nodes(socket.gethostname()):
            return VoterHistory(configured)
        own = VoterSet([Voter(self._local, self._endpoints)])
        return VoterHistory(own) if is_static else VoterHistory.bootstrapped(own)

    def _configured_voters(self) -> VoterSet:
        listener = self._config.controller_listener_names[0].upper()
        return VoterSet(
            Voter(ReplicaKey(BrokerId(each.id)), (VoterEndpoint(listener, each.host, each.port),))
            for each in self._settings.voters()
        )

    def _bootstrap_servers(self) -> tuple[VoterEndpoint, ...]:
        listener = self._config.controller_listener_names[0].upper()
        return tuple(
            VoterEndpoint(listener, each.host, each.port)
            for each in self._settings.bootstrap_servers()
        )

    def read_bootstrap(self) -> Sequence[MetadataRecord]:
        """Returns the records with which the metadata of a new cluster begins: those that the
        directory was formatted with.

        They are in bootstrap.checkpoint, or in the snapshot that stands before the log. Raises KafkaStorageError.
        """
        formatted = read_bootstrap(self._environment.file_system, self._directory)
        if formatted is None and self._bootstrap_values:
            with damage_of(self._files.path(BOOTSTRAP_SNAPSHOT)):
                formatted = decoded_records(self._bootstrap_values)
        if formatted is None:
            return feature_records(default_levels(METADATA_VERSION_4_3))
        _LOGGER.info(
            "the metadata log is empty: it begins with what %s was formatted with", self._directory
        )
        return formatted

    def _restored(self, cluster_id: str) -> MetadataImage:
        """Returns the image of the newest snapshot, and notes the voters that snapshot and log name."""
        self._files.remove_unfinished()
        ids = self._files.ids()
        if not ids:
            self._check_begins_at_0()
            self._note_voters()
            return MetadataImage(cluster_id=cluster_id)
        for snapshot_id in ids:
            self._log.add_snapshot(snapshot_id, self._files.size_bytes(snapshot_id))
        snapshot = self._files.read(ids[-1])
        if snapshot.voters is not None:
            self._history.start_at(snapshot.id.end_offset, snapshot.voters)
        if self._history.voters.ids - {self._local.id}:  # others may have sent the snapshot
            self._log.start_over_at(snapshot.id.end_offset, self._clock.now())
        self._log.begin_at_a_snapshot()
        self._log.start_at(snapshot.id.end_offset)
        self._note_voters()
        _LOGGER.info("read snapshot %s", snapshot.id.file_name)
        if snapshot.id == BOOTSTRAP_SNAPSHOT:
            self._bootstrap_values = snapshot.values
            return MetadataImage(cluster_id=cluster_id)
        return image_of(snapshot, cluster_id)

    def _check_begins_at_0(self) -> None:
        """Raises KafkaStorageError for a log whose beginning is gone, and the snapshot of it too."""
        log = self._log.log
        if log.log_start_offset > 0:
            raise KafkaStorageError(
                f"{log.directory} begins at offset {log.log_start_offset}, and the snapshot of what was before is not there: "
                "restore both from the same copy, or give an empty directory"
            )

    def _note_voters(self) -> None:
        """Raises KafkaStorageError for a log that cannot be read, ConfigError for voters
        with whom this node cannot vote.
        """
        directory = self._log.log.directory
        start, end = self._log.high_watermark(), self._log.position().end_offset
        try:
            self._history.note(self._log.control_records(start, end))
        except SNAPSHOT_DAMAGE as error:
            raise KafkaStorageError(
                f"{directory} is damaged ({error}): restore it from a copy"
            ) from error
        voters = self._history.voters
        if self._config.is_controller and not self._endpoints and voters.ids - {self._local.id}:
            raise ConfigError(
                f"{directory} belongs to a metadata quorum whose voters are {_named(voters.ids)}; this is node {self._local.id}, which has no "
                "listener for them: add one of controller.listener.names to listeners, or give an empty directory with --data"
            )
        if voters.ids == {self._local.id} and not voters.has(self._local):
            raise ConfigError(
                f"{directory} belongs to a metadata quorum whose only voter is node {self._local.id} with another directory.id, so nobody "
                "can lead: start the directory that votes, or give an empty one with --data"
            )


def _named(ids: Iterable[BrokerId]) -> str:
    return ", ".join(f"node {voter_id}" for voter_id in sorted(ids))


def _log_config(config: BrokerConfig) -> LogConfig:
    """Only snapshots make parts of this log superfluous; time and size alone do not."""
    return LogConfig(
        segment_bytes=config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        retention_ms=_KEEP_FOR_EVER,
    )
