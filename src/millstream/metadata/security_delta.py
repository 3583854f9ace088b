"""The changes of access control rules, credentials, delegation tokens and client quotas between two images.

Owns the replay of AccessControlEntry, UserScramCredential, TokenInformation and ClientQuota records
and of those that remove them.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.metadata.image import MetadataImage, frozen_mapping
from millstream.metadata.mapping_delta import MappingDelta
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
