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
    "Admin",
    "AlterConfig",
    "AlterOperation",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "CreatedTopic",
    "EARLIEST_TIMESTAMP",
    "GroupDescription",
    "GroupListing",
    "GroupMemberDescription",
    "LATEST_TIMESTAMP",
    "NewTopic",
    "Results",
    "TopicDescription",
    "TopicListing",
]
