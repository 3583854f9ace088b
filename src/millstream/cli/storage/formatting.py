"""Formats the directories of a node: what they get is planned first, from what they hold; a refusal changes nothing.

A directory is formatted once it has `meta.properties`, which is written last: a format that was cut off is done again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from millstream.broker.config.kraft_settings import EVERY_ADDRESS, KRaftSettings
from millstream.broker.metadata_log.snapshots import SnapshotFiles
from millstream.broker.storage.bootstrap_checkpoint import (
    BOOTSTRAP_FILE,
    BOOTSTRAP_SNAPSHOT,
    encode_bootstrap,
)
from millstream.broker.storage.data_directory import random_uuid
from millstream.cli.storage.errors import FormatError
from millstream.cli.storage.feature_levels import new_cluster_levels
from millstream.cli.storage.initial_controllers import initial_voters, voter_at
from millstream.cli.storage.scram_credentials import scram_record
from millstream.errors import ConfigError
from millstream.log.directory.formatting import format_directory, read_meta_properties
from millstream.log.directory.log_directory import METADATA_TOPIC
from millstream.log.directory.text_checkpoints import MetaProperties
from millstream.metadata.features import (
    METADATA_VERSION,
    METADATA_VERSIONS,
    Capability,
    feature_records,
)
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import (
    FeatureLevelRecord,
    UserScramCredentialRecord,
)
from millstream.raft.snapshot import Snapshot
from millstream.raft.voter_set import VoterSet
from millstream.runtime import Clock, FileSystem, Random

_CLUSTER_ID: Final = re.compile(r"[A-Za-z0-9._-]+")
BootstrapRecord = FeatureLevelRecord | UserScramCredentialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """The command line of `format`."""

    cluster_id: str
    release: str | None = None
    features: tuple[str, ...] = ()
    scram: tuple[str, ...] = ()
    standalone: bool = False
    initial_controllers: str | None = None
    no_initial_controllers: bool = False
    ignore_formatted: bool = False


@dataclass(frozen=True, slots=True)
class NewCluster:
    """The beginning of a cluster: levels of features, records of its metadata, and the
    first voters of a dynamic quorum.
    """

    levels: Mapping[str, int]
    records: Sequence[BootstrapRecord]
    voters: VoterSet | None


class _Kind(StrEnum):
    DATA = "data directory"
    METADATA = "metadata directory"
    DYNAMIC_METADATA = "dynamic metadata directory"
    DYNAMIC_VOTER = "dynamic metadata voter directory"


def new_cluster(options: FormatOptions, settings: KRaftSettings, random: Random) -> NewCluster:
    """Plans a cluster. Raises FormatError, and ConfigError for settings."""
    if not _CLUSTER_ID.fullmatch(options.cluster_id):
        raise FormatError(
            f"{options.cluster_id!r} is no cluster id: make one with `millstream storage random-uuid`"
        )
    voters = _first_voters(options, settings, random)
    levels = new_cluster_levels(
        options.release,
        options.features,
        dynamic=not settings.controller_quorum_voters,
        unstable=settings.takes_unstable_features,
    )
    if options.scram and levels[METADATA_VERSION] < Capability.SCRAM:
        raise FormatError(
            f"SCRAM is only supported in {METADATA_VERSION} {METADATA_VERSIONS[Capability.SCRAM]} or later."
        )
    scram = [scram_record(text, random) for text in options.scram]
    return NewCluster(levels, [*feature_records(levels), *scram], voters)


class Formatter:
    """Formats the directories of one node."""

    def __init__(
        self, settings: KRaftSettings, file_system: FileSystem, clock: Clock, random: Random
    ) -> None:
        self._settings = settings
        self._file_system = file_system
        self._clock = clock
        self._random = random

    def format(self, options: FormatOptions, cluster: NewCluster) -> Iterator[str]:
        """Formats the directories that are not formatted, and yields what it does, as Kafka
        tells it, before it does it.

        Raises FormatError before anything is written, DamagedFile, and OSError.
        """
        unformatted, unreadable = self._unformatted(options)
        for path, error in unreadable.items():
            yield f"I/O error trying to read log directory {path} ({error.strerror or error}). Ignoring..."
        if not unformatted:
            if len(unreadable) == len(self._settings.directories):
                raise FormatError("No available log directories to format.")
            yield "All of the log directories are already formatted."
            return
        level = cluster.levels[METADATA_VERSION]
        yield f"Bootstrap metadata: {_bootstrap_metadata(cluster.records, level)}"
        for path in unformatted:
            kind = self._kind(path, cluster.voters)
            yield f"Formatting {kind} {path} with {METADATA_VERSION} {METADATA_VERSIONS[level]}."
            self._write(path, kind, options.cluster_id, cluster)

    def _unformatted(self, options: FormatOptions) -> tuple[list[str], dict[str, OSError]]:
        """Returns the directories that have no meta.properties, and those that cannot be read."""
        formatted: dict[str, MetaProperties] = {}
        unformatted: list[str] = []
        unreadable: dict[str, OSError] = {}
        for path in self._settings.directories:
            try:
                meta = self._read(path)
            except OSError as error:
                unreadable[path] = error
                continue
            if meta is None:
                unformatted.append(path)
            else:
                formatted[path] = meta
        _check_formatted(formatted, options.cluster_id, self._settings.node_id)
        if formatted and not options.ignore_formatted:
            raise FormatError(
                f"Log directory {next(iter(formatted))} is already formatted. "
                "Use --ignore-formatted to ignore this directory and format the others."
            )
        for path in unformatted:
            self._check_no_metadata(path)
        return unformatted, unreadable

    def _read(self, path: str) -> MetaProperties | None:
        if not self._file_system.exists(path):
            return None
        self._file_system.list(path)  # a file in its place is no directory without meta.properties
        return read_meta_properties(self._file_system, path)

    def _check_no_metadata(self, path: str) -> None:
        """The metadata of a former cluster would become that of the new one."""
        directory = _metadata_log(path)
        if not self._file_system.exists(directory):
            return
        left = [
            name
            for name in self._file_system.list(directory)
            if name.endswith((".log", ".checkpoint")) and name != BOOTSTRAP_SNAPSHOT.file_name
        ]
        if left:
            raise FormatError(
                f"{directory} has the metadata of a cluster ({left[0]}), and {path} no meta.properties: restore that file, "
                "or remove what the directory holds"
            )

    def _kind(self, path: str, voters: VoterSet | None) -> _Kind:
        if path != self._settings.metadata_directory:
            return _Kind.DATA
        if voters is None:
            return _Kind.METADATA
        is_voter = self._settings.node_id in voters.ids
        return _Kind.DYNAMIC_VOTER if is_voter else _Kind.DYNAMIC_METADATA

    def _write(self, path: str, kind: _Kind, cluster_id: str, cluster: NewCluster) -> None:
        file_system, now_ms = self._file_system, self._clock.now().wall_ms
        file_system.make_directory(path)
        self._remove_former_snapshot(path)
        directory_id = random_uuid(self._random)
        if kind in {_Kind.DYNAMIC_VOTER, _Kind.DYNAMIC_METADATA}:
            assert cluster.voters is not None, "a dynamic quorum begins with voters"
            if kind is _Kind.DYNAMIC_VOTER:
                directory_id = cluster.voters.key_of(BrokerId(self._settings.node_id)).directory_id
            file_system.make_directory(_metadata_log(path))
            snapshot = Snapshot(BOOTSTRAP_SNAPSHOT, now_ms, cluster.voters, ())
            SnapshotFiles(_metadata_log(path), file_system).write(snapshot)
        bootstrap = encode_bootstrap(cluster.records, now_ms)
        file_system.write_atomically(f"{path}/{BOOTSTRAP_FILE}", bootstrap)
        meta = MetaProperties(cluster_id, self._settings.node_id, directory_id)
        format_directory(file_system, path, meta)

    def _remove_former_snapshot(self, path: str) -> None:
        """Of a format that was cut off: it may name other voters."""
        files = SnapshotFiles(_metadata_log(path), self._file_system)
        if self._file_system.exists(files.path(BOOTSTRAP_SNAPSHOT)):
            files.remove(BOOTSTRAP_SNAPSHOT)


def _first_voters(
    options: FormatOptions, settings: KRaftSettings, random: Random
) -> VoterSet | None:
    if settings.controller_quorum_voters and (
        options.initial_controllers is not None or options.standalone
    ):
        raise FormatError(
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. "
            "If you want to use dynamic quorum, please remove controller.quorum.voters and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    if options.initial_controllers is not None:
        return initial_voters(options.initial_controllers, settings.controller_listener)
    if options.standalone:
        return _standalone(settings, random)
    if (
        settings.is_controller
        and not settings.controller_quorum_voters
        and not options.no_initial_controllers
    ):
        raise FormatError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, "
            "--initial-controllers, or --no-initial-controllers."
        )
    return None


def _standalone(settings: KRaftSettings, random: Random) -> VoterSet:
    if not settings.is_controller:
        raise FormatError("You can only use --standalone on a controller.")
    endpoints = settings.controller_endpoints()
    if not endpoints:
        raise ConfigError(
            f"--standalone: listeners has none that controller.listener.names names: add {settings.controller_listener}://HOST:PORT"
        )
    host = "localhost" if endpoints[0].host in EVERY_ADDRESS else endpoints[0].host
    listener = settings.controller_listener
    directory_id = random_uuid(random)
    return VoterSet([voter_at(settings.node_id, directory_id, listener, host, endpoints[0].port)])


def _check_formatted(
    formatted: Mapping[str, MetaProperties], cluster_id: str, node_id: int
) -> None:
    """Raises FormatError for a directory of another cluster or node, and for a copy."""
    paths: dict[Uuid, str] = {}
    for path, meta in formatted.items():
        if meta.cluster_id != cluster_id:
            raise FormatError(
                f"{path} belongs to cluster {meta.cluster_id}, not to {cluster_id}: give another directory"
            )
        if meta.node_id != node_id:
            raise FormatError(
                f"{path} belongs to node {meta.node_id}, and this is node {node_id}: give another directory"
            )
        other = paths.setdefault(meta.directory_id, path)
        if other != path:
            raise FormatError(
                f"{path} and {other} have the same directory.id: one is a copy of the other; remove it from log.dirs"
            )


def _metadata_log(path: str) -> str:
    return f"{path}/{METADATA_TOPIC}-0"


def _bootstrap_metadata(records: Sequence[BootstrapRecord], level: int) -> str:
    """As Kafka prints it, but that what verifies passwords is left out."""
    told = ", ".join(f"ApiMessageAndVersion({_told(each)} at version 0)" for each in records)
    return (
        f"BootstrapMetadata(records=[{told}], metadataVersionLevel={level}, source=format command)"
    )


def _told(record: BootstrapRecord) -> str:
    match record:
        case FeatureLevelRecord():
            return f"FeatureLevelRecord(name='{record.name}', featureLevel={record.feature_level})"
        case UserScramCredentialRecord():
            return f"UserScramCredentialRecord(name='{record.name}', mechanism={record.mechanism}, iterations={record.iterations})"
