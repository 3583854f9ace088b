"""Changes a resource's configurations as a request asks: set, delete, append, subtract (KIP-339), or replace all.

Owns no rule about particular keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from millstream.errors import InvalidConfig, InvalidRequest
from millstream.metadata.config_key import ConfigKey
from millstream.metadata.config_resource import ConfigResource
from millstream.protocol.enums import AlterOperation, ConfigResourceType, ConfigType
from millstream.protocol.generated import alter_configs, incremental_alter_configs
from millstream.protocol.generated.metadata_records import ConfigRecord
from millstream.protocol.writing import STRING_BYTES_MAX


def after_changes(
    configs: Sequence[incremental_alter_configs.AlterableConfig],
    before: Mapping[str, str],
    table: Mapping[str, ConfigKey],
    defaults: Mapping[str, str],
) -> dict[str, str]:
    """Returns all overrides when `configs` are carried out.

    `table` tells which keys are lists, `defaults` what an unset one holds.
    """
    check_names_and_values(configs)
    after = dict(before)
    for config in configs:
        match config.config_operation:
            case AlterOperation.DELETE:
                after.pop(config.name, None)
            case AlterOperation.SET:
                after[config.name] = config.value or ""
            case AlterOperation.APPEND | AlterOperation.SUBTRACT:
                after[config.name] = _edited_list(config, before, table, defaults)
            case unknown:
                raise InvalidRequest(f"Unknown operation {unknown} on {config.name}")
    return after


def replaced(configs: Sequence[alter_configs.AlterableConfig]) -> dict[str, str]:
    """Returns all overrides when `configs` take the place of what was there (AlterConfigs)."""
    check_names_and_values(configs)
    return {config.name: config.value or "" for config in configs}


def check_names_and_values(
    configs: Sequence[incremental_alter_configs.AlterableConfig | alter_configs.AlterableConfig],
) -> None:
    """Checks names and values. Raises InvalidRequest for a key that stands twice, and for a value that is missing."""
    if len({config.name for config in configs}) != len(configs):
        raise InvalidRequest("Error due to duplicate config keys")
    missing = [config.name for config in configs if config.value is None and not _deletes(config)]
    if missing:
        raise InvalidRequest(f"Null value not supported for : {', '.join(missing)}")


def check_values_fit(overrides: Mapping[str, str]) -> None:
    """Checks the sizes of values.

    Raises InvalidConfig for one that no record can hold: a list may have grown item by item.
    """
    if any(len(value.encode()) > STRING_BYTES_MAX for value in overrides.values()):
        raise InvalidConfig(
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{STRING_BYTES_MAX} bytes."
        )


def config_records(
    resource: ConfigResource,
    before: Mapping[str, str],
    after: Mapping[str, str],
    named: Collection[str] = (),
) -> list[ConfigRecord]:
    """Returns the records that lead from `before` to `after`. `named`: keys of the request.

    A value that stays the same needs no record; but what is set for a broker is written again, for it may name a file
    that has another content now (KAFKA-14136).
    """
    again = named if resource.type is ConfigResourceType.BROKER else ()
    changed = {
        name: value for name, value in after.items() if before.get(name) != value or name in again
    }
    removed = dict.fromkeys(name for name in before if name not in after)
    return [
        ConfigRecord(
            resource_type=resource.type, resource_name=resource.name, name=name, value=value
        )
        for name, value in {**changed, **removed}.items()
    ]


def known_resource(kind: int, name: str) -> ConfigResource:
    """Returns the resource of these numbers.

    Raises InvalidRequest for a type of resource whose configurations are not stored.
    """
    try:
        resource = ConfigResource(ConfigResourceType(kind), name)
    except ValueError:
        raise InvalidRequest(f"Unknown resource type {kind}") from None
    if resource.type in {ConfigResourceType.UNKNOWN, ConfigResourceType.BROKER_LOGGER}:
        raise InvalidRequest(f"Unknown resource type {kind}")
    return resource


def _deletes(
    config: incremental_alter_configs.AlterableConfig | alter_configs.AlterableConfig,
) -> bool:
    return (
        isinstance(config, incremental_alter_configs.AlterableConfig)
        and config.config_operation == AlterOperation.DELETE
    )


def _edited_list(
    config: incremental_alter_configs.AlterableConfig,
    before: Mapping[str, str],
    table: Mapping[str, ConfigKey],
    defaults: Mapping[str, str],
) -> str:
    operation = AlterOperation(config.config_operation)
    key = table.get(config.name)
    if key is None or key.type is not ConfigType.LIST:
        raise InvalidConfig(
            f"Can't {operation.name} to key {config.name} because its type is not LIST."
        )
    present = before.get(config.name, defaults.get(config.name, key.default_text or ""))
    items = _items(present) if present.strip() else []
    given = _items(config.value or "")  # an empty text is one empty item, which no list takes
    present_items, given_items = set(items), set(given)
    if operation is AlterOperation.APPEND:
        items += [item for item in dict.fromkeys(given) if item not in present_items]
    else:
        items = [item for item in items if item not in given_items]
    return ",".join(items)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]
