"""The pattern process without a process: its frames, its answers, its end."""

from __future__ import annotations

import io
import signal
from itertools import chain

import pytest

from millstream.broker.patterns import program as pattern_program
from millstream.broker.patterns.frames import (
    LENGTH,
    TEXT_BYTES_MAX,
    TEXTS_MAX,
    Ask,
    compile_message,
    framed,
    match_message,
    portions,
    read_message,
    read_texts,
)
from millstream.broker.patterns.program import PatternProgram, serve
from tests.support.patched_library import patch_library


@pytest.fixture(autouse=True)
def alarms(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seconds after which the process would have been killed, as they were set."""
    told: list[int] = []
    patch_library(monkeypatch, PatternProgram.__module__, signal, alarm=told.append)
    return told


def answers(*messages: bytes) -> list[bytes]:
    """What comes after the frame that says that it is ready."""
    output = io.BytesIO()
    serve(io.BytesIO(b"".join(map(framed, messages))), output)
    frames, content = [], output.getvalue()
    while content:
        (length,) = LENGTH.unpack_from(content)
        frames.append(content[LENGTH.size : LENGTH.size + length])
        content = content[LENGTH.size + length :]
    assert frames[0] == b""
    return frames[1:]


def test_messages_are_read_as_they_were_written() -> None:
    assert read_message(compile_message("é+")) == (Ask.COMPILE, "é+".encode())
    texts = ["", "a", "é\x00\n", "x" * 300]
    ask, content = read_message(match_message([text.encode() for text in texts]))
    assert (ask, list(read_texts(content))) == (Ask.MATCH, texts)


def test_texts_are_divided_by_their_number_and_their_size() -> None:
    assert [len(each) for each in portions(["a"] * (2 * TEXTS_MAX + 1))] == [1_000, 1_000, 1]
    long = "é" * (TEXT_BYTES_MAX // 4)
    assert [len(each) for each in portions([long] * 5)] == [2, 2, 1]
    assert list(chain(*portions(["a", "b"]))) == [b"a", b"b"]
    assert list(portions([])) == []


def test_each_text_is_answered_in_its_place() -> None:
    assert answers(compile_message("a+"), match_message([b"aa", b"b", b"", b"a"])) == [
        b"",
        b"\x01\x00\x00\x01",
    ]


def test_what_cannot_be_compiled_is_answered_with_the_reason_and_the_next_one_works() -> None:
    assert answers(
        compile_message("("), compile_message(r"(\pL{1000})" * 9), compile_message("a"), match_message([b"a"])
    ) == [b"missing ): (", b"pattern too large - compile failed", b"", b"\x01"]  # fmt: skip


def test_the_same_expression_twice_in_a_row_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []

    class Counted(pattern_program.ClientPattern):
        def __init__(self, text: str) -> None:
            compiled.append(text)
            super().__init__(text)

    monkeypatch.setattr(pattern_program, "ClientPattern", Counted)
    program = PatternProgram()
    for text in ("a", "a", "(", "(", "a"):
        program.answer(compile_message(text))
    assert compiled == ["a", "(", "(", "a"]


def test_it_ends_with_its_input_also_in_the_midst_of_a_frame() -> None:
    assert answers() == []
    output = io.BytesIO()
    serve(io.BytesIO(framed(compile_message("a"))[:2]), output)
    assert output.getvalue() == framed(b"")


def test_it_is_killed_when_nobody_asks_or_an_answer_takes_long(alarms: list[int]) -> None:
    answers(compile_message("a"))
    assert alarms == [180, 15, 180]
