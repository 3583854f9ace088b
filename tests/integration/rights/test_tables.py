"""The guide to rights is one: what its commands allow is what stands in its tables."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.clients.admin import AclFilter
from millstream.clients.blocking import Admin
from tests.compat.permissions.users import KafkaWithUsers
from tests.patience import wait_until
from tests.support.rights import GUIDE, commands, rights

KINDS = re.findall(r"^### (.*)$", GUIDE, re.MULTILINE)
ALICE = "alice"


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_allow_what_the_table_names(kafka: KafkaWithUsers, kind: str) -> None:
    options = [f"--client-property={key}={value}" for key, value in kafka.admin_settings.items()]
    of_alice = AclFilter(principal=f"User:{ALICE}")
    with Admin(**kafka.admin_settings) as admin:
        for command in commands(kind):
            program, *words = shlex.split(command)
            assert program == "millstream"
            done = CliRunner().invoke(main, [*words, *options])
            assert done.exit_code == 0, done.output
        try:
            wanted = {right.rule(ALICE) for right in rights(kind)}
            wait_until(lambda: set(admin.describe_acls(of_alice)) == wanted)
        finally:
            admin.delete_acls([of_alice]).raise_errors()
            wait_until(lambda: not admin.describe_acls(of_alice))
