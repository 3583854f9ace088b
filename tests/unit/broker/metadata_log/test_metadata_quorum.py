"""The voters that a directory and the configuration name, and directories with which no quorum could ever work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

import pytest

from millstream.broker.config.broker_config import BrokerConfig, broker_config
from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.metadata_log.quorum import MetadataQuorum
from millstream.broker.metadata_log.snapshots import SnapshotFiles, snapshot_of
from millstream.broker.storage.bootstrap_checkpoint import BOOTSTRAP_SNAPSHOT, encode_bootstrap
from millstream.broker.storage.data_directory import open_data_directories
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import ConfigError, KafkaStorageError
from millstream.log.directory.log_environment import LogEnvironment
from millstream.metadata.features import default_levels, feature_records
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import ZERO_UUID, BrokerId, LeaderEpoch, Offset, Uuid
from millstream.protocol.record_frames import encode_metadata_record
from millstream.raft.election_state import ElectionState, encode_quorum_state
from millstream.raft.ready import AppendBatch
from millstream.raft.snapshot import Snapshot
from millstream.raft.voter_history import VoterHistory
from millstream.raft.voter_set import (
    KRAFT_VERSION_DYNAMIC,
    KRAFT_VERSION_STATIC,
    ControlRecord,
    ReplicaKey,
    Voter,
    VoterSet,
    leader_change_record,
    voters_record,
)
from millstream.runtime import Instant
from millstream.runtime.system import SystemClock, SystemRandom
from tests.support.simulated_disk import SimFileSystem

CONFIG = broker_config({"log.dirs": "data"})
NOW = Instant(1_700_000_000_000, 0)
STATIC = broker_config({"log.dirs": "data", "controller.quorum.voters": "1@h:1"})
THREE = broker_config(
    {"log.dirs": "data", "controller.quorum.voters": "1@127.0.0.1:1,2@h:2,3@h:3", "node.id": "1"}
)
REACHED_AT = Listener("CONTROLLER", "h", 1)
OTHER = ReplicaKey(BrokerId(2), Uuid(bytes(15) + b"\2"))


class Directory:
    """A formatted directory of node 1, to be written into before it is opened as a quorum."""

    def __init__(self) -> None:
        self.disk = SimFileSystem()
        self.environment = LogEnvironment(self.disk, SystemRandom())
        self.directories = open_data_directories(CONFIG, self.environment, None)
        self.own = ReplicaKey(BrokerId(1), self.directories.metadata.meta.directory_id)
        self.path = self.directories.metadata.path + "/__cluster_metadata-0"
        self.log = MetadataLog.open(
            self.directories.metadata, self.disk, LogConfig(), SystemClock().now()
        )

    def append(self, *records: ControlRecord) -> None:
        offset = self.log.position().end_offset
        self.log.append(AppendBatch(base_offset=offset, epoch=LeaderEpoch(1), control=records), NOW)

    def append_voters(self, *keys: ReplicaKey) -> None:
        self.append(voters_record(voter_set(keys)))

    def write_snapshot(self, keys: Iterable[ReplicaKey], end_offset: int = 1) -> None:
        image = MetadataImage(cluster_id="c", offset=Offset(end_offset - 1), epoch=LeaderEpoch(1))
        snapshot = snapshot_of(image, voter_set(keys), NOW.wall_ms)
        SnapshotFiles(self.path, self.disk).write(snapshot)

    def open(
        self, config: BrokerConfig = CONFIG, endpoints: Sequence[Listener] = (REACHED_AT,)
    ) -> MetadataQuorum:
        self.log.log.close(SystemClock().now())
        self.directories.abandon()
        directories = open_data_directories(CONFIG, self.environment, None)
        pool = DiskPool()
        try:
            return MetadataQuorum(
                config,
                directories.metadata,
                self.environment,
                pool=pool,
                clock=SystemClock(),
                endpoints=endpoints,
            )
        finally:
            pool.close()
            directories.abandon()


def voter_set(keys: Iterable[ReplicaKey]) -> VoterSet:
    return VoterSet(Voter(key) for key in keys)


def test_a_log_that_names_this_node_alone_is_opened() -> None:
    directory = Directory()
    directory.append_voters(directory.own)
    assert directory.open().image.offset == -1


def test_the_last_voters_of_a_log_count() -> None:
    directory = Directory()
    directory.append_voters(directory.own)
    directory.append_voters(directory.own, OTHER)
    assert directory.open().voters.ids == {1, 2}


def test_a_node_that_other_voters_cannot_reach_does_not_vote_with_them() -> None:
    """It would elect itself beside them."""
    directory = Directory()
    directory.append_voters(directory.own, OTHER)
    with pytest.raises(
        ConfigError, match="voters are node 1, node 2; this is node 1, which has no listener"
    ):
        directory.open(endpoints=())


def test_a_log_from_which_the_other_voters_were_removed_is_opened() -> None:
    directory = Directory()
    directory.append_voters(directory.own, OTHER)
    directory.append_voters(directory.own)
    assert directory.open().voters.ids == {1}


def test_the_voters_of_a_snapshot_count_where_the_log_names_none() -> None:
    directory = Directory()
    directory.append(leader_change_record(directory.own, voter_set([directory.own]), []))
    directory.write_snapshot([directory.own, OTHER])
    assert directory.open().voters.ids == {1, 2}


def test_the_log_after_a_snapshot_counts_before_it() -> None:
    directory = Directory()
    directory.append(leader_change_record(directory.own, voter_set([directory.own]), []))
    directory.append_voters(directory.own)
    directory.write_snapshot([directory.own, OTHER])
    assert directory.open().voters.ids == {1}


def test_a_quorum_of_another_directory_alone_is_refused() -> None:
    """Nobody could ever lead it."""
    directory = Directory()
    directory.append_voters(ReplicaKey(BrokerId(1), OTHER.directory_id))
    with pytest.raises(ConfigError, match=r"only voter is node 1 with another directory\.id"):
        directory.open()


@pytest.mark.parametrize(
    ("ids", "config", "refusal"),
    [
        ((1,), CONFIG, None),
        ((), CONFIG, None),
        ((1, 2, 3), THREE, None),
        ((1, 2, 3), CONFIG, "node 1, node 2, node 3, and controller.quorum.voters names nobody"),
        ((1, 2, 3), STATIC, "node 1, node 2, node 3, and controller.quorum.voters names node 1:"),
    ],
)
def test_the_voters_of_a_static_quorum_stay_those_that_have_voted(
    ids: tuple[int, ...], config: BrokerConfig, refusal: str | None
) -> None:
    """With fewer of them a second leader could be elected beside the first one's majority."""
    directory = Directory()
    directory.disk.write_atomically(
        f"{directory.path}/quorum-state",
        encode_quorum_state(
            ElectionState(LeaderEpoch(1)), KRAFT_VERSION_STATIC, [BrokerId(each) for each in ids]
        ),
    )
    if refusal is None:
        directory.open(config)
    else:
        with pytest.raises(ConfigError, match=re.escape(refusal)):
            directory.open(config)


def test_a_quorum_state_that_cannot_be_read_is_damaged() -> None:
    directory = Directory()
    directory.disk.write_atomically(
        f"{directory.path}/quorum-state",
        b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"currentVoters":[{}],"data_version":0}',
    )
    with pytest.raises(KafkaStorageError, match="the quorum-state file is damaged"):
        directory.open()


def test_a_log_whose_beginning_and_snapshot_are_gone_is_refused() -> None:
    directory = Directory()
    directory.append(leader_change_record(directory.own, voter_set([directory.own]), []))
    directory.append_voters(directory.own)
    directory.log.log.truncate_fully_and_start_at(7, NOW)
    with pytest.raises(KafkaStorageError, match="begins at offset 7, and the snapshot"):
        directory.open()


def test_the_zero_directory_stands_for_any() -> None:
    directory = Directory()
    directory.append_voters(ReplicaKey(BrokerId(1), ZERO_UUID))
    assert directory.open().image.offset == -1


@pytest.mark.parametrize(
    ("config", "names_voters", "expected"),
    [
        (CONFIG, False, KRAFT_VERSION_DYNAMIC),
        (STATIC, False, KRAFT_VERSION_STATIC),
        (CONFIG, True, KRAFT_VERSION_DYNAMIC),
        (STATIC, True, KRAFT_VERSION_DYNAMIC),
    ],
)
def test_a_quorum_is_static_where_configuration_names_its_voters_and_the_log_does_not(
    config: BrokerConfig, names_voters: bool, expected: int
) -> None:
    directory = Directory()
    if names_voters:
        directory.append_voters(directory.own)
    assert directory.open(config).kraft_version == expected


def test_a_static_quorum_stays_one_without_the_setting() -> None:
    """Kafka does not start then; the file that a static voter writes says who it is."""
    directory = Directory()
    voters = voter_set([directory.own])
    static = VoterHistory(voters).newest
    directory.log.persist(ElectionState(LeaderEpoch(1), BrokerId(1)), static)
    written = json.loads(directory.disk.read(f"{directory.path}/quorum-state"))
    assert (written["data_version"], written["currentVoters"]) == (0, [{"voterId": 1}])
    assert directory.open(CONFIG).kraft_version == KRAFT_VERSION_STATIC


JOINING = broker_config(
    {"log.dirs": "data", "controller.quorum.bootstrap.servers": "elsewhere:9093"}
)


def test_a_directory_that_joins_a_quorum_begins_none_of_its_own() -> None:
    """It was formatted with the id of a cluster and without voters: it looks for those who vote."""
    assert len(Directory().open(JOINING).voters) == 0


def test_a_directory_that_names_this_node_alone_is_opened_whatever_the_settings_name() -> None:
    directory = Directory()
    directory.append_voters(directory.own)
    assert directory.open(JOINING).image.offset == -1


FORMATTED = feature_records({"metadata.version": 30, "group.version": 1})


def test_a_directory_that_was_not_formatted_begins_with_the_features_of_the_release() -> None:
    assert Directory().open().read_bootstrap() == feature_records(default_levels(30))


def test_a_directory_begins_with_what_it_was_formatted_with() -> None:
    directory = Directory()
    directory.disk.write_atomically("data/bootstrap.checkpoint", encode_bootstrap(FORMATTED, 1))
    assert directory.open().read_bootstrap() == list(FORMATTED)


def test_first_records_may_stand_in_the_snapshot_before_the_log() -> None:
    """As Kafka 4.4 writes them (KIP-1170). They are to be written into the log, and are no metadata before that."""
    directory = Directory()
    values = tuple(encode_metadata_record(record, 0) for record in FORMATTED)
    snapshot = Snapshot(BOOTSTRAP_SNAPSHOT, 1, voter_set([directory.own]), values)
    SnapshotFiles(directory.path, directory.disk).write(snapshot)
    quorum = directory.open()
    assert (quorum.image.offset, dict(quorum.image.features)) == (-1, {})
    assert quorum.read_bootstrap() == list(FORMATTED)


def test_first_records_of_a_newer_kafka_are_refused_by_the_name_of_their_file() -> None:
    directory = Directory()
    snapshot = Snapshot(BOOTSTRAP_SNAPSHOT, 1, voter_set([directory.own]), (b"\1\x63\0",))
    SnapshotFiles(directory.path, directory.disk).write(snapshot)
    with pytest.raises(KafkaStorageError, match=f"^{directory.path}/{BOOTSTRAP_SNAPSHOT.file_name} is damaged, or of a newer version"):  # fmt: skip
        directory.open().read_bootstrap()
