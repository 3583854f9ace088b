"""AlterClientQuotas: answers are those of Kafka 4.3.1, but for addresses that would have to be looked up."""

from __future__ import annotations

import math

import pytest

from millstream.controller.configs.client_quotas import plan_alter_client_quotas
from millstream.metadata.stored_security import quota_entity
from millstream.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)

INVALID_REQUEST = 42
PRODUCE, REQUEST, CONNECTIONS = (
    "producer_byte_rate",
    "request_percentage",
    "connection_creation_rate",
)
USER = (("user", "a"),)


def entry(
    entity: tuple[tuple[str, str | None], ...], *operations: tuple[str, float | None]
) -> AlterClientQuotasRequestEntryData:
    """An operation without a value removes the limit."""
    return AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[
            OpData(key=key, value=value or 0.0, remove=value is None) for key, value in operations
        ],
    )


def alter(
    world: object, *entries: AlterClientQuotasRequestEntryData, validate_only: bool = False
) -> list[tuple[int, str | None]]:
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    response = world.submit(plan_alter_client_quotas, request)
    return [(result.error_code, result.error_message) for result in response.entries]


def test_limits_are_set_changed_and_removed(world: object) -> None:
    assert alter(world, entry(USER, (PRODUCE, 10.0), (REQUEST, 12.5))) == [(0, None)]
    assert world.image.client_quotas == {quota_entity(USER): {PRODUCE: 10.0, REQUEST: 12.5}}
    before = len(world.log)
    assert alter(world, entry(USER, (PRODUCE, 10.0), (REQUEST, None))) == [(0, None)]
    assert world.written(before) == ["ClientQuotaRecord"]  # what stays the same needs no record
    assert world.image.client_quotas == {quota_entity(USER): {PRODUCE: 10.0}}


def test_removing_what_is_not_there_is_fine_whatever_it_is_called(world: object) -> None:
    assert alter(world, entry(USER, (PRODUCE, None), ("nope", None))) == [(0, None)]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (entry((), (PRODUCE, 1.0)), "Invalid empty client quota entity"),
        (
            entry((("ip", "1.2.3.4"), ("user", "a")), (CONNECTIONS, 1.0)),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (entry((("group", "a"),), (PRODUCE, 1.0)), "Unhandled client quota entity type: group"),
        (
            entry((("ip", "no such host."),), (CONNECTIONS, 1.0)),
            "no such host. is not a valid IP or resolvable host.",
        ),
        (entry((("user", ""),), (PRODUCE, 1.0)), "Empty user not supported"),
        (entry(USER, ("nope", 1.0)), "Invalid configuration key nope"),
        (entry(USER, (CONNECTIONS, 1.0)), f"Invalid configuration key {CONNECTIONS}"),
        (entry((("ip", "1.2.3.4"),), (PRODUCE, 1.0)), f"Invalid configuration key {PRODUCE}"),
        (entry(USER, (PRODUCE, 1.5)), f"{PRODUCE} cannot be a fractional value."),
        (entry(USER, (PRODUCE, -5.0)), f"Quota {PRODUCE} must be greater than 0"),
        (entry(USER, (REQUEST, math.nan)), f"Quota {REQUEST} must be greater than 0"),
        (entry(USER, (PRODUCE, 1e30)), f"Proposed value for {PRODUCE} is too large for a LONG."),
        (
            entry((("ip", None),), (CONNECTIONS, 1e10)),
            f"Proposed value for {CONNECTIONS} is too large for an INT.",
        ),
        (entry(USER, (PRODUCE, 1.0), ("nope", 1.0)), "Invalid configuration key nope"),
        (
            entry(USER, (PRODUCE, 1.0), (PRODUCE, 2.0)),
            "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})",
        ),
    ],
)
def test_an_entity_is_changed_as_a_whole_or_not_at_all(
    world: object, bad: AlterClientQuotasRequestEntryData, message: str
) -> None:
    good = entry((("client-id", "c"),), (PRODUCE, 1.0))
    assert alter(world, bad, good) == [(INVALID_REQUEST, message), (0, None)]
    assert world.image.client_quotas == {quota_entity((("client-id", "c"),)): {PRODUCE: 1.0}}


def test_the_first_mention_of_an_entity_counts(world: object) -> None:
    both, reversed_both = (("user", "x"), ("client-id", "q")), (("client-id", "q"), ("user", "x"))
    answer = alter(world, entry(both, (PRODUCE, 1.0)), entry(reversed_both, (PRODUCE, 2.0)))
    assert answer == [
        (
            INVALID_REQUEST,
            "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=q, user=x})",
        )
    ]
    assert world.image.client_quotas == {quota_entity(both): {PRODUCE: 1.0}}


def test_nothing_changes_when_it_is_only_to_be_checked(world: object) -> None:
    before = len(world.log)
    assert alter(world, entry(USER, (PRODUCE, 1.0)), validate_only=True) == [(0, None)]
    assert world.written(before) == []
