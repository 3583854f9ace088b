"""Checks the stores that a request sets for listeners of this broker, before the controller hears
of it: the files are here.

Kafka checks them at the same place. What comes another way, such as over another broker, is checked when it is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from millstream.broker.config.tls_table import is_store_key
from millstream.broker.services import Metadata
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import ConfigError, InvalidRequest
from millstream.metadata.config_resource import ConfigResource
from millstream.protocol.enums import ConfigResourceType

if TYPE_CHECKING:
    from millstream.broker.tls.node_tls import NodeTls


class StoreChecks:
    """The checks of one node.

    `tls` is None where no listener has TLS: what is set then is for nobody, and only stored.
    """

    def __init__(
        self, tls: NodeTls | None, node_id: int, metadata: Metadata, pool: DiskPool
    ) -> None:
        self._tls = tls
        self._own = ConfigResource(ConfigResourceType.BROKER, str(node_id))
        self._metadata = metadata
        self._pool = pool

    async def refusal(
        self, kind: int, name: str, changes: Mapping[str, str | None], *, keeps_others: bool
    ) -> InvalidRequest | None:
        """Returns why `changes` (None: taken back) cannot be made; None where they can, or are none of this node's.

        `keeps_others`: what is not among them stays as it was set before.
        """
        tls = self._tls
        if tls is None or (kind, name) != (self._own.type, self._own.name):
            return None
        before = self._metadata.image.config(self._own) if keeps_others else {}
        after = {key: value for key, value in {**before, **changes}.items() if value is not None}
        try:
            await self._pool.run(lambda: tls.check(after))
        except ConfigError as error:
            return InvalidRequest(f"Invalid value for TLS stores: {error}")
        return None


def concern_stores(keys: Mapping[str, str | None]) -> bool:
    """Whether a change says which stores a listener has."""
    return any(map(is_store_key, keys))
