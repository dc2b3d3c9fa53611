"""Calls into NVML that answer None where the package, the driver or the GPU does not offer them (engines.md 5).

An older driver lacks functions, an older nvidia-ml-py lacks their Python names, a GPU in MIG mode refuses most of
them. None of these is a zero, and none may end the sampling of what is there.
"""

from __future__ import annotations

from typing import Any

try:
    import pynvml
except ImportError:
    pynvml = None


def start() -> str | None:
    """Load and initialise NVML. None when it is ready, else why it is not, in words."""
    if pynvml is None:
        return "the Python package nvidia-ml-py is not installed"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return f"NVML is not available ({error})"
    return None


def stop() -> None:
    """Release NVML. Call once for each `start` that was ready."""
    ask("nvmlShutdown")


def ask(function: str, *arguments: Any) -> Any:
    """What NVML's `function` returns; None when it is not there or refuses."""
    call = getattr(pynvml, function, None)
    if call is None:
        return None
    try:
        return call(*arguments)
    except pynvml.NVMLError:
        return None


def structure(name: str) -> Any:
    """A new structure of the binding by its name; None when this version of it has none."""
    made = getattr(pynvml, name, None)
    return None if made is None else made()


def field(value: Any, name: str) -> Any:
    """`value.name`, None of None."""
    return None if value is None else getattr(value, name)


def milli(value: float | None) -> float | None:
    """A thousandth of `value`: mW to W."""
    return None if value is None else value / 1000


def text(value: Any) -> str | None:
    """A string that older packages return as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
