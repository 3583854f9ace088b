"""The guide's tables are those of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from millstream.clients import SpoutHooks
from millstream.clients.config.settings import documentation
from millstream.clients.spout.core.settings import (
    RetryConfig,
    ShareSpoutConfig,
    ShareSpoutSettings,
    SpoutConfig,
    SpoutSettings,
)

GUIDE = (Path(__file__).parents[4] / "docs/guide/clients/spout.md").read_text()


def rows(head: str) -> list[list[str]]:
    table = GUIDE.split(head)[1].split("\n\n")[0]
    return [
        [cell.strip().strip("`") for cell in row.split("|")[1:-1]]
        for row in table.splitlines()
        if row.startswith("| `")
    ]


def test_every_setting_stands_in_the_guide_with_its_default() -> None:
    told = [(name, default) for name, default, _ in rows("| setting | default | meaning |")]
    assert told == [(name, str(default)) for name, default, _ in documentation(SpoutConfig)]


def test_every_setting_of_a_share_spout_stands_in_the_guide_with_its_default() -> None:
    told = [
        (name, default)
        for name, default, _ in rows("| setting of a share spout | default | meaning |")
    ]
    of_both = {name for name, _, _ in documentation(RetryConfig)}
    assert told == [
        (name, str(default))
        for name, default, _ in documentation(ShareSpoutConfig)
        if name not in of_both
    ]
    assert [name for name, _, _ in documentation(SpoutConfig)][:7] == [
        name for name, _, _ in documentation(RetryConfig)
    ]


@pytest.mark.parametrize(
    ("settings", "config"), [(SpoutSettings, SpoutConfig), (ShareSpoutSettings, ShareSpoutConfig)]
)
def test_every_setting_is_a_keyword_argument(settings: type, config: type[RetryConfig]) -> None:
    assert set(settings.__annotations__) >= {field.name for field in dataclasses.fields(config)}


def test_every_hook_stands_in_the_guide() -> None:
    told = [name for name, _, _ in rows("| hook | called with | when |")]
    assert told == [field.name for field in dataclasses.fields(SpoutHooks)]
    assert re.search(r"`hooks=SpoutHooks\(", GUIDE)
