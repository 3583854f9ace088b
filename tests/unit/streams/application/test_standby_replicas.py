"""The number of standby tasks is made a config of the group, unless it is so; who may not do that is told what to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pytest

from millstream.clients import Admin
from millstream.clients.admin import AlterConfig, ConfigEntry, ConfigResource, ConfigResourceType
from millstream.clients.admin.core.results import Results
from millstream.errors import (
    ConfigError,
    CoordinatorLoadInProgress,
    GroupAuthorizationFailed,
    KafkaError,
)
from millstream.protocol.enums import ConfigSource
from millstream.streams.application.group.standby_replicas import (
    STANDBY_REPLICAS,
    set_standby_replicas,
)

GROUP = ConfigResource(ConfigResourceType.GROUP, "app")


class Configs:
    """Stands for an Admin: the configs of one group, which may not be described or changed where there are errors."""

    def __init__(self, value: str, *, unseen: KafkaError | None = None, fixed: KafkaError | None):
        self.value = value
        self._unseen, self._fixed = unseen, fixed
        self.changes = 0

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, names: Sequence[str]
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        assert (list(resources), names) == ([GROUP], [STANDBY_REPLICAS])
        source = ConfigSource.DEFAULT_CONFIG
        entry = ConfigEntry(
            STANDBY_REPLICAS, self.value, source, is_sensitive=False, is_read_only=False
        )
        return Results({GROUP: self._unseen or {entry.name: entry}})

    async def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[AlterConfig]]
    ) -> Results[ConfigResource, None]:
        ((change,),) = changes.values()
        if self._fixed is None:
            assert change.value is not None
            self.value = change.value
            self.changes += 1
        return Results({GROUP: self._fixed})


async def set_to(configs: Configs, replicas: int) -> None:
    await set_standby_replicas(cast("Admin", configs), "app", replicas)


async def test_it_is_set_once() -> None:
    configs = Configs("0", fixed=None)
    await set_to(configs, 1)
    await set_to(configs, 1)
    assert (configs.value, configs.changes) == ("1", 1)


async def test_what_another_has_set_needs_no_permission() -> None:
    configs = Configs("1", fixed=GroupAuthorizationFailed("no"))
    await set_to(configs, 1)
    assert configs.changes == 0


async def test_it_is_set_also_where_it_may_not_be_seen() -> None:
    configs = Configs("0", unseen=GroupAuthorizationFailed("no"), fixed=None)
    await set_to(configs, 2)
    assert configs.value == "2"


async def test_who_may_not_is_told_what_to_run() -> None:
    with pytest.raises(ConfigError) as refused:
        await set_to(Configs("0", fixed=GroupAuthorizationFailed("no")), 1)
    assert str(refused.value).endswith(
        "run kafka-configs.sh --bootstrap-server … --alter --entity-type groups --entity-name app "
        "--add-config streams.num.standby.replicas=1"
    )


async def test_a_cluster_that_may_do_it_later_is_no_refusal() -> None:
    with pytest.raises(CoordinatorLoadInProgress):
        await set_to(Configs("0", fixed=CoordinatorLoadInProgress("soon")), 1)
