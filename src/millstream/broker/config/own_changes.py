"""Checks changes of this broker's own configurations before the controller is asked to
store them, as Kafka's brokers do.

What a broker works with only that broker knows: the file that it was started with is nowhere else. So a broker judges
what is for itself and for all brokers, and refuses what is for another one (Kafka: `ConfigAdminManager.preprocess`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.dynamic_config import check_broker_change
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.errors import ConfigError, InvalidRequest, KafkaError
from millstream.metadata.config_key import UpdateMode
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.protocol.enums import ConfigResourceType

_POOLS: Final = (
    "log.cleaner.threads", "num.io.threads", "num.network.threads", "background.threads", "num.replica.fetchers",
    "num.recovery.threads.per.data.dir", "remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size", "remote.log.reader.threads",
)  # fmt: skip
"""Numbers of threads. This broker does not have most of these pools; their limits are Kafka's, for
whoever moves a configuration."""


class _Resource(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...


ResourceT = TypeVar("ResourceT", bound=_Resource)


def refusals(
    resources: Sequence[ResourceT],
    overrides_after: Callable[[ResourceT, Mapping[str, str]], dict[str, str]],
    config: BrokerConfig,
    image: MetadataImage,
) -> dict[int, KafkaError]:
    """Returns what is wrong with changes of brokers, by their place in the request. The controller judges the rest.

    `overrides_after`: what a resource has once it is changed, from what it has; raises what it cannot make sense of.
    Two changes of one resource are left to the controller, which refuses both.
    """
    counts = Counter((each.resource_type, each.resource_name) for each in resources)
    found: dict[int, KafkaError] = {}
    for place, resource in enumerate(resources):
        is_once = counts[resource.resource_type, resource.resource_name] == 1
        if resource.resource_type != ConfigResourceType.BROKER or not is_once:
            continue
        name = resource.resource_name
        try:
            _check_is_own(name, config.node_id)
            present = image.config(ConfigResource(ConfigResourceType.BROKER, name))
            _check_change(name, overrides_after(resource, present), config, image)
        except ConfigError as error:
            found[place] = InvalidRequest(str(error))
        except KafkaError as error:
            found[place] = error
    return found


def _check_is_own(name: str, own_id: int) -> None:
    """The empty name stands for all brokers."""
    if name and not name.removeprefix("-").isdecimal():
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if name and int(name) != own_id:
        raise InvalidRequest(f"Unexpected broker id, expected {own_id}, but received {name}")


def _check_change(
    name: str, overrides: Mapping[str, str], config: BrokerConfig, image: MetadataImage
) -> None:
    """Raises ConfigError. What is fixed while brokers run is left to the controller, which refuses it."""
    overrides = {each: value for each, value in overrides.items() if not _is_read_only(each)}
    layers = BrokerSettings.of(image, BrokerId(config.node_id), config.settings)
    before = {**layers.static, **layers.dynamic_default, **layers.dynamic}
    if name:
        after = {**layers.static, **layers.dynamic_default, **overrides}
    else:
        after = {**layers.static, **overrides, **layers.dynamic}
    check_pool_sizes(before, after)
    check_broker_change(before, after)


def _is_read_only(name: str) -> bool:
    return name in BROKER_CONFIGS and BROKER_CONFIGS[name].dynamic is UpdateMode.READ_ONLY


def check_pool_sizes(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Checks that pools at most double and at most halve in one step, so that a slip does not stop a broker.

    Raises ConfigError.
    """
    for name in _POOLS:
        wanted = after.get(name)
        if wanted is not None and wanted != before.get(
            name
        ):  # going back to a default is always allowed
            _check_threads(name, _threads(name, before.get(name)), _threads(name, wanted))


def _check_threads(name: str, now: int, wanted: int) -> None:
    problem = (
        f"Dynamic thread count update validation failed for {name}={wanted}: the value should be"
    )
    if wanted < 1:
        raise ConfigError(f"{problem} at least 1")
    if wanted < now // 2:
        raise ConfigError(f"{problem} at least half the current value {now}")
    if wanted > now * 2:
        raise ConfigError(f"{problem} not greater than double the current value {now}")


def _threads(name: str, text: str | None) -> int:
    key = BROKER_CONFIGS[name]
    value = key.default_value if text is None else key.parse(text)
    assert isinstance(value, int), "thread counts are integers in the table"
    return value
