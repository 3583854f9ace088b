"""Opens a node's data directories: formats empty ones, refuses those of another node, sets unreadable ones aside."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Sequence
from typing import Final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.kraft_settings import KRaftSettings
from millstream.errors import ConfigError, MillstreamError
from millstream.log.directory.formatting import format_directory, read_meta_properties
from millstream.log.directory.log_directories import LogDirectories
from millstream.log.directory.log_directory import LogDirectory
from millstream.log.directory.log_environment import LogEnvironment
from millstream.log.directory.text_checkpoints import (
    LOCK_FILE,
    META_PROPERTIES_FILE,
    MetaProperties,
)
from millstream.model import Uuid, uuid_from_random, uuid_from_text, uuid_text
from millstream.runtime import FileSystem, Random

_LOGGER = logging.getLogger(__name__)
_MAY_BE_IN_AN_EMPTY_DIRECTORY: Final = {LOCK_FILE, "lost+found"}


def open_data_directories(
    config: BrokerConfig, environment: LogEnvironment, cluster_id: str | None
) -> LogDirectories:
    """Opens and locks the directories. `cluster_id`: of a new cluster, or the one that old directories must have.

    The one of the metadata log must be usable; another that the disk does not give is offline, and its partitions with
    it. Raises ConfigError with a sentence for the operator, DamagedFile.
    """
    first, *others = config.data_directories
    _check_metadata_stay(first, others, environment.file_system)
    opened = [_open_or_refuse(first, config, environment, cluster_id)]
    unusable: dict[str, str] = {}
    try:
        for path in others:
            try:
                directory = _open(path, config, environment, opened[0].meta.cluster_id)
            except OSError as error:
                unusable[path] = f"{path} is offline: {error.strerror or error}"
                _LOGGER.error("%s", unusable[path])  # noqa: TRY400 - the sentence says it
            else:
                opened.append(directory)
        _check_different(opened)
    except MillstreamError:
        for directory in opened:
            directory.abandon()
        raise
    return LogDirectories(opened, unusable, metadata_is_apart=config.metadata_is_apart)


def random_uuid(random: Random) -> Uuid:
    """Returns a new uuid whose text does not look like an option of a command, as in Kafka."""
    while True:
        uuid = uuid_from_random(random.randbytes(16))
        if not uuid_text(uuid).startswith("-"):
            return uuid


def _check_metadata_stay(first: str, others: Sequence[str], file_system: FileSystem) -> None:
    """Raises ConfigError where a node that has data would begin with metadata of nothing: its
    partitions would be strays.
    """
    try:
        if file_system.exists(first) and META_PROPERTIES_FILE in file_system.list(first):
            return
    except OSError:
        return  # told when it is opened
    for path in others:
        with contextlib.suppress(
            OSError
        ):  # a directory that cannot be read is told of when it is opened
            meta = read_meta_properties(file_system, path)
            if meta is not None:
                raise ConfigError(
                    f"{first} is to hold the metadata log and is not formatted, and {path} belongs to cluster {meta.cluster_id} already: "
                    "name the directory with __cluster_metadata-0 first in log.dirs, or as metadata.log.dir"
                )


def _open_or_refuse(
    path: str, config: BrokerConfig, environment: LogEnvironment, cluster_id: str | None
) -> LogDirectory:
    try:
        return _open(path, config, environment, cluster_id)
    except OSError as error:
        raise ConfigError(
            f"cannot use {path} as data directory: {error}; choose another with --data"
        ) from error


def _open(
    path: str, config: BrokerConfig, environment: LogEnvironment, cluster_id: str | None
) -> LogDirectory:
    file_system = environment.file_system
    file_system.make_directory(path)
    meta = read_meta_properties(file_system, path)
    if meta is None:
        _check_empty(path, file_system.list(path))
        if cluster_id is None:
            _check_alone(path, config.read(KRaftSettings))
        meta = _new_meta(config.node_id, environment.random, cluster_id)
        format_directory(file_system, path, meta)
    else:
        _check_owner(path, meta, config.node_id, cluster_id)
    if not file_system.is_private(path):
        import shlex  # for this line of the log alone

        _LOGGER.warning(
            "%s: other users of this machine may read the records in it, and what passwords can be guessed from; to close it: chmod -R go= %s",
            path, shlex.quote(path),
        )  # fmt: skip
    directory = LogDirectory.open(path, environment)
    for problem in directory.unreadable_checkpoints:
        _LOGGER.warning("%s", problem)
    return directory


def _new_meta(node_id: int, random: Random, cluster_id: str | None) -> MetaProperties:
    if cluster_id is None:
        cluster_id = uuid_text(random_uuid(random))
    else:
        try:
            uuid_from_text(cluster_id)
        except ValueError as error:
            raise ConfigError(f"cluster id: {error}") from error
    return MetaProperties(cluster_id, node_id, random_uuid(random))


def _check_alone(path: str, settings: KRaftSettings) -> None:
    """A node of a cluster that made up an id of its own would be a cluster beside it."""
    others = settings.other_nodes(socket.gethostname())
    if others:
        raise ConfigError(
            f"{path} is not formatted, and the settings name other nodes of the cluster ({', '.join(others)}): format it with their "
            "cluster id (millstream storage format -t ID -c FILE), or give that id with --cluster-id"
        )


def _check_empty(path: str, names: list[str]) -> None:
    unknown = [name for name in names if name not in _MAY_BE_IN_AN_EMPTY_DIRECTORY]
    if unknown:
        raise ConfigError(
            f"{path} holds other things ({', '.join(unknown[:3])}) and no meta.properties: give an empty directory with --data"
        )


def _check_owner(path: str, meta: MetaProperties, node_id: int, cluster_id: str | None) -> None:
    if meta.node_id != node_id:
        raise ConfigError(
            f"{path} belongs to node {meta.node_id}, this is node {node_id}: set node.id={meta.node_id}, or give another --data"
        )
    if cluster_id is not None and meta.cluster_id != cluster_id:
        raise ConfigError(
            f"{path} belongs to cluster {meta.cluster_id}, not to {cluster_id}: give another --data, or leave the cluster id out"
        )


def _check_different(opened: list[LogDirectory]) -> None:
    paths: dict[Uuid, str] = {}
    for directory in opened:
        other = paths.setdefault(directory.meta.directory_id, directory.path)
        if other != directory.path:
            raise ConfigError(
                f"{directory.path} and {other} have the same directory.id: one is a copy of the other; remove it from log.dirs"
            )
