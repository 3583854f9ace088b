"""Profiles on the disk: who may read them, what a name may be, which of them counts."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from millstream.cli.profiles.files import Profiles, profiles_of_user, settings_of_profile
from millstream.errors import ConfigError

SECRET = "sasl.password"
SETTINGS = {"bootstrap.servers": "prod:9092", SECRET: " p=#ss\\wörd"}


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "millstream")


def test_a_profile_is_read_as_it_was_written(profiles: Profiles) -> None:
    profiles.write("prod", SETTINGS)
    assert profiles.names() == ["prod"]
    assert profiles.settings("prod") == SETTINGS


def test_nobody_else_can_open_it(profiles: Profiles) -> None:
    path = profiles.write("prod", SETTINGS)
    profiles.use("prod")
    modes = {each: stat.S_IMODE(each.stat().st_mode) for each in profiles.folder.rglob("*")}
    assert modes == {
        path: 0o600,
        path.parent: 0o700,
        profiles.folder / "profile-in-use": 0o600,
    }
    assert stat.S_IMODE(profiles.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_one_that_others_can_open_is_refused_with_what_to_do(profiles: Profiles, mode: int) -> None:
    path = profiles.write("prod", SETTINGS)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=rf"chmod 600 {path}$"):
        profiles.settings("prod")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../prod", "a/b", "/etc/passwd", "-p", ".a", "a\n"]
)
def test_a_name_is_no_path(profiles: Profiles, name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a profile"):
        profiles.write(name, SETTINGS)


@pytest.mark.parametrize(
    ("asked", "told"),
    [("prd", "; did you mean prod?"), ("xyz", "; millstream profile list tells those there are")],
)
def test_one_that_is_missing_is_answered_with_what_there_is(
    profiles: Profiles, asked: str, told: str
) -> None:
    profiles.write("prod", SETTINGS)
    with pytest.raises(ConfigError) as raised:
        profiles.settings(asked)
    assert str(raised.value) == f"there is no profile {asked}{told}"


def test_the_first_one_is_told_how_to_be_made(profiles: Profiles) -> None:
    with pytest.raises(ConfigError, match=r"; millstream profile add prod makes it$"):
        profiles.settings("prod")


def test_garbage_is_named_with_its_file(profiles: Profiles) -> None:
    path = profiles.write("prod", SETTINGS)
    path.write_bytes(b"sasl.password=\xff\n")
    with pytest.raises(ConfigError, match=rf"^{path} is not a text in UTF-8"):
        profiles.settings("prod")


def test_an_escape_that_is_none_is_named_with_its_file(profiles: Profiles) -> None:
    path = profiles.write("prod", SETTINGS)
    path.write_text("sasl.password=\\u12\n")
    with pytest.raises(ConfigError, match=rf"^{path}: .*u12 is not four hexadecimal digits"):
        profiles.settings("prod")


def test_a_link_to_nothing_is_not_said_to_be_meant(profiles: Profiles) -> None:
    profiles.write("staging", SETTINGS)
    profiles.path("prod").symlink_to("nothing")
    with pytest.raises(ConfigError, match=r"^there is no profile prod; millstream profile list"):
        profiles.settings("prod")


def test_a_folder_in_its_place_is_named(profiles: Profiles) -> None:
    profiles.write("prod", SETTINGS)
    profiles.path("staging").mkdir(mode=0o700)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        profiles.settings("staging")


def test_one_that_is_removed_is_in_use_no_more(profiles: Profiles) -> None:
    profiles.write("prod", SETTINGS)
    profiles.use("prod")
    profiles.remove("prod")
    assert (profiles.names(), profiles.in_use()) == ([], None)


def test_only_what_is_there_can_be_used(profiles: Profiles) -> None:
    with pytest.raises(ConfigError, match="there is no profile prod"):
        profiles.use("prod")
    assert profiles.in_use() is None


@pytest.mark.parametrize(
    ("folder", "home", "expected"),
    [
        ("/somewhere", "/home/me", "/somewhere/millstream"),
        ("relative", "/home/me", "/home/me/.config/millstream"),
        ("", "/home/me", "/home/me/.config/millstream"),
    ],
)
def test_the_folder_is_that_of_the_users_configuration(
    monkeypatch: pytest.MonkeyPatch, folder: str, home: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", home)
    assert profiles_of_user({"XDG_CONFIG_HOME": folder}).folder == Path(expected)


class TestWhichCounts:
    """The option, then the variable, then the one in use, which counts only where nothing else names a cluster."""

    @pytest.fixture(autouse=True)
    def three(self, profiles: Profiles) -> None:
        for name in ("option", "variable", "used"):
            profiles.write(name, {"client.id": name})
        profiles.use("used")

    @pytest.mark.parametrize(
        ("option", "variable", "names_cluster", "expected"),
        [
            ("option", "variable", True, "option"),
            ("option", "", False, "option"),
            (None, "variable", True, "variable"),
            (None, "variable", False, "variable"),
            (None, "", False, "used"),
            (None, "", True, None),
        ],
    )
    def test_it(
        self,
        profiles: Profiles,
        option: str | None,
        variable: str,
        names_cluster: bool,
        expected: str | None,
    ) -> None:
        environment = {
            "XDG_CONFIG_HOME": str(profiles.folder.parent),
            "MILLSTREAM_PROFILE": variable,
        }
        found = settings_of_profile(option, environment, names_cluster=names_cluster)
        assert found.get("client.id") == expected

    def test_one_in_use_that_has_gone_is_told_with_the_way_out(self, profiles: Profiles) -> None:
        profiles.path("used").unlink()
        environment = {"XDG_CONFIG_HOME": str(profiles.folder.parent)}
        with pytest.raises(ConfigError, match=r"there is no profile used.*profile use --none"):
            settings_of_profile(None, environment, names_cluster=False)
        assert settings_of_profile(None, environment, names_cluster=True) == {}

    def test_a_folder_that_is_not_ours_to_read_is_no_profile(self, profiles: Profiles) -> None:
        """Whoever has never heard of profiles must not hear of them."""
        (profiles.folder / "profile-in-use").unlink()
        (profiles.folder / "profile-in-use").mkdir()
        environment = {"XDG_CONFIG_HOME": str(profiles.folder.parent)}
        assert settings_of_profile(None, environment, names_cluster=False) == {}
