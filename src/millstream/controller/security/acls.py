"""CreateAcls and DeleteAcls: access control rules in the metadata log, one result for each rule or filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.settings import RECORDS_PER_REQUEST_MAX
from millstream.errors import InvalidRequest, KafkaError, PolicyViolation
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.metadata.stored_security import AccessControlEntry
from millstream.model import Uuid, uuid_from_random
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from millstream.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from millstream.protocol.generated.metadata_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from millstream.runtime.interfaces import Random
from millstream.security.acl import (
    CLUSTER_NAME,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from millstream.security.acl_filter import AclFilter


def plan_create_acls(
    context: ControllerContext, request: CreateAclsRequest
) -> ControllerResult[CreateAclsResponse]:
    """A rule that exists already is fine and needs no record. Raises PolicyViolation for too many at once."""
    if len(request.creations) > RECORDS_PER_REQUEST_MAX:
        raise PolicyViolation("Unable to perform excessively large batch operation.")
    known = set(context.image.acls.values())
    records: list[MetadataRecord] = []
    results: list[AclCreationResult] = []
    for creation in request.creations:
        try:
            _check_creation(creation)
        except KafkaError as error:
            results.append(AclCreationResult(error.code, str(error)))
            continue
        results.append(AclCreationResult())
        entry = _entry(creation)
        if entry not in known:
            known.add(entry)
            records.append(_record(entry, context.image, context.random))
    return ControllerResult(tuple(records), CreateAclsResponse(results=results))


CREATE_ACLS: Final = ControllerApi(ApiKey.CREATE_ACLS, plan_create_acls)


def plan_delete_acls(
    context: ControllerContext, request: DeleteAclsRequest
) -> ControllerResult[DeleteAclsResponse]:
    """A rule that several filters find is deleted once and told in every answer."""
    deleted: dict[Uuid, MetadataRecord] = {}
    results = []
    for given in request.filters:
        try:
            asked = _filter(given)
            found = {i: entry for i, entry in context.image.acls.items() if asked.matches(entry)}
            if len(deleted | found) > RECORDS_PER_REQUEST_MAX:
                raise InvalidRequest(
                    f"Cannot remove more than {RECORDS_PER_REQUEST_MAX} acls in a single delete operation."
                )
        except KafkaError as error:
            results.append(DeleteAclsFilterResult(error.code, str(error)))
            continue
        deleted.update((acl_id, RemoveAccessControlEntryRecord(id=acl_id)) for acl_id in found)
        results.append(DeleteAclsFilterResult(0, None, _matching(list(found.values()))))
    return ControllerResult(tuple(deleted.values()), DeleteAclsResponse(filter_results=results))


DELETE_ACLS: Final = ControllerApi(ApiKey.DELETE_ACLS, plan_delete_acls)


def _check_creation(creation: AclCreation) -> None:
    resource_type = ResourceType(creation.resource_type)
    pattern_type = PatternType(creation.resource_pattern_type)
    operation = Operation(creation.operation)
    permission_type = PermissionType(creation.permission_type)
    if resource_type is ResourceType.CLUSTER and creation.resource_name != CLUSTER_NAME:
        raise InvalidRequest(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not creation.resource_name:
        raise InvalidRequest("Invalid empty resource name")
    if resource_type in {ResourceType.UNKNOWN, ResourceType.ANY}:
        raise InvalidRequest(f"Invalid resourceType {resource_type.name}")
    if pattern_type not in {PatternType.LITERAL, PatternType.PREFIXED}:
        raise InvalidRequest(f"Invalid patternType {pattern_type.name}")
    if operation in {Operation.UNKNOWN, Operation.ANY}:
        raise InvalidRequest(f"Invalid operation {operation.name}")
    if permission_type not in {PermissionType.DENY, PermissionType.ALLOW}:
        raise InvalidRequest(f"Invalid permissionType {permission_type.name}")
    if ":" not in creation.principal:
        raise InvalidRequest(
            f"Could not parse principal from `{creation.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )


def _entry(creation: AclCreation) -> AccessControlEntry:
    return AccessControlEntry(
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )


def _record(
    entry: AccessControlEntry, image: MetadataImage, random: Random
) -> AccessControlEntryRecord:
    acl_id = uuid_from_random(random.randbytes(16))
    assert acl_id not in image.acls, "two random ids are the same"
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


def _filter(given: DeleteAclsFilter) -> AclFilter:
    asked = AclFilter(
        resource_type=ResourceType(given.resource_type_filter),
        resource_name=given.resource_name_filter,
        pattern_type=PatternType(given.pattern_type_filter),
        principal=given.principal_filter,
        host=given.host_filter,
        operation=Operation(given.operation),
        permission_type=PermissionType(given.permission_type),
    )
    if asked.has_unknown:
        raise InvalidRequest("The filter has an UNKNOWN element, which no rule has.")
    return asked


def _matching(entries: Sequence[AccessControlEntry]) -> list[DeleteAclsMatchingAcl]:
    return [
        DeleteAclsMatchingAcl(
            error_message=None,
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            pattern_type=entry.pattern_type,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission_type,
        )
        for entry in entries
    ]
