"""The blocking twin of Admin."""

from __future__ import annotations

from typing import Unpack

from millstream.clients.admin import admin as client
from millstream.clients.blocking.blocking_client import BlockingClient, waits
from millstream.clients.config import AdminSettings
from millstream.foreign_names.explanation import explain_construction, explain_misspellings


@explain_construction
@explain_misspellings
class Admin(BlockingClient[client.Admin]):
    """See `millstream.clients.Admin`: same settings, same methods. Safe to share between threads."""

    def __init__(self, **settings: Unpack[AdminSettings]) -> None:
        super().__init__(lambda: client.Admin(**settings))

    client_instance_id = waits(client.Admin.client_instance_id)
    create_topics = waits(client.Admin.create_topics)
    delete_topics = waits(client.Admin.delete_topics)
    create_partitions = waits(client.Admin.create_partitions)
    list_topics = waits(client.Admin.list_topics)
    describe_topics = waits(client.Admin.describe_topics)
    list_offsets = waits(client.Admin.list_offsets)
    delete_records = waits(client.Admin.delete_records)
    describe_configs = waits(client.Admin.describe_configs)
    incremental_alter_configs = waits(client.Admin.incremental_alter_configs)
    list_config_resources = waits(client.Admin.list_config_resources)
    list_client_metrics_resources = waits(client.Admin.list_client_metrics_resources)
    list_groups = waits(client.Admin.list_groups)
    list_consumer_groups = waits(client.Admin.list_consumer_groups)
    describe_groups = waits(client.Admin.describe_groups)
    describe_classic_groups = waits(client.Admin.describe_classic_groups)
    describe_consumer_groups = waits(client.Admin.describe_consumer_groups)
    describe_share_groups = waits(client.Admin.describe_share_groups)
    describe_streams_groups = waits(client.Admin.describe_streams_groups)
    delete_groups = waits(client.Admin.delete_groups)
    delete_consumer_groups = waits(client.Admin.delete_consumer_groups)
    delete_share_groups = waits(client.Admin.delete_share_groups)
    delete_streams_groups = waits(client.Admin.delete_streams_groups)
    remove_members_from_consumer_group = waits(client.Admin.remove_members_from_consumer_group)
    list_consumer_group_offsets = waits(client.Admin.list_consumer_group_offsets)
    alter_consumer_group_offsets = waits(client.Admin.alter_consumer_group_offsets)
    delete_consumer_group_offsets = waits(client.Admin.delete_consumer_group_offsets)
    list_streams_group_offsets = waits(client.Admin.list_streams_group_offsets)
    alter_streams_group_offsets = waits(client.Admin.alter_streams_group_offsets)
    delete_streams_group_offsets = waits(client.Admin.delete_streams_group_offsets)
    list_share_group_offsets = waits(client.Admin.list_share_group_offsets)
    alter_share_group_offsets = waits(client.Admin.alter_share_group_offsets)
    delete_share_group_offsets = waits(client.Admin.delete_share_group_offsets)
    list_transactions = waits(client.Admin.list_transactions)
    describe_transactions = waits(client.Admin.describe_transactions)
    abort_transaction = waits(client.Admin.abort_transaction)
    fence_producers = waits(client.Admin.fence_producers)
    force_terminate_transaction = waits(client.Admin.force_terminate_transaction)
    describe_producers = waits(client.Admin.describe_producers)
    find_hanging_transactions = waits(client.Admin.find_hanging_transactions)
    describe_cluster = waits(client.Admin.describe_cluster)
    unregister_broker = waits(client.Admin.unregister_broker)
    describe_api_versions = waits(client.Admin.describe_api_versions)
    describe_features = waits(client.Admin.describe_features)
    update_features = waits(client.Admin.update_features)
    describe_metadata_quorum = waits(client.Admin.describe_metadata_quorum)
    add_raft_voter = waits(client.Admin.add_raft_voter)
    remove_raft_voter = waits(client.Admin.remove_raft_voter)
    alter_partition_reassignments = waits(client.Admin.alter_partition_reassignments)
    list_partition_reassignments = waits(client.Admin.list_partition_reassignments)
    elect_leaders = waits(client.Admin.elect_leaders)
    describe_log_dirs = waits(client.Admin.describe_log_dirs)
    alter_replica_log_dirs = waits(client.Admin.alter_replica_log_dirs)
    describe_replica_log_dirs = waits(client.Admin.describe_replica_log_dirs)
    create_acls = waits(client.Admin.create_acls)
    describe_acls = waits(client.Admin.describe_acls)
    delete_acls = waits(client.Admin.delete_acls)
    describe_user_scram_credentials = waits(client.Admin.describe_user_scram_credentials)
    alter_user_scram_credentials = waits(client.Admin.alter_user_scram_credentials)
    create_delegation_token = waits(client.Admin.create_delegation_token)
    renew_delegation_token = waits(client.Admin.renew_delegation_token)
    expire_delegation_token = waits(client.Admin.expire_delegation_token)
    describe_delegation_token = waits(client.Admin.describe_delegation_token)
    describe_client_quotas = waits(client.Admin.describe_client_quotas)
    alter_client_quotas = waits(client.Admin.alter_client_quotas)
