"""`millstream acls`: the order of what is listed."""

from __future__ import annotations

import itertools
from typing import cast

from millstream.cli.security.acls import _found
from millstream.cli.security.rule_plans import WantedRules
from millstream.clients.admin import AclBinding
from millstream.clients.blocking import Admin
from millstream.security.acl import (
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)


class ScriptedAdmin:
    """Has a few rules, which it tells in one order or another."""

    def __init__(self, rules: list[AclBinding]) -> None:
        self._rules = rules

    def describe_acls(self, _filter: object) -> list[AclBinding]:
        return self._rules


def test_rules_are_listed_in_one_order() -> None:
    """Also those that differ in permission, host or pattern alone: a set has its own order in each process."""
    rules = [
        AclBinding(
            resource_type=ResourceType.TOPIC, resource_name="t", pattern_type=pattern, principal="User:a",
            host=host, operation=Operation.READ, permission_type=permission,
        )
        for pattern in (PatternType.LITERAL, PatternType.PREFIXED)
        for permission in (PermissionType.DENY, PermissionType.ALLOW)
        for host in ("*", "10.0.0.1", "10.0.0.2")
    ]  # fmt: skip
    for told in itertools.islice(itertools.permutations(rules), 0, 100_000, 9_999):
        admin = cast("Admin", ScriptedAdmin(list(told)))
        assert _found(admin, WantedRules(), PatternType.ANY) == rules
