from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from millstream import __version__
from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.main import VERBS, Verb, main
from millstream.cli.suggestions import SuggestingGroup


def test_help_lists_every_verb_with_its_summary() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name, verb in VERBS.items():
        assert name in result.output
        assert verb.summary.split()[0] in result.output


def test_every_verb_can_be_imported_and_explains_itself() -> None:
    for name in VERBS:
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert "Usage:" in result.output


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for below, each in commands(command, context):
                yield f"{name} {below}", each


def test_every_verb_and_every_option_is_explained() -> None:
    assert isinstance(main, click.Group)
    lacking = []
    for name, command in commands(main, click.Context(main)):
        lacking += [] if command.help else [name]
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden and not option.help:
                lacking.append(f"{name} {option.opts[0]}")
    assert lacking == []


def test_an_unknown_verb_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["brew"])
    assert result.exit_code == 2
    assert "No such command" in result.output


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["topic", "list"], "topics"),
        (["topics", "lst"], "list"),
        (["groups", "descrbe"], "describe"),
        (["config", "chek"], "check"),
        (["cluster", "statu"], "status"),
        (["cluster", "quorum", "descibe"], "describe"),
        (["cluster", "-b", "h:1", "brokers", "unregster"], "unregister"),
    ],
)
def test_a_name_that_is_nearly_right_gets_a_suggestion(typed: list[str], meant: str) -> None:
    result = CliRunner().invoke(main, typed)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"; did you mean {meant}?\n")


def test_the_version_is_told() -> None:
    assert __version__ in CliRunner().invoke(main, ["--version"]).output


def test_help_imports_nothing_that_verbs_need() -> None:
    """The list of verbs must come at once: no broker, no event loop, no Arrow, no Spark."""
    code = (
        "import sys; from click.testing import CliRunner; from millstream.cli.main import main; "
        "CliRunner().invoke(main, ['--help']); "
        "print([name for name in ('millstream.broker', 'asyncio', 'pyarrow', 'pyspark', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "verb", ["acls", "consume", "groups", "perf", "produce", "quotas", "tokens", "topics", "users"]
)
def test_help_of_a_verb_imports_no_client(verb: str) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from millstream.cli.main import main; "
        f"assert CliRunner().invoke(main, ['{verb}', '--help']).exit_code == 0; "
        "print([name for name in ('millstream.clients.cluster.cluster', 'asyncio', 'pyarrow', 'ssl', 'orjson') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("consume",), "give one or more TOPICs"),
        (("consume", "a", "^b.*"), "give one or more TOPICs"),
        (("consume", "a", "-o", "stored"), "-o stored needs --group"),
        (("consume", "a", "-G", "g", "-p", "0"), "--partition cannot be used with --group"),
        (("consume", "a", "-f", "%q"), "%q is not a field of a record"),
        (("consume", "a", "--value-format", "cobol"), "'cobol' is not one of"),
        (("consume", "a", "--value-format", "avro"), "needs --schema-registry"),
        (("consume", "a", "-p", "prod"), "a profile is named by --profile here"),
        (("produce",), "give a TOPIC"),
        (("produce", "a", "-H", "x"), "'x' is not KEY=VALUE"),
        (("topics", "create"), "name at least one TOPIC"),
        (("topics", "alter", "a"), "nothing to alter"),
        (
            ("topics", "create", "a", "--config", "f.properties"),
            "settings of the client is --command-config FILE here",
        ),
        (("groups", "describe"), "name at least one GROUP"),
        (("acls", "remove"), "say which rules"),
        (("acls", "remove", "--topic", "a", "--all"), "say which rules"),
        (("acls", "add", "--topic", "a"), "say who: --allow-principal"),
        (("acls", "add", "--operation", "Reed"), "did you mean Read?"),
        (("acls", "explain", "a", "Read", "orders"), "is not a resource"),
        (("acls", "explain", "a", "Write", "group:g"), "Write is no operation on a Group"),
        (("-b", "localhost:9092"), "a verb is missing: main -b HOST:PORT VERB"),
        (("topics", "--profile"), "a verb is missing: main topics -b HOST:PORT VERB"),
        (("help", "topics"), "write main VERB --help"),
        (("topics", "help"), "write main topics VERB --help"),
        (("topics", "list", "-b", "localhost:9092/"), "'localhost:9092/' is not host:port"),
        (("offsets", "a", "--at", "max"), "and none of latest, earliest, max-timestamp,"),
        (("users", "remove"), "name at least one USER"),
        (("users", "add", "a", "--generate", "--password-file", "-"), "not both"),
        (("tokens", "create", "--max-life", "long"), "'long' is not a duration"),
        (("quotas", "set", "producer_byte_rate=1"), "say whose"),
        (("quotas", "set", "--user", "a"), "say how much"),
        (("quotas", "set", "--user", "a", "produce_rate=1"), "did you mean producer_byte_rate?"),
        (("quotas", "set", "--user", "a", "producer_byte_rate=0"), "with a value above 0"),
        (
            ("quotas", "set", "--ip", "::1", "producer_byte_rate=1"),
            "is not one of connection_creation_rate",
        ),
        (
            ("quotas", "set", "--ip", "::1", "--user", "a", "producer_byte_rate=1"),
            "leave --user and --client-id out",
        ),
        (("quotas", "list", "--user", "a", "--user-defaults"), "not both"),
        (("groups", "reset-offsets", "g", "--execute", "--dry-run"), "not both"),
        (("groups", "reset-offsets", "g"), "give exactly one new position"),
        (("groups", "delete-offsets", "g"), "name the topics"),
        (("groups", "list", "--state", "Foo"), "'Foo' is not one of"),
        (("consume", "^("), "'^(' is not a regular expression"),
        (("consume", "--include", "("), "'(' is not a regular expression"),
        (("topics", "list", "--topic", "("), "'(' is not a regular expression"),
        (("consume", "a", "-o", "9" * 30), "an offset must be between"),
        (("consume", "a", "-o", "@" + "9" * 30), "a time must be between"),
        (("consume", "a", "-o", "@1900-01-01"), "a time must be between"),
        (("consume", "t\udcff"), r"b't\xff' is not text in UTF-8"),
        (("produce", "t\udcff"), r"b't\xff' is not text in UTF-8"),
        (("topics", "create", "t\udcff"), r"b't\xff' is not text in UTF-8"),
        (("produce", "a", "-H", "h\udcff=1"), "a header's name must be text"),
        (
            ("perf", "produce", "a", "--payload-delimiter", "", "--payload-file", __file__),
            "not be empty",
        ),
    ],
)
def test_what_is_used_wrongly_is_told_before_anything_is_asked(
    arguments: tuple[str, ...], told: str
) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert told in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-b", "h:1", "-X", "a=1", "list"),
        ("-bh:1", "-Xa=1", "list"),
        ("--bootstrap-server=h:1", "list", "-X", "a=1"),
        ("list", "-b", "h:1", "-X", "a=1"),
        ("--config", "/dev/null", "-b", "h:1", "list", "-X", "a=1"),
        ("--config=/dev/null", "-b", "h:1", "list", "-X", "a=1"),
        ("list", "--config", "/dev/null", "-b", "h:1", "-X", "a=1"),
    ],
)
@pytest.mark.parametrize("noun", [(), ("topics",)])
def test_options_of_the_cluster_may_stand_before_the_verb(
    arguments: tuple[str, ...], noun: tuple[str, ...]
) -> None:
    """As tools take them whose options are those of all their verbs. Also before the noun of a verb that has one."""
    given: list[ClusterOptions] = []

    @click.command("list")
    @cluster_options
    def listing(cluster: ClusterOptions) -> None:
        given.append(cluster)

    topics = SuggestingGroup("topics", {"list": listing})
    outer = SuggestingGroup("main", {"topics": topics, "list": listing})
    before, after = arguments[: arguments.index("list")], arguments[arguments.index("list") :]
    done = CliRunner().invoke(outer, [*before, *noun, *after])
    assert done.exit_code == 0, done.output
    assert given == [ClusterOptions("h:1", {}, ("a=1",))]


ARGUMENTS = {
    "acls add": "--allow-principal a --operation Read --topic a",
    "acls explain": "a Read topic:a",
    "acls remove": "--topic a",
    "cluster brokers unregister": "1",
    "cluster elect-leaders": "preferred a",
    "cluster features downgrade": "--feature metadata.version=20",
    "cluster features upgrade": "--feature metadata.version=20",
    "cluster quorum remove-controller": "--controller-id 1 --controller-directory-id J8aAPcfLQt2bqs1JT_rMgQ",
    "cluster reassign cancel": "--all",
    "cluster reassign execute": "{moves}",
    "cluster reassign plan": "a",
    "cluster reassign verify": "{moves}",
    "configs explain": "topic:a k",
    "configs get": "topic:a",
    "configs set": "topic:a k=1",
    "configs unset": "topic:a k",
    "consume": "a",
    "copy": "a b",
    "groups delete": "a",
    "groups delete-offsets": "a --topic a",
    "groups describe": "a",
    "groups reset-offsets": "a --topic a --to-latest",
    "perf consume": "a",
    "perf latency": "a",
    "perf produce": "a",
    "pipeline pause": "a",
    "pipeline queries": "a",
    "pipeline reset": "a",
    "pipeline resume": "a",
    "pipeline status": "a",
    "produce": "a",
    "quotas remove": "--user a producer_byte_rate",
    "quotas set": "--user a producer_byte_rate=1",
    "records delete": "a --before 1",
    "registry check": "a {moves}",
    "registry config set": "FULL",
    "registry config unset": "a",
    "registry delete": "a",
    "registry register": "a {moves}",
    "registry show": "a",
    "streams reset": "a",
    "tail": "a",
    "tokens expire": "a",
    "tokens renew": "a",
    "topics alter": "a -p 2",
    "topics create": "a",
    "topics delete": "a",
    "transactions abort": "a",
    "transactions abort-hanging": "a",
    "transactions describe": "a",
    "transactions producers": "a",
    "users add": "a --generate",
    "users password": "a --generate",
    "users remove": "a",
}
"""What verbs need said that ask a cluster."""
OF_ANOTHER_TEST = {"profile add", "cluster quorum add-controller"}
"""One asks nobody; one looks for a formatted directory first."""


def test_every_verb_refuses_a_setting_that_no_client_has(tmp_path: Path) -> None:
    """Before it asks anybody: this is what makes a misspelt password, or a limit, known."""
    moves = tmp_path / "moves.json"
    moves.write_text('{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1]}]}')
    silent = {}
    for name, command in commands(main, click.Context(main)):
        if "-X" not in _options(command) or name in OF_ANOTHER_TEST:
            continue
        given = ARGUMENTS.get(name, "").format(moves=moves).split()
        done = CliRunner().invoke(main, [*name.split(), *given, "-X", "clientt.id=5"])
        if done.exit_code != 2 or "clientt.id; did you mean client_id?" not in done.stderr:
            silent[name] = done.stderr
    assert silent == {}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-b", "h:1", "--help"), "Usage:"),
        (("topics", "-b", "h:1", "--help"), "Usage:"),
        (("-p", "prod", "cluster", "--nodes", "3"), "No such option '--profile'"),
        (("-b", "h:1", "server"), "No such option '-b'"),
    ],
)
def test_an_option_of_the_cluster_before_a_verb_that_asks_none_is_refused_as_behind_it(
    arguments: tuple[str, ...], told: str
) -> None:
    assert told in CliRunner().invoke(main, arguments).output


@pytest.mark.parametrize(
    "arguments",
    [("offsets", "a:{}"), ("configs", "get", "broker:{}"), ("records", "delete", "a:{}", "--before", "1"),
     ("groups", "describe", "g", "--timeout", "{}"), ("consume", "a", "-o", "{}:"), ("topics", "create", "a", "-p", "{}")],
)  # fmt: skip
def test_a_number_of_any_length_is_refused_as_others_are(arguments: tuple[str, ...]) -> None:
    """Python itself refuses to read more than 4,300 digits, with an error that no verb expects."""
    line = [each.format("9" * 5_000) for each in arguments]
    done = CliRunner().invoke(main, [*line, "-b", "127.0.0.1:1"], catch_exceptions=False)
    assert done.exit_code in {2, 5}


GUIDE = (Path(__file__).parents[3] / "docs/guide/cli.md").read_text()


def test_the_guide_names_the_verbs_that_need_no_cluster() -> None:
    (sentence,) = re.findall(r"These need none: (.*?)\.\n", GUIDE, re.DOTALL)
    named = set(re.findall(r"`([a-z -]+)`", sentence))
    without = {
        name for name, each in commands(main, click.Context(main))
        if not isinstance(each, click.Group) and "--bootstrap-server" not in _options(each)
    }  # fmt: skip
    assert {name for name in without if not named & {name, name.split()[0]}} == set()
    assert named - without <= {name.split()[0] for name in without} | {"cluster"}


def test_what_asks_can_be_tried() -> None:
    options = {name: _options(each) for name, each in commands(main, click.Context(main))}
    asking = {name for name, each in options.items() if "--yes" in each}
    assert len(asking) > 10
    assert {name for name in asking if "--dry-run" not in options[name]} == set()


DESTROYS = {
    "delete",
    "delete-offsets",
    "remove",
    "abort",
    "reset",
    "expire",
    "unregister",
    "cancel",
}


def test_what_cannot_be_undone_asks() -> None:
    options = {name: _options(each) for name, each in commands(main, click.Context(main))}
    destroying = {name for name in options if name.split()[-1] in DESTROYS} - {"quotas remove"}
    assert {name for name in destroying if "--yes" not in options[name]} == set()


def _options(command: click.Command) -> set[str]:
    return {name for each in command.params for name in each.opts}


@pytest.mark.parametrize(
    "interrupted",
    ["raise KeyboardInterrupt", "raise RuntimeError('__set_name__') from KeyboardInterrupt()"],
)
def test_an_interruption_while_a_verb_is_imported_is_130_without_a_word(
    interrupted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupted_verb.py").write_text(interrupted)
    monkeypatch.syspath_prepend(tmp_path)
    verbs = {"slow": Verb("interrupted_verb", "slow", "Is interrupted.")}
    monkeypatch.setattr("millstream.cli.main.VERBS", verbs)
    result = CliRunner().invoke(main, ["slow"])
    assert (result.exit_code, result.output) == (130, "")
