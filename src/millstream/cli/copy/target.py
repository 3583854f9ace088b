"""The cluster that a copy goes to, with settings of its own, and the topic in it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import click

from millstream.cli.cluster_options import ClusterOptions, beneath, read_client_file
from millstream.cli.completion.local_names import client_settings, profile_names
from millstream.errors import ConfigError, UnknownTopicOrPartition

if TYPE_CHECKING:
    from millstream.clients.admin import TopicDescription
    from millstream.clients.blocking import Admin

Returned = TypeVar("Returned")
_TO_BOOTSTRAP = "--to-bootstrap"
_LOOKS: Final = 50
"""With _LOOK_S between them as long as brokers may take to hear of a topic that their controller has made."""
_LOOK_S: Final = 0.1
"""A broker learns of a new topic a little later than the controller that made it."""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The options that say where the other cluster is, if there is another one."""

    bootstrap: str | None
    config_file: str | None
    properties: tuple[str, ...]
    profile: str | None


def target_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options of the target's cluster."""
    for option in reversed(
        (
            click.option(_TO_BOOTSTRAP, metavar="HOST:PORT,...", help="Addresses of the target's cluster. Default: it is the same one."),
            click.option("--to-config", type=click.Path(exists=True, dir_okay=False), help="Properties file with settings for the target's cluster."),
            click.option("--to-property", "to_properties", multiple=True, metavar="KEY=VALUE", shell_complete=client_settings, help="A setting of the client of the target's cluster; may be repeated."),
            click.option("--to-profile", metavar="NAME", shell_complete=profile_names, help="Profile of the target's cluster."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def target_cluster(given: TargetOptions) -> ClusterOptions | None:
    """Returns the options of the target's cluster; None where it is the source's.

    What the environment and the profile in use say is the source's. Raises ConfigError, UsageError.
    """
    if given.bootstrap is None and given.config_file is None and given.profile is None:
        return None
    from millstream.cli.profiles.files import profiles_of_user

    of_file = read_client_file(given.config_file)
    of_profile = {}
    if given.profile is not None:
        of_profile = profiles_of_user(os.environ).settings(given.profile)
    settings = {**beneath(of_file, of_profile), **of_file}
    if given.bootstrap is None and not {"bootstrap.servers", "bootstrap_servers"} & set(settings):
        raise click.UsageError(f"say where the target's cluster is: {_TO_BOOTSTRAP} HOST:PORT")
    return ClusterOptions(given.bootstrap, settings, given.properties)


def source_topic(admin: Admin, topic: str) -> TopicDescription:
    """Raises UnknownTopicOrPartition, with the nearest topic there is."""
    from millstream.cli.near_names import with_near_topics

    return with_near_topics(admin, admin.describe_topics([topic])).result(topic)


def target_topic(admin: Admin, topic: str) -> TopicDescription | None:
    """Returns None where there is no such topic."""
    try:
        return admin.describe_topics([topic]).result(topic)
    except UnknownTopicOrPartition:
        return None


def missing_target(admin: Admin, topic: str) -> UnknownTopicOrPartition:
    from millstream.cli.suggestions import or_near

    near = or_near(topic, list(admin.list_topics()))
    return UnknownTopicOrPartition(
        f"{topic}: there is no such topic to copy to{near} (--create makes it as the source is)"
    )


def create_target(
    source: Admin, target: Admin, described: TopicDescription, topic: str
) -> TopicDescription | None:
    """Makes a topic with the partitions of the source, what was set for it, and as many replicas as brokers allow.

    Returns None where no broker tells of it in time.
    """
    from millstream.clients.admin import ConfigResource, ConfigResourceType, ConfigSource, NewTopic

    resource = ConfigResource(ConfigResourceType.TOPIC, described.name)
    entries = source.describe_configs([resource]).result(resource)
    configs = {
        name: entry.value
        for name, entry in entries.items()
        if entry.source == ConfigSource.TOPIC_CONFIG
    }
    replicas = max((len(each.replicas) for each in described.partitions), default=1)
    replication_factor = min(replicas, len(target.describe_cluster().nodes))
    new = NewTopic(topic, len(described.partitions), replication_factor, configs)
    target.create_topics([new]).raise_errors()
    pause = threading.Event()
    for _ in range(_LOOKS):
        if (made := target_topic(target, topic)) is not None:
            return made
        pause.wait(_LOOK_S)
    return None


def check_partitions(source: TopicDescription, target: TopicDescription) -> None:
    """Raises ConfigError where records cannot stay in partitions of the same number."""
    have, need = len(target.partitions), len(source.partitions)
    if have < need:
        raise ConfigError(
            f"{target.name} has {have} partitions and {source.name} has {need}: --repartition has keys decide"
        )
