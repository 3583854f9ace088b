"""The admin client and the values it takes and gives."""

from millstream.clients.admin.client import Admin
from millstream.clients.admin.results import (
    AlterConfig,
    AlterOperation,
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    CreatedTopic,
    GroupDescription,
    GroupListing,
    GroupMemberDescription,
    NewTopic,
    Results,
    TopicDescription,
    TopicListing,
)
from millstream.clients.core.subscription import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

__all__ = [
    "EARLIEST_TIMESTAMP",
    "LATEST_TIMESTAMP",
    "Admin",
    "AlterConfig",
    "AlterOperation",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "CreatedTopic",
    "GroupDescription",
    "GroupListing",
    "GroupMemberDescription",
    "NewTopic",
    "Results",
    "TopicDescription",
    "TopicListing",
]
