"""What the marks of an exactly-once sink say about an attempt at a micro-batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.spark.sink.marks import BatchMark, StartMark, Target
from millstream.spark.sink.verdicts import (
    BatchChanged,
    BehindPolicy,
    CheckpointBehind,
    Verdict,
    is_open,
    is_to_write,
    judge,
    judge_others,
)

FAIL, LEAVE_OUT = BehindPolicy.FAIL, BehindPolicy.LEAVE_OUT
OUT = Target("cluster", "out:id")
NOW = BatchMark("q", 7, "run 2", "w", records=3, digest=1, target=OUT)
DONE = replace(NOW, run="run 1", write="v")
START = StartMark(query="q", batch=5, run="run 2", write="u", writers=3, number=4)


@pytest.mark.parametrize(
    "marks",
    [
        [],
        [replace(DONE, batch=6)],
        [replace(DONE, batch=3)],
        [replace(DONE, query="another")],
        [replace(DONE, query="another", batch=9)],
    ],
)
def test_a_micro_batch_that_no_mark_knows_is_written(marks: list[BatchMark]) -> None:
    assert is_to_write(marks, NOW)
    assert judge(START, marks, NOW, FAIL, 0) is Verdict.WRITE


@pytest.mark.parametrize("marks", [[DONE], [NOW], [replace(DONE, batch=5, digest=9), DONE]])
def test_the_same_rows_in_the_same_topics_are_done(marks: list[BatchMark]) -> None:
    assert not is_to_write(marks, NOW)
    assert judge(START, marks, NOW, FAIL, 0) is Verdict.DONE


@pytest.mark.parametrize(
    ("start", "marks"),
    [
        (None, [replace(DONE, batch=8)]),
        (None, [replace(DONE, batch=6), replace(DONE, batch=30)]),
        (replace(START, batch=8, run="run 1"), []),
        (replace(START, batch=8, run="run 1"), [DONE]),
    ],
)
def test_a_mark_of_a_later_micro_batch_says_that_the_checkpoint_is_behind(
    start: StartMark | None, marks: list[BatchMark]
) -> None:
    with pytest.raises(
        CheckpointBehind, match="an older one that was put back, or a copy"
    ) as raised:
        judge(start, marks, NOW, FAIL, 0)
    for way_on in ("checkpointBehind=leave-out", "another transactionalIdPrefix"):
        assert way_on in str(raised.value)
    assert judge(start, marks, NOW, LEAVE_OUT, 0) is Verdict.LEFT_OUT


@pytest.mark.parametrize(
    "other",
    [
        Target("cluster", "copy:id2"),
        Target("cluster", "out:made anew"),
        Target("cluster 2", "out:id"),
    ],
)
def test_equal_rows_for_another_topic_or_cluster_are_never_done(other: Target) -> None:
    for policy in (FAIL, LEAVE_OUT):
        with pytest.raises(BatchChanged, match="was written to out:id in cluster cluster before"):
            judge(START, [DONE], replace(NOW, target=other), policy, 0)


def test_a_later_micro_batch_in_another_topic_is_not_left_out() -> None:
    """A copy of the checkpoint that writes to a topic of its own: nothing of it is there."""
    later = replace(DONE, batch=9)
    for other in (Target("cluster", "copy:id2"), Target("cluster 2", "out:id")):
        with pytest.raises(BatchChanged, match="another topic"):
            judge(START, [later], replace(NOW, target=other), LEAVE_OUT, 0)


@pytest.mark.parametrize("changed", [{"records": 4}, {"digest": 2}, {"records": 0, "digest": 0}])
def test_other_rows_than_before_are_refused(changed: dict[str, int]) -> None:
    with pytest.raises(
        BatchChanged, match="Spark partition 5 of micro-batch 7 was written with 3"
    ) as e:
        judge(START, [DONE], replace(NOW, **changed), FAIL, 5)
    assert "minPartitions, spark.sql.shuffle.partitions, the query" in str(e.value)
    assert judge(START, [DONE], replace(NOW, **changed), LEAVE_OUT, 5) is Verdict.LEFT_OUT


def test_a_mark_of_an_older_release_counts_by_its_number_alone() -> None:
    old = replace(DONE, target=Target(), is_of_old_release=True)
    assert judge(None, [replace(old, batch=6)], NOW, FAIL, 0) is Verdict.WRITE
    with pytest.raises(BatchChanged, match="finish this micro-batch with that release"):
        judge(None, [old], NOW, FAIL, 0)
    with pytest.raises(CheckpointBehind):
        judge(None, [replace(old, batch=8)], NOW, FAIL, 0)


def test_marks_of_spark_partitions_that_are_no_more_are_looked_at() -> None:
    assert judge_others({3: [], 4: [replace(DONE, batch=6)]}, NOW, 3, FAIL) is Verdict.WRITE
    with pytest.raises(
        BatchChanged, match=r"partition 4 of micro-batch 7 was .* has 3 Spark partitions now"
    ):
        judge_others({3: [], 4: [DONE]}, NOW, 3, FAIL)
    with pytest.raises(CheckpointBehind, match="micro-batch 9 of the same query"):
        judge_others({3: [replace(DONE, batch=9)]}, NOW, 3, FAIL)
    assert judge_others({3: [DONE]}, NOW, 3, LEAVE_OUT) is Verdict.LEFT_OUT


def test_two_writes_of_one_micro_batch_cannot_share_a_prefix() -> None:
    with pytest.raises(BatchChanged, match="a prefix of its own"):
        is_to_write([replace(NOW, write="another write")], NOW)
    with pytest.raises(BatchChanged, match="a prefix of its own"):
        is_open(replace(START, batch=7), NOW, 0)


@pytest.mark.parametrize(
    ("start", "partition", "expected"),
    [
        (None, 0, False),
        (START, 2, True),
        (START, 3, False),
        (replace(START, run="run 1"), 0, False),
        (replace(START, query="another"), 0, False),
        (replace(START, is_complete=False), 0, False),
        (replace(START, batch=8), 0, False),
        (replace(START, batch=7, write="w"), 0, True),
    ],
)
def test_a_writer_commits_by_itself_when_its_start_has_looked_at_all_marks(
    start: StartMark | None, partition: int, expected: bool
) -> None:
    assert is_open(start, NOW, partition) is expected
