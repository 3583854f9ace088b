"""The changes of access control rules, credentials, delegation tokens and client quotas between two images.

Owns the replay of AccessControlEntry, UserScramCredential, TokenInformation and ClientQuota records
and of those that remove them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.metadata.stored_security import (
    AccessControlEntry,
    QuotaEntity,
    ScramCredential,
    ScramUser,
    TokenInformation,
    quota_entity,
)
from millstream.model import Uuid
from millstream.protocol.generated import metadata_records as records

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class MappingDelta(Generic[KeyT, ValueT]):
    def __init__(self, base: Mapping[KeyT, ValueT]) -> None:
        self._base = base
        self.changed: dict[KeyT, ValueT | None] = {}
        """What was touched, as it is now; None for what is gone."""

    def get(self, key: KeyT) -> ValueT | None:
        return self.changed[key] if key in self.changed else self._base.get(key)

    def put(self, key: KeyT, value: ValueT) -> None:
        self.changed[key] = value

    def remove(self, key: KeyT) -> None:
        """Removes a key; a key that is not there changes nothing."""
        self.changed[key] = None

    def replaced(self) -> list[ValueT]:
        """Returns the values of the base that are gone, or have others in their place."""
        return [self._base[key] for key in self.changed if key in self._base]

    def put_values(self) -> list[ValueT]:
        """Returns the values that the base does not have at their keys."""
        return [value for value in self.changed.values() if value is not None]

    def result(self) -> Mapping[KeyT, ValueT]:
        """Returns the changed mapping; the base itself when nothing was touched."""
        if not self.changed:
            return self._base
        merged = dict(self._base)
        for key, value in self.changed.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = value
        return frozen_mapping(merged)


class SecurityDelta:
    """Replays records on top of what `base` stores; each mapping knows what differs."""

    def __init__(self, base: MetadataImage) -> None:
        self.acls: MappingDelta[Uuid, AccessControlEntry] = MappingDelta(base.acls)
        self.scram: MappingDelta[ScramUser, ScramCredential] = MappingDelta(base.scram)
        self.tokens: MappingDelta[str, TokenInformation] = MappingDelta(base.delegation_tokens)
        self.quotas: MappingDelta[QuotaEntity, Mapping[str, float]] = MappingDelta(
            base.client_quotas
        )

    def replay_acl(self, record: records.AccessControlEntryRecord) -> None:
        self.acls.put(
            Uuid(record.id),
            AccessControlEntry(
                resource_type=record.resource_type,
                resource_name=record.resource_name,
                pattern_type=record.pattern_type,
                principal=record.principal,
                host=record.host,
                operation=record.operation,
                permission_type=record.permission_type,
            ),
        )

    def replay_remove_acl(self, record: records.RemoveAccessControlEntryRecord) -> None:
        acl_id = Uuid(record.id)
        assert self.acls.get(acl_id) is not None, (
            f"access control entry {acl_id.hex()} is removed but was never added"
        )
        self.acls.remove(acl_id)

    def replay_scram(self, record: records.UserScramCredentialRecord) -> None:
        self.scram.put(
            ScramUser(record.name, record.mechanism),
            ScramCredential(
                bytes(record.salt),
                bytes(record.stored_key),
                bytes(record.server_key),
                record.iterations,
            ),
        )

    def replay_remove_scram(self, record: records.RemoveUserScramCredentialRecord) -> None:
        self.scram.remove(ScramUser(record.name, record.mechanism))

    def replay_token(self, record: records.DelegationTokenRecord) -> None:
        self.tokens.put(
            record.token_id,
            TokenInformation(
                token_id=record.token_id,
                owner=record.owner,
                requester=record.requester,
                renewers=tuple(record.renewers),
                issue_timestamp_ms=record.issue_timestamp,
                max_timestamp_ms=record.max_timestamp,
                expiration_timestamp_ms=record.expiration_timestamp,
            ),
        )

    def replay_remove_token(self, record: records.RemoveDelegationTokenRecord) -> None:
        self.tokens.remove(record.token_id)

    def replay_quota(self, record: records.ClientQuotaRecord) -> None:
        entity = quota_entity((part.entity_type, part.entity_name) for part in record.entity)
        limits = dict(self.quotas.get(entity) or {})
        if record.remove:
            limits.pop(record.key, None)
        else:
            limits[record.key] = record.value
        if limits:
            self.quotas.put(entity, frozen_mapping(limits))
        else:
            self.quotas.remove(entity)
