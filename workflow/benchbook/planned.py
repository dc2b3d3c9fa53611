"""A booking as the pipeline plans it: its stores in order, what it leaves out, what it was told of other bookings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchbook import registry
from benchbook.archive import restored
from benchbook.config import files
from benchbook.config import spec as specification
from benchbook.config.load import Booking, load_booking
from benchbook.errors import SessionError


@dataclass(frozen=True)
class Planned:
    """`specs`: the specification of each store by name, in the order of the schedule; `superseded`: stores of earlier
    specifications with their sessions, which are still on disk and in no figure; `registered`: the registry's files
    that its noise is taken from; `configured_in`: the folder, from the project's, that holds its config/;
    `configuration`: its files there; `lacking`: in a draft, what of the schedule is not measured yet, a sentence each.
    """

    booking: Booking
    specs: Mapping[str, dict[str, Any]]
    superseded: tuple[str, ...]
    registered: tuple[str, ...]
    configured_in: Path
    configuration: tuple[str, ...]
    is_restored: bool
    lacking: tuple[str, ...] = ()

    @property
    def stores(self) -> list[str]:
        return list(self.specs)


def planned(root: Path, booking_id: str, noise: Path, draft: bool = False) -> Planned:
    """The booking `booking_id` of the project at `root`, whose registry is `noise` (from there, as all paths here).

    For a restored booking, as its archive says. A `draft` has the stores that are measured, and tells what it lacks;
    SessionError when there is none. Raises ConfigError and ArchiveError.
    """
    results = Path("results") / booking_id
    told = restored.read(root / results)
    if told is not None:
        place = restored.configured_in(root / results).resolve().relative_to(root.resolve())
        return Planned(load_booking(root / place, booking_id), told.specs(root / results), told.superseded,
                       told.registered, place, told.configuration, True)  # fmt: skip
    booking = load_booking(root, booking_id)
    specs = {specification.store_name(spec): spec for spec in specification.session_specs(booking, root)}
    stores = sorted(path.name for path in (root / results).glob("raw/*"))
    launches = sorted(path.name for path in (root / results).glob("raw/*/[0-9]*-[0-9]*"))
    earlier = registry.earlier(root / noise, booking.node.kind, launches[0] if launches else None, booking.id)
    whole = Planned(
        booking, specs, tuple(_named(root / results / f"raw/{store}") for store in stores if store not in specs),
        tuple(str(noise / path.relative_to(root / noise)) for path in earlier), Path(),
        tuple(files.used(root, booking)), False,
    )  # fmt: skip
    return _measured_of(whole, root / results) if draft else whole


def _measured_of(whole: Planned, results: Path) -> Planned:
    """`whole` with those of its stores that are measured."""
    there = {store: spec for store, spec in whole.specs.items() if (results / f"sessions/{store}.json").exists()}
    if not there:
        raise SessionError(f"no session of booking {whole.booking.id} is measured yet, so there is nothing to draft. "
                           "Measure one: snakemake --cores all report")  # fmt: skip
    lacking = tuple(_lacks(store, spec, results) for store, spec in whole.specs.items() if store not in there)
    return replace(whole, specs=there, lacking=lacking)


def _named(store: Path) -> str:
    """A store with the sessions that are in it."""
    sessions = sorted(path.name for path in store.glob("[0-9]*-[0-9]*"))
    return f"{store.name}: {', '.join(sessions) or 'no session'}"


def _lacks(store: str, spec: Mapping[str, Any], results: Path) -> str:
    runs = sum(len(block["runs"]) for block in spec["plan"])
    begun = len(list((results / f"raw/{store}").glob("[0-9]*-[0-9]*")))
    state = "begun and not finished" if begun else "not measured yet"
    return f"Session {spec['slot']} of {spec['arm']}: {state}, {runs} runs planned."
