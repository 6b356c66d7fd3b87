import asyncio
from datetime import timedelta

import pytest

from activities.ports.errors import Rejected, Unreachable
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus, RemovalPhase
from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.seen import NodeSeen, RemovalObservation, RequestObservation, ServerSeen
from planner.lifecycle.step import Decision, DecisionKind
from simulator.clock import START, VirtualClock, run
from simulator.driver.lifecycle import LifecycleDriver

SUBJECT = ObjectId(name="m", uid="u")
GONE = RequestObservation(exists=False)
PENDING = RequestObservation()
BOOTING = RequestObservation(
    status=NodeRequestStatus(
        phase=RequestPhase.PROVISIONING, create_attempt_at=START, provisioning_deadline=START + timedelta(seconds=100)
    ),
    server=ServerSeen.CREATING,
)
COOLING = RemovalObservation(
    status=NodeRemovalRequestStatus(scale_down_at=START + timedelta(hours=1), tainted_at=START),
    node=NodeSeen(name="m", ready=True, scale_down=True),
    server=ServerSeen.RUNNING,
)


class Script:
    """Answers activities from lists; the last answer stays."""

    def __init__(self, clock, **answers):
        self.clock = clock
        self.answers = {name: list(values) for name, values in answers.items()}
        self.calls = []
        self.told = []
        self.nudges = []

    def activities(self):
        return {name: self._activity(name) for name in self.answers}

    def _activity(self, name):
        async def run_it(asked):
            assert (asked.name, asked.uid) == ("m", "u")
            self.calls.append((round(self.clock.seconds(), 3), name))
            answers = self.answers[name]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return run_it

    def course(self, kind):
        return LifecycleDriver(
            kind,
            SUBJECT,
            activities=self.activities(),
            now=self.clock.now,
            tell=lambda who, what: self.told.append(what),
            nudge=self.nudges.append,
        )


def drive(script, kind=REQUEST, *, meanwhile=None):
    async def main():
        course = script.course(kind)
        task = asyncio.create_task(course.drive())
        if meanwhile:
            await meanwhile(course)
        return await task

    return run(main, script.clock)


def test_it_acts_and_ends_when_the_object_is_gone():
    clock = VirtualClock()
    script = Script(clock, look_request=[PENDING], create_server=[GONE])
    assert drive(script).reason == "Gone"
    assert script.calls == [(0.0, "look_request"), (0.0, "create_server")]
    assert script.told == ["create_server CreateServer", "done Gone"]
    assert script.nudges == ["request m ended"]


def test_it_looks_again_as_often_as_the_wait_says():
    clock = VirtualClock()
    script = Script(clock, look_request=[BOOTING, BOOTING, GONE])
    drive(script)
    # LOOK_EVERY of planner/lifecycle/request.py.
    assert [seconds for seconds, _ in script.calls] == [0.0, 5.0, 10.0]
    assert script.told == ["wait ServerBoot", "done Gone"]


def test_a_message_ends_a_wait():
    clock = VirtualClock()
    script = Script(clock, look_request=[BOOTING, GONE])

    async def meanwhile(course):
        await asyncio.sleep(1)
        course.wake()

    drive(script, meanwhile=meanwhile)
    assert [seconds for seconds, _ in script.calls] == [0.0, 1.0]


def test_what_may_pass_is_retried_with_growing_pauses():
    clock = VirtualClock()
    lost = Unreachable("no answer")
    script = Script(clock, look_request=[PENDING], create_server=[lost, lost, lost, GONE])
    drive(script)
    assert [seconds for seconds, name in script.calls if name == "create_server"] == [0.0, 1.0, 3.0, 7.0]


@pytest.mark.parametrize("answer", [Rejected("forbidden"), PENDING])
def test_a_refused_or_fruitless_effect_is_not_hammered(answer):
    clock = VirtualClock()
    script = Script(clock, look_request=[PENDING], create_server=[answer, answer, GONE])
    drive(script)
    assert [seconds for seconds, name in script.calls if name == "create_server"] == [0.0, 5.0, 10.0]


def test_an_error_that_nobody_foresaw_is_not_swallowed():
    script = Script(VirtualClock(), look_request=[ZeroDivisionError()])
    with pytest.raises(ZeroDivisionError):
        drive(script)


def test_a_persons_message_reaches_the_step_function_once():
    clock = VirtualClock()
    gone = RemovalObservation(exists=False)
    script = Script(clock, look_removal=[COOLING], cancel_removal=[gone])

    async def meanwhile(course):
        await asyncio.sleep(1)
        course.ask(Decision(kind=DecisionKind.RETRY))
        await asyncio.sleep(1)
        course.ask(Decision(kind=DecisionKind.CANCEL, by="ann"))

    drive(script, REMOVAL, meanwhile=meanwhile)
    assert any(line.startswith("refused retry: cannot retry: the removal is not parked") for line in script.told)
    assert script.calls[-1] == (2.0, "cancel_removal")
    assert COOLING.status.phase is RemovalPhase.PENDING
