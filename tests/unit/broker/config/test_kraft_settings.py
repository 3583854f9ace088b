"""What the settings of a node of any role say of its cluster."""

from __future__ import annotations

import re

import pytest

from millstream.broker.config.kraft_settings import kraft_settings
from millstream.errors import ConfigError

CONTROLLER = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
}
BROKER = {"process.roles": "broker", "node.id": "2", "listeners": "PLAINTEXT://:9092"}


@pytest.mark.parametrize(
    ("settings", "others"),
    [
        (CONTROLLER, ()),
        (CONTROLLER | {"controller.quorum.voters": "1@anywhere:9093"}, ()),
        (CONTROLLER | {"controller.quorum.voters": "1@a:9093,2@b:9093"}, ("2@b:9093",)),
        (CONTROLLER | {"controller.quorum.bootstrap.servers": "localhost:9093"}, ()),
        (CONTROLLER | {"controller.quorum.bootstrap.servers": "127.0.0.1:9093,[::1]:9093,LocalHost:9093"}, ()),
        (CONTROLLER | {"controller.quorum.bootstrap.servers": "this-host:9093"}, ()),
        (CONTROLLER | {"controller.quorum.bootstrap.servers": "localhost:9094"}, ("localhost:9094",)),
        (CONTROLLER | {"controller.quorum.bootstrap.servers": "localhost:9092"}, ("localhost:9092",)),
        (CONTROLLER | {"controller.quorum.bootstrap.servers": "localhost:9093,other:9093"}, ("other:9093",)),
        (
            CONTROLLER | {"advertised.listeners": "CONTROLLER://other:9093", "controller.quorum.bootstrap.servers": "other:9093,localhost:9093"},
            (),
        ),
        (
            CONTROLLER | {"listeners": "CONTROLLER://10.0.0.1:9093", "controller.quorum.bootstrap.servers": "10.0.0.1:9093,localhost:9093"},
            ("localhost:9093",),
        ),
        (CONTROLLER | {"listeners": "PLAINTEXT://:9092", "controller.quorum.bootstrap.servers": "localhost:9093"}, ("localhost:9093",)),
        (BROKER | {"controller.quorum.bootstrap.servers": "localhost:9093"}, ("localhost:9093",)),
        (BROKER | {"controller.quorum.voters": "1@localhost:9093"}, ("1@localhost:9093",)),
    ],
)  # fmt: skip
def test_others_are_voters_with_other_ids_and_addresses_where_this_controller_does_not_listen(
    settings: dict[str, str], others: tuple[str, ...]
) -> None:
    assert kraft_settings(settings).other_nodes("this-host") == others


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (CONTROLLER | {"controller.quorum.voters": "2@b:9093"}, "controller.quorum.voters is 2@b:9093, without node 1, which is a controller"),
        (BROKER | {"controller.quorum.voters": "2@b:9093"}, "controller.quorum.voters names node 2, whose process.roles is broker"),
        (BROKER, "a broker must know its controllers"),
        (CONTROLLER | {"controller.listener.names": ""}, "controller.listener.names is empty"),
        (CONTROLLER | {"process.roles": "king"}, "king"),
        (CONTROLLER | {"node.id": "-1"}, "node.id"),
        (CONTROLLER | {"broker.id": "2"}, "node.id and broker.id are the same thing"),
    ],
)  # fmt: skip
def test_settings_with_which_no_node_starts_are_refused(
    settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        kraft_settings(settings)


def test_the_directory_of_the_metadata_is_one_of_the_directories() -> None:
    settings = kraft_settings(CONTROLLER | {"log.dirs": "b,a,b", "metadata.log.dir": "m"})
    assert (settings.directories, settings.metadata_directory) == (("a", "b", "m"), "m")
    settings = kraft_settings(CONTROLLER | {"log.dirs": "b,a"})
    assert (settings.directories, settings.metadata_directory) == (("a", "b"), "b")


def test_the_old_name_of_the_id_counts_and_unknown_keys_do_not() -> None:
    settings = {name: value for name, value in CONTROLLER.items() if name != "node.id"}
    assert kraft_settings(settings | {"broker.id": "7", "my.plugin.key": "x"}).node_id == 7
