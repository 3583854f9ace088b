from __future__ import annotations

import json

from millstream.clients import blocking
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from tests.integration.cli.conftest import Done, Run, eventually


def test_a_topic_from_its_creation_to_its_end(run: Run, topic: str) -> None:
    made = run("topics", "create", topic, "--partitions", "2", "--config", "retention.ms=60000")
    assert (made.returncode, made.stdout) == (0, f"{topic} created\n")
    again = run("topics", "create", topic)
    assert again.returncode == 1
    assert "already exists" in again.stderr
    assert run("topics", "create", topic, "--if-not-exists").stdout == f"{topic} exists already\n"
    eventually(lambda: run("topics", "list"), lambda done: topic in done.stdout.split())
    altered = run("topics", "alter", topic, "--partitions", "3", "--config", "cleanup.policy=compact",
                  "--delete-config", "retention.ms")  # fmt: skip
    assert (altered.returncode, altered.stdout) == (0, f"{topic} altered\n")
    done = eventually(
        lambda: run("topics", "describe", topic, "--output", "json"),
        lambda done: '"cleanup.policy"' in done.stdout and '"partition": 2' in done.stdout,
    )
    (described,) = json.loads(done.stdout)
    assert described["configs"] == {"cleanup.policy": "compact"}
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2]
    head, columns, *rows = run("topics", "describe", "--topic", topic).stdout.splitlines()
    assert head.startswith(f"{topic}  id {described['topic_id']}  3 partitions")
    assert columns.split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "OFFLINE"]
    assert len(rows) == 3
    assert run("topics", "delete", topic).stdout == f"{topic} deleted\n"
    eventually(lambda: run("topics", "delete", topic), lambda done: done.returncode == 3)
    assert run("topics", "delete", topic, "--if-exists").stdout == f"{topic} did not exist\n"


def test_one_topic_that_fails_does_not_hide_the_others(run: Run, topic: str) -> None:
    run("produce", topic, given="waits until the topic is there\n")
    done = run("topics", "describe", topic, "no-such-topic", "--output", "jsonl")
    assert json.loads(done.stdout)["topic"] == topic
    assert done.returncode == 3
    assert json.loads(done.stderr)["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_topics_are_made_as_they_are_told(run: Run, topic: str) -> None:
    """Replicas by hand; a dot in a name is warned of; a pair that is none is refused."""
    name = f"{topic}.by.hand"
    made = run("topics", "create", name, "--replica-assignment", "1,1")
    assert made.stdout == f"{name} created\n"
    assert made.stderr == f"warning: {name}: metrics cannot tell '.' from '_' in names of topics; use only one of the two\n"  # fmt: skip
    many = run("topics", "create", *(f"{topic}.{n}" for n in range(300)), "--dry-run")
    assert many.stderr.count("warning") == 1
    eventually(lambda: run("topics", "describe", name), lambda done: done.returncode == 0)
    described = json.loads(run("topics", "describe", name, "--output", "jsonl").stdout)
    assert [each["replicas"] for each in described["partitions"]] == [[1], [1]]
    assert run("topics", "create", topic, "--config", "retention.ms").returncode == 2
    assert run("topics", "create", topic, "--replica-assignment", "x").returncode == 2
    assert run("topics", "alter", name, "--partitions", "1").returncode == 1


def test_a_dry_run_changes_nothing(run: Run, topic: str) -> None:
    done = run("topics", "create", topic, "--dry-run")
    assert (done.returncode, done.stdout) == (0, f"{topic} could be created\n")
    assert run("topics", "describe", topic).returncode == 3


def test_a_groups_lag_is_seen_and_moved(run: Run, topic: str) -> None:
    run("produce", topic, given="1\n2\n3\n4\n")
    group = f"group-{topic}"
    run("consume", topic, "-G", group, "--from-beginning", "-c", "3")
    assert group in run("groups", "list").stdout

    def lag() -> int:
        described = run("groups", "describe", group, "--output", "jsonl")
        assert described.returncode == 0, described.stderr
        found = json.loads(described.stdout)["lag"]
        assert isinstance(found, int)
        return found

    assert lag() == 1
    shown = run("groups", "reset-offsets", group, "--to-earliest", "--all-topics")
    assert shown.stdout.splitlines()[1].split() == [group, topic, "0", "0"]
    assert shown.stderr == "nothing was changed; add --execute to change the offsets\n"
    assert lag() == 1
    for how, expected in (
        (("--to-offset", "1"), 3),
        (("--shift-by", "-1"), 4),
        (("--to-latest",), 0),
        (("--by-duration", "PT1H"), 4),
        (("--to-datetime", "2000-01-01T00:00:00"), 4),
        (("--to-offset", "99"), 0),
    ):
        done = run("groups", "reset-offsets", "--group", group, "--topic", topic, "--execute", *how)
        assert done.returncode == 0, done.stderr
        assert lag() == expected
    assert run("groups", "describe", group, "--state", "--output", "jsonl").stdout.count("Empty") == 1  # fmt: skip
    assert run("groups", "delete-offsets", group, "--topic", topic).returncode == 0
    assert run("groups", "delete", group).returncode == 0
    assert run("groups", "delete", group).returncode == 3


def test_a_duration_longer_than_time_itself_means_the_beginning(run: Run, topic: str) -> None:
    run("produce", topic, given="1\n")
    done = run("groups", "reset-offsets", f"group-{topic}", "--topic", topic,
               "--by-duration", "P9999999D", "--output", "jsonl")  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)["new_offset"]) == (0, 0)


def test_what_is_wrong_with_a_reset_is_told_before_anything_is_asked(run: Run) -> None:
    done = run("groups", "reset-offsets", "g", "--to-earliest", "--to-latest", "--all-topics")
    assert done.returncode == 2
    assert "give exactly one new position" in done.stderr


def test_performance_is_measured(run: Run, topic: str) -> None:
    run("topics", "create", topic, "--partitions", "2")
    sent = run("perf", "produce", topic, "--num-records", "2000", "--record-size", "50", "--throughput", "-1")  # fmt: skip
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.startswith("2000 records sent, ")
    assert sent.stdout.endswith(" ms 99.9th.\n")
    head, line = run("perf", "consume", "--topic", topic).stdout.splitlines()
    assert head.startswith("start.time, end.time, data.consumed.in.MB")
    assert line.split(", ")[4] == "2000"
    arrow = run("perf", "consume", topic, "--arrow", "--output", "json")
    assert json.loads(arrow.stdout)["records"] == 2000
    group = run("perf", "consume", topic, "-G", f"group-{topic}", "-c", "2000", "--output", "json")
    assert json.loads(group.stdout)["records"] == 2000
    latency = run("perf", "latency", f"{topic}-latency", "-n", "20", "--output", "json")
    assert json.loads(latency.stdout)["records"] == 20


def test_a_share_group_is_described_too(run: Run, topic: str, bootstrap: str) -> None:
    """Its lag is the broker's: what is not acknowledged yet."""
    group = f"share-{topic}"
    run("produce", topic, given="1\n2\n3\n")
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        resource = ConfigResource(ConfigResourceType.GROUP, group)
        earliest = AlterConfig("share.auto.offset.reset", "earliest")
        admin.incremental_alter_configs({resource: [earliest]}).raise_errors()
    with blocking.ShareConsumer(
        bootstrap_servers=bootstrap, group_id=group, max_poll_records=3
    ) as consumer:
        consumer.subscribe([topic])
        assert next(consumer).value == b"1"
        members = run("groups", "describe", group, "--members", "--output", "jsonl")
        assert json.loads(members.stdout)["assignment"] == [f"{topic}:0"]
        state = run("groups", "describe", group, "--state", "--output", "jsonl")
        assert json.loads(state.stdout)["type"] == "share"
    offsets = run("groups", "describe", group, "--output", "jsonl")
    row = json.loads(offsets.stdout)
    assert (row["topic"], row["log_end_offset"]) == (topic, 3)
    assert row["lag"] == 3 - row["current_offset"]
    assert run("groups", "describe", group, "--members").stderr == f"group {group} has no members\n"


def test_offsets_of_a_share_group_are_moved_and_deleted(
    run: Run, topic: str, bootstrap: str
) -> None:
    """The verbs are those of a group of consumers; the broker's APIs are others."""
    group = f"share-{topic}"
    run("produce", topic, given="1\n2\n3\n")
    with blocking.ShareConsumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
        consumer.subscribe([topic])
        consumer.poll(timeout_ms=100)
        busy = run("groups", "reset-offsets", group, "--topic", topic, "--to-earliest")
        assert "is in state Stable with 1 member; stop its consumers first" in busy.stderr

    def start() -> Done:
        return run("groups", "describe", group, "--output", "jsonl")

    eventually(lambda: run("groups", "describe", group, "--state", "--output", "jsonl"),
               lambda done: '"Empty"' in done.stdout)  # fmt: skip
    moved = run("groups", "reset-offsets", group, "--topic", topic, "--to-offset", "1", "--execute")
    assert (moved.returncode, moved.stderr) == (0, "")
    eventually(start, lambda done: '"current_offset":1,' in done.stdout)
    moved = run("groups", "reset-offsets", group, "--all-topics", "--shift-by", "1", "--execute")
    assert (moved.returncode, moved.stderr) == (0, "")
    eventually(start, lambda done: '"current_offset":2,' in done.stdout)
    some = run("groups", "delete-offsets", group, "--topic", f"{topic}:0")
    assert some.returncode == 2
    assert "is a share group: its offsets are deleted for whole topics" in some.stderr
    gone = run("groups", "delete-offsets", group, "--topic", topic, "--output", "jsonl")
    assert (gone.returncode, json.loads(gone.stdout)["result"]) == (0, "deleted")
    none = eventually(lambda: run("groups", "describe", group), lambda done: not done.stdout)
    assert none.stderr == f"group {group} has no offsets\n"


def test_a_group_that_cannot_be_reset_does_not_hide_the_others(
    run: Run, topic: str, bootstrap: str
) -> None:
    """The first of two has a member; the offsets of the second are changed, and the table says so."""
    run("produce", topic, given="1\n2\n")
    with blocking.Consumer(bootstrap_servers=bootstrap, group_id=f"busy-{topic}") as consumer:
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(timeout_ms=100)
        done = run("groups", "reset-offsets", f"busy-{topic}", f"idle-{topic}", "--topic", topic,
                   "--to-earliest", "--execute", "--output", "jsonl")  # fmt: skip
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "group": f"idle-{topic}", "topic": topic, "partition": 0, "new_offset": 0,
    }  # fmt: skip
    assert json.loads(done.stderr)["error"] == "NON_EMPTY_GROUP"


def test_a_setting_that_is_not_known_is_refused_with_the_nearest_one(run: Run, topic: str) -> None:
    """By every verb: of the client, and of a topic."""
    for verb in (("topics", "list"), ("groups", "list"), ("transactions", "list")):
        refused = run(*verb, "-X", "clientt.id=me")
        assert (refused.returncode, refused.stderr) == (
            2,
            "error: AdminConfig has no setting clientt.id; did you mean client_id?\n",
        )
    created = run("topics", "create", topic, "--config", "retentoin.ms=1")
    assert "retentoin.ms; did you mean retention.ms?" in created.stderr
    assert created.returncode == 1
