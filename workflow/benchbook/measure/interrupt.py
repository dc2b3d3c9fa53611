"""A request to stop, from the keyboard or from the pipeline, as one exception that teardown is not disturbed by."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Raised in the main thread at the first stop signal."""

    def __init__(self, number: int):
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}")


class Interruptible:
    """Context manager: the first of SIGNALS raises Interrupted; while disarmed or held they only wait."""

    def __enter__(self) -> Interruptible:
        self._armed = True
        self._waiting: int | None = None
        self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._armed:
            self._waiting = number
            return
        self._armed = False
        raise Interrupted(number)

    def disarm(self) -> None:
        """Stop signals only wait from here on: teardown has begun and is not to be cut short."""
        self._armed = False

    @property
    def waiting(self) -> bool:
        """Whether a stop signal came while disarmed."""
        return self._waiting is not None

    def rearm(self) -> None:
        """Raise a signal that came while disarmed; otherwise the next one raises again."""
        if self._waiting is not None:
            raise Interrupted(self._waiting)
        self._armed = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep a stop signal waiting until the body is through, so that a process just started is also known."""
        self.disarm()
        try:
            yield
        finally:
            self.rearm()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

