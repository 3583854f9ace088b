"""The groups of one shard by id, of all kinds, and how much their members take.

Owns the registry only: what a group does is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.group import Group
from millstream.errors import GroupIdNotFound

GroupT = TypeVar("GroupT", bound=Group)


class _Size(NamedTuple):
    members: int
    member_bytes: int


_NOTHING: Final = _Size(0, 0)


def _size(group: Group) -> _Size:
    id_bytes = len(group.group_id)
    if isinstance(group, ClassicGroup):
        members = len(group.members) + len(group.pending_members)
        return _Size(members, id_bytes + group.member_bytes)
    return _Size(len(group.members), id_bytes)


class Groups:
    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._sizes: dict[str, _Size] = {}
        """As they were measured last."""
        self.member_count = 0
        """Members of all groups, and ids that clients were told to join with."""
        self.member_bytes = 0
        """The memory that members of classic groups and ids to join with take, and the ids of all groups: a
        client may make one of 32 KB."""
        self.is_loaded = False
        """Soft: the whole log has been replayed, so live groups may be ahead of it."""
        self.awaiting_members: set[str] = set()
        """Soft: streams groups that wait for more members before their first assignment.
        One timer runs for each of them."""

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def measure(self, group_id: str) -> None:
        """Measures a group that may have changed, or be gone."""
        group = self._groups.get(group_id)
        size = _NOTHING if group is None else _size(group)
        before = self._sizes.get(group_id, _NOTHING)
        if size != before:
            self.member_count += size.members - before.members
            self.member_bytes += size.member_bytes - before.member_bytes
            if size == _NOTHING:
                del self._sizes[group_id]
            else:
                self._sizes[group_id] = size

    def find(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def get(self, group_id: str) -> Group:
        """Returns a group. Raises GroupIdNotFound."""
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f"group {group_id} not found")
        return group

    def find_as(self, kind: type[GroupT], group_id: str) -> GroupT | None:
        """Returns a group of one kind, None where there is none of that id.

        Raises GroupIdNotFound for a group of another kind.
        """
        group = self._groups.get(group_id)
        if group is None or isinstance(group, kind):
            return group
        raise GroupIdNotFound(f"group {group_id} is a {group.kind} group")

    def get_or_create_classic(self, group_id: str, timestamp_ms: int) -> Group:
        """A group that only stores offsets is a classic one."""
        group = self._groups.get(group_id)
        if group is None:
            group = ClassicGroup(group_id, timestamp_ms)
            self.put(group)
        return group

    def of_kind(self, kind: type[GroupT]) -> Iterator[GroupT]:
        return (group for group in self._groups.values() if isinstance(group, kind))

    def put(self, group: Group) -> None:
        """Takes the place of the group of that id, whatever its kind."""
        self._groups[group.group_id] = group
        self.measure(group.group_id)

    def remove_as(self, kind: type[Group], group_id: str) -> None:
        """Removes the group, only if it is of that kind: a tombstone of what the group used to be
        leaves what it has become.
        """
        if isinstance(self._groups.get(group_id), kind):
            del self._groups[group_id]
            self.measure(group_id)
