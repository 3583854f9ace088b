"""The seam between the web edge and the cluster: who asks, what is shown, and what administrators change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from millstream.console.views.brokers import BrokersView
from millstream.console.views.groups import GroupsView, GroupView
from millstream.console.views.overview import OverviewView
from millstream.console.views.paging import Selection
from millstream.console.views.topic import TopicView
from millstream.console.views.topics import TopicsView


class Changes(Protocol):
    """The changes that administrators may make. Raises MillstreamError for what the cluster refuses."""

    async def create_topic(self, name: str, partitions: int | None) -> None: ...
    async def delete_topic(self, name: str) -> None: ...
    async def delete_group(self, group_id: str) -> None: ...


class Pages(Protocol):
    """The source of the pages. Raises MillstreamError for one that cannot be shown."""

    @property
    def changes(self) -> Changes: ...

    async def overview(self) -> OverviewView: ...
    async def brokers(self) -> BrokersView: ...
    async def topics(self, selection: Selection) -> TopicsView: ...
    async def topic(self, name: str, partition: int | None = None) -> TopicView: ...
    async def groups(self, selection: Selection) -> GroupsView: ...
    async def group(self, group_id: str) -> GroupView: ...
    async def close(self) -> None: ...


class Role(StrEnum):
    """The rights of a visitor here. Those of its user at the cluster are asked about there, too."""

    READER = "reader"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Visitor:
    """`user`: None where there is no login. `form_token` must come back with every form that changes something."""

    user: str | None
    role: Role
    pages: Pages
    form_token: str = ""

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN
