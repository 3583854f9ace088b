"""A cluster with users, as the console sees it: who may log in, what they see, and what they have changed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from millstream.clients.admin import ClusterDescription
from millstream.console.application import PATHS, SecurityHeaders, create_application
from millstream.console.entrance.door import ANY_HOST, Door
from millstream.console.entrance.logins import Logins
from millstream.console.views.brokers import BrokersView
from millstream.console.views.groups import GroupsView, GroupView
from millstream.console.views.overview import OverviewView, overview_view
from millstream.console.views.paging import Page, Selection
from millstream.console.views.topic import TopicView
from millstream.console.views.topics import TopicsView
from millstream.errors import SaslAuthenticationFailed, TopicAuthorizationFailed
from millstream.runtime.interfaces import Instant

PASSWORDS = {"alice": "wonder", "bob": "builder"}


@dataclass
class Time:
    """A clock that stands still until it is moved."""

    ms: int = 1_000_000

    def now(self) -> Instant:
        return Instant(self.ms, self.ms)

    def wall_ms(self) -> int:
        return self.ms


@dataclass
class PagesOf:
    """The pages of one user. What it changes is in `changed` of the cluster; mallory's changes are refused."""

    user: str
    cluster: Cluster
    is_closed: bool = False

    @property
    def changes(self) -> PagesOf:
        return self

    async def overview(self) -> OverviewView:
        if self.user in self.cluster.removed:
            raise SaslAuthenticationFailed("refused")
        return overview_view(ClusterDescription(self.user, 1, []), [], [])

    async def topics(self, _selection: Selection) -> TopicsView:
        return TopicsView(Page("", 1, 1, 0), ())

    async def topic(self, name: str, partition: int | None = None) -> TopicView:
        raise NotImplementedError

    async def brokers(self) -> BrokersView:
        raise NotImplementedError

    async def groups(self, selection: Selection) -> GroupsView:
        raise NotImplementedError

    async def group(self, group_id: str) -> GroupView:
        raise NotImplementedError

    async def create_topic(self, name: str, partitions: int | None) -> None:
        if self.user in self.cluster.removed:
            raise SaslAuthenticationFailed("refused")
        if self.cluster.answer_lost is not None:
            raise self.cluster.answer_lost
        if name == "forbidden":
            raise TopicAuthorizationFailed("forbidden: you may not")
        self.cluster.changed.append((self.user, "create", name, partitions))

    async def delete_topic(self, name: str) -> None:
        self.cluster.changed.append((self.user, "delete topic", name, None))

    async def delete_group(self, group_id: str) -> None:
        self.cluster.changed.append((self.user, "delete group", group_id, None))

    async def close(self) -> None:
        self.is_closed = True


@dataclass
class Cluster:
    """`removed`: users who are gone since they logged in."""

    time: Time = field(default_factory=Time)
    removed: set[str] = field(default_factory=set)
    changed: list[tuple[str, str, str, int | None]] = field(default_factory=list)
    opened: list[PagesOf] = field(default_factory=list)
    asked: int = 0
    has_tls: bool = True
    is_behind_proxy: bool = False
    answer_lost: BaseException | None = None
    """What comes of a topic's creation in place of its answer."""

    def __post_init__(self) -> None:
        numbers = itertools.count()
        door = Door(
            asks_for_login=True,
            has_secure_cookies=self.has_tls,
            admins=frozenset({"alice"}),
            allowed_hosts=ANY_HOST,
            is_behind_proxy=self.is_behind_proxy,
        )
        self.logins = Logins(self, door, self.time, lambda: f"secret-{next(numbers)}", PATHS)
        self.application: SecurityHeaders = create_application(self.logins)

    async def log_in(self, user: str, password: str) -> PagesOf:
        self.asked += 1
        if PASSWORDS.get(user) != password:
            raise SaslAuthenticationFailed("refused")
        self.opened.append(PagesOf(user, self))
        return self.opened[-1]
