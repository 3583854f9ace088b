"""When a damaged replica withdraws, and when it is cut."""

from __future__ import annotations

import pytest

from millstream.metadata.image import NO_LEADER, PartitionImage
from millstream.model import BrokerId
from millstream.replication.damage import DamageStep, next_step

OWN, OTHER, THIRD = BrokerId(1), BrokerId(2), BrokerId(3)


@pytest.mark.parametrize(
    ("leader", "isr", "step"),
    [
        (OWN, (OWN, OTHER), DamageStep.WITHDRAW),
        (OWN, (OWN,), DamageStep.STAY),
        (OTHER, (OWN, OTHER), DamageStep.WITHDRAW),
        (OTHER, (OTHER,), DamageStep.CUT),
        (OTHER, (OTHER, THIRD), DamageStep.CUT),
        (NO_LEADER, (OWN,), DamageStep.STAY),
        (NO_LEADER, (OTHER,), DamageStep.STAY),
    ],
)
def test_it_is_cut_only_where_another_leads_and_it_is_not_in_the_isr(
    leader: BrokerId, isr: tuple[BrokerId, ...], step: DamageStep
) -> None:
    image = PartitionImage(partition=0, replicas=(OWN, OTHER, THIRD), isr=isr, leader=leader)
    assert next_step(image, OWN) is step
