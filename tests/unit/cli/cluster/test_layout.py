"""Which nodes a cluster on one machine has, at which ports, and how its directory keeps them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.cli.cluster.directory import ClusterDirectory
from millstream.cli.cluster.layout import (
    BROKER_LISTENER,
    CONTROLLER_LISTENER,
    ClusterLayout,
    ClusterMismatch,
    DamagedCluster,
    Roles,
    new_layout,
    ports_from,
    read_layout,
)
from millstream.cli.server.settings import proves_clients
from millstream.errors import ConfigError
from millstream.properties_text import parse_properties, properties_text
from millstream.security.tls.principal_mapping import MappingRule


def directory_ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"disk{next(numbers)}"


def layout(roles: Roles = Roles.COMBINED, nodes: int = 3, port: int = 9092) -> ClusterLayout:
    return new_layout("id", roles, nodes, ports_from(port), directory_ids())


def test_combined_nodes_have_the_ports_from_the_given_one_on_brokers_first() -> None:
    made = layout()
    assert made.bootstrap == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
    assert made.bootstrap_controllers == "127.0.0.1:9095,127.0.0.1:9096,127.0.0.1:9097"
    assert {node.roles for node in made.nodes} == {"broker,controller"}


@pytest.mark.parametrize(("brokers", "controllers"), [(1, 1), (2, 1), (3, 3), (5, 3)])
def test_controllers_apart_are_three_or_one(brokers: int, controllers: int) -> None:
    made = layout(Roles.SEPARATE, brokers)
    assert [node.id for node in made.brokers] == list(range(1, brokers + 1))
    assert [node.id for node in made.controllers] == list(range(101, 101 + controllers))
    assert {node.roles for node in made.nodes} == {"broker", "controller"}


def test_the_first_voters_are_named_with_their_directories() -> None:
    assert layout(nodes=2).initial_controllers == ("1@127.0.0.1:9094:disk1,2@127.0.0.1:9095:disk2")


@pytest.mark.parametrize("roles", Roles)
def test_a_node_starts_with_its_settings(roles: Roles) -> None:
    made = layout(roles)
    for node in made.nodes:
        config = broker_config(made.node_settings(node, "/data"))
        assert (config.node_id, ",".join(config.process_roles)) == (node.id, node.roles)


@pytest.mark.parametrize(("nodes", "factor"), [(1, 1), (2, 2), (3, 3), (5, 3)])
@pytest.mark.parametrize("roles", Roles)
def test_coordinators_have_as_many_replicas_as_there_are_brokers_up_to_three(
    roles: Roles, nodes: int, factor: int
) -> None:
    made = layout(roles, nodes)
    for node in made.nodes:
        config = broker_config(made.node_settings(node, "/data"))
        assert config.offsets_topic_replication_factor == factor
        assert config.transaction_state_log_min_isr == max(1, factor - 1)


@pytest.mark.parametrize("roles", Roles)
def test_what_is_written_is_read_again(roles: Roles) -> None:
    made = layout(roles)
    assert read_layout(made.text(), "file") == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cluster.id=x\nroles=combined\nstate=formatted\n",
        "cluster.id=x\nroles=all\nstate=formatted\nnode.1=1,2,d\n",
        "cluster.id=x\nroles=combined\nstate=formatted\nnode.1=1,2\n",
        "cluster.id=x\nroles=combined\nstate=formatted\nnode.1=a,2,d\n",
        "cluster.id=x\nroles=combined\nnode.1=1,2,d\n",
    ],
)
def test_a_damaged_file_is_named(text: str) -> None:
    with pytest.raises(DamagedCluster, match="the/file is damaged"):
        read_layout(text, "the/file")


def test_another_number_of_nodes_and_other_roles_are_refused() -> None:
    made = layout()
    made.check_matches(3, Roles.COMBINED, "dir")
    made.check_matches(None, None, "dir")
    with pytest.raises(ClusterMismatch, match="dir holds a cluster of 3 nodes, not of 5"):
        made.check_matches(5, None, "dir")
    with pytest.raises(ClusterMismatch, match="--roles combined, not separate"):
        made.check_matches(3, Roles.SEPARATE, "dir")


def test_brokers_move_to_another_port_and_controllers_stay() -> None:
    moved = layout().with_client_ports(19_092)
    assert moved.bootstrap == "127.0.0.1:19092,127.0.0.1:19093,127.0.0.1:19094"
    assert moved.bootstrap_controllers == layout().bootstrap_controllers


def test_brokers_do_not_move_to_a_port_of_a_controller() -> None:
    with pytest.raises(
        ConfigError, match="port 9095 is one of this cluster at which nodes reach each other"
    ):
        layout().with_client_ports(9093)


def test_ports_end() -> None:
    with pytest.raises(ConfigError, match="6 ports from 65533 on"):
        layout(port=65_533)


def test_settings_survive_the_properties_file() -> None:
    settings = {"log.dirs": "C:\\data", "a": "x\ny", "b": "", "c": " = :"}
    assert parse_properties(properties_text(settings, "heading")) == settings


def secure_layout(roles: Roles = Roles.COMBINED) -> ClusterLayout:
    return new_layout("id", roles, 3, ports_from(9092), directory_ids(), token_secret="secret")


@pytest.mark.parametrize("roles", Roles)
def test_brokers_of_a_secure_cluster_have_a_port_for_each_other(roles: Roles) -> None:
    made = secure_layout(roles)
    assert [node.broker_port for node in made.brokers] == [9098, 9099, 9100]
    assert all(node.broker_port is None for node in made.nodes if node not in made.brokers)
    assert read_layout(made.text(), "cluster.properties") == made
    assert "secret" not in repr(made)


@pytest.mark.parametrize("roles", Roles)
def test_everybody_proves_who_it_is_at_a_secure_node(roles: Roles, tmp_path: Path) -> None:
    directory = ClusterDirectory(tmp_path / "c")
    made = secure_layout(roles)
    for node in made.nodes:
        config = broker_config(directory.node_settings(made, node))
        own = [*config.listeners, *config.controller_listeners]
        assert all(proves_clients(config, each.name) for each in own), node
        assert set(config.protection.tls) >= {each.name for each in own}
        assert config.settings["super.users"] == "User:admin;User:CN=node"
        assert {tls.rules for tls in config.protection.tls.values()} == {(MappingRule(None),)}, (
            "as User:node somebody may log in"
        )
        assert config.protection.at_controllers.tls_of == CONTROLLER_LISTENER
        if config.is_broker:
            assert config.protection.at_brokers.tls_of == BROKER_LISTENER
            assert [each.name for each in config.listeners] == ["SASL_SSL", "INTERNAL"]


def test_a_secure_cluster_is_started_as_one() -> None:
    with pytest.raises(ClusterMismatch, match="was begun with --secure: start it with --secure"):
        secure_layout().check_matches(None, None, "c")
    with pytest.raises(ClusterMismatch, match="was begun without --secure: leave --secure out"):
        layout().check_matches(None, None, "c", secure=True)
    secure_layout().check_matches(3, None, "c", secure=True)


def test_brokers_do_not_move_to_a_port_between_them() -> None:
    with pytest.raises(ConfigError, match="port 9098 is one of this cluster"):
        secure_layout().with_client_ports(9098)
