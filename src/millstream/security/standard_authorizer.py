"""Decides by access rules, as Kafka's StandardAuthorizer does.

A super user may do everything. Of the rules that cover a resource, one that denies decides, else one that allows; where
rules cover it and none speaks of this principal, host and operation, it is denied; where none covers it,
`allow.everyone.if.no.acl.found` decides. Rules are added and removed, and decisions asked for, on one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from millstream.security.access_rules import EVERYBODY, WILDCARD, AccessRules
from millstream.security.acl import (
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from millstream.security.authorizer import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    INVENTED_NAME,
    SUPER_USER,
    AuthorizerNotReady,
    Decision,
    Requester,
)
from millstream.security.authorizer_settings import AuthorizerSettings
from millstream.security.principal import host_text

_REMEMBERED_MAX: Final = 10_000
"""Decisions, in some 5 MB. All are forgotten when there are more, or a rule changes."""
_REMEMBERED_NAME_MAX: Final = 249
"""Characters: the longest name of a topic. Group ids and transactional ids may be longer, and are worth no memory."""

_ALL: Final = int(Operation.ALL)
_ALLOW: Final = int(PermissionType.ALLOW)
_IMPLYING: Final[Mapping[int, frozenset[int]]] = MappingProxyType(
    {
        Operation.DESCRIBE: frozenset(
            {
                Operation.DESCRIBE,
                Operation.ALL,
                Operation.READ,
                Operation.WRITE,
                Operation.DELETE,
                Operation.ALTER,
            }
        ),
        Operation.DESCRIBE_CONFIGS: frozenset(
            {Operation.DESCRIBE_CONFIGS, Operation.ALL, Operation.ALTER_CONFIGS}
        ),
    }
)
"""The operations that imply another one where they are allowed. To deny implies nothing."""


class StandardAuthorizer:
    """Implements `authorizer.Authorizer`."""

    def __init__(
        self, settings: AuthorizerSettings, is_loaded: Callable[[], bool] = lambda: True
    ) -> None:
        """`is_loaded`: whether the rules are known, which is asked until it is so."""
        self._super_users = settings.super_users
        self._default = DEFAULT_ALLOW if settings.allows_uncovered else DEFAULT_DENY
        self._is_loaded = is_loaded
        self._ready = False
        self._rules = AccessRules()
        self.rules_version = 0
        self._remembered: dict[tuple[str, str, Operation, ResourceType, str | None], Decision] = {}

    def change(
        self, *, removed: Iterable[AccessControlRule], added: Iterable[AccessControlRule]
    ) -> None:
        self.rules_version += 1
        self._remembered.clear()
        for rule in removed:
            self._rules.remove(rule)
        for rule in added:
            self._rules.add(rule)

    def decide(
        self, requester: Requester, operation: Operation, resource_type: ResourceType, name: str
    ) -> Decision:
        """Implements `Authorizer`. Raises AuthorizerNotReady."""
        key = (requester.principal.text, requester.client_host, operation, resource_type, name)
        decision = self._remembered.get(key)
        if decision is None:
            decision = self._decide(key[0], key[1], operation, resource_type, name)
            if len(name) <= _REMEMBERED_NAME_MAX:
                self._remember(key, decision)
        return decision

    def decide_for_any(
        self, requester: Requester, operation: Operation, resource_type: ResourceType
    ) -> Decision:
        """Implements `Authorizer`. Raises AuthorizerNotReady."""
        of_invented = self.decide(requester, operation, resource_type, INVENTED_NAME)
        if of_invented.is_allowed:
            return of_invented
        key = (requester.principal.text, requester.client_host, operation, resource_type, None)
        decision = self._remembered.get(key)
        if decision is None:
            concerned = [
                rule
                for principal in dict.fromkeys((requester.principal.text, EVERYBODY))
                for rule in self._rules.of_type(resource_type, principal)
                if _concerns_host(rule, requester.client_host)
                and rule.operation in (operation, Operation.ALL)
            ]
            decision = _decide_for_any(concerned)
            self._remember(key, decision)
        return decision

    def _decide(
        self,
        principal: str,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
    ) -> Decision:
        """Which rule is told where several match is Kafka's choice: the first that denies, else the
        last that allows.
        """
        if principal in self._super_users:
            return SUPER_USER
        self._check_ready()
        allowing: AccessControlRule | None = None
        implying = _IMPLYING.get(operation, frozenset())
        for rule in self._rules.matching(resource_type, name, principal):
            if not _concerns_host(rule, host):
                continue
            is_meant = rule.operation in (operation, _ALL)
            if rule.permission_type == _ALLOW:
                if is_meant or rule.operation in implying:
                    allowing = rule
            elif is_meant:
                return Decision(is_allowed=False, by=rule)
        if allowing is not None:
            return Decision(is_allowed=True, by=allowing)
        if self._default.is_allowed and self._rules.covers(resource_type, name):
            return DEFAULT_DENY
        return self._default

    def _remember(
        self, key: tuple[str, str, Operation, ResourceType, str | None], decision: Decision
    ) -> None:
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[key] = decision

    def _check_ready(self) -> None:
        if not self._ready:
            self._ready = self._is_loaded()
            if not self._ready:
                raise AuthorizerNotReady


def _concerns_host(rule: AccessControlRule, host: str) -> bool:
    """Whether a rule is about this host, whose address is written as Java writes it.

    One that has the same address in another form, such as `::1`, means it too; in Kafka it would be about nobody.
    """
    return rule.host in (WILDCARD, host) or (":" in rule.host and host_text(rule.host) == host)


def _decide_for_any(rules: Iterable[AccessControlRule]) -> Decision:
    """Decides about any resource from the rules of one type, principal, host and operation (Kafka's
    `authorizeByResourceType`).
    """
    denied: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
    allowing: list[AccessControlRule] = []
    allows_all: AccessControlRule | None = None
    for rule in rules:
        is_of_all = rule.pattern_type == PatternType.LITERAL and rule.resource_name == WILDCARD
        if rule.permission_type != PermissionType.ALLOW:
            if is_of_all:
                return Decision(is_allowed=False, by=rule)
            denied[rule.pattern_type].add(rule.resource_name)
        elif is_of_all:
            allows_all = rule
        else:
            allowing.append(rule)
    if allows_all is not None:
        return Decision(is_allowed=True, by=allows_all)
    for rule in allowing:
        name = rule.resource_name
        if rule.pattern_type == PatternType.LITERAL and name in denied[PatternType.LITERAL]:
            continue
        if not any(name.startswith(prefix) for prefix in denied[PatternType.PREFIXED]):
            return Decision(is_allowed=True, by=rule)
    return DEFAULT_DENY
