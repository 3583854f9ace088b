"""`millstream cluster features`: the features of a cluster, which levels are in force, and changing
them (as kafka-features does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from millstream.cli.arguments import whole_number
from millstream.cli.cluster.options import AskedNodes, DescribingGroup, whom_to_ask
from millstream.cli.rows import (
    Row,
    confirm,
    finish,
    for_people,
    output_option,
    print_rows,
    yes_option,
)

if TYPE_CHECKING:
    from millstream.clients.admin import FeatureMetadata
    from millstream.protocol.enums import UpgradeType

_METADATA_VERSION: Final = "metadata.version"
_COLUMNS: Final = ("feature", "supported_min", "supported_max", "finalized", "epoch")
_given = (
    click.option(
        "--feature",
        "given",
        multiple=True,
        metavar="NAME=LEVEL",
        help="A feature and its new level; metadata.version also by name, as 4.3-IV0. 0 takes a feature out of force. May be repeated.",
    ),
    click.option("--release-version", "release", metavar="VERSION", help="All features as of a release, as 4.3."),
    click.option("--dry-run", is_flag=True, help="Have the change checked, and do not make it."),
)  # fmt: skip


@click.group(cls=DescribingGroup, short_help="Describe features, change their levels.")
def features() -> None:
    """Describe the features of a cluster, change their levels. Without a verb: describe."""


@features.command()
@whom_to_ask
@output_option
@click.option("--node-id", type=click.IntRange(min=0), help="Ask this node, in place of any.")
def describe(*, asked: AskedNodes, output: str, node_id: int | None) -> None:
    """Show each feature: which levels the node that is asked supports, and which is in force."""
    with asked.admin() as admin:
        found = admin.describe_features(node_id=node_id)
    print_rows(feature_rows(found, as_text=for_people(output)), output, _COLUMNS)


@features.command()
@whom_to_ask
@output_option
@_given[0]
@_given[1]
@_given[2]
def upgrade(
    *, asked: AskedNodes, output: str, given: tuple[str, ...], release: str | None, dry_run: bool
) -> None:
    """Raise levels of features."""
    from millstream.protocol.enums import UpgradeType

    _update(asked, output, wanted_levels(given, release), UpgradeType.UPGRADE, dry_run=dry_run)


@features.command()
@whom_to_ask
@output_option
@yes_option
@_given[0]
@_given[1]
@_given[2]
@click.option("--unsafe", is_flag=True, help="Also where metadata may be lost by it.")
def downgrade(
    *,
    asked: AskedNodes,
    output: str,
    yes: bool,
    given: tuple[str, ...],
    release: str | None,
    dry_run: bool,
    unsafe: bool,
) -> None:
    """Lower levels of features."""
    from millstream.protocol.enums import UpgradeType

    kind = UpgradeType.UNSAFE_DOWNGRADE if unsafe else UpgradeType.SAFE_DOWNGRADE
    levels = wanted_levels(given, release)
    if not dry_run:
        confirm(f"Lower {', '.join(levels)}", yes=yes)
    _update(asked, output, levels, kind, dry_run=dry_run)


def wanted_levels(given: tuple[str, ...], release: str | None) -> dict[str, int]:
    """Returns the levels that the options ask for. Raises UsageError and BadParameter."""
    if bool(given) == (release is not None):
        raise click.UsageError("give --feature NAME=LEVEL or --release-version VERSION")
    if release is None:
        return dict(map(_level, given))
    from millstream.metadata.features import (
        METADATA_VERSION_4_3,
        METADATA_VERSIONS,
        default_levels,
        metadata_version_of,
    )

    level = metadata_version_of(release, unstable=False)
    if level is None:
        newest = METADATA_VERSIONS[METADATA_VERSION_4_3]
        raise click.BadParameter(
            f"there is no release {release!r}: the newest is {newest}",
            param_hint="--release-version",
        )
    return default_levels(level)


def _level(text: str) -> tuple[str, int]:
    from millstream.metadata.features import metadata_version_of

    name, separator, level = text.partition("=")
    try:
        named = metadata_version_of(level, unstable=True) if name == _METADATA_VERSION else None
        number = whole_number(level) if named is None else named
    except ValueError:
        number = -1
    if not separator or not name or number < 0:
        raise click.BadParameter(f"{text!r} is not NAME=LEVEL", param_hint="--feature")
    return name.strip(), number


def _update(
    asked: AskedNodes, output: str, levels: dict[str, int], kind: UpgradeType, *, dry_run: bool
) -> None:
    from millstream.clients.admin import FeatureUpdate

    updates = {name: FeatureUpdate(level, kind) for name, level in levels.items()}
    with asked.admin() as admin:
        results = admin.update_features(updates, validate_only=dry_run)
    errors = results.errors()
    done = "could be changed" if dry_run else "changed"
    rows = [
        {"feature": name, "level": level, "result": done}
        for name, level in levels.items()
        if name not in errors
    ]
    print_rows(rows, output, ("feature", "level", "result"))
    finish(errors, output)


def feature_rows(found: FeatureMetadata, *, as_text: bool) -> list[Row]:
    """Returns a row for each feature that is supported or in force.

    `as_text`: levels of metadata.version by their names.
    """
    from millstream.metadata.features import METADATA_VERSIONS

    def told(name: str, level: int) -> int | str:
        is_named = as_text and name == _METADATA_VERSION
        return METADATA_VERSIONS.get(level, level) if is_named else level

    rows: list[Row] = []
    for name in sorted(found.supported.keys() | found.finalized.keys()):
        supported, finalized = found.supported.get(name), found.finalized.get(name)
        rows.append(
            {
                "feature": name,
                "supported_min": None if supported is None else told(name, supported.lowest),
                "supported_max": None if supported is None else told(name, supported.highest),
                "finalized": told(name, 0 if finalized is None else finalized.highest),
                "epoch": found.finalized_epoch,
            }
        )
    return rows
