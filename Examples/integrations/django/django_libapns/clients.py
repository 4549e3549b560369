"""The clients of this process, each made at its first use: after gunicorn or Celery has forked the process."""

import asyncio
import os
import threading
import weakref

import libapns

from .conf import client_options

_lock = threading.Lock()
_clients = {}
# An AsyncClient belongs to its loop.
_async_clients = weakref.WeakKeyDictionary()


def get_client(application_id=None):
    """The client of all threads of this process."""
    with _lock:
        if application_id not in _clients:
            _clients[application_id] = libapns.Client(**client_options(application_id))
        return _clients[application_id]


def get_async_client(application_id=None):
    """The client of the running event loop."""
    clients = _async_clients.setdefault(asyncio.get_running_loop(), {})
    if application_id not in clients:
        clients[application_id] = libapns.AsyncClient(**client_options(application_id))
    return clients[application_id]


def close(**kwargs):
    """Waits for the outcomes of queued notifications."""
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
    for client in clients:
        client.close()


async def aclose():
    """The same for the clients of the running event loop."""
    for client in _async_clients.pop(asyncio.get_running_loop(), {}).values():
        await client.close()


def _forget():
    """In a child: the clients are the parent's."""
    global _lock
    _lock = threading.Lock()
    _clients.clear()
    _async_clients.clear()


os.register_at_fork(after_in_child=_forget)
