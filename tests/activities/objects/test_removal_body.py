"""Each removal has the same labels, whoever creates it: `kubectl get nrr -l growth.dev/request=X` finds all."""

import ast
from pathlib import Path

import pytest

from activities.objects.record import removal_body
from api.v1alpha1.node_pool import ClassRef
from api.v1alpha1.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec

ROOT = Path(__file__).resolve().parents[3]
KIND = "NODE_REMOVAL_REQUESTS.kind"
SPEC = NodeRemovalRequestSpec(
    server_name="web-1",
    pool="web",
    server_type="cx22",
    location="fsn1",
    class_ref=ClassRef(kind="KwokNodeClass", name="default"),
    reason="Empty",
)


@pytest.mark.parametrize("request_uid", ["u-1", None, ""])
def test_labels_name_the_request_of_the_machine(request_uid):
    removal = NodeRemovalRequest.model_validate(removal_body(SPEC, request_uid=request_uid))

    uid = {"growth.dev/request-uid": request_uid} if request_uid else {}
    expected = {"growth.dev/pool": "web", "growth.dev/server-type": "cx22", "growth.dev/request": "web-1"}
    assert removal.metadata.labels == {**expected, **uid}
    assert removal.metadata.name == "web-1"
    assert removal.spec == SPEC


def test_nobody_else_makes_a_body():
    makers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "activities").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Dict) and KIND in map(ast.unparse, filter(None, node.values))
    ]
    assert makers == ["activities/objects/record.py"]
