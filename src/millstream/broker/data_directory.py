"""Opens a node's data directory: formats an empty one, refuses one that belongs to somebody else."""

from __future__ import annotations

from typing import Final

from millstream.broker.config import BrokerConfig
from millstream.errors import ConfigError
from millstream.log.log_directory import LogDirectory, format_directory, read_meta_properties
from millstream.log.log_environment import LogEnvironment
from millstream.log.text_checkpoints import LOCK_FILE, MetaProperties
from millstream.model import TopicPartition, Uuid, uuid_from_random, uuid_from_text, uuid_text
from millstream.runtime import Random

_NAME_MAX: Final = 255
_MAY_BE_IN_AN_EMPTY_DIRECTORY: Final = {LOCK_FILE, "lost+found"}


def open_data_directory(
    config: BrokerConfig, environment: LogEnvironment, cluster_id: str | None
) -> LogDirectory:
    """The directory, locked. `cluster_id`: of a new cluster, or the one that an old directory must have.

    Raises ConfigError with a sentence for the operator, DamagedFile.
    """
    path, file_system = config.data_directory, environment.file_system
    try:
        file_system.make_directory(path)
        meta = read_meta_properties(file_system, path)
        if meta is None:
            _check_empty(path, file_system.list(path))
            format_directory(
                file_system, path, _new_meta(config.node_id, environment.random, cluster_id)
            )
        else:
            _check_owner(path, meta, config.node_id, cluster_id)
        return LogDirectory.open(path, environment)
    except OSError as error:
        raise ConfigError(
            f"cannot use {path} as data directory: {error.strerror or error}; choose another with --data"
        ) from error


def random_uuid(random: Random) -> Uuid:
    """A new uuid whose text does not look like an option of a command, as in Kafka."""
    while True:
        uuid = uuid_from_random(random.randbytes(16))
        if not uuid_text(uuid).startswith("-"):
            return uuid


def move_aside(path: str, partition: TopicPartition, environment: LogEnvironment) -> str:
    """Renames a partition's directory as Kafka does with strays; returns the new path. Nothing is deleted."""
    suffix = f".{environment.random.randbytes(16).hex()}-stray"
    number = f"-{partition.partition}"
    topic = partition.topic[: _NAME_MAX - len(suffix) - len(number)]
    target = f"{path}/{topic}{number}{suffix}"
    environment.file_system.rename(f"{path}/{partition}", target)
    return target


def _new_meta(node_id: int, random: Random, cluster_id: str | None) -> MetaProperties:
    if cluster_id is None:
        cluster_id = uuid_text(random_uuid(random))
    else:
        try:
            uuid_from_text(cluster_id)
        except ValueError as error:
            raise ConfigError(f"cluster id: {error}") from error
    return MetaProperties(cluster_id, node_id, random_uuid(random))


def _check_empty(path: str, names: list[str]) -> None:
    strangers = [name for name in names if name not in _MAY_BE_IN_AN_EMPTY_DIRECTORY]
    if strangers:
        raise ConfigError(
            f"{path} holds other things ({', '.join(strangers[:3])}) and no meta.properties: give an empty directory with --data"
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
