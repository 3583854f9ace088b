"""Finds the access control rules that a client means when it lists or deletes some of them."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.security.acl import (
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """A filter of access rules. None and ANY leave a field open.

    UNKNOWN, which an unknown number reads as, finds nothing.
    """

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    """MATCH means every pattern that covers the resource named; ANY those that have this very name."""
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission_type: PermissionType = PermissionType.ANY

    @property
    def has_unknown(self) -> bool:
        """Whether a field is UNKNOWN, which a valid filter never contains."""
        return 0 in {self.resource_type, self.pattern_type, self.operation, self.permission_type}

    def matches(self, rule: AccessControlRule) -> bool:
        """Whether the filter finds this rule."""
        return (
            self.resource_type in {ResourceType.ANY, rule.resource_type}
            and self.operation in {Operation.ANY, rule.operation}
            and self.permission_type in {PermissionType.ANY, rule.permission_type}
            and self.principal in {None, rule.principal}
            and self.host in {None, rule.host}
            and self._matches_pattern(rule)
        )

    def _matches_pattern(self, rule: AccessControlRule) -> bool:
        if self.pattern_type not in {PatternType.ANY, PatternType.MATCH, rule.pattern_type}:
            return False
        if self.resource_name is None or self.resource_name == rule.resource_name:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        if rule.pattern_type == PatternType.PREFIXED:
            return self.resource_name.startswith(rule.resource_name)
        return rule.resource_name == "*"
