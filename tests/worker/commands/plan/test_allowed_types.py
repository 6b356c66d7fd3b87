"""The pool of docs/concepts.md that asks for its types by name, requirements and pattern, planned from files."""

from pathlib import Path

import yaml

from tests.builders import pod
from tests.project.documents import blocks
from tests.worker.commands.plan.test_command import PODS, POOL, planned, written

REQUIREMENTS = "requirements architecture In arm64 and memory Gte 6Gi and price Lt 0.0150"


def documented(tmp_path, *pods, **spec):
    """Write the pool as the document shows it, with the class of the examples, pods and further fields of its spec."""
    (pool,) = (
        yaml.safe_load(block.text)
        for block in blocks("docs/concepts.md")
        if block.heading == "What a pool may buy" and block.language == "yaml"
    )
    pool["spec"] |= spec
    examples = yaml.safe_load_all(Path(POOL).read_text(encoding="utf-8"))
    (node_class,) = (item for item in examples if item["kind"] == "KwokNodeClass")
    return written(tmp_path, yaml.safe_dump_all([pool, node_class, *pods]))


def bought(made):
    return sorted((each["serverType"], each["location"]) for each in made["requests"])


def of_arm(number):
    return [pod(f"p-{k}", "3", "4Gi", nodeSelector={"kubernetes.io/arch": "arm64"}) for k in range(number)]


def test_what_is_bought_is_what_the_entries_allow(capsys, tmp_path):
    made = planned(capsys, documented(tmp_path), PODS)
    assert bought(made) == [("ccx13", "nbg1"), ("cx22", "fsn1"), ("cx32", "fsn1"), ("cx42", "fsn1")]
    assert made["pools"][0]["conditions"][0]["message"] == ""


def test_requirements_choose_among_all_types_of_the_class_up_to_their_max(capsys, tmp_path):
    made = planned(capsys, documented(tmp_path, *of_arm(3)))
    # A cax31 is too dear, and a cax11 too small.
    assert bought(made) == [("cax21", "fsn1"), ("cax21", "fsn1"), ("ccx13", "nbg1")]
    (left_out,) = made["unplaced"]
    assert left_out["reasons"][0]["code"] == "LimitReached"
    assert left_out["reasons"][0]["message"] == (
        f"pool default is at its max of 2 machines of serverTypes[1], {REQUIREMENTS}; "
        "raising it by 1 places 1 pod, on a cax21"
    )


def test_locations_of_the_pool_hold_for_all_entries(capsys, tmp_path):
    made = planned(capsys, documented(tmp_path, *of_arm(1), locations=["nbg1", "mars"]))
    assert bought(made) == [("cax21", "nbg1"), ("ccx13", "nbg1")]
    told = made["pools"][0]["conditions"][0]
    assert (told["reason"], told["message"]) == (
        "UnknownLocation",
        "locations: KwokNodeClass/default has no server type in mars",
    )


def test_an_entry_without_a_name_is_set_by_its_number(capsys, tmp_path):
    made = planned(capsys, documented(tmp_path, *of_arm(3)), settings=("pool/default.serverTypes.1.max=3",))
    assert (bought(made).count(("cax21", "fsn1")), made["unplaced"]) == (3, [])
