"""The guide to rights is one: what its commands allow is what stands in its tables."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support.rights import GUIDE, commanded, rights

KINDS = re.findall(r"^### (.*)$", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_allow_what_the_table_names(kind: str) -> None:
    assert commanded(kind) == {replace(each, without="") for each in rights(kind)}
