"""Levels of features on the command line: those that a new cluster begins with, those of a release, and what they need.

Sentences are those of Kafka's tool where it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from millstream.cli.arguments import whole_number
from millstream.cli.storage.errors import FormatError
from millstream.metadata.features import (
    FEATURES,
    KRAFT_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_4_3,
    METADATA_VERSIONS,
    default_levels,
    metadata_version_of,
    missing_dependency,
)

_SHORTEST: Final = -(1 << 15)
_LONGEST: Final = (1 << 15) - 1
_BY_NAME: Final = {feature.name: feature for feature in FEATURES}
_DYNAMIC_FLAGS: Final = "--standalone, --initial-controllers, or --no-initial-controllers"


def new_cluster_levels(
    release: str | None, features: Iterable[str], *, dynamic: bool, unstable: bool
) -> dict[str, int]:
    """Returns the level of every feature in a new cluster. Raises FormatError.

    `features`: as NAME=LEVEL, of which the last counts. `dynamic`: no voters are configured. `unstable`: so
    are levels that are not stable.
    """
    asked = dict(_name_and_level(text) for text in features)
    metadata_version = _metadata_version(release, asked.get(METADATA_VERSION), unstable=unstable)
    _check_known(asked)
    levels = {**default_levels(metadata_version), KRAFT_VERSION: int(dynamic), **asked}
    _check_kraft_version(levels[KRAFT_VERSION], dynamic=dynamic)
    _check_levels(levels)
    return levels


def release_levels(release: str | None) -> Iterator[str]:
    """Yields the lines of `version-mapping`. Raises FormatError."""
    name = METADATA_VERSIONS[METADATA_VERSION_4_3] if release is None else release
    metadata_version = _known_release(name, unstable=True)
    levels = default_levels(metadata_version)
    yield f"{METADATA_VERSION}={metadata_version} ({name})"
    for feature in FEATURES:
        yield f"{feature.name}={levels[feature.name]}"


def needed_levels(features: Iterable[str]) -> Iterator[str]:
    """Yields the lines of `feature-dependencies`. Raises FormatError."""
    for text in features:
        name, level = _feature_and_version(text)
        if name == METADATA_VERSION:
            if level not in METADATA_VERSIONS:
                raise FormatError(f"Unknown {METADATA_VERSION} {level}")
            yield f"{name}={level} ({METADATA_VERSIONS[level]}) has no dependencies."
            continue
        feature = _BY_NAME.get(name)
        if feature is None:
            raise FormatError(f"Unknown feature: {name}")
        if not 0 <= level <= feature.highest:
            raise FormatError(f"Feature level {level} is not supported for feature {name}")
        if level in feature.needs:
            needed = feature.needs[level]
            yield f"{name}={level} requires:"
            yield f"    {METADATA_VERSION}={needed} ({METADATA_VERSIONS[needed]})"
        else:
            yield f"{name}={level} has no dependencies."


def _metadata_version(release: str | None, asked: int | None, *, unstable: bool) -> int:
    if asked is not None:
        if release is not None:
            raise FormatError(
                f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid ambiguity."
            )
        if asked not in METADATA_VERSIONS:
            raise FormatError(
                f"No MetadataVersion with feature level {asked}. Valid feature levels are from {min(METADATA_VERSIONS)} to "
                f"{max(METADATA_VERSIONS)}."
            )
        if asked > METADATA_VERSION_4_3 and not unstable:
            raise FormatError(f"{METADATA_VERSION} {METADATA_VERSIONS[asked]} is not yet stable.")
        return asked
    if release is not None:
        return _known_release(release, unstable=unstable)
    return max(METADATA_VERSIONS) if unstable else METADATA_VERSION_4_3


def _known_release(release: str, *, unstable: bool) -> int:
    found = metadata_version_of(release, unstable=unstable)
    if found is None:
        known = [n for level, n in METADATA_VERSIONS.items() if unstable or level <= METADATA_VERSION_4_3]  # fmt: skip
        raise FormatError(
            f"Unknown {METADATA_VERSION} '{release}'. Supported {METADATA_VERSION} are: {', '.join(known)}"
        )
    return found


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise FormatError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        return name.strip(), _short(level)
    except ValueError:
        raise FormatError(
            f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a short."
        ) from None


def _feature_and_version(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise FormatError(
            f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')"
        )
    try:
        return name, _short(level)
    except ValueError:
        raise FormatError(f"Invalid version format: {level} for feature {name}") from None


def _short(text: str) -> int:
    number = whole_number(text.strip())
    if not _SHORTEST <= number <= _LONGEST:
        raise ValueError(text)
    return number


def _check_known(asked: Mapping[str, int]) -> None:
    for name in sorted(asked):
        if name != METADATA_VERSION and name not in _BY_NAME:
            raise FormatError(
                f"Unsupported feature: {name}. Supported features are: {', '.join(sorted(_BY_NAME))}"
            )


def _check_kraft_version(level: int, *, dynamic: bool) -> None:
    if level == 0 and dynamic:
        raise FormatError(
            f"Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags {_DYNAMIC_FLAGS} is used. "
            "For dynamic controllers support, try removing the --feature flag for kraft.version."
        )
    if level != 0 and not dynamic:
        raise FormatError(
            f"Cannot set kraft.version to {level} unless controller.quorum.voters is empty and one of the flags {_DYNAMIC_FLAGS} is used. "
            f"For dynamic controllers support, try using one of {_DYNAMIC_FLAGS} and removing controller.quorum.voters."
        )


def _check_levels(levels: Mapping[str, int]) -> None:
    for feature in FEATURES:
        level = levels[feature.name]
        if not 0 <= level <= feature.highest:
            raise FormatError(f"No feature:{feature.name} with feature level {level}")
        problem = missing_dependency(feature.name, level, levels)
        if problem is not None:
            raise FormatError(problem)
