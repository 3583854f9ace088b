"""The options that name resources of access rules, as those of `kafka-acls`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Final, TypeVar

import click

from millstream.cli.cluster_options import Given
from millstream.cli.completion.names import topic_names
from millstream.cli.security.words import PRINCIPAL
from millstream.security.acl import CLUSTER_NAME, Resource, ResourceType

Returned = TypeVar("Returned")

_OPTIONS: Final = (
    click.option("--topic", "topics", multiple=True, shell_complete=topic_names, help="A topic, or `*` for all. May be repeated, as those below."),
    click.option("--group", "groups", multiple=True, help="A group, or `*` for all."),
    click.option("--transactional-id", "transactional_ids", multiple=True, help="A transactional id, or `*` for all."),
    click.option("--cluster", "the_cluster", is_flag=True, help="The cluster itself."),
    click.option("--delegation-token", "delegation_tokens", multiple=True, help="The id of a delegation token, or `*`."),
    click.option("--user-principal", "user_principals", type=PRINCIPAL, multiple=True, help="A user whose tokens others may create or see."),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedResources:
    """Those that the options name, each with its name or pattern."""

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    cluster: bool = False
    delegation_tokens: tuple[str, ...] = ()
    user_principals: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Resource]:
        for resource_type, names in (
            (ResourceType.TOPIC, self.topics),
            (ResourceType.GROUP, self.groups),
            (ResourceType.TRANSACTIONAL_ID, self.transactional_ids),
            (ResourceType.CLUSTER, (CLUSTER_NAME,) if self.cluster else ()),
            (ResourceType.DELEGATION_TOKEN, self.delegation_tokens),
            (ResourceType.USER, self.user_principals),
        ):
            yield from (Resource(resource_type, name) for name in names)


def resource_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options; the command gets them as one NamedResources, `resources`."""

    @wraps(command)
    def gathered(
        *arguments: Given,
        topics: tuple[str, ...],
        groups: tuple[str, ...],
        transactional_ids: tuple[str, ...],
        the_cluster: bool,
        delegation_tokens: tuple[str, ...],
        user_principals: tuple[str, ...],
        **options: Given,
    ) -> Returned:
        resources = NamedResources(
            topics=topics,
            groups=groups,
            transactional_ids=transactional_ids,
            cluster=the_cluster,
            delegation_tokens=delegation_tokens,
            user_principals=user_principals,
        )
        return command(*arguments, resources=resources, **options)

    for decorate in reversed(_OPTIONS):
        gathered = decorate(gathered)
    return gathered
