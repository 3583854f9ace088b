"""Cutting a log: at an offset (a follower that diverged from its leader, damage), or wholly; and its first segments.

    LogCuts.plan ─▶ (pool) LogCut.read ─▶ LogCut.make ─▶ (pool) LogCut.settle ─▶ LogCuts.complete

`read` and `settle` wait for the disk and touch nothing but files. `make` is one step of the owner of the log: whoever
looks at the log before or after it sees it whole, without or with the cut. What it leaves to `settle` is on no disk
until then, so nothing may be appended before `complete`: a crash could else bring back what was there, where other
batches were written since.

A cut is not atomic on disk; when it fails half way the log refuses everything until recovery has run. A crash
at any point leaves a log that is cut, or is not, or lacks the last of the segments that were to go: names
first, and only then the file that is cut.

It costs what is cut off, not what stays: positions come from the index, the indexes lose their last entries, and
producers go back by what is remembered of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn, final

from millstream.errors import KafkaError
from millstream.log.log_health import LogBeingCut, LogHealth
from millstream.log.log_state import LogState
from millstream.log.producers.producer_state import ProducerStates, Rewind
from millstream.log.producers.replay import restore_producers
from millstream.log.retention import DeletedSegments
from millstream.log.segments.index_file import CorruptIndex
from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments
from millstream.runtime import FileSystem, Instant

if TYPE_CHECKING:
    from millstream.log.producers.producers_at_cut import ProducersAtCut


def discard_segments(segments: Segments, unwanted: Iterable[Segment]) -> None:
    """Removes segments and their files at once, for a log that is being loaded.

    The last one goes first: a crash half way leaves no hole. They are gone from the disk when this returns: a crash
    could else bring them back behind, or in place of, what was written since.
    """
    gone = list(unwanted)
    segments.remove(gone)
    for segment in reversed(gone):
        segment.remove()
    if gone:
        gone[0].sync_directory()


def drop_segments(
    state: LogState, dropped: Sequence[Segment], deleted: DeletedSegments, due_ms: int
) -> None:
    """Lets the first segments of a log go; their files follow later. Raises OSError."""
    if not dropped:
        return
    state.segments.remove(dropped)
    start_offset = state.segments.first.base_offset
    deleted.add(dropped, due_ms)
    state.snapshots.remove(offset for offset in state.snapshots.offsets() if offset < start_offset)
    if start_offset > state.log_start_offset:
        state.log_start_offset = start_offset
        state.leader_epochs.truncate_from_start(start_offset)


class MadeCut(NamedTuple):
    """The rest of a cut that readers see already."""

    removed: tuple[Segment, ...]
    """Segments that have left the log, under other names."""
    settling: tuple[Callable[[], None], ...]
    """What brings it to the disk, in this order. Each blocks, in any thread; may be done again; and raises OSError."""


def begin_anew(state: LogState, offset: int, new_segment: Callable[[int], Segment]) -> MadeCut:
    """Removes everything; the log is empty and begins at `offset`, in a segment whose file need not be made yet.

    Raises OSError.
    """
    _note_cut(state, min(offset, state.segments.first.base_offset))
    aside = _set_aside(state.segments, list(state.segments))
    begun = new_segment(offset)
    state.segments.add(begun)
    _end_at(state, offset)
    state.log_start_offset = state.recovery_point = offset
    state.cleaner_checkpoint = None
    state.leader_epochs.clear()
    state.producers.clear()
    remove_snapshots = state.snapshots.forget_after(-1)
    begin = (begun.create_file, begun.sync_directory, remove_snapshots)
    return MadeCut(aside.removed, (*aside.settling, *begin))


def start_over(
    state: LogState, offset: int, new_segment: Callable[[int], Segment]
) -> tuple[Segment, ...]:
    """Does the same, on the disk too, for a log that is being loaded. Returns the segments that are out of use.

    Raises OSError.
    """
    made = begin_anew(state, offset, new_segment)
    for step in made.settling:
        step()
    return made.removed


def cut_at(
    state: LogState, offset: int, position: int, end_offset: int, active: Segment
) -> tuple[MadeCut, bool]:
    """Removes what stands from `position` of a segment on, and the segments behind it; producers are another matter.

    Returns, too, whether the segment's transaction index could be cut. Raises OSError.
    """
    _note_cut(state, end_offset)
    aside = _set_aside(state.segments, [s for s in state.segments if s.base_offset >= offset])
    is_index_sound = True
    try:
        active.truncate_at(position, end_offset)
    except CorruptIndex:
        is_index_sound = False
    _end_at(state, end_offset)
    remove_snapshots = state.snapshots.forget_after(end_offset)
    settling = (*aside.settling, active.settle_cut, remove_snapshots)
    return MadeCut(aside.removed, settling), is_index_sound


def _set_aside(segments: Segments, unwanted: Sequence[Segment]) -> MadeCut:
    """Takes segments out of the log. Their files get another name, which is quicker than to remove them."""
    segments.remove(unwanted)
    for segment in reversed(unwanted):
        segment.discard()
        segment.mark_deleted()
    return MadeCut(tuple(unwanted), tuple(each.sync_directory for each in unwanted[:1]))


@dataclass(frozen=True, slots=True)
class CutGround:
    """The parts of a log that cuts need."""

    state: LogState
    health: LogHealth
    file_system: FileSystem
    new_segment: Callable[[int], Segment]
    """Makes a segment whose file is made later."""


@final
class LogCut:
    """One cut of one log; see the head of this module for the order. Its offsets are those of the moment of `make`."""

    def __init__(
        self,
        offset: int,
        ground: CutGround,
        *,
        is_whole: bool,
        is_of_damage: bool,
        on_made: Callable[[LogCut], None],
    ) -> None:
        """`is_whole`: everything goes, and the log begins at `offset`; else what is at and after it, which
        lies behind the first base offset.

        `on_made` is told of the cut in the step in which it is made. Raises OSError, KafkaError.
        """
        self._offset = offset
        self._state = ground.state
        self._health = ground.health
        self._new_segment = ground.new_segment
        self._is_whole = is_whole
        self.is_of_damage = is_of_damage
        self._on_made = on_made
        self._cut_count = ground.state.cut_count
        self._producers: ProducersAtCut | None = None
        if not is_whole:
            # Here, not above: a log of a new node has nothing to cut.
            from millstream.log.producers.producers_at_cut import ProducersAtCut

            self._producers = ProducersAtCut(ground.state, ground.file_system, offset)
        self._made: MadeCut | None = None
        self.lost = 0
        """How many offsets were cut off."""

    def read(self) -> None:
        """Reads what `make` has to know. Blocks, in any thread; raises nothing."""
        if self._producers is not None:
            self._producers.read()

    def make(self) -> bool:
        """Makes the cut for all who look at the log. False: nothing has changed, `read` is to be called once more.

        A batch that holds the offset goes as a whole, and the log then ends where it began. Raises KafkaStorageError;
        LogBeingCut where another one was made since this was planned, as for damage that was found: what stands at the
        offset may be other records.
        """
        self._health.check()
        if self._state.cut_count != self._cut_count:
            raise LogBeingCut(f"{self._health.directory} was cut meanwhile")
        had_end = self._state.log_end_offset
        try:
            # Retention may have gone beyond the offset since this was planned: nothing of the log would stay.
            if self._is_whole or self._offset <= self._state.segments.first.base_offset:
                self._made = begin_anew(self._state, self._offset, self._new_segment)
            else:
                self._made = self._cut()
        except (OSError, KafkaError) as error:
            self._give_up(error)
        if self._made is None:
            return False
        self._on_made(self)
        self.lost = had_end - self._state.log_end_offset
        if self.is_of_damage:
            self._state.lost_to = max(self._state.lost_to, had_end)
        return True

    def settle(self) -> None:
        """Brings the cut to the disk. Blocks, in any thread; a second call does no harm. Raises OSError."""
        made = self._made
        for step in made.settling if made is not None else ():
            step()

    @property
    def removed(self) -> tuple[Segment, ...]:
        """The segments that are gone, whose files are to be removed after `settle`."""
        return () if self._made is None else self._made.removed

    def fail(self, error: OSError) -> NoReturn:
        """Makes the log refuse everything after `settle` raised. Raises KafkaStorageError.

        Of a log that is out of use by now, as one whose topic was deleted, it says nothing about
        the disk: the files have moved.
        """
        self._health.check()
        self._give_up(error)

    def _give_up(self, error: OSError | KafkaError) -> NoReturn:
        self._health.fail(
            f"truncation to offset {self._offset} stopped half way; restart the broker to recover it"
        )
        raise self._health.error("truncate", error) from error

    def _cut(self) -> MadeCut | None:
        """Removes what is at and after the offset."""
        assert self._producers is not None, "they are looked at where a part of the log stays"
        state = self._state
        planned = self._producers.plan(state.producers)
        if planned is None and not self._producers.is_unknown:
            return None
        active = state.segments.from_offset(self._offset - 1)[0]
        position, end_offset = active.cut_at(self._offset)
        made, is_index_sound = cut_at(state, self._offset, position, end_offset, active)
        # Where the index is not, the log tells what was aborted.
        self._take_back(planned if is_index_sound else None, active)
        return made

    def _take_back(self, planned: Rewind | ProducerStates | None, active: Segment) -> None:
        """Producer state as of the end of the log; where nothing else has told, from the newest snapshot
        before the active segment on.

        The active segment was perhaps a sealed one before, so its transaction index is in memory from here on.
        """
        producers = self._state.producers
        if isinstance(planned, ProducerStates):
            producers.become(planned)
        elif planned is not None:
            producers.rewind(planned)
        else:
            segments, snapshots = self._state.segments, self._state.snapshots
            restore_producers(producers, snapshots, segments, active.base_offset, rebuilt=[active])


@final
@dataclass(slots=True)
class CutUnderWay:
    """The cut of a log that was made and is not complete, if there is one."""

    cut: LogCut | None = None


class LogCuts:
    """The cuts of one log, one after the other."""

    def __init__(
        self,
        ground: CutGround,
        deleted: DeletedSegments,
        under_way: CutUnderWay,
        *,
        prepare: Callable[[], None],
        on_complete: Callable[[Instant], None],
    ) -> None:
        """`prepare`: makes the files of a new log. `on_complete`: another segment is active."""
        self._ground = ground
        self._deleted = deleted
        self._prepare = prepare
        self._on_complete = on_complete
        self._under_way = under_way

    @property
    def is_under_way(self) -> bool:
        """Whether a cut was made that is not on the disk yet."""
        return self._ground.health.is_being_cut

    def plan(
        self, offset: int, *, is_whole: bool = False, is_of_damage: bool = False
    ) -> LogCut | None:
        """Returns what removes the records at and after `offset`, and the whole batch when `offset` lies
        inside one; None without any.

        `is_whole`: all of them, and the log begins at `offset`, wherever that is. `is_of_damage`: see
        `PartitionLog.lacks_records`. Raises KafkaStorageError.
        """
        self._ground.health.check_appendable()
        if is_whole:
            self._prepare()
        elif offset >= self._ground.state.log_end_offset:
            return None
        is_whole |= offset <= self._ground.state.segments.first.base_offset
        plan = partial(
            LogCut,
            offset,
            self._ground,
            is_whole=is_whole,
            is_of_damage=is_of_damage,
            on_made=self._note_made,
        )
        return self._ground.health.guard("truncate", plan)

    def _note_made(self, cut: LogCut) -> None:
        self._under_way.cut, self._ground.health.is_being_cut = cut, True

    def complete(self, cut: LogCut, now: Instant) -> None:
        """Lets the log be appended to again, once `cut` is on the disk.

        The files of segments that are gone are due for removal.
        """
        if cut is self._under_way.cut:  # else the log was closed meanwhile, which completes it
            self._under_way.cut, self._ground.health.is_being_cut = None, False
            self._deleted.take(cut.removed, now.monotonic_ms)
            self._on_complete(now)

    def settle(self, now: Instant) -> None:
        """Completes a cut whose task has ended with the node, perhaps while the disk was at it. Blocks.

        Raises OSError.
        """
        cut = self._under_way.cut
        if cut is not None:
            cut.settle()
            self.complete(cut, now)

    def make(self, cut: LogCut | None, now: Instant) -> None:
        """Does all of a cut in one blocking call, for the start and for callers that own their thread.

        Raises KafkaStorageError.
        """
        if cut is None:
            return
        cut.read()
        while not cut.make():
            cut.read()
        try:
            cut.settle()
        except OSError as error:
            cut.fail(error)
        self.complete(cut, now)


def _note_cut(state: LogState, offset: int) -> None:
    """The checkpoints say nothing beyond what is in memory now; what they say beyond the
    cut must not count after a crash.
    """
    said = max(state.recovery_point, state.log_start_offset, state.cleaner_checkpoint or 0)
    if offset < said:
        state.cut_notes.note(offset)
    state.cut_count += 1


def _end_at(state: LogState, end_offset: int) -> None:
    state.log_end_offset = end_offset
    state.recovery_point = min(state.recovery_point, end_offset)
    state.log_start_offset = min(state.log_start_offset, end_offset)
    if state.cleaner_checkpoint is not None:
        state.cleaner_checkpoint = min(state.cleaner_checkpoint, end_offset)
    state.leader_epochs.truncate_from_end(end_offset)
