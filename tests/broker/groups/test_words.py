"""Who speaks, and whether he says that he is a member."""

from onelog.broker.groups.words import NOBODY, Membership


def test_whoever_names_a_member_a_generation_or_an_instance_claims_to_be_one() -> None:
    assert not NOBODY.is_claimed
    assert not Membership("", -1, None).is_claimed
    for by in (Membership("m"), Membership(generation=0), Membership(instance="i")):
        assert by.is_claimed
