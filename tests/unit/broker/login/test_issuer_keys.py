"""When the keys of token issuers are fetched."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from millstream.broker.config.sasl_settings import BearerSettings
from millstream.broker.login.issuer_keys import FetchedKeys, MissedKeys, fetch_document
from millstream.runtime.system import SystemClock
from tests.patience import LONG_ENOUGH_S, until
from tests.unit.broker.login.test_jwt_validation import public_jwk

FOREVER_MS = 3_600_000
SETTINGS = BearerSettings(
    jwks_url="https://issuer.example/keys",
    issuer="https://issuer.example",
    audiences=("kafka",),
    name_claim="sub",
    clock_skew_s=30,
    refresh_ms=FOREVER_MS,
    retry_backoff_ms=1,
    retry_backoff_max_ms=2,
)


def documents(*key_ids: str) -> bytes:
    return json.dumps({"keys": [public_jwk("ES256", kid=key_id) for key_id in key_ids]}).encode()


# Whether an unknown key is worth a fetch


def test_a_key_id_causes_one_fetch_a_minute() -> None:
    missed = MissedKeys()
    assert missed.is_worth_a_fetch("a", 0)
    assert not missed.is_worth_a_fetch("a", 59_999)
    assert missed.is_worth_a_fetch("a", 60_000)


def test_invented_key_ids_cause_a_fetch_every_ten_seconds_and_no_more() -> None:
    missed = MissedKeys()
    fetches = sum(missed.is_worth_a_fetch(f"invented {now_ms}", now_ms) for now_ms in range(60_000))
    assert fetches == 6


def test_sixteen_key_ids_are_remembered() -> None:
    missed = MissedKeys()
    for number in range(17):
        assert missed.is_worth_a_fetch(f"key {number}", number * 10_000)
    assert missed.is_worth_a_fetch("key 0", 170_000), "forgotten"
    assert not missed.is_worth_a_fetch("key 16", 180_000), "remembered"


# Fetching


async def test_keys_are_fetched_again_until_it_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[bytes | Exception] = [OSError("no way there"), b"<html>", documents("a")]

    async def fetch(url: str) -> bytes:
        assert url == SETTINGS.jwks_url
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    caplog.set_level(logging.INFO)
    keys = FetchedKeys(SETTINGS, SystemClock(), fetch)
    running = asyncio.get_running_loop().create_task(keys.run())
    await until(lambda: keys.find("a") is not None)
    running.cancel()
    assert not answers
    assert "no way there" in caplog.text
    assert "it is no JSON Web Key Set" in caplog.text


async def test_a_new_key_is_found_soon_after_somebody_asked_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An issuer rotates its keys: the old one goes, and the first login with the new one makes it known."""
    answers = [documents("old"), documents("new")]

    async def fetch(_url: str) -> bytes:
        return answers.pop(0)

    keys = FetchedKeys(SETTINGS, SystemClock(), fetch)
    running = asyncio.get_running_loop().create_task(keys.run())
    caplog.set_level(logging.INFO)
    await until(lambda: "1 keys of token issuers are at" in caplog.text)
    assert keys.find("old") is not None
    async with asyncio.timeout(LONG_ENOUGH_S):
        while await asyncio.to_thread(keys.find, "new") is None:  # noqa: ASYNC110  # no event tells of a key
            await asyncio.sleep(0)
    running.cancel()
    assert keys.find("old") is None


async def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "keys and more.json"
    path.write_bytes(documents("a"))
    assert await fetch_document(path.as_uri()) == documents("a")


async def test_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        await fetch_document(path.as_uri())


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "ftp://127.0.0.1/", "/etc/passwd"])
async def test_no_other_url_is_asked(url: str) -> None:
    with pytest.raises(ValueError, match="no https:// or file:/// URL"):
        await fetch_document(url)
