"""Every setting does something: its value is read where the product works, not only where it is parsed and checked.

What counts as a reader is found in the syntax trees of the modules outside the tables: a field of a settings class that is loaded
from something that holds settings (`config.x`, `self._settings.x`, ...), or the key's name as a whole string (or a pattern of
an f-string) as what a function or a mapping is asked with. A key that nothing reads must say `without_effect`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.metadata_log.snapshots import SnapshotSettings
from millstream.broker.storage.log_cleaner import CleanerSettings
from millstream.controller.settings import ControllerSettings, DelegationTokenSettings
from millstream.coordinator.group.classic.config import ClassicGroupConfig
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.consumer.config import ConsumerGroupConfig
from millstream.coordinator.group.share.config import ShareGroupConfig
from millstream.coordinator.group.streams.config import StreamsGroupConfig
from millstream.coordinator.share.config import ShareCoordinatorConfig
from millstream.coordinator.transaction.config import TransactionCoordinatorConfig
from millstream.metadata.client_metrics_config import ClientMetricsSubscription
from millstream.metadata.group_config import _LEAST_AND_MOST, GROUP_CONFIGS
from millstream.metadata.topic_config import TOPIC_CONFIGS, LogConfig
from millstream.net.server.limits import ConnectionLimits
from millstream.raft.quorum_state import RaftTimeouts

SOURCE = Path(__file__).parents[2] / "src" / "millstream"
SERVER_PACKAGES = (
    "broker",
    "controller",
    "coordinator",
    "log",
    "metadata",
    "net",
    "raft",
    "replication",
)
TABLES_AND_CHECKS = re.compile(
    r"broker/config/(table.*|coordinator_table|security_table|rules|rows|other_keys|explanation|sources|dynamic_config)"
    r"|metadata/(topic_config_table|group_config|effective_config)"
)
"""Modules that name keys to describe or to check them."""
CHECKED_ONLY = {"process.roles", "controller.quorum.voters", "broker.id"}
"""They say what this node is, and what it is not is refused; `broker.id` is turned into `node.id`."""
HOLDERS = re.compile(
    r"_?(config|current|settings|static|limits|timeouts|changed|delegation_tokens|classic|consumer|share|streams|subscription|self)"
)
"""Names of what settings are loaded from; `self` for properties of the settings themselves."""


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in SERVER_PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            if not TABLES_AND_CHECKS.search(path.relative_to(SOURCE).as_posix()):
                yield path, ast.parse(path.read_text())


@cache
def loaded_fields() -> frozenset[str]:
    """Names of attributes that some module loads from a holder of settings."""
    return frozenset(
        node.attr
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and HOLDERS.fullmatch(last_name(node.value))
    )


def last_name(node: ast.expr) -> str:
    """`current` of `config.current`, `_settings` of `self._settings()`; empty for other expressions."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called):
            return last_name(called)
        case _:
            return ""


@cache
def names_asked_for() -> tuple[frozenset[str], re.Pattern[str]]:
    """Strings that functions and mappings are asked with, and what f-strings among them can become."""
    asked = [name for _, tree in modules() for node in ast.walk(tree) for name in asked_with(node)]
    strings = {name.value for name in asked if isinstance(name, ast.Constant)}
    patterns = {pattern_of(name) for name in asked if isinstance(name, ast.JoinedStr)} - {None}
    return frozenset(map(str, strings)), re.compile("|".join(sorted(map(str, patterns))))


def asked_with(node: ast.AST) -> Sequence[ast.expr]:
    """Arguments of a call, the key of a subscript that is loaded, a constant with a name; nothing else names a setting to read it."""
    match node:
        case ast.Call(args=arguments):
            return arguments
        case ast.Subscript(slice=key, ctx=ast.Load()):
            return [key]
        case ast.AnnAssign(value=ast.Constant() as constant):
            return [constant]
        case _:
            return []


def pattern_of(node: ast.JoinedStr) -> str | None:
    """None for f-strings that are no name of a key, or could be nearly any."""
    constant = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    if len(constant) < 10 or not re.fullmatch(r"[a-z.]+", constant):
        return None
    return "".join(
        re.escape(str(part.value)) if isinstance(part, ast.Constant) else "[a-z.]+"
        for part in node.values
    )


def is_read(key: str) -> bool:
    strings, patterns = names_asked_for()
    return (
        key.replace(".", "_") in loaded_fields() or key in strings or bool(patterns.fullmatch(key))
    )


def readers_of_broker_keys() -> set[str]:
    """Keys that are read as they are; those that give topics and groups their defaults; the limits of groups' keys."""
    through_topics = {
        s.name for key in TOPIC_CONFIGS.values() if is_read(key.name) for s in key.synonyms
    }
    through_groups = {
        s.name for key in GROUP_CONFIGS.values() if is_read(key.name) for s in key.synonyms
    }
    limits = {limit for both in _LEAST_AND_MOST.values() for limit in both if limit is not None}
    as_they_are = {key for key in BROKER_CONFIGS if is_read(key)}
    return as_they_are | through_topics | through_groups | limits | CHECKED_ONLY


def test_every_broker_setting_is_read_or_says_that_it_has_no_effect() -> None:
    read = readers_of_broker_keys()
    assert {n for n, key in BROKER_CONFIGS.items() if key.without_effect is None} - read == set()


def test_every_topic_setting_is_read_or_says_that_it_has_no_effect() -> None:
    assert {
        name
        for name, key in TOPIC_CONFIGS.items()
        if key.without_effect is None and not is_read(name)
    } == set()


def test_every_setting_of_groups_is_read() -> None:
    assert {key for key in GROUP_CONFIGS if not is_read(key)} == set()


@pytest.mark.parametrize(
    "settings",
    [
        BrokerConfig, CleanerSettings, ClassicGroupConfig, ClientMetricsSubscription, ConnectionLimits, ConsumerGroupConfig, ControllerSettings, DelegationTokenSettings,
        GroupCoordinatorConfig, LogConfig, RaftTimeouts, ShareCoordinatorConfig, ShareGroupConfig, SnapshotSettings,
        StreamsGroupConfig, TransactionCoordinatorConfig,
    ],
)  # fmt: skip
def test_every_field_of_what_settings_are_handed_on_in_is_read(settings: type) -> None:
    unread = {field.name for field in fields(settings)} - loaded_fields()
    assert {name for name in unread if not is_read(name.replace("_", "."))} == set()


@pytest.mark.parametrize(
    "key",
    [
        "unclean.leader.election.enable",
        "remote.log.reader.threads",
        "num.io.threads",
        "transaction.two.phase.commit.enable",
    ],
)
def test_a_key_that_nothing_reads_is_found(key: str) -> None:
    """The tables name it, and no module reads it."""
    assert key in BROKER_CONFIGS
    assert key not in readers_of_broker_keys()
