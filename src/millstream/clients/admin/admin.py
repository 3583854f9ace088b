"""The asyncio admin client: what operators and test suites ask a cluster for.

The calls themselves live in one module per subject; here they are gathered as methods.
"""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Self, Unpack

from millstream.clients.admin.cluster import brokers, features, log_dirs, quorum, replicas
from millstream.clients.admin.configs import client_quotas, configs
from millstream.clients.admin.controllers import ask_controllers
from millstream.clients.admin.core.arguments import check_arguments
from millstream.clients.admin.driver import AdminApiDriver
from millstream.clients.admin.groups import descriptions as group_descriptions
from millstream.clients.admin.groups import groups
from millstream.clients.admin.groups import members as group_members
from millstream.clients.admin.groups import offsets as group_offsets
from millstream.clients.admin.groups import share_offsets as share_group_offsets
from millstream.clients.admin.groups import streams_descriptions as streams_groups
from millstream.clients.admin.security import acls, scram, tokens
from millstream.clients.admin.topics import descriptions as topic_descriptions
from millstream.clients.admin.topics import offsets, topics
from millstream.clients.admin.transactions import producers, transactions
from millstream.clients.async_client import refuse_copy
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import AdminConfig, AdminSettings
from millstream.clients.config.settings import parse_settings
from millstream.clients.core.client_names import described, named
from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment, system_environment


@explain_construction
@explain_misspellings
class Admin:
    """Use as `async with Admin(bootstrap_servers=...) as admin`. Settings: see AdminConfig.

    Calls on several items return Results: one result or one typed error per item. Every call has `timeout_ms`, which
    covers its retries; left out it is default_api_timeout_ms. Methods are named as those of Kafka's Admin; what the
    broker is too old for raises UnsupportedVersion, or is the error of the item.
    """

    def __init__(
        self, *, environment: Environment | None = None, **settings: Unpack[AdminSettings]
    ) -> None:
        self.config = config = named(parse_settings(AdminConfig, settings))
        self._scope = TaskScope("admin")
        asks_controllers = bool(config.bootstrap_controllers)
        if asks_controllers:
            config = replace(
                config, bootstrap_servers=config.bootstrap_controllers, bootstrap_controllers=()
            )
        self._cluster = Cluster(
            config,
            self._scope,
            system_environment() if environment is None else environment,
            allow_auto_create_topics=False,
            ask_metadata=ask_controllers if asks_controllers else None,
            retry_when_refused=config.retry_when_refused,
        )
        self._driver = AdminApiDriver(
            self._cluster,
            self._scope,
            default_timeout_ms=config.default_api_timeout_ms,
            asks_controllers=asks_controllers,
        )
        """Carries out the calls: for the modules of this package."""

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        return described(
            self,
            self.config,
            is_closed=self._scope.is_closed,
            bootstrap_controllers=",".join(map(str, self.config.bootstrap_controllers)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give up what is not answered yet, and disconnect. Idempotent."""
        self._scope.check_place()
        try:
            await self._scope.close()
        finally:
            await self._cluster.close()

    async def client_instance_id(self, *, timeout_ms: int = 60_000) -> str:
        """Returns the id that the cluster knows this client by (KIP-714).

        Raises IllegalState without enable_metrics_push.
        """
        self._scope.check()
        return await self._cluster.telemetry.client_instance_id(timeout_ms)

    create_topics = topics.create_topics
    delete_topics = topics.delete_topics
    create_partitions = topics.create_partitions
    list_topics = topics.list_topics
    describe_topics = topic_descriptions.describe_topics

    list_offsets = offsets.list_offsets
    delete_records = offsets.delete_records

    describe_configs = configs.describe_configs
    incremental_alter_configs = configs.incremental_alter_configs
    list_config_resources = configs.list_config_resources
    list_client_metrics_resources = configs.list_client_metrics_resources

    list_groups = groups.list_groups
    list_consumer_groups = groups.list_consumer_groups
    describe_groups = group_descriptions.describe_groups
    describe_classic_groups = group_descriptions.describe_classic_groups
    describe_consumer_groups = group_descriptions.describe_consumer_groups
    describe_share_groups = group_descriptions.describe_share_groups
    describe_streams_groups = streams_groups.describe_streams_groups
    delete_groups = groups.delete_groups
    delete_consumer_groups = groups.delete_groups
    delete_share_groups = groups.delete_groups
    delete_streams_groups = groups.delete_groups
    remove_members_from_consumer_group = group_members.remove_members_from_consumer_group

    list_consumer_group_offsets = group_offsets.list_consumer_group_offsets
    alter_consumer_group_offsets = group_offsets.alter_consumer_group_offsets
    delete_consumer_group_offsets = group_offsets.delete_consumer_group_offsets
    list_streams_group_offsets = group_offsets.list_consumer_group_offsets
    alter_streams_group_offsets = group_offsets.alter_consumer_group_offsets
    delete_streams_group_offsets = group_offsets.delete_consumer_group_offsets
    list_share_group_offsets = share_group_offsets.list_share_group_offsets
    alter_share_group_offsets = share_group_offsets.alter_share_group_offsets
    delete_share_group_offsets = share_group_offsets.delete_share_group_offsets

    list_transactions = transactions.list_transactions
    describe_transactions = transactions.describe_transactions
    abort_transaction = transactions.abort_transaction
    fence_producers = transactions.fence_producers
    force_terminate_transaction = transactions.force_terminate_transaction
    describe_producers = producers.describe_producers
    find_hanging_transactions = producers.find_hanging_transactions

    describe_cluster = brokers.describe_cluster
    unregister_broker = brokers.unregister_broker
    describe_api_versions = features.describe_api_versions
    describe_features = features.describe_features
    update_features = features.update_features
    describe_metadata_quorum = quorum.describe_metadata_quorum
    add_raft_voter = quorum.add_raft_voter
    remove_raft_voter = quorum.remove_raft_voter

    alter_partition_reassignments = replicas.alter_partition_reassignments
    list_partition_reassignments = replicas.list_partition_reassignments
    elect_leaders = replicas.elect_leaders
    describe_log_dirs = log_dirs.describe_log_dirs
    alter_replica_log_dirs = log_dirs.alter_replica_log_dirs
    describe_replica_log_dirs = log_dirs.describe_replica_log_dirs

    create_acls = acls.create_acls
    describe_acls = acls.describe_acls
    delete_acls = acls.delete_acls
    describe_user_scram_credentials = scram.describe_user_scram_credentials
    alter_user_scram_credentials = scram.alter_user_scram_credentials
    create_delegation_token = tokens.create_delegation_token
    renew_delegation_token = tokens.renew_delegation_token
    expire_delegation_token = tokens.expire_delegation_token
    describe_delegation_token = tokens.describe_delegation_token
    describe_client_quotas = client_quotas.describe_client_quotas
    alter_client_quotas = client_quotas.alter_client_quotas


check_arguments(Admin)
