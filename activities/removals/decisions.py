"""Answers decisions that people write on a removal as an annotation, and takes them off.

A decision that has an effect needs none of it before its effect is on the object. The answer is on
the object before the annotation goes, and both are conditional on the version that was looked at: a
kill in between repeats the answer, and a newer value is answered by itself.
"""

from activities.kube.json_patch import guarded, set_field
from activities.objects.effects import tell
from activities.objects.events import Recorder
from activities.objects.record import Record, write_status
from activities.ports.ports import Ports
from activities.removals.look import RemovalObjects
from api.keys import ANNOTATION_DECISION, ANNOTATION_DECISION_REASON
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.decision import REFUSED, TAKEN, answer, decision_on


async def answer_decision(ports: Ports, recorder: Recorder, sight: RemovalObjects) -> None:
    """Tell what becomes of the decision that was seen, unless it was carried out, and take it off.

    Raises:
        Conflict: the removal has changed since it was read, perhaps by another decision.
    """
    given = answer(sight.seen)
    if given is None:
        return
    record = sight.record
    if given.reason != TAKEN:
        told = record.model.status.events[-1:]
        is_repeat = [(event.name, event.reason) for event in told] == [(given.reason, given.message)]
        if not is_repeat:
            record = await write_status(
                ports.cluster, record, now=ports.now(), event=given.reason, because=given.message
            )
        message = f"{record.resource.kind} {record.name}: annotation {given.message}. It is taken off"
        await tell(recorder, record, given.reason, message, warning=True, always=not is_repeat)
    operations = [
        operation
        for annotation in (ANNOTATION_DECISION, ANNOTATION_DECISION_REASON)
        for operation in set_field(record.object, ("metadata", "annotations", annotation), None)
    ]
    await ports.cluster.patch(record.resource, record.name, guarded(record.object, operations))


async def tell_undecidable(recorder: Recorder, request: Record[NodeRequest]) -> None:
    """Tell who wrote a decision on a request that only removals take them, and what helps instead. Never raises."""
    found = decision_on(request.model.metadata.annotations)
    if found is not None:
        message = (
            f"{request.resource.kind} {request.name}: annotation {ANNOTATION_DECISION}={found.word} has no effect: "
            f"only removals take decisions; to cancel a request, delete it: kubectl delete noderequest {request.name}"
        )
        await tell(recorder, request, REFUSED, message, warning=True)
