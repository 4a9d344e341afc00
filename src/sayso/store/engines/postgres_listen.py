"""Hearing what other transactions announce: one connection that LISTENs, in a thread that starts with the first waiter.

The thread waits in `select` on the connection and on a socket that tells it to stop, so it costs nothing while nothing
happens. Whenever it begins to listen, at first and after a lost connection, every waiter looks again: what was
announced before cannot be known.
"""

from __future__ import annotations

import select
import socket
import threading

import psycopg

from sayso.core.refusal import Misuse
from sayso.store.engines import postgres_library as library
from sayso.store.failures import Unavailable
from sayso.store.wake import Wake

__all__ = ("CHANNEL", "Listener")

CHANNEL = "sayso_wake"
_RECONNECT_SECONDS = 0.5


class Listener:
    """The wake of a Postgres store and the thread that feeds it."""

    def __init__(self, url: str) -> None:
        self.wake = Wake(self._attend)
        self._url = url
        self._gate = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._stop, self._stopped = socket.socketpair()

    def close(self) -> None:
        """Ends the thread; whoever still waits looks again and finds the store closed."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
        self._stop.close()
        if self._thread is not None:
            self._thread.join()
        self._stopped.close()
        self.wake.announce_all()

    def _attend(self) -> None:
        with self._gate:
            if self._closed:
                raise Misuse("the store is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="sayso-listen", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                if self._listen():
                    return
            except (psycopg.Error, Unavailable):
                if self._stopped in select.select([self._stopped], [], [], _RECONNECT_SECONDS)[0]:
                    return

    def _listen(self) -> bool:
        """Listens until told to stop, or until the connection breaks."""
        with library.connect(self._url) as connection:
            connection.autocommit = True
            connection.execute(f"LISTEN {CHANNEL}")
            self.wake.announce_all()
            while True:
                heard = [notice.payload for notice in connection.notifies(timeout=0)]
                if heard:
                    self.wake.announce(heard)
                    continue
                stop = self._stopped.fileno()
                ready, _, _ = select.select([connection.fileno(), stop], [], [])
                if stop in ready:
                    return True
