"""Times as people read them: the clock, and how far away that is."""

from datetime import datetime, timedelta

from api.duration import format_duration

_SECOND = timedelta(seconds=1)


def span(duration: timedelta) -> str:
    """Return a duration in whole seconds, such as 2m40s."""
    return format_duration(max(duration, timedelta()) // _SECOND * _SECOND)


def clock(moment: datetime, now: datetime) -> str:
    """Return the time of day in UTC, with its date if that is not today's."""
    return f"{moment:%H:%M:%S}" if moment.date() == now.date() else f"{moment:%Y-%m-%d %H:%M:%S}"


def until(moment: datetime, now: datetime) -> str:
    """Return a deadline in UTC and how long it still is, or that it is over."""
    left = moment - now
    return f"{clock(moment, now)} (in {span(left)})" if left > timedelta() else f"{clock(moment, now)} (now due)"


def ago(moment: datetime, now: datetime) -> str:
    """Return a time that has passed, in UTC, and how long ago it was."""
    return f"{clock(moment, now)} ({span(now - moment)} ago)"


def since(moment: datetime, now: datetime) -> str:
    """Return since when, in UTC, and how long that is."""
    return f"{clock(moment, now)} (for {span(now - moment)})"
