"""Rules, credentials, tokens and quotas as the image keeps them."""

from __future__ import annotations

import pytest

from millstream.metadata.delta import MetadataDelta, MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.metadata.stored_security import (
    AccessControlEntry,
    ScramCredential,
    ScramUser,
    TokenInformation,
    quota_entity,
)
from millstream.model import LeaderEpoch, Offset, Uuid
from millstream.protocol.generated import metadata_records as records

ACL_ID = Uuid(b"a" * 16)


def replayed(*changes: MetadataRecord, on: MetadataImage | None = None) -> MetadataImage:
    delta = MetadataDelta(on or MetadataImage())
    for change in changes:
        delta.replay(change)
    return delta.image(Offset(0), LeaderEpoch(0))


def test_a_rule_is_kept_under_its_id_until_it_is_removed() -> None:
    image = replayed(
        records.AccessControlEntryRecord(
            id=ACL_ID, resource_type=2, resource_name="t", pattern_type=3, principal="User:a", host="*",
            operation=3, permission_type=3,
        )
    )  # fmt: skip
    assert image.acls == {
        ACL_ID: AccessControlEntry(
            resource_type=2, resource_name="t", pattern_type=3, principal="User:a", host="*",
            operation=3, permission_type=3,
        )
    }  # fmt: skip
    assert replayed(records.RemoveAccessControlEntryRecord(id=ACL_ID), on=image).acls == {}


def test_removing_a_rule_that_was_never_added_is_damage() -> None:
    with pytest.raises(AssertionError, match="never added"):
        replayed(records.RemoveAccessControlEntryRecord(id=ACL_ID))


def test_a_user_has_one_credential_for_each_mechanism() -> None:
    def credential(mechanism: int, iterations: int) -> records.UserScramCredentialRecord:
        return records.UserScramCredentialRecord(
            name="a", mechanism=mechanism, salt=b"s", stored_key=b"k", server_key=b"v", iterations=iterations
        )  # fmt: skip

    image = replayed(credential(1, 4096), credential(2, 8192), credential(1, 5000))
    assert image.scram == {
        ScramUser("a", 1): ScramCredential(b"s", b"k", b"v", 5000),
        ScramUser("a", 2): ScramCredential(b"s", b"k", b"v", 8192),
    }
    removed = replayed(records.RemoveUserScramCredentialRecord(name="a", mechanism=1), on=image)
    assert list(removed.scram) == [ScramUser("a", 2)]


def test_a_credential_does_not_show_its_secrets() -> None:
    text = repr(ScramCredential(b"salty", b"stored", b"server", 4096))
    assert text == "ScramCredential(iterations=4096)"


def test_a_token_is_replaced_by_its_renewal_and_goes_with_its_removal() -> None:
    first = records.DelegationTokenRecord(
        token_id="t", owner="User:a", requester="User:b", renewers=["User:c"], issue_timestamp=1, max_timestamp=9,
        expiration_timestamp=5,
    )  # fmt: skip
    renewed = records.DelegationTokenRecord(
        token_id="t", owner="User:a", requester="User:b", renewers=["User:c"], issue_timestamp=1, max_timestamp=9,
        expiration_timestamp=8,
    )  # fmt: skip
    image = replayed(first, renewed)
    assert image.delegation_tokens == {
        "t": TokenInformation(
            token_id="t", owner="User:a", requester="User:b", renewers=("User:c",), issue_timestamp_ms=1,
            max_timestamp_ms=9, expiration_timestamp_ms=8,
        )
    }  # fmt: skip
    assert (
        replayed(records.RemoveDelegationTokenRecord(token_id="t"), on=image).delegation_tokens
        == {}
    )


def quota(key: str, value: float, *, remove: bool = False) -> records.ClientQuotaRecord:
    entity = [
        records.EntityData(entity_type="user", entity_name="a"),
        records.EntityData(entity_type="client-id", entity_name=None),
    ]
    return records.ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)


def test_limits_of_an_entity_are_changed_one_by_one() -> None:
    image = replayed(quota("producer_byte_rate", 10.0), quota("request_percentage", 5.0))
    entity = quota_entity([("client-id", None), ("user", "a")])
    assert image.client_quotas == {entity: {"producer_byte_rate": 10.0, "request_percentage": 5.0}}
    image = replayed(quota("request_percentage", 0.0, remove=True), on=image)
    assert image.client_quotas == {entity: {"producer_byte_rate": 10.0}}
    assert replayed(quota("producer_byte_rate", 0.0, remove=True), on=image).client_quotas == {}


def test_untouched_mappings_are_shared_with_the_image_before() -> None:
    image = replayed(quota("producer_byte_rate", 10.0))
    after = replayed(records.NoOpRecord(), on=image)
    assert after.client_quotas is image.client_quotas


def test_records_of_zookeeper_times_mean_nothing() -> None:
    assert replayed(records.ZkMigrationStateRecord(zk_migration_state=1)) == replayed()
