"""The blocking twin of Admin."""

from __future__ import annotations

from typing import Unpack

from millstream.clients.admin import client
from millstream.clients.blocking.twin import Twin, waits
from millstream.clients.core.config import AdminSettings


class Admin(Twin[client.Admin]):
    """See `millstream.clients.Admin`: same settings, same methods. Safe to share between threads."""

    def __init__(self, **settings: Unpack[AdminSettings]) -> None:
        super().__init__(lambda: client.Admin(**settings))

    create_topics = waits(client.Admin.create_topics)
    delete_topics = waits(client.Admin.delete_topics)
    create_partitions = waits(client.Admin.create_partitions)
    list_topics = waits(client.Admin.list_topics)
    describe_topics = waits(client.Admin.describe_topics)
    describe_cluster = waits(client.Admin.describe_cluster)
    describe_configs = waits(client.Admin.describe_configs)
    incremental_alter_configs = waits(client.Admin.incremental_alter_configs)
    list_groups = waits(client.Admin.list_groups)
    describe_groups = waits(client.Admin.describe_groups)
    delete_groups = waits(client.Admin.delete_groups)
    list_offsets = waits(client.Admin.list_offsets)
    committed_offsets = waits(client.Admin.committed_offsets)
    alter_offsets = waits(client.Admin.alter_offsets)
