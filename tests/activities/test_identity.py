"""Whose a server is: by the name of its cluster and the uid of that cluster's namespace kube-system."""

from activities.ports.identity import ClusterIdentity, Ownership
from tests.tables import rows

OURS = ClusterIdentity("default", "u-1")
NAME, UID = "growth.dev/cluster", "growth.dev/cluster-uid"


@rows(
    ("labels", "owner", "is_namesake"),
    {
        "name and uid": ({NAME: "default", UID: "u-1"}, Ownership.OURS, False),
        "another uid": ({NAME: "default", UID: "u-2"}, Ownership.FOREIGN, True),
        "the name alone": ({NAME: "default"}, Ownership.UNMARKED, False),
        "an empty uid": ({NAME: "default", UID: ""}, Ownership.UNMARKED, False),
        "another name": ({NAME: "other"}, Ownership.FOREIGN, False),
        "another name with our uid": ({NAME: "other", UID: "u-1"}, Ownership.FOREIGN, False),
        "nothing": ({}, Ownership.FOREIGN, False),
    },
)
def test_labels_tell_whose_it_is(labels, owner, is_namesake):
    assert OURS.owner(labels) is owner
    assert OURS.is_namesake(labels) is is_namesake


def test_where_the_uid_was_not_asked_for_the_name_tells():
    known_by_name = ClusterIdentity("default")
    assert known_by_name.labels() == {NAME: "default"}
    assert known_by_name.owner({NAME: "default", UID: "u-2"}) is Ownership.OURS
    assert known_by_name.owner({NAME: "other"}) is Ownership.FOREIGN


def test_what_is_made_is_known_again():
    assert OURS.owner(OURS.labels()) is Ownership.OURS
    assert ClusterIdentity("default", "u-2").owner(OURS.labels()) is Ownership.FOREIGN
