"""Settings that an administrator has overridden for one group (config resource GROUP), within the broker's limits.

Owns reading the overrides, for groups of every kind. Which keys there are is each kind's own business; values were
checked when they were set, and are brought back into the limits if those have been tightened since.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from millstream.config_fields import from_keys
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import ConfigResourceType


@dataclass(frozen=True, slots=True)
class Limited:
    """A setting of the broker that single groups may override by `key`, Kafka's name of the override."""

    key: str
    default: int
    lowest: int
    highest: int

    def of_group(self, image: MetadataImage, group_id: str) -> int:
        """Returns the value for a group: its own within the limits, or the default."""
        said = image.config(ConfigResource(ConfigResourceType.GROUP, group_id)).get(self.key)
        return self.default if said is None else min(max(int(said), self.lowest), self.highest)


def limited(key: str, default: int, lowest: int, highest: int) -> Limited:
    """Declares a field whose default and limits are the broker's keys `group.KIND.NAME`,
    `group.KIND.min.NAME` and `group.KIND.max.NAME`.
    """
    kind, _, name = key.partition(".")
    return from_keys(
        f"group.{key}",
        f"group.{kind}.min.{name}",
        f"group.{kind}.max.{name}",
        default=Limited(key, default, lowest, highest),
        convert=partial(Limited, key),
    )
