"""A setting reaches its reader in one way: as a field of a config class, which says the key that it comes from (ADR 0012).

Only the modules that make up the tables of settings, their rules and the administration of configurations speak of keys.
"""

from __future__ import annotations

import ast
import importlib
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass

import pytest

from millstream.broker.config.broker_config import BrokerConfig
from millstream.config_fields import Source, read_config, sources
from millstream.controller.settings import ControllerSettings
from millstream.coordinator.group.config import ClassicGroupConfig
from millstream.metadata.client_metrics_config import ClientMetricsSubscription
from millstream.metadata.config_key import ConfigKey
from millstream.net.server.limits import ConnectionLimits
from millstream.protocol.enums import ConfigType
from millstream.raft.quorum_state import RaftTimeouts
from tests.tidy.config_classes import CONFIG_CLASSES, DECLARING, keys_of, modules

SPEAKS_OF_KEYS = re.compile(
    r"broker/config/.*"
    r"|metadata/(topic_config|topic_config_table|group_config|client_metrics_config|effective_config)\.py"
    r"|controller/configs/.*"  # what administrators set, as text under its key
    r"|log/directory/text_checkpoints\.py"  # `node.id` of meta.properties, which is no setting
)
KEYS = {key for table in CONFIG_CLASSES.values() for key in table if "." in key}
NO_SETTINGS: Mapping[type, set[str]] = {
    BrokerConfig: {"advertised", "controller_listeners", "data_directories", "http_listener", "metadata_is_apart", "protection", "settings", "values"},
    ClassicGroupConfig: {"new_member_join_timeout_ms"},
    ClientMetricsSubscription: {"patterns"},
    ConnectionLimits: {"frame_ms", "login_ms", "of_listeners", "protected_listener", "requests_in_flight_max", "stalled_write_ms", "unsent_bytes_max"},
    ControllerSettings: {
        "broker_configs", "cluster_id", "other_update_mode", "partitions_per_request_max", "read_bootstrap",
        "static", "supported_features",
    },
    RaftTimeouts: {"begin_epoch_retry_ms", "fetch_retry_ms"},
}  # fmt: skip
"""Fields of config classes that are no settings: facts about the node, what is derived, and what cannot be configured."""
NOT_ITS_VALUE = {"listeners"}
"""A field that has the name of a key, and what follows from the values of several."""
PYTHON_TYPES: Mapping[ConfigType, object] = {
    ConfigType.BOOLEAN: bool, ConfigType.STRING: str, ConfigType.INT: int, ConfigType.SHORT: int, ConfigType.LONG: int,
    ConfigType.DOUBLE: float, ConfigType.LIST: tuple[str, ...], ConfigType.PASSWORD: str,
}  # fmt: skip


@pytest.mark.parametrize("config", CONFIG_CLASSES)
def test_every_field_comes_from_keys_of_the_table(config: type) -> None:
    table, without_key = CONFIG_CLASSES[config], set()
    for name, source in sources(config):
        if isinstance(source, type):
            assert source in CONFIG_CLASSES, name
        elif isinstance(source, Source):
            assert set(source.keys) <= table.keys(), name
        elif source not in table:
            without_key.add(name)
    assert without_key == NO_SETTINGS.get(config, set())


@pytest.mark.parametrize("config", CONFIG_CLASSES)
def test_every_field_has_the_type_of_its_key(config: type) -> None:
    hints = typing.get_type_hints(config)
    for name, key in plain_fields(config, CONFIG_CLASSES[config]):
        expected: object = PYTHON_TYPES[key.type]
        if key.default_value is None:
            expected = expected | types.NoneType  # type: ignore[operator]  # `type | None` of any type
        assert getattr(hints[name], "__supertype__", hints[name]) == expected, name


def plain_fields(config: type, table: Mapping[str, ConfigKey]) -> Iterator[tuple[str, ConfigKey]]:
    """Fields whose value is that of one key, as the table has it."""
    for name, source in sources(config):
        is_converted = isinstance(source, Source) and source.convert is not None
        for key in () if is_converted or name in NOT_ITS_VALUE else keys_of(source):
            if key in table:
                yield name, table[key]


@pytest.mark.parametrize(
    "config", [each for each in CONFIG_CLASSES if each not in (BrokerConfig, ClientMetricsSubscription)]
)  # fmt: skip
def test_the_defaults_of_a_config_class_are_those_of_its_keys(config: type) -> None:
    values = {name: key.default_value for name, key in CONFIG_CLASSES[config].items()}
    facts: dict[str, object] = {
        field.name: 1
        for field in fields(config)
        if field.default is MISSING and field.default_factory is MISSING
    }
    assert read_config(config, values, **facts) == config(**facts)


def test_every_class_that_declares_settings_is_tested_here() -> None:
    declaring = {
        getattr(importlib.import_module(f"millstream.{path.removesuffix('.py').replace('/', '.')}"), node.name)
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(map(declares_a_setting, node.body))
    }  # fmt: skip
    assert len(declaring) > 10
    assert all(map(is_dataclass, declaring))
    assert declaring <= CONFIG_CLASSES.keys()


def declares_a_setting(node: ast.stmt) -> bool:
    match node:
        case ast.AnnAssign(value=ast.Call(func=ast.Name(id=name))):
            return name in DECLARING
        case _:
            return False


def test_nothing_but_the_tables_looks_a_setting_up_by_its_key() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in modules()
        if not SPEAKS_OF_KEYS.fullmatch(path)
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and looks_up_a_setting(node)
    ]
    assert not found, f"declare it in a config class, and read the field: {found}"


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ('values["group.max.size"]', True),
        ('config.values.get("group.max.size", 5)', True),
        ('self._setting("log.cleaner.enable")', True),
        ('self._setting(f"share.coordinator.{name}")', True),
        ('overrides = {"cleanup.policy": "compact"}', False),
        ('ConfigRecord(name="min.insync.replicas")', False),
        ('from_keys("group.max.size", default=5)', False),
        ("config.group_max_size", False),
    ],
)
def test_look_ups_are_found(code: str, *, is_found: bool) -> None:
    found = any(isinstance(n, ast.expr) and looks_up_a_setting(n) for n in ast.walk(ast.parse(code)))  # fmt: skip
    assert found is is_found


def looks_up_a_setting(node: ast.expr) -> bool:
    """The key of a subscript that is loaded, or what a function is asked with; declarations are none."""
    match node:
        case ast.Subscript(slice=key, ctx=ast.Load()):
            return names_a_key(key)
        case ast.Call(func=ast.Name(id=name)) if name in DECLARING:
            return False
        case ast.Call(args=arguments):
            return any(map(names_a_key, arguments))
        case _:
            return False


def names_a_key(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text in KEYS
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return "." in text and any(key.startswith(text) for key in KEYS)
        case _:
            return False
