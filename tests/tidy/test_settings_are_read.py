"""Every setting does something: its value is read where the product works, not only where it is parsed and checked.

What counts as a reader is found in the syntax trees of the modules outside the tables: a field of a config class that is loaded
from something that holds settings (`config.x`, `self._settings.x`, ...), or, where what several settings say is put together, the
key's name as what a function or a mapping is asked with. A key that nothing reads must say `without_effect`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import fields
from functools import cache

import pytest

from millstream.broker.config.table import BROKER_CONFIGS
from millstream.config_fields import sources
from millstream.coordinator.share_partition.acquisition import SharePartitionLimits
from millstream.metadata.group_config import _LEAST_AND_MOST, GROUP_CONFIGS
from millstream.metadata.topic_config import TOPIC_CONFIGS
from tests.tidy.config_classes import CONFIG_CLASSES, DECLARING, keys_of, modules

TABLES_AND_CHECKS = re.compile(
    r"broker/config/(table.*|coordinator_table|security_table|rules|rows|other_keys|explanation|sources|dynamic_config)"
    r"|metadata/(topic_config_table|group_config|effective_config)"
)
"""Modules that name keys to describe or to check them."""
CHECKED_ONLY = {"process.roles", "broker.id"}
"""They say what this node is, and what it is not is refused; `broker.id` is turned into `node.id`."""
HOLDERS = re.compile(
    r"_?(config|current|of|settings|static|limits|timeouts|changed|delegation_tokens|classic|consumer|share|streams|subscription|self)"
)
"""Names of what settings are loaded from; `of` for those of one group, `self` for properties of the settings themselves."""


@cache
def loaded_fields() -> frozenset[str]:
    """Names of attributes that some module loads from a holder of settings."""
    return frozenset(
        node.attr
        for path, tree in modules()
        if not TABLES_AND_CHECKS.search(path)
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
def read_keys() -> frozenset[str]:
    """Keys whose fields are loaded, and keys that functions and mappings are asked with."""
    trees = [tree for path, tree in modules() if not TABLES_AND_CHECKS.search(path)]
    asked = [name for tree in trees for node in ast.walk(tree) for name in asked_with(node)]
    declared = {
        key
        for config in CONFIG_CLASSES
        for name, source in sources(config)
        if name in loaded_fields()
        for key in keys_of(source)
    }
    return frozenset({name.value for name in asked if isinstance(name, ast.Constant)} | declared)


def asked_with(node: ast.AST) -> Sequence[ast.expr]:
    """Arguments of a call, the key of a subscript that is loaded; a declaration reads nothing."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in DECLARING:
            return []
        case ast.Call(args=arguments):
            return arguments
        case ast.Subscript(slice=key, ctx=ast.Load()):
            return [key]
        case _:
            return []


def is_read(key: str) -> bool:
    return key in read_keys()


def is_read_of_groups(name: str) -> bool:
    """The key itself, or that of the broker with the same meaning: one field is for both."""
    return is_read(name) or any(is_read(s.name) for s in GROUP_CONFIGS[name].synonyms)


def readers_of_broker_keys() -> set[str]:
    """Keys that are read as they are; those that give topics and groups their defaults; the limits of groups' keys."""
    through_topics = {
        s.name for key in TOPIC_CONFIGS.values() if is_read(key.name) for s in key.synonyms
    }
    through_groups = {
        s.name
        for key in GROUP_CONFIGS.values()
        if is_read_of_groups(key.name)
        for s in key.synonyms
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
    assert {key for key in GROUP_CONFIGS if not is_read_of_groups(key)} == set()


@pytest.mark.parametrize("settings", [*CONFIG_CLASSES, SharePartitionLimits])
def test_every_field_of_what_settings_are_handed_on_in_is_read(settings: type) -> None:
    unread = {field.name for field in fields(settings)} - loaded_fields()
    assert {name for name in unread if not is_read(name.replace("_", "."))} == set()


@pytest.mark.parametrize(
    "key",
    [
        "remote.log.reader.threads",
        "num.io.threads",
        "transaction.two.phase.commit.enable",
    ],
)
def test_a_key_that_nothing_reads_is_found(key: str) -> None:
    """The tables name it, and no module reads it."""
    assert key in BROKER_CONFIGS
    assert key not in readers_of_broker_keys()
