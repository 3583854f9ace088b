"""The declaration of an API in its handler module: key, versions served, and the permissions that clients need.

ApiVersions, dispatch and the compatibility page read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from millstream.protocol.api import ApiKey
from millstream.security.acl import Operation, ResourceType


class Permission(NamedTuple):
    """A permission that an API needs: an operation on resources of a type.

    Which resources, and when, depends on the request: the topics and groups that it names, or a part of them.
    """

    operation: Operation
    resource_type: ResourceType
    refuses_request: bool = False
    """Asked before the request is handled: without it all of it fails with CLUSTER_AUTHORIZATION_FAILED."""


def cluster_permission(operation: Operation) -> Permission:
    """Returns the permission without which the whole request is refused, whatever it asks for."""
    return Permission(operation, ResourceType.CLUSTER, refuses_request=True)


@dataclass(frozen=True, slots=True)
class ApiSpec:
    """One API as this broker serves it. `versions` is a half-open range: `range(1, 12)` is 1-11."""

    key: ApiKey
    versions: range
    permissions: tuple[Permission, ...]
    """As Kafka asks for them, in its order; empty for an API that every client may use."""
    is_forwarded: bool = False
    """A broker passes the request on to the active controller as it came, where that is another node, and asks for nothing itself."""

    @property
    def lowest(self) -> int:
        return self.versions.start

    @property
    def highest(self) -> int:
        return self.versions.stop - 1
