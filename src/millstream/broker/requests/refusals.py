"""Responses to whole requests that fail, of administrative APIs that have no error at the top, or more than that.

Read by `error_responses`, which knows what all APIs have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated import (
    alter_client_quotas,
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_client_quotas,
    elect_leaders,
    expire_delegation_token,
    renew_delegation_token,
)


def _create_acls(
    request: create_acls.CreateAclsRequest, error: KafkaError
) -> create_acls.CreateAclsResponse:
    return create_acls.CreateAclsResponse(
        results=[create_acls.AclCreationResult(error.code, str(error)) for _ in request.creations]
    )


def _delete_acls(
    request: delete_acls.DeleteAclsRequest, error: KafkaError
) -> delete_acls.DeleteAclsResponse:
    return delete_acls.DeleteAclsResponse(
        filter_results=[
            delete_acls.DeleteAclsFilterResult(error.code, str(error)) for _ in request.filters
        ]
    )


def _alter_user_scram_credentials(
    request: alter_user_scram_credentials.AlterUserScramCredentialsRequest, error: KafkaError
) -> alter_user_scram_credentials.AlterUserScramCredentialsResponse:
    deleted = [each.name for each in request.deletions]
    users = dict.fromkeys(deleted + [each.name for each in request.upsertions])
    return alter_user_scram_credentials.AlterUserScramCredentialsResponse(
        results=[
            alter_user_scram_credentials.AlterUserScramCredentialsResult(
                user=user, error_code=error.code, error_message=str(error)
            )
            for user in users
        ]
    )


def _alter_client_quotas(
    request: alter_client_quotas.AlterClientQuotasRequest, error: KafkaError
) -> alter_client_quotas.AlterClientQuotasResponse:
    return alter_client_quotas.AlterClientQuotasResponse(
        entries=[
            alter_client_quotas.AlterClientQuotasResponseEntryData(
                error_code=error.code, error_message=str(error), entity=entry.entity
            )
            for entry in request.entries
        ]
    )


def _describe_client_quotas(
    _request: describe_client_quotas.DescribeClientQuotasRequest, error: KafkaError
) -> describe_client_quotas.DescribeClientQuotasResponse:
    return describe_client_quotas.DescribeClientQuotasResponse(
        error_code=error.code, error_message=str(error), entries=None
    )


def elect_leaders_failed(
    request: elect_leaders.ElectLeadersRequest, version: int, error: KafkaError
) -> elect_leaders.ElectLeadersResponse:
    """From version 1 on at the top too."""
    return elect_leaders.ElectLeadersResponse(
        error_code=error.code if version >= 1 else 0,
        replica_election_results=[
            elect_leaders.ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[
                    elect_leaders.PartitionResult(
                        partition_id=partition, error_code=error.code, error_message=str(error)
                    )
                    for partition in asked.partitions
                ],
            )
            for asked in request.topic_partitions or ()
        ],
    )


def _renew_delegation_token(
    _request: renew_delegation_token.RenewDelegationTokenRequest, error: KafkaError
) -> renew_delegation_token.RenewDelegationTokenResponse:
    return renew_delegation_token.RenewDelegationTokenResponse(
        error_code=error.code, expiry_timestamp_ms=-1
    )


def _expire_delegation_token(
    _request: expire_delegation_token.ExpireDelegationTokenRequest, error: KafkaError
) -> expire_delegation_token.ExpireDelegationTokenResponse:
    return expire_delegation_token.ExpireDelegationTokenResponse(
        error_code=error.code, expiry_timestamp_ms=-1
    )


_Build = Callable[[Any, KafkaError], Message]  # Any: the classes of the key it stands under

ADMINISTRATION: Final[Mapping[ApiKey, _Build]] = MappingProxyType(
    {
        ApiKey.CREATE_ACLS: _create_acls,
        ApiKey.DELETE_ACLS: _delete_acls,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
        ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
        ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
        ApiKey.RENEW_DELEGATION_TOKEN: _renew_delegation_token,
        ApiKey.EXPIRE_DELEGATION_TOKEN: _expire_delegation_token,
    }
)
