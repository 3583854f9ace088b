"""Named profiles: the settings of a client in a file each, below the user's folder of configuration.

Nobody else can read them.

$XDG_CONFIG_HOME/millstream/profiles/prod.properties    as a client.properties, its password
included $XDG_CONFIG_HOME/millstream/profile-in-use              the name of the one that counts
where nothing else names a cluster
"""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from millstream.cli.private_files import write_private
from millstream.cli.suggestions import or_near
from millstream.clients.properties_file import properties_of
from millstream.errors import ConfigError
from millstream.properties_text import properties_text

PROFILE_VARIABLE: Final = "MILLSTREAM_PROFILE"
_FOLDER_VARIABLE: Final = "XDG_CONFIG_HOME"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX: Final = ".properties"
_OF_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles below one folder."""

    folder: Path

    @property
    def _in_use_file(self) -> Path:
        return self.folder / "profile-in-use"

    def names(self) -> list[str]:
        found = (self.folder / "profiles").glob(f"*{_SUFFIX}")
        return sorted(path.name.removesuffix(_SUFFIX) for path in found)

    def path(self, name: str) -> Path:
        """Raises ConfigError for what can be no name: a path, above all."""
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is no name of a profile: write letters, digits, dots, hyphens and underscores"
            )
        return self.folder / "profiles" / f"{name}{_SUFFIX}"

    def settings(self, name: str) -> dict[str, str]:
        """Returns what a profile holds.

        Raises ConfigError where there is none, and where others could read it: it may hold a password.
        """
        path = self.existing(name)
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
        if mode & _OF_OTHERS:
            raise ConfigError(
                f"other users can open profile {name} ({stat.filemode(mode)}), which may hold a password: chmod 600 {shlex.quote(str(path))}"
            )
        return properties_of(path)

    def existing(self, name: str) -> Path:
        """Returns the file of a profile. Raises ConfigError, with the nearest name there is."""
        path = self.path(name)
        if path.exists():
            return path
        names = [each for each in self.names() if each != name]  # which may be a link to nothing
        what_next = or_near(name, names) or (
            "; millstream profile list tells those there are" if names else f"; millstream profile add {name} makes it"
        )  # fmt: skip
        raise ConfigError(f"there is no profile {name}{what_next}")

    def write(self, name: str, settings: Mapping[str, str]) -> Path:
        """Writes a profile, in the place of one of that name. Raises OSError."""
        path = self.path(name)
        self._make_folders()
        write_private(path, properties_text(settings, f"Profile {name} of the command line."))
        return path

    def remove(self, name: str) -> None:
        """Removes a profile, which is then in use no more. Raises ConfigError where there is none, OSError."""
        self.existing(name).unlink()
        if self.in_use() == name:
            self.use(None)

    def in_use(self) -> str | None:
        """Returns the name that `use` was given last, whether there is such a profile or not. Raises OSError."""
        try:
            return self._in_use_file.read_text(encoding="utf-8", errors="replace").strip() or None
        except FileNotFoundError:
            return None

    def use(self, name: str | None) -> None:
        """Has a profile count where nothing else names a cluster; None: none does.

        Raises ConfigError where there is no such profile, OSError.
        """
        if name is None:
            self._in_use_file.unlink(missing_ok=True)
            return
        self.existing(name)
        self._make_folders()
        write_private(self._in_use_file, f"{name}\n")

    def _make_folders(self) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.folder, self.folder / "profiles"):
            folder.mkdir(mode=0o700, exist_ok=True)


def profiles_of_user(environment: Mapping[str, str]) -> Profiles:
    """Returns the profiles in the user's folder of configuration. Raises ConfigError for a user without a home."""
    named = environment.get(_FOLDER_VARIABLE, "")
    if named.startswith("/"):  # the specification has relative ones ignored
        return Profiles(Path(named) / "millstream")
    try:
        home = Path.home()
    except RuntimeError as error:
        raise ConfigError(f"profiles have no place: set {_FOLDER_VARIABLE} or HOME") from error
    return Profiles(home / ".config" / "millstream")


def settings_of_profile(
    name: str | None, environment: Mapping[str, str], *, names_cluster: bool
) -> dict[str, str]:
    """Returns the settings of the profile that is named, of the one that the environment names, or of the one in use.

    The one in use counts only where nothing else names a cluster: its password is for its own cluster, and goes to no
    other because somebody forgot that a profile is in use. Raises ConfigError.
    """
    chosen = name or environment.get(PROFILE_VARIABLE)
    if chosen:
        return profiles_of_user(environment).settings(chosen)
    if names_cluster:
        return {}
    return _settings_in_use(environment)


def _settings_in_use(environment: Mapping[str, str]) -> dict[str, str]:
    try:
        profiles = profiles_of_user(environment)
        in_use = profiles.in_use()
    except (ConfigError, OSError):
        return {}  # nobody has asked for a profile: without a home, or with one that is not ours to read, there is none
    if in_use is None:
        return {}
    try:
        return profiles.settings(in_use)
    except ConfigError as error:
        raise ConfigError(
            f"{error}; it is in use: millstream profile use --none, or name another one"
        ) from error
