"""The security settings in the metadata log: access rules, credentials, tokens and quotas, as plain values.

Owns the shape only. Numbers are Kafka's; what they mean, and who may do what, is decided in
`security` and by the controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntry:
    """One access control rule, in the numbers of `security.acl`."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class ScramUser(NamedTuple):
    """A user has one credential for each mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The keys with which a server verifies a password that it does not know (RFC 5802). `repr` hides the secrets."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenInformation:
    """A token without its secret, which every broker computes from the token id and the cluster's secret key (KIP-48).

    Principals are written `User:alice`. Times are milliseconds since 1970.
    """

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiration_timestamp_ms: int


class QuotaEntityPart(NamedTuple):
    """A part of the entity of a quota.

    `type` is user, client-id or ip; `name` None stands for the default of all without a quota of their own.
    """

    type: str
    name: str | None


QuotaEntity = tuple[QuotaEntityPart, ...]
"""Whom a quota holds for, such as a user together with a client id; sorted by type."""


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Returns an entity of these parts; equal entities are equal in whatever order their parts come."""
    return tuple(sorted((QuotaEntityPart(*part) for part in parts), key=lambda part: part.type))
