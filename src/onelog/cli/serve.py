"""`onelog serve`: the broker as a process of its own.

It logs to stderr, writes the ready file when all listeners serve, drains on SIGTERM, and ends
with 1 and a line when the disk failed. What a broker is made of is app.py's to know.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from onelog.app import App
from onelog.cli.output import CommandFailed
from onelog.config import Config, ConfigError, ServeSettings, load
from onelog.model import Address
from onelog.open_files import raise_limit
from onelog.server.lifecycle import StopSignals
from onelog.server.listener import ListenFailed
from onelog.storage.disk import StoreRefused

LOG = logging.getLogger("onelog")
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", metavar="FILE", help="settings as TOML")
    parser.add_argument("--data", metavar="DIR", help="the data directory (default: onelog-data)")
    parser.add_argument(
        "--listen",
        metavar="NAME=HOST:PORT",
        action="append",
        help="open exactly the named listeners; port 0 takes any free one; repeatable",
    )
    parser.add_argument(
        "--advertise",
        metavar="NAME=HOST:PORT",
        action="append",
        help="what clients of a listener are told; repeatable",
    )
    parser.add_argument("--ready-file", metavar="PATH", help="written when all listeners serve")
    parser.add_argument("--log-level", choices=LEVELS, help="default: info")
    parser.add_argument("--log-format", choices=FORMATS, help="default: text")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal; 1 when the disk failed."""
    try:
        config = load(args.config, environ=os.environ, flags=_flags(args))
        serve = config.section(ServeSettings)
        _set_up_log(serve)
        raise_limit()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(config, serve))
    except (ConfigError, ListenFailed, StoreRefused) as error:
        raise CommandFailed(str(error)) from error


def _flags(args: argparse.Namespace) -> dict[str, str | None]:
    return {
        "serve.data": args.data,
        "serve.listen": ",".join(args.listen) if args.listen else None,
        "serve.advertise": ",".join(args.advertise) if args.advertise else None,
        "serve.ready_file": args.ready_file,
        "serve.log_level": args.log_level,
        "serve.log_format": args.log_format,
    }


async def _serve(config: Config, serve: ServeSettings) -> int:
    app = App(config)
    with StopSignals() as signals:
        await app.start()
        try:
            await _serve_until_stopped(app, serve, signals)
        finally:
            await app.stop()
    if app.failed.done():
        return 1  # in the drain: its log line is the last word
    LOG.info("stopped: the data directory is closed cleanly")
    return 0


async def _serve_until_stopped(app: App, serve: ServeSettings, signals: StopSignals) -> None:
    if serve.ready_file:
        _write_ready_file(serve.ready_file, app.addresses)
    LOG.info("serving: %s", ", ".join(f"{name} on {at}" for name, at in app.addresses.items()))
    stopping: asyncio.Future[Any] = asyncio.ensure_future(signals.wait())
    await asyncio.wait([stopping, app.failed], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if app.failed.done():
        # Nothing more may be said or synced: the disk told a lie once. End here.
        logging.shutdown()
        sys.stderr.flush()
        os._exit(1)


def _write_ready_file(path: str, addresses: Mapping[str, Address]) -> None:
    """Whole or not at all: who waits for it may read it as soon as it is there."""
    text = json.dumps(
        {
            "pid": os.getpid(),
            "listeners": {name: {"host": at.host, "port": at.port} for name, at in addresses.items()},
        }
    )
    folder = os.path.dirname(path) or "."
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".ready-", delete=False) as file:
        file.write(text + "\n")
    os.replace(file.name, path)


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:
        return None
    loop: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return loop


def _set_up_log(serve: ServeSettings) -> None:
    if serve.log_level not in LEVELS:
        raise ConfigError(f"serve.log_level = {serve.log_level!r}; expected one of {', '.join(LEVELS)}.")
    if serve.log_format not in FORMATS:
        raise ConfigError(f"serve.log_format = {serve.log_format!r}; expected one of {', '.join(FORMATS)}.")
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(_JsonFormatter() if serve.log_format == "json" else text)
    LOG.handlers[:] = [handler]
    LOG.setLevel(serve.log_level.upper())


class _JsonFormatter(logging.Formatter):
    """A line of JSON for each message."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time_ms": int(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)
