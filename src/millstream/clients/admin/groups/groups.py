"""Groups of all kinds: list and delete."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final, NamedTuple, Self

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done
from millstream.clients.admin.core.routes import GROUP_COORDINATOR, Node
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable, UnsupportedVersion
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse

_FIRST_LIST_WITH_TYPES: Final = 5
_CONSUMER_PROTOCOLS: Final = ("", "consumer")
"""Groups without members that only keep offsets have no protocol."""


class GroupType(StrEnum):
    UNKNOWN = "unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"

    @classmethod
    def of(cls, text: str) -> Self:
        """Returns the type; UNKNOWN for one of a later Kafka, and where the broker is too old to say."""
        lower = text.lower()
        return cls(lower) if lower in cls.__members__.values() else cls("unknown")


class GroupListing(NamedTuple):
    """`state` and `type` are UNKNOWN where the broker is too old to say (before 2.6 and 3.8)."""

    group_id: str
    protocol_type: str
    state: GroupState
    type: GroupType

    @property
    def is_simple_consumer_group(self) -> bool:
        """Whether the group has no members, and only keeps offsets."""
        return self.type is GroupType.CLASSIC and not self.protocol_type


async def list_groups(
    admin: AdminCalls,
    *,
    states: Collection[str] = (),
    types: Collection[str] = (),
    protocol_types: Collection[str] = (),
    timeout_ms: int | None = None,
) -> list[GroupListing]:
    """Lists groups in one of the states (Kafka 2.6), of one of the types, of one of the protocol types; sorted by id.

    Every broker knows the groups it coordinates, so every one is asked. Raises the error of one that did not answer.
    """

    def build(asked: Asked[int]) -> ListGroupsRequest:
        if types and asked.version < _FIRST_LIST_WITH_TYPES:
            if GroupType.CLASSIC not in types:
                raise UnsupportedVersion(
                    "groups have types since Kafka 3.8; before, all are classic"
                )
            return ListGroupsRequest(states_filter=list(states))
        return ListGroupsRequest(states_filter=list(states), types_filter=list(types))

    def read(response: ListGroupsResponse, asked: Asked[int]) -> dict[int, list[GroupListing]]:
        check(response.error_code, "list_groups")
        listed = [
            GroupListing(
                each.group_id,
                each.protocol_type,
                GroupState.of(each.group_state),
                GroupType.of(each.group_type),
            )
            for each in response.groups
            if not protocol_types or each.protocol_type in protocol_types
        ]
        return dict.fromkeys(asked.keys, listed)

    call = Call(
        api=ApiKey.LIST_GROUPS,
        response=ListGroupsResponse,
        route=Node[int](int),
        build=build,
        read=read,
        retries=(CoordinatorLoadInProgress, CoordinatorNotAvailable),
    )
    deadline_ms = admin._driver.deadline(timeout_ms)
    found = (await admin._driver.run_on_all_brokers(call, deadline_ms)).raise_errors()
    return sorted({group for node_id in found for group in found.result(node_id)})


async def list_consumer_groups(
    admin: AdminCalls, *, states: Collection[str] = (), timeout_ms: int | None = None
) -> list[GroupListing]:
    """Lists groups of consumers, of the classic protocol and of KIP-848."""
    return await list_groups(
        admin,
        states=states,
        types=(GroupType.CLASSIC, GroupType.CONSUMER),
        protocol_types=_CONSUMER_PROTOCOLS,
        timeout_ms=timeout_ms,
    )


async def delete_groups(
    admin: AdminCalls, group_ids: Iterable[str], *, timeout_ms: int | None = None
) -> Results[str, None]:
    """Deletes groups of any type, with the offsets they keep. NonEmptyGroup while one has members."""
    call = Call(
        api=ApiKey.DELETE_GROUPS,
        response=DeleteGroupsResponse,
        route=GROUP_COORDINATOR,
        build=lambda asked: DeleteGroupsRequest(groups_names=asked.keys),
        read=lambda response, _: {
            each.group_id: done(each.error_code, each.group_id) for each in response.results
        },
    )
    return await admin._driver.run(call, group_ids, admin._driver.deadline(timeout_ms))
