"""`configs`, `offsets` and `records delete` against a broker, and against an Apache Kafka (see conftest)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration.cli.conftest import Done, Run, eventually


def rows(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def made(run: Run, topic: str, *options: str) -> None:
    assert run("topics", "create", topic, *options).returncode == 0
    eventually(lambda: run("topics", "describe", topic), lambda done: done.returncode == 0)


def value_of(run: Run, resource: str, key: str) -> dict[str, Any]:
    (row,) = rows(run("configs", "get", resource, key, "--output", "json"))
    return row


def own_settings(done: Done) -> dict[str, str]:
    """What was set for the topic itself: brokers have levels of their own below it."""
    return {row["key"]: row["value"] for row in rows(done) if row["source"] == "topic"}


def test_a_setting_of_a_topic_is_set_checked_extended_explained_and_unset(
    run: Run, topic: str
) -> None:
    made(run, topic)
    resource = f"topic:{topic}"
    tried = run("configs", "set", resource, "retention.ms=60000", "--dry-run", "--output", "json")
    assert [row["result"] for row in rows(tried)] == ["could be set"]
    assert value_of(run, resource, "retention.ms")["source"] == "default"
    assert run("configs", "set", resource, "retention.ms=60000").returncode == 0
    assert run("configs", "set", resource, "cleanup.policy+=compact").returncode == 0
    eventually(
        lambda: run("configs", "get", resource, "cleanup.policy", "--output", "json"),
        lambda done: rows(done)[0]["value"] == "delete,compact",
    )
    assert own_settings(run("configs", "get", resource, "--output", "json")) == {
        "cleanup.policy": "delete,compact",
        "retention.ms": "60000",
    }
    explained = run("configs", "explain", resource, "cleanup.policy").stdout.splitlines()
    assert explained[0] == f"cleanup.policy of {resource}: delete,compact"
    levels = [line.split()[:2] for line in explained if line.startswith(("yes", "no"))]
    assert levels[0] == ["yes", "topic"]
    assert levels[-1] == ["no", "default"]
    assert run("configs", "unset", resource, "retention.ms", "cleanup.policy").returncode == 0
    eventually(
        lambda: run("configs", "get", resource, "--output", "json"),
        lambda done: own_settings(done) == {},
    )


def test_a_misspelt_setting_is_answered_with_the_nearest(run: Run, topic: str) -> None:
    made(run, topic)
    refused = run("configs", "set", f"topic:{topic}", "retention.msec=1")
    assert refused.returncode == 1
    assert "did you mean retention.ms?" in refused.stderr
    unknown = run("configs", "get", f"topic:{topic}", "retention.msec")
    assert unknown.returncode == 2
    assert "did you mean retention.ms?" in unknown.stderr
    assert "did you mean topic?" in run("configs", "get", f"topc:{topic}").stderr
    assert run("configs", "get", "topic:no-such-topic").returncode == 3


def test_brokers_loggers_groups_and_client_metrics_have_settings(run: Run, topic: str) -> None:
    """What only a restart changes is said so."""
    assert run("configs", "set", "broker", "log.cleaner.threads=2").returncode == 0
    eventually(
        lambda: run("configs", "explain", "broker:1", "log.cleaner.threads", "--output", "json"),
        lambda done: rows(done)[0]["source"] == "dynamic default broker",
    )
    assert run("configs", "unset", "broker", "log.cleaner.threads").returncode == 0
    fixed = run("configs", "set", "broker:1", "node.id=2")
    assert fixed.returncode == 1
    assert "node.id is read when a node starts" in fixed.stderr
    levels = rows(run("configs", "get", "logger:1", "--output", "json"))
    assert any(row["key"] == "root" for row in levels)
    for resource, change in (
        (f"group:{topic}", "consumer.session.timeout.ms=50000"),
        (f"client-metrics:{topic}", "interval.ms=60000"),
    ):
        assert run("configs", "set", resource, change).returncode == 0
        eventually(
            lambda of=resource: run("configs", "list"),
            lambda done, of=resource: of in done.stdout.split(),
        )
        key = change.partition("=")[0]
        assert run("configs", "unset", resource, key).returncode == 0


def test_offsets_of_ends_times_and_names(run: Run, topic: str) -> None:
    made(run, topic, "--partitions", "2")
    for number in range(3):
        run("produce", topic, "-p", "0", given=f"value {number}\n")
    ends = rows(run("offsets", topic, "--sizes", "--output", "json"))
    assert [(row["earliest"], row["latest"], row["offsets"]) for row in ends] == [(0, 3, 3), (0, 0, 0)]  # fmt: skip
    assert ends[0]["bytes"] > ends[1]["bytes"] == 0
    (first,) = rows(run("offsets", f"{topic}:0", "--at", "earliest", "--output", "json"))
    assert first["offset"] == 0
    (latest,) = rows(run("offsets", f"{topic}:0", "--at", "max-timestamp", "--output", "json"))
    assert latest["offset"] == 2
    (at,) = rows(run("offsets", f"{topic}:0", "--at", str(latest["timestamp"]), "--output", "json"))
    assert at["offset"] == 2
    (hour_ago,) = rows(run("offsets", f"{topic}:0", "--at", "1h", "--output", "json"))
    assert hour_ago["offset"] == 0
    (later,) = rows(run("offsets", f"{topic}:0", "--at", "2999-01-01", "--output", "json"))
    assert later["offset"] is None
    missing = run("offsets", f"{topic}:7")
    assert missing.returncode == 3
    assert f"{topic} has no partition 7: it has 2, counted from 0" in missing.stderr
    assert f"did you mean {topic}?" in run("offsets", f"{topic}x").stderr
    assert "did you mean latest?" in run("offsets", topic, "--at", "latst").stderr


def test_records_are_deleted_as_planned(run: Run, topic: str, tmp_path: Path) -> None:
    made(run, topic)
    run("produce", topic, given="".join(f"value {n}\n" for n in range(5)))
    delete = ("records", "delete", topic, "--yes", "--output", "json")
    (tried,) = rows(run(*delete, "--before", "3", "--dry-run"))
    assert (tried["earliest"], tried["new_earliest"], tried["result"]) == (0, 3, "would be deleted")
    assert rows(run("offsets", topic, "--output", "json"))[0]["earliest"] == 0
    (gone,) = rows(run(*delete, "--before", "3"))
    assert gone["result"] == "deleted"
    assert rows(run("offsets", topic, "--output", "json"))[0]["earliest"] == 3
    beyond = run(*delete, "--before", "9")
    assert beyond.returncode == 1
    assert f"{topic}-0 ends at 5: nothing can be deleted up to 9" in beyond.stderr
    (again,) = rows(run(*delete, "--before", "2"))
    assert again["result"] == "nothing to delete"
    file = tmp_path / "offsets.json"
    named: dict[str, object] = {"topic": topic, "partition": 0, "offset": -1}
    file.write_text(json.dumps({"partitions": [named], "version": 1}))
    (rest,) = rows(run("records", "delete", "--offset-json-file", str(file), "--yes", "--output", "json"))  # fmt: skip
    assert rest["new_earliest"] == 5
    assert run("records", "delete", topic).returncode == 2
