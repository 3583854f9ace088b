"""Access control rules: create, describe, delete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done, item_error
from millstream.clients.admin.core.routes import AnyBroker
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)
from millstream.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from millstream.protocol.generated.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType
from millstream.security.acl_filter import AclFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class AclBinding:
    """One rule: who, from where, may or may not do what to which resources."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType = PatternType.LITERAL
    principal: str
    """`User:name`, or `User:*` for everybody."""
    host: str = "*"
    operation: Operation
    permission_type: PermissionType = PermissionType.ALLOW


async def create_acls(
    admin: AdminCalls, bindings: Iterable[AclBinding], *, timeout_ms: int | None = None
) -> Results[AclBinding, None]:
    """Add rules. One result a binding: None where it is there now, also when it was before, or its error.

    Errors of bindings are InvalidRequest for one that makes no sense, SecurityDisabled where the cluster has no
    authorizer, and ClusterAuthorizationFailed; RequestTimedOut after `timeout_ms` (default_api_timeout_ms).
    """

    def build(asked: Asked[AclBinding]) -> CreateAclsRequest:
        return CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                    resource_pattern_type=each.pattern_type,
                    principal=each.principal,
                    host=each.host,
                    operation=each.operation,
                    permission_type=each.permission_type,
                )
                for each in asked.keys
            ]
        )

    def read(
        response: CreateAclsResponse, asked: Asked[AclBinding]
    ) -> dict[AclBinding, KafkaError | None]:
        return {
            binding: done(each.error_code, binding.resource_name, each.error_message)
            for binding, each in zip(asked.keys, response.results, strict=False)
        }

    call = Call(
        api=ApiKey.CREATE_ACLS,
        response=CreateAclsResponse,
        route=AnyBroker(),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, bindings, admin._driver.deadline(timeout_ms))


async def describe_acls(
    admin: AdminCalls, acl_filter: AclFilter | None = None, *, timeout_ms: int | None = None
) -> list[AclBinding]:
    """Returns the rules that the filter matches; None for all."""
    wanted = acl_filter or AclFilter()

    def read(response: DescribeAclsResponse, asked: Asked[None]) -> dict[None, list[AclBinding]]:
        check(response.error_code, "describe_acls", response.error_message)
        found = [
            AclBinding(
                resource_type=ResourceType(resource.resource_type),
                resource_name=resource.resource_name,
                pattern_type=PatternType(resource.pattern_type),
                principal=each.principal,
                host=each.host,
                operation=Operation(each.operation),
                permission_type=PermissionType(each.permission_type),
            )
            for resource in response.resources
            for each in resource.acls
        ]
        return dict.fromkeys(asked.keys, found)

    call = Call(
        api=ApiKey.DESCRIBE_ACLS,
        response=DescribeAclsResponse,
        route=AnyBroker(),
        build=lambda _: DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.resource_name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission_type,
        ),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def delete_acls(
    admin: AdminCalls, filters: Iterable[AclFilter], *, timeout_ms: int | None = None
) -> Results[AclFilter, Results[AclBinding, None]]:
    """Deletes rules. Returns the rules that each filter matched, and for each whether it could be deleted."""

    def build(asked: Asked[AclFilter]) -> DeleteAclsRequest:
        return DeleteAclsRequest(
            filters=[
                DeleteAclsFilter(
                    resource_type_filter=each.resource_type,
                    resource_name_filter=each.resource_name,
                    pattern_type_filter=each.pattern_type,
                    principal_filter=each.principal,
                    host_filter=each.host,
                    operation=each.operation,
                    permission_type=each.permission_type,
                )
                for each in asked.keys
            ]
        )

    def read(
        response: DeleteAclsResponse, asked: Asked[AclFilter]
    ) -> dict[AclFilter, Results[AclBinding, None] | KafkaError]:
        return {
            each: _deleted(result)
            for each, result in zip(asked.keys, response.filter_results, strict=False)
        }

    call = Call(
        api=ApiKey.DELETE_ACLS,
        response=DeleteAclsResponse,
        route=AnyBroker(),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, filters, admin._driver.deadline(timeout_ms))


def _deleted(result: DeleteAclsFilterResult) -> Results[AclBinding, None] | KafkaError:
    if result.error_code:
        return item_error(result.error_code, "delete_acls", result.error_message)
    deleted: Results[AclBinding, None] = Results()
    for each in result.matching_acls:
        binding = AclBinding(
            resource_type=ResourceType(each.resource_type),
            resource_name=each.resource_name,
            pattern_type=PatternType(each.pattern_type),
            principal=each.principal,
            host=each.host,
            operation=Operation(each.operation),
            permission_type=PermissionType(each.permission_type),
        )
        deleted[binding] = done(each.error_code, each.resource_name, each.error_message)
    return deleted
