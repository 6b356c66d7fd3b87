"""Logging: structlog in front, the standard library's loggers behind the same renderer."""

import logging
import sys
from typing import Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger


def set_up_logging(
    log_format: Literal["auto", "console", "json"],
    level: Literal["debug", "info", "warning", "error"],
    *,
    cluster: str = "",
) -> None:
    """Send all logs to stderr, as lines for people or as JSON; auto chooses by whether stderr is a terminal.

    Args:
        log_format: of the lines.
        level: the least that is shown.
        cluster: its name stands in each line, whoever writes it; empty for a program of no cluster.
    """
    as_json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        *([_of_cluster(cluster)] if cluster else []),
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso" if as_json else "%H:%M:%S", utc=as_json),
        structlog.processors.StackInfoRenderer(),
    ]
    # Plain tracebacks: those that structlog prefers on a console show local variables, and with them tokens.
    renderers: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if as_json
        else [
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
        ]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.PositionalArgumentsFormatter()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # They would go to stderr as they are, without a level and a cluster.
    logging.captureWarnings(capture=True)
    for chatty in ("uvicorn.access", "uvicorn.error", "urllib3", "aiohttp", "asyncio"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))


def _of_cluster(name: str) -> Processor:
    """Return what writes the cluster's name into a line."""

    def add(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["cluster"] = name
        return event

    return add
