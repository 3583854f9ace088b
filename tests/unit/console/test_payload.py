from __future__ import annotations

from millstream.console.views.payload import Payload, show_bytes, visible


def test_null_stays_null_and_empty_stays_empty() -> None:
    assert show_bytes(None) is None
    assert show_bytes(b"") == Payload("", "text", 0, is_truncated=False)


def test_utf8_is_text_and_keeps_lines_and_tabs() -> None:
    assert show_bytes("Zürich\n\t東京".encode()) == Payload(
        "Zürich\n\t東京", "text", 15, is_truncated=False
    )


def test_markup_is_left_to_the_templates() -> None:
    shown = show_bytes(b"<script>alert(1)</script>")
    assert shown is not None
    assert shown.text == "<script>alert(1)</script>"


def test_bytes_that_are_no_utf8_are_hex() -> None:
    assert show_bytes(b"\xff\xfe a") == Payload("ff fe 20 61", "hex", 4, is_truncated=False)


def test_a_control_character_in_text_is_shown_as_an_escape() -> None:
    """A line in a terminal's colours is text still."""
    assert show_bytes(b"\x1b[31mdelayed\x1b[0m") == Payload(
        "\\u001b[31mdelayed\\u001b[0m", "text", 16, is_truncated=False
    )
    assert show_bytes(b"\x1b[2J") == Payload("\\u001b[2J", "text", 4, is_truncated=False)


def test_many_control_characters_and_any_nul_are_hex() -> None:
    """Lengths and magic bytes of a binary format."""
    assert show_bytes(b"\x00\x05JFK") == Payload("00 05 4a 46 4b", "hex", 5, is_truncated=False)
    assert show_bytes(b"\x02\x06UA") == Payload("02 06 55 41", "hex", 4, is_truncated=False)
    assert show_bytes(b"\x01") == Payload("01", "hex", 1, is_truncated=False)
    assert show_bytes(b"a long text\x00") == Payload(
        "61 20 6c 6f 6e 67 20 74 65 78 74 00", "hex", 12, is_truncated=False
    )


def test_text_is_cut_at_1024_bytes_and_never_through_a_character() -> None:
    shown = show_bytes(b"x" * 1023 + "é".encode() * 500)
    assert shown == Payload("x" * 1023, "text", 2023, is_truncated=True)


def test_hex_is_cut_at_256_bytes() -> None:
    shown = show_bytes(b"\x00" * 300)
    assert shown == Payload(" ".join(["00"] * 256), "hex", 300, is_truncated=True)


def test_a_character_broken_by_its_writer_is_not_taken_for_a_cut() -> None:
    assert show_bytes(b"caf\xc3") == Payload("63 61 66 c3", "hex", 4, is_truncated=False)


def test_characters_that_turn_the_text_around_are_escaped() -> None:
    shown = show_bytes("invoice\u202egnp.exe".encode())
    assert shown is not None
    assert shown.text == "invoice\\u202egnp.exe"
    assert visible("tag \U000e0041") == "tag \\U000e0041"
