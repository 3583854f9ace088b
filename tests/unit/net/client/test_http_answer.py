"""Where an HTTP answer ends, wherever it is cut into pieces."""

from __future__ import annotations

from http.client import BadStatusLine, HTTPException, IncompleteRead

import pytest

from millstream.net.client.core.http_answer import AnswerReader, AnswerTooLong, HttpAnswer

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc": HttpAnswer(200, b"abc", None),
    b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n": HttpAnswer(302, b"", "/b"),
    b"HTTP/1.1 204 No Content\r\n\r\n": HttpAnswer(204, b"", None),
    b"HTTP/1.0 200 OK\nContent-Length: 1\n\na": HttpAnswer(200, b"a", None),
    CHUNKED + b"3\r\nabc\r\n2;why=so\r\nde\r\n0\r\n\r\n": HttpAnswer(200, b"abcde", None),
    CHUNKED + b"1\r\na\r\n0\r\nExpires: never\r\n\r\n": HttpAnswer(200, b"a", None),
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na": HttpAnswer(201, b"a", None),
}  # fmt: skip
"""Answers that say where they end: a server may leave its connection open behind them."""


def reader(method: str = "GET", bytes_max: int = 1000) -> AnswerReader:
    return AnswerReader(method, bytes_max)


@pytest.mark.parametrize("data", WHOLE)
@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 7, 1000])
def test_an_answer_is_whole_with_its_last_byte(data: bytes, piece_bytes: int) -> None:
    answer = reader()
    pieces = [data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)]
    assert [answer.receive_data(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert answer.answer() == WHOLE[data]


def test_what_comes_behind_an_answer_is_no_part_of_it() -> None:
    answer = reader()
    assert answer.receive_data(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc")
    assert answer.answer().body == b"a"


def test_the_answer_to_head_has_no_body() -> None:
    answer = reader("HEAD")
    assert answer.receive_data(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
    assert answer.answer().body == b""


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    answer = reader()
    assert not answer.receive_data(b"HTTP/1.1 200 OK\r\n\r\nabc")
    assert answer.answer().body == b"abc"


@pytest.mark.parametrize(
    "data", [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", CHUNKED + b"4\r\nabc"]
)
def test_an_answer_that_is_cut_off_is_none(data: bytes) -> None:
    answer = reader()
    assert not answer.receive_data(data)
    with pytest.raises(IncompleteRead):
        answer.answer()


def test_what_is_no_http_is_seen_with_its_first_line() -> None:
    """The server may wait for us to go on."""
    with pytest.raises(BadStatusLine, match="SSH"):
        reader().receive_data(b"SSH-2.0-OpenSSH_9.2\r\n")


def test_chunks_without_a_size_are_an_end() -> None:
    answer = reader()
    assert answer.receive_data(CHUNKED + b"none\r\nabc\r\n")
    with pytest.raises(HTTPException):
        answer.answer()


def test_an_answer_has_a_bound_whatever_it_says() -> None:
    answer = reader(bytes_max=50)
    assert not answer.receive_data(CHUNKED)
    with pytest.raises(AnswerTooLong, match="it has more than 50 bytes"):
        answer.receive_data(b"ffffffff\r\n")
