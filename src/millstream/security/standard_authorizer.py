"""Decides by access rules, as Kafka's StandardAuthorizer does.

A super user may do everything. Of the rules that cover a resource, one that denies decides, else one that allows; where rules cover it and
none speaks of this principal, host and operation, it is denied; where none covers it, `allow.everyone.if.no.acl.found` decides.
Rules are added and removed, and decisions asked for, on one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from millstream.config_fields import from_keys
from millstream.security.access_rules import EVERYBODY, WILDCARD, AccessRules
from millstream.security.acl import (
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from millstream.security.authorizer import INVENTED_NAME, Requester
from millstream.security.decision import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    SUPER_USER,
    AuthorizerNotReady,
    Decision,
)

_REMEMBERED_MAX: Final = 10_000
"""Decisions, in some 5 MB. All are forgotten when there are more, or a rule changes."""
_REMEMBERED_NAME_MAX: Final = 249
"""Characters: the longest name of a topic. Group ids and transactional ids may be longer, and are worth no memory."""

_IMPLIES_DESCRIBE: Final = frozenset(
    {
        Operation.ALL,
        Operation.DESCRIBE,
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.ALTER,
    }
)
_IMPLIES_DESCRIBE_CONFIGS: Final = frozenset(
    {Operation.ALL, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}
)


def _super_users(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.split(";"))))


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    super_users: frozenset[str] = from_keys(
        "super.users", default=frozenset(), convert=_super_users
    )
    """Principals as text, which may do everything, whatever rules there are."""
    allows_uncovered: bool = from_keys(
        "allow.everyone.if.no.acl.found",
        default=False,
        convert=lambda text: str(text).strip().lower() == "true",
    )
    """Whether what no rule covers is open to everybody."""


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
        principal, host = requester.principal.text, requester.client_host
        decision = self._remembered.get((principal, host, operation, resource_type, name))
        if decision is not None:
            return decision
        if principal in self._super_users:
            decision = SUPER_USER
        else:
            self._check_ready()
            decision = self._decide(principal, host, operation, resource_type, name)
        if len(name) <= _REMEMBERED_NAME_MAX:
            self._remember((principal, host, operation, resource_type, name), decision)
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
                for principal in {requester.principal.text, EVERYBODY}
                for rule in self._rules.of_type(resource_type, principal)
                if rule.host in (requester.client_host, WILDCARD)
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
        """Which rule is told where several match is Kafka's choice: the first that denies, else the last that allows."""
        principals = (principal,) if principal == EVERYBODY else sorted((principal, EVERYBODY))
        allowing: AccessControlRule | None = None
        is_covered = False
        for by_principal in self._rules.covering(resource_type, name):
            is_covered = True
            for each in principals:
                for rule in by_principal.get(each, ()):
                    if rule.host not in (host, WILDCARD) or not _speaks_of(rule, operation):
                        continue
                    if rule.permission_type != PermissionType.ALLOW:
                        return Decision(is_allowed=False, by=rule)
                    allowing = rule
        if allowing is not None:
            return Decision(is_allowed=True, by=allowing)
        return DEFAULT_DENY if is_covered else self._default

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


def _speaks_of(rule: AccessControlRule, operation: Operation) -> bool:
    """Whether the rule is about `operation`. To allow something may imply more; to deny it never does."""
    if rule.operation in (operation, Operation.ALL):
        return True
    if rule.permission_type != PermissionType.ALLOW:
        return False
    if operation is Operation.DESCRIBE:
        return rule.operation in _IMPLIES_DESCRIBE
    return operation is Operation.DESCRIBE_CONFIGS and rule.operation in _IMPLIES_DESCRIBE_CONFIGS


def _decide_for_any(rules: Iterable[AccessControlRule]) -> Decision:
    """Decides about any resource from the rules of one type, principal, host and operation (Kafka's `authorizeByResourceType`)."""
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
