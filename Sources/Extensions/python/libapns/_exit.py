"""Clients and sessions that were not closed end with their process."""

from __future__ import annotations

import atexit
import os
import sys

# Whose end was arranged: a child has its own.
_process = 0


def _end() -> None:
    from ._client import end_clients
    from ._core import end_sessions

    try:
        end_clients()
    finally:
        end_sessions()


def end_with_process() -> None:
    global _process
    if _process == os.getpid():
        return
    _process = os.getpid()
    atexit.register(_end)
    # A child of multiprocessing ends without what was registered there.
    process, util = (sys.modules.get(f"multiprocessing.{name}") for name in ("process", "util"))
    if process and util and process.parent_process() is not None:
        util.Finalize(None, _end, exitpriority=0)
