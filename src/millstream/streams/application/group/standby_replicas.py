"""The number of standby tasks, which with the streams protocol is a config of the group: the coordinator
shares them out (KIP-1071).

Kafka's own client leaves `num.standby.replicas` unheeded there. Here the application sets the group's config to it, so
that it says what happens.
"""

from __future__ import annotations

import logging
from typing import Final

from millstream.clients import Admin
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.errors import ConfigError, RetriableError

STANDBY_REPLICAS: Final = "streams.num.standby.replicas"
_LOGGER = logging.getLogger(__name__)


async def set_standby_replicas(admin: Admin, group: str, replicas: int) -> None:
    """Sets the config of the group unless it is so.

    Raises ConfigError where that is refused, and what else the cluster answers.
    """
    resource = ConfigResource(ConfigResourceType.GROUP, group)
    described = await admin.describe_configs([resource], names=[STANDBY_REPLICAS])
    refused = described.errors().get(resource)
    if refused is None:
        entry = described.result(resource).get(STANDBY_REPLICAS)
        if entry is not None and entry.value == str(replicas):
            return
    wanted = {resource: [AlterConfig(STANDBY_REPLICAS, str(replicas))]}
    error = (await admin.incremental_alter_configs(wanted)).errors().get(resource)
    if isinstance(error, RetriableError):
        raise error
    if error is not None:
        raise _refusal(group, replicas, error) from error
    _LOGGER.info("group %s has %s=%d from now on", group, STANDBY_REPLICAS, replicas)


def _refusal(group: str, replicas: int, error: BaseException) -> ConfigError:
    return ConfigError(
        f"num_standby_replicas={replicas} could not be made the config of group {group} ({error}): leave it at 0, and have "
        f"whoever may do so run kafka-configs.sh --bootstrap-server … --alter --entity-type groups --entity-name {group} "
        f"--add-config {STANDBY_REPLICAS}={replicas}"
    )
