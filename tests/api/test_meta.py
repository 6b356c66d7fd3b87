import pytest

from api.meta import ObjectMeta
from api.names import dns_label


def test_only_what_is_set_is_written():
    """An empty uid in a create call would be a wish that the API server refuses."""
    assert ObjectMeta(name="a").to_json() == {"name": "a"}
    assert ObjectMeta(name="a", labels={"x": ""}, finalizers=("f",)).to_json() == {
        "name": "a",
        "labels": {"x": ""},
        "finalizers": ["f"],
    }


@pytest.mark.parametrize(("name", "words"), [("", "metadata.name is missing"), ("A", "metadata.name: 'A' must be")])
def test_a_wrong_name_is_refused(name, words):
    with pytest.raises(ValueError, match=words):
        ObjectMeta(name=name).check_name(dns_label(5))


def test_a_right_name_is_accepted():
    ObjectMeta(name="a-b1c").check_name(dns_label(5))
