"""Billing: in which periods a provider bills machines of a class."""

from datetime import timedelta

from pydantic import ValidationError

from api.duration import PositiveDuration
from api.model import Model


class Billing(Model):
    """How machines of the class are billed."""

    period: PositiveDuration
    """Time that is billed as soon as it begins, counted from the creation of the machine, such as 1h."""


def billing_period(billing: object) -> timedelta | None:
    """Return the period of a class's part `billing`, as a model or as the API has it; None where it tells none.

    A provider of somebody else may mean something else by a field of that name.
    """
    try:
        return Billing.model_validate(billing).period
    except ValidationError:
        return None
