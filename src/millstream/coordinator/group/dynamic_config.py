"""Settings that an administrator has overridden for one group (config resource GROUP), within the broker's limits.

Owns reading the overrides, for groups of every kind. Which keys there are is each kind's own business; values were checked when they
were set, and are brought back into the limits if those have been tightened since.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import ConfigResourceType


@dataclass(frozen=True, slots=True)
class Limited:
    """A setting of the broker that single groups may override."""

    default: int
    lowest: int
    highest: int

    def of_group(self, image: MetadataImage, group_id: str, key: str) -> int:
        """`key`: Kafka's name of the override, such as `consumer.session.timeout.ms`."""
        said = image.config(ConfigResource(ConfigResourceType.GROUP, group_id)).get(key)
        return self.default if said is None else min(max(int(said), self.lowest), self.highest)
