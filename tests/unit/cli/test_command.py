from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from millstream.cli.command import ClientCommand
from millstream.errors import (
    BrokerNotAvailable,
    ConfigError,
    GroupIdNotFound,
    IllegalSaslState,
    InvalidConfig,
    MillstreamError,
    RequestTimedOut,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
    UnsupportedSaslMechanism,
)
from millstream.net.client.core.first_contact import WrongListener
from millstream.net.client.tls import SslAuthenticationFailed


def run(error: BaseException, *arguments: str) -> tuple[int, str, str]:
    @click.command(cls=ClientCommand)
    @click.option("--output", default="table")
    def command(output: str) -> None:
        raise error

    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MillstreamError("broken"), 1),
        (InvalidConfig("broken"), 1),
        (FileNotFoundError("broken"), 1),
        (ConfigError("broken"), 2),
        (UnknownTopicOrPartition("broken"), 3),
        (GroupIdNotFound("broken"), 3),
        (TopicAuthorizationFailed("broken"), 4),
        (SaslAuthenticationFailed("broken"), 4),
        (SslAuthenticationFailed("broken"), 4),
        (UnsupportedSaslMechanism("broken"), 4),
        (IllegalSaslState("broken"), 4),
        (WrongListener("broken"), 4),
        (RequestTimedOut("broken"), 5),
        (BrokerNotAvailable("broken"), 5),
    ],
)
def test_a_failure_is_one_line_and_a_code_that_scripts_can_ask(error: Exception, code: int) -> None:
    assert run(error) == (code, "", "error: broken\n")


def test_a_file_that_cannot_be_read_is_named_without_a_number() -> None:
    error = FileNotFoundError(2, "No such file or directory", "/nowhere")
    assert run(error) == (1, "", "error: /nowhere: No such file or directory\n")


def test_several_lines_become_one() -> None:
    assert run(MillstreamError("a\n  b"))[2] == "error: a b\n"


def test_an_error_cannot_command_the_terminal() -> None:
    assert (
        run(MillstreamError("topic \x1b[31mred\u202e"))[2] == "error: topic \\x1b[31mred\\u202e\n"
    )


def test_programs_get_the_error_as_json() -> None:
    code, _, told = run(UnknownTopicOrPartition("no flights"), "--output", "json")
    assert code == 3
    assert json.loads(told) == {"error": "UNKNOWN_TOPIC_OR_PARTITION", "message": "no flights"}


def test_an_interruption_is_130_without_a_word() -> None:
    assert run(KeyboardInterrupt()) == (130, "", "")


def test_an_interruption_at_a_question_is_130_and_a_no_is_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command(cls=ClientCommand)
    def command() -> None:
        click.confirm("Delete it?", abort=True)

    assert CliRunner().invoke(command, input="n\n").exit_code == 1

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupted)
    context = click.Context(command)
    with pytest.raises(click.exceptions.Exit) as raised:
        command.invoke(context)
    assert raised.value.exit_code == 130


def test_a_bug_keeps_its_traceback() -> None:
    @click.command(cls=ClientCommand)
    def command() -> None:
        raise ZeroDivisionError

    assert isinstance(CliRunner().invoke(command).exception, ZeroDivisionError)
