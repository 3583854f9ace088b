"""Asks whether a client may do what its request asks for, and writes the audit log.

Handlers ask here, in Kafka's order. Without an authorizer everything is allowed and nothing is logged: `is_open` says
so before a name is looked at. Denials are logged at INFO and what is allowed at DEBUG; what is asked only to choose
(whether a topic is told of at all, or whether another permission has to do) at TRACE.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from types import MappingProxyType
from typing import Final, TypeVar

from millstream.broker.config.log_levels import AUDIT_LOGGER, LEVELS
from millstream.broker.long_work import LongWork
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import (
    ClusterAuthorizationFailed,
    DelegationTokenAuthorizationFailed,
    GroupAuthorizationFailed,
    KafkaError,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from millstream.protocol.api import ApiKey, request_class
from millstream.security.acl import (
    CLUSTER_NAME,
    Operation,
    ResourceType,
    operation_bits,
    supported_operations,
)
from millstream.security.authorizer import INVENTED_NAME, Authorizer, Decision

_AUDIT: Final = logging.getLogger(AUDIT_LOGGER)
_TRACE: Final = LEVELS["TRACE"]
_NOBODY: Final = frozenset[str]()
_ERRORS: Final[Mapping[ResourceType, type[KafkaError]]] = MappingProxyType(
    {
        ResourceType.TOPIC: TopicAuthorizationFailed,
        ResourceType.GROUP: GroupAuthorizationFailed,
        ResourceType.CLUSTER: ClusterAuthorizationFailed,
        ResourceType.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailed,
        ResourceType.DELEGATION_TOKEN: DelegationTokenAuthorizationFailed,
        ResourceType.USER: DelegationTokenAuthorizationFailed,
    }
)

_Asked = tuple[Operation, ResourceType, str]


class Access:
    """The questions of handlers. `quiet`: nothing is refused for a denial, which is therefore logged at TRACE only."""

    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self._authorizer = authorizer
        self.is_open = authorizer is None
        """Whether everybody may do everything."""

    @property
    def rules_version(self) -> int:
        """Grows with each change of the rules."""
        return 0 if self._authorizer is None else self._authorizer.rules_version

    def allows(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        mentions: int = 1,
        quiet: bool = False,
    ) -> bool:
        """`mentions`: how often the request names it."""
        if self._authorizer is None:
            return True
        return self._asked(context, operation, resource_type, name, mentions=mentions, quiet=quiet)

    def allows_on_cluster(
        self, context: RequestContext, operation: Operation, *, quiet: bool = False
    ) -> bool:
        return self.allows(context, operation, ResourceType.CLUSTER, CLUSTER_NAME, quiet=quiet)

    def check(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType, name: str
    ) -> None:
        """Raises the error of the type of resource: GroupAuthorizationFailed, TopicAuthorizationFailed …"""
        if not self.allows(context, operation, resource_type, name):
            raise _ERRORS[resource_type]

    def check_cluster(self, context: RequestContext, operation: Operation) -> None:
        """Raises ClusterAuthorizationFailed."""
        self.check(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def denied(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        names: Iterable[str],
        *,
        quiet: bool = False,
    ) -> AbstractSet[str]:
        """Returns the names that the client may not use so.

        Each is asked for once, however often the request mentions it.
        """
        if self._authorizer is None:
            return _NOBODY
        return {
            name
            for name, mentions in _mentions(names).items()
            if not self._asked(
                context, operation, resource_type, name, mentions=mentions, quiet=quiet
            )
        }

    async def denied_of_many(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        names: Iterable[str],
        *,
        long_work: LongWork,
        quiet: bool = False,
    ) -> AbstractSet[str]:
        """The same in turns, for names of which there may be very many."""
        if self._authorizer is None:
            return _NOBODY
        denied: set[str] = set()
        async for name, mentions in long_work.in_turns(_mentions(names).items()):
            if not self._asked(
                context, operation, resource_type, name, mentions=mentions, quiet=quiet
            ):
                denied.add(name)
        return denied

    def allows_any(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether there is any resource of the type with which the client may do it.

        Kafka logs of it only that all of them are allowed.
        """
        if self._authorizer is None:
            return True
        decision = self._authorizer.decide_for_any(context.connection, operation, resource_type)
        of_all = self._authorizer.decide(
            context.connection, operation, resource_type, INVENTED_NAME
        )
        if of_all.is_allowed and _AUDIT.isEnabledFor(logging.DEBUG):
            _log(logging.DEBUG, context, (operation, resource_type, INVENTED_NAME), 0, of_all)
        return decision.is_allowed

    def operations(self, context: RequestContext, resource_type: ResourceType, name: str) -> int:
        """Returns the operations that the client may perform, as the bits it is told (KIP-430).

        Nothing is granted, so TRACE is all that is logged.
        """
        operations = supported_operations(resource_type)
        if self._authorizer is not None:
            operations = tuple(
                operation
                for operation in operations
                if self._asked(context, operation, resource_type, name, quiet=True, told_only=True)
            )
        return operation_bits(operations)

    def cluster_operations(self, context: RequestContext) -> int:
        """Returns the operations on the cluster; none for a client that may not describe it."""
        if not self.allows_on_cluster(context, Operation.DESCRIBE):
            return 0
        return self.operations(context, ResourceType.CLUSTER, CLUSTER_NAME)

    def _asked(
        self,
        context: RequestContext,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        mentions: int = 1,
        quiet: bool = False,
        told_only: bool = False,
    ) -> bool:
        """The parts of a request that was cut have one answer, and one line: what changes in
        between does not split it.
        """
        assert self._authorizer is not None, "who is open asks nothing"
        answered = context.decided
        if answered is not None:
            allowed = answered.get((operation, resource_type, name))
            if allowed is not None:
                return allowed
        decision = self._authorizer.decide(context.connection, operation, resource_type, name)
        if answered is not None:
            answered[operation, resource_type, name] = decision.is_allowed
        if decision.is_allowed:
            level = _TRACE if told_only else logging.DEBUG
        else:
            level = _TRACE if quiet else logging.INFO
        if _AUDIT.isEnabledFor(level):
            _log(level, context, (operation, resource_type, name), mentions, decision)
        return decision.is_allowed


GroupT = TypeVar("GroupT")


async def withhold_groups(
    access: Access,
    context: RequestContext,
    groups: list[GroupT],
    topics_of: Callable[[GroupT], Iterable[str]],
    withheld: Callable[[GroupT], GroupT],
    *,
    long_work: LongWork,
) -> list[GroupT]:
    """Returns described groups, `withheld` those with topics that the client may not describe:
    nobody learns of these by a group.

    In turns: a group may have very many members, each with many topics.
    """
    if access.is_open:
        return groups
    topics: list[set[str]] = [set() for _ in groups]
    async for place, name in long_work.in_turns(_topics_by_place(groups, topics_of)):
        topics[place].add(name)
    hidden = await access.denied_of_many(
        context,
        Operation.DESCRIBE,
        ResourceType.TOPIC,
        set().union(*topics),
        long_work=long_work,
    )
    return [
        group if hidden.isdisjoint(named) else withheld(group)
        for group, named in zip(groups, topics, strict=True)
    ]


def _topics_by_place(
    groups: list[GroupT], topics_of: Callable[[GroupT], Iterable[str]]
) -> Iterator[tuple[int, str]]:
    """No expression: compiled, that would be a list, made in one turn (docs/adr/0022)."""
    for place, group in enumerate(groups):
        for name in topics_of(group):
            yield place, name


OPEN: Final = Access()
"""Everybody may do everything, as in Kafka without an authorizer."""


def _log(
    level: int, context: RequestContext, asked: _Asked, mentions: int, decision: Decision
) -> None:
    from millstream.security.audit import AuditedDecision  # a node without an authorizer has none

    audited = AuditedDecision(
        context.connection,
        _api_name(context.header.request_api_key),
        *asked,
        mentions,
        decision,
    )
    _AUDIT.log(level, "%s", audited, extra={"audit": audited.fields()})


def _mentions(names: Iterable[str]) -> dict[str, int]:
    """Returns how often each name is among them.

    Produce comes here: a Counter takes longer than all the rest for a name or two.
    """
    mentions: dict[str, int] = {}
    for name in names:
        mentions[name] = mentions.get(name, 0) + 1
    return mentions


@cache
def _api_name(key: int) -> str:
    return request_class(ApiKey(key)).__name__.removesuffix("Request")
