"""Where a transactional producer stands, and what each kind of error leaves it in."""

from __future__ import annotations

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.producer.transaction.core.errors import (
    TransactionAborted,
    TransactionalProducerFailed,
    TransactionFailed,
    as_fencing,
    is_fatal_for_request,
)
from millstream.clients.producer.transaction.core.transaction import (
    ProducerTransactionState,
    SharedTransaction,
    Transaction,
)
from millstream.errors import (
    GroupAuthorizationFailed,
    IllegalGeneration,
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    MessageTooLarge,
    ProducerFenced,
    TransactionAbortable,
    TransactionalIdAuthorizationFailed,
)
from millstream.model import TopicPartition

T0 = TopicPartition("t", 0)


def opened(*, is_implicit: bool = True) -> Transaction:
    transaction = Transaction("id")
    transaction.restart()
    transaction.complete_initialization((7, 0))
    transaction.begin(is_implicit=is_implicit)
    return transaction


def test_a_partition_joins_by_itself_or_waits_until_it_is_added() -> None:
    implicit, explicit = opened(), opened(is_implicit=False)
    assert implicit.admit(T0)
    assert implicit.end_needed
    assert not explicit.admit(T0)
    assert (explicit.wanted, explicit.end_needed) == ({T0}, False)
    explicit.start()
    explicit.add_partitions(frozenset({T0}))
    assert explicit.admit(T0)
    assert not explicit.wanted


def test_a_transaction_that_nobody_heard_of_needs_no_end() -> None:
    transaction = opened()
    transaction.begin_commit()
    assert not transaction.end_needed
    transaction.complete()
    assert transaction.state is ProducerTransactionState.READY


def test_the_end_of_a_transaction_gives_the_identity_of_the_next() -> None:
    transaction = opened()
    transaction.admit(T0)
    transaction.begin_commit()
    transaction.complete((7, 1))
    assert (transaction.identity, transaction.renewal_wanted) == ((7, 1), False)
    transaction.begin(is_implicit=False)
    assert not transaction.admit(T0), "what was in the last transaction is not in this one"


def test_where_epochs_stay_a_request_without_answer_asks_for_a_new_one() -> None:
    """It may be carried out late, and would hit the next transaction."""
    transaction = opened(is_implicit=False)
    transaction.unanswered = 1
    transaction.begin_commit()
    transaction.complete()
    assert transaction.renewal_wanted
    transaction.complete_initialization((7, 1))
    assert not transaction.renewal_wanted


def test_where_epochs_stay_a_hole_in_the_sequences_asks_for_a_new_one() -> None:
    transaction = opened(is_implicit=False)
    transaction.handle_failed_batch(MessageTooLarge(), has_numbers=False)
    assert not transaction.renewal_wanted
    transaction.handle_failed_batch(MessageTooLarge(), has_numbers=True)
    assert transaction.renewal_wanted


def test_a_failed_transaction_takes_nothing_more_until_it_is_aborted() -> None:
    transaction = opened()
    transaction.handle_failed_batch(MessageTooLarge("too large"), has_numbers=True)
    for call in (transaction.check_open, transaction.begin_commit, transaction.check_begin):
        with pytest.raises(TransactionFailed, match=r"too large; call abort_transaction\(\)"):
            call()
    assert isinstance(transaction.refusal, TransactionAborted)
    transaction.begin_abort()
    transaction.complete((7, 1))
    assert transaction.refusal is None
    transaction.begin(is_implicit=True)


@pytest.mark.parametrize("error", [InvalidProducerEpoch(), ProducerFenced()])
def test_a_fenced_producer_says_so_until_it_starts_over(error: KafkaError) -> None:
    transaction = opened()
    transaction.fail(error, is_fatal=True)
    for call in (transaction.check_open, transaction.begin_commit, transaction.begin_abort):
        with pytest.raises(ProducerFenced, match="'id' has taken over"):
            call()
    assert isinstance(transaction.refusal, ProducerFenced)
    transaction.restart()
    transaction.complete_initialization((7, 3))
    transaction.begin(is_implicit=True)


def test_an_old_epoch_in_a_produce_answer_is_a_reason_to_abort_and_no_more() -> None:
    """Only the coordinator knows whether somebody else has taken over (KIP-588)."""
    transaction = opened()
    transaction.handle_failed_batch(InvalidProducerEpoch(), has_numbers=True)
    assert transaction.state is ProducerTransactionState.FAILED
    transaction.handle_failed_batch(ProducerFenced(), has_numbers=True)
    assert transaction.state is ProducerTransactionState.FATAL


def test_other_fatal_errors_are_told_with_what_to_do() -> None:
    transaction = opened()
    transaction.handle_failed_batch(TransactionalIdAuthorizationFailed("no"), has_numbers=True)
    with pytest.raises(TransactionalProducerFailed, match="failed: no; close it, or call init"):
        transaction.check_begin()


def test_coordinators_errors_are_fatal_but_for_those_that_an_abort_cures() -> None:
    abortable = [TransactionAbortable(), GroupAuthorizationFailed(), IllegalGeneration()]
    assert [is_fatal_for_request(error) for error in abortable] == [False] * 3
    fatal = [InvalidTxnState(), ProducerFenced(), TransactionalIdAuthorizationFailed()]
    assert [is_fatal_for_request(error) for error in fatal] == [True] * 3


def test_a_commit_whose_outcome_is_unknown_may_only_be_repeated_or_given_up() -> None:
    transaction = opened()
    transaction.begin_commit()
    assert transaction.may_abort, "nobody was told of the commit yet"
    transaction.note_end_sent()
    assert not transaction.may_abort
    with pytest.raises(IllegalState, match="the outcome of the commit is unknown"):
        transaction.begin_abort()
    with pytest.raises(IllegalState, match="is being committed; end it"):
        transaction.check_begin()
    transaction.begin_commit()
    transaction.restart()
    assert isinstance(transaction.refusal, TransactionAborted)


def test_calls_out_of_order_name_the_call_that_is_missing() -> None:
    transaction = Transaction("id")
    with pytest.raises(IllegalState, match=r"call init_transactions\(\) before"):
        transaction.check_begin()
    transaction.restart()
    transaction.complete_initialization((7, 0))
    with pytest.raises(IllegalState, match=r"call begin_transaction\(\) before you send"):
        transaction.check_open()
    for call in (transaction.begin_commit, transaction.begin_abort):
        with pytest.raises(IllegalState, match="no transaction is open; there is nothing to"):
            call()
    transaction.begin(is_implicit=True)
    with pytest.raises(IllegalState, match=r"call abort_transaction\(\) before init"):
        transaction.restart()


def joined() -> Transaction:
    transaction = Transaction("id")
    transaction.join(opened().share())
    return transaction


def test_a_transaction_that_is_joined_takes_records_and_is_ended_by_who_began_it() -> None:
    transaction = joined()
    assert (transaction.identity, transaction.is_implicit) == ((7, 0), True)
    transaction.check_open()
    assert transaction.admit(T0)
    assert not transaction.may_abort
    for end in (transaction.begin_commit, transaction.begin_abort, transaction.share):
        with pytest.raises(IllegalState, match="another producer has begun"):
            end()


def test_a_shared_transaction_is_ended_at_the_coordinator_whoever_wrote_in_it() -> None:
    transaction = opened()
    transaction.share()
    assert transaction.end_needed
    transaction.begin_commit()
    transaction.complete((7, 1))
    assert not transaction.is_shared


def test_who_shares_a_transaction_may_start_over_without_an_abort() -> None:
    transaction = opened()
    transaction.share()
    transaction.restart()
    assert transaction.state is ProducerTransactionState.UNINITIALIZED


def test_a_producer_joins_one_transaction_after_another() -> None:
    transaction, first = joined(), opened()
    transaction.admit(T0)
    first.begin_commit()
    first.complete((7, 1))
    first.begin(is_implicit=False)
    transaction.join(first.share())
    assert transaction.identity == (7, 1)
    assert not transaction.admit(T0)


def test_a_transaction_in_an_epoch_that_has_sequences_is_not_shared() -> None:
    transaction = opened(is_implicit=False)
    transaction.begin_commit()
    transaction.complete()
    transaction.begin(is_implicit=False)
    with pytest.raises(IllegalState, match="call init_transactions"):
        transaction.share()


def test_joining_the_same_transaction_again_changes_nothing() -> None:
    transaction = joined()
    transaction.admit(T0)
    transaction.join(opened().share())
    assert transaction.state is ProducerTransactionState.OPEN


def test_who_has_transactions_of_its_own_joins_none() -> None:
    with pytest.raises(IllegalState, match="of its own"):
        opened().join(opened().share())
    with pytest.raises(IllegalState, match="transactional_id 'other'"):
        Transaction("other").join(opened().share())


def handed_over(transaction: Transaction) -> SharedTransaction:
    transaction.begin_hand_over()
    return transaction.hand_over()


def test_a_transaction_that_is_handed_over_is_ended_by_who_takes_it() -> None:
    giver, taker = opened(), Transaction("id")
    giver.admit(T0)
    taker.take_over(handed_over(giver))
    assert (giver.may_abort, taker.may_abort) == (False, True), "closing the giver ends nothing"
    assert (taker.identity, taker.end_needed) == ((7, 0), True)
    taker.begin_commit()
    giver.restart()
    with pytest.raises(IllegalState, match=r"init_transactions\(\) was not called"):
        giver.begin_commit()


def test_a_hand_over_that_has_begun_is_begun_again_or_aborted() -> None:
    transaction = opened()
    transaction.begin_hand_over()
    transaction.begin_hand_over()
    assert transaction.may_abort
    with pytest.raises(IllegalState, match="is being handed over"):
        transaction.begin_commit()
    transaction.begin_abort()
    with pytest.raises(IllegalState, match="is being aborted"):
        transaction.begin_hand_over()


def test_what_fails_while_a_transaction_is_handed_over_is_told_to_who_gives_it() -> None:
    transaction = opened()
    transaction.begin_hand_over()
    transaction.handle_failed_batch(MessageTooLarge(), has_numbers=False)
    with pytest.raises(TransactionFailed):
        transaction.hand_over()


def test_only_an_open_transaction_is_handed_over_and_only_to_a_new_producer() -> None:
    with pytest.raises(IllegalState, match="another producer has begun"):
        joined().begin_hand_over()
    with pytest.raises(IllegalState, match="was not called"):
        Transaction("id").begin_hand_over()
    with pytest.raises(IllegalState, match="takes none over"):
        opened().take_over(handed_over(opened()))
    with pytest.raises(IllegalState, match="transactional_id 'other'"):
        Transaction("other").take_over(handed_over(opened()))
    taken = Transaction("id")
    taken.take_over(handed_over(opened()))
    with pytest.raises(IllegalState, match="call init_transactions"):
        taken.share()


def test_who_is_told_of_the_other_producer_finds_what_the_coordinator_said() -> None:
    said, other = InvalidProducerEpoch(), GroupAuthorizationFailed()
    told = as_fencing(said, "id")
    assert (type(told), told.__cause__) == (ProducerFenced, said)
    assert as_fencing(other, "id") is other
    assert other.__cause__ is None
