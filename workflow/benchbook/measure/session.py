"""Measure what a store still lacks for one specification: the command behind the rule `session`.

Idempotent: a store that has every run boots nothing. Rebooted once when the server dies, for the runs that were still
to come; a boot that fails is a result and is not tried again. Works without Snakemake, network or anything beyond the
standard library and psutil.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import SessionError
from benchbook.measure import processes
from benchbook.measure.boot import Boot
from benchbook.measure.interrupt import Interruptible
from benchbook.measure.progress import Told
from benchbook.measure.store import Store, locked, read_json

NODE_LOCK = Path(tempfile.gettempdir()) / "benchbook-node.lock"


def measure(spec: Mapping[str, Any], store_folder: Path, root: Path, out: Told) -> dict[str, Any]:
    """Measure the runs of `spec` that `store_folder` lacks and return the store's manifest.

    `root` is the folder that relative paths in the specification start from, `out` receives the progress. Raises
    Interrupted after a clean teardown when asked to stop, SessionError when nothing can be measured at all.
    """
    store = Store(store_folder.resolve())
    store.folder.mkdir(parents=True, exist_ok=True)
    with Interruptible() as interrupts:
        with (
            locked(store.folder / ".lock", out, f"Waiting: another process measures into {store.folder}."),
            locked(NODE_LOCK, out, "Waiting: another Benchbook session is measuring on this node."),
        ):
            _refuse_other_specifications(store, spec)
            _end_leftovers(store, out)
            for session in store.set_aside("the session broke off without an end (the process was killed)"):
                out.write(f"Session {session} broke off: set aside with its finished runs, measuring again.\n")
            _boot_until_done(store, spec, root.resolve(), out, interrupts)
            return store.manifest(spec)


def _boot_until_done(
    store: Store, spec: Mapping[str, Any], root: Path, out: Told, interrupts: Interruptible
) -> None:
    needed = store.lacks(spec)
    if not needed:
        return
    first = Boot(spec, store.new_session(), root, needed, out)
    first.measure(interrupts)
    interrupts.rearm()
    if first.failure is None or first.failure["what"] != "run":
        return
    remaining = [name for name in store.lacks(spec) if name not in first.blamed]
    if not remaining:
        return
    out.write(f"The server died: booting it once more for the {len(remaining)} runs that were still to come.\n")
    second = Boot(spec, store.new_session(), root, remaining, out, reboot_of=first.folder.name)
    second.measure(interrupts)
    interrupts.rearm()


def _refuse_other_specifications(store: Store, spec: Mapping[str, Any]) -> None:
    for folder in store.session_folders():
        path = folder / "spec.json"
        if path.exists() and read_json(path)["spec_hash"] != spec["spec_hash"]:
            raise SessionError(
                f"{store.folder} holds session {folder.name} of another specification: its runs are not those asked "
                "for. Give each specification a store of its own."
            )


def _end_leftovers(store: Store, out: Told) -> None:
    """End processes that a session broken off left behind; they would disturb, and hold memory."""
    trees = [
        read_json(path)
        for folder in store.session_folders()
        if not (folder / "session.json").exists()
        for path in folder.glob("processes/*.json")
    ]
    left = [pid for tree in trees for pid in processes.left_of(tree)]
    if not left:
        return
    names = ", ".join(map(str, left))
    out.write(f"Found {len(left)} processes that an earlier session left behind ({names}): ending them.\n")
    sessions = [tree["kernel_session"] for tree in trees if processes.left_of(tree)]
    if not processes.end(sessions, patience_s=4.0):
        raise SessionError(
            f"processes {', '.join(map(str, processes.members(sessions)))} of an earlier session cannot be ended. "
            "End them by hand, then start again."
        )
