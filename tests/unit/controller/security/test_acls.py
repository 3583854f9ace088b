"""CreateAcls and DeleteAcls: answers are those of Kafka 4.3.1 with an authorizer."""

from __future__ import annotations

import pytest

from millstream.controller.security.acls import plan_create_acls, plan_delete_acls
from millstream.protocol.generated.create_acls import AclCreation, CreateAclsRequest
from millstream.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest

INVALID_REQUEST = 42


def rule(**fields: object) -> AclCreation:
    given = {
        "resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:a", "host": "*",
        "operation": 3, "permission_type": 3, **fields,
    }  # fmt: skip
    return AclCreation(**given)


def create(world: object, *rules: AclCreation) -> list[tuple[int, str | None]]:
    response = world.submit(plan_create_acls, CreateAclsRequest(creations=list(rules)))
    return [(result.error_code, result.error_message) for result in response.results]


def delete(world: object, *filters: dict[str, object]) -> list[list[tuple[str, int]]]:
    open_filter = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
        "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    request = DeleteAclsRequest(filters=[DeleteAclsFilter(**{**open_filter, **f}) for f in filters])
    response = world.submit(plan_delete_acls, request)
    assert all(result.error_code == 0 for result in response.filter_results)
    return [
        sorted((acl.resource_name, acl.operation) for acl in result.matching_acls)
        for result in response.filter_results
    ]


def test_a_rule_is_stored_once_however_often_it_is_created(world: object) -> None:
    assert create(world, rule()) == [(0, "")]
    assert create(world, rule(), rule(operation=4), rule(operation=4)) == [(0, "")] * 3
    assert sorted(entry.operation for entry in world.image.acls.values()) == [3, 4]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"resource_name": ""}, "Invalid empty resource name"),
        (
            {"resource_type": 4, "resource_name": "x"},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        ({"resource_type": 1}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 2}, "Invalid patternType MATCH"),
        ({"operation": 1}, "Invalid operation ANY"),
        ({"permission_type": 1}, "Invalid permissionType ANY"),
        (
            {"principal": "alice"},
            (
                "Could not parse principal from `alice` "
                "(no colon is present separating the principal type from the principal name)"
            ),
        ),
    ],
)
def test_a_rule_that_means_nothing_is_refused_and_the_others_are_stored(
    world: object, fields: dict[str, object], message: str
) -> None:
    assert create(world, rule(**fields), rule(resource_name="good")) == [
        (INVALID_REQUEST, message),
        (0, ""),
    ]
    assert [entry.resource_name for entry in world.image.acls.values()] == ["good"]


def test_a_rule_that_two_filters_find_is_deleted_once(world: object) -> None:
    create(
        world,
        rule(resource_name="test"),
        rule(resource_name="te", resource_pattern_type=4),
        rule(resource_name="other", operation=4),
    )
    before = len(world.log)
    found = delete(
        world,
        {"resource_type_filter": 2, "resource_name_filter": "test", "pattern_type_filter": 2},
        {"resource_name_filter": "te"},
    )
    assert found == [[("te", 3), ("test", 3)], [("te", 3)]]
    assert world.written(before) == ["RemoveAccessControlEntryRecord"] * 2
    assert [entry.resource_name for entry in world.image.acls.values()] == ["other"]


def test_a_filter_that_finds_nothing_writes_nothing(world: object) -> None:
    before = len(world.log)
    assert delete(world, {"principal_filter": "User:nobody"}) == [[]]
    assert world.written(before) == []


def test_unknown_in_a_filter_is_refused(world: object) -> None:
    request = DeleteAclsRequest(filters=[DeleteAclsFilter(resource_type_filter=0)])
    response = world.submit(plan_delete_acls, request)
    assert response.filter_results[0].error_code == INVALID_REQUEST
