"""The answer of a step function: act, wait or done. The drivers (workflow, simulator) know only this."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from api.meta import Timestamp
from api.model import Payload

SENTENCE_CHARACTERS: Final = 1024
"""As long as a message in a status may be."""

Sentence = Annotated[str, Field(max_length=SENTENCE_CHARACTERS)]


def shortened(text: str, longest: int = SENTENCE_CHARACTERS) -> str:
    """Return `text`, cut to the length of a `Sentence`: other people's words must not stop a lifecycle."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


class Act(Payload):
    """Run one effect now, then look again."""

    effect: str
    """Name of the effect: the activity type that carries it out."""
    reason: str
    """One CamelCase word: condition and event reason."""
    message: Sentence = ""
    """A sentence for people: activity summary, event message."""
    until: Timestamp | None = None
    """A deadline that the effect writes on the object."""
    by: str = ""
    """Who wanted it, for effects that record a decision."""


class Wait(Payload):
    """Nothing to do until something changes or time passes."""

    reason: str
    """One CamelCase word on what is awaited."""
    message: Sentence
    """A sentence: what is awaited, and what happens at the deadline."""
    until: Timestamp | None
    """The deadline; None waits for a message alone."""
    look_every: timedelta | None = None
    """Look again this often meanwhile, for what no message tells."""
    is_rest: bool = False
    """Nothing is under way and a message tells of what ends it: a look by the timer may be one off caches."""

    def wake_at(self, now: datetime) -> datetime | None:
        """Return the time of the next look without a message."""
        poll = None if self.look_every is None else now + self.look_every
        return min((t for t in (self.until, poll) if t is not None), default=None)


class Done(Payload):
    """The lifecycle is over; its object is gone."""

    reason: str
    message: Sentence = ""


Step = Act | Wait | Done


class DecisionKind(StrEnum):
    """What a person or the planner may ask of a removal."""

    CANCEL = "cancel"
    RETRY = "retry"
    SKIP = "skip"
    ABANDON = "abandon"


class Decision(Payload):
    """A wish that reached a lifecycle as a message."""

    kind: DecisionKind
    by: str = Field(default="Person", max_length=64)
    """Person, Planner, or a name."""
    reason: str = Field(default="", max_length=512)


class EffectInput(Payload):
    """Input of every lifecycle activity."""

    name: str
    """Name of the request or removal."""
    uid: str
    """Its uid: an object of the same name with another uid is another object."""
    act: Act | None = None
    """The step that asks for the effect; None only looks."""
    at_rest: bool = False
    """A look by the timer of a rest: one off caches is enough, as long as that shows nothing to do."""


LOOKS_A_SECOND: Final = 4
"""Of all lifecycles of a kind together. Each look is ten events of a history and a call to the provider, and what
matters for pods, a Node that changes or a pod that is bound, comes by a message."""


def shared(every: timedelta, others: int) -> timedelta:
    """Return the time between two looks when `others` lifecycles look as well: `every`, or longer for many."""
    return max(every, timedelta(seconds=(others + 1) / LOOKS_A_SECOND))
