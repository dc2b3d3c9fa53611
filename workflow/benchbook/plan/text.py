"""A plan as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.plan.estimate import Estimate, total
from benchbook.plan.plan import Plan
from benchbook.plan.schedule import BOOT, REST, WARMUP, Planned

HEAD = ("session", "arm", "boot", "warmup", "runs", "rest", "expected", "low to high", "USD", "clock")


def lines(plan: Plan) -> Iterator[str]:
    booking = plan.booking
    yield f"{booking.id}: {booking.title}"
    yield f"on {booking.node.description}; rests on {_rests_on(plan)}"
    yield ""
    yield from _table(plan)
    yield ""
    yield from _money(plan)
    yield from _sources(plan.sessions[0])
    if plan.comparisons:
        yield ""
        yield from _comparisons(plan)
    if plan.budget_s is not None:
        yield ""
        yield from _budget(plan)


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss, or m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _rests_on(plan: Plan) -> str:
    if not plan.seen:
        return "defaults alone: no session of this model and engine on such a node is in results/"
    ids = [f"{item.session} ({item.booking})" for item in plan.seen[-3:]]
    more = f" and {len(plan.seen) - 3} earlier ones" if len(plan.seen) > 3 else ""
    return f"session{'s' * (len(plan.seen) > 1)} {', '.join(ids)}{more}"


def _table(plan: Plan) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [HEAD]
    since = 0.0
    for session in plan.sessions:
        parts = {BOOT: 0.0, WARMUP: 0.0, "run": 0.0, REST: 0.0}
        for phase in session.phases:
            parts["run" if phase.what == "rerun" else phase.what] += phase.time.expected_s
        since += session.time.expected_s
        rows.append((session.slot, session.arm, *(clock(parts[name]) for name in (BOOT, WARMUP, "run", REST)),
                     *_times(plan, session.time), clock(since)))  # fmt: skip
    if len(plan.sessions) > 1:
        rows.append(("all", "", "", "", "", "", *_times(plan, plan.time), clock(since)))
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    for row in rows:
        yield "  ".join(text.ljust(width) if place < 2 else text.rjust(width)
                        for place, (text, width) in enumerate(zip(row, widths, strict=True))).rstrip()  # fmt: skip


def _times(plan: Plan, time: Estimate) -> tuple[str, str, str]:
    usd = plan.usd(time.expected_s)
    return (clock(time.expected_s), f"{clock(time.low_s)} to {clock(time.high_s)}",
            "-" if usd is None else f"{usd:,.2f}")  # fmt: skip


def _money(plan: Plan) -> Iterator[str]:
    usd, most = plan.usd(plan.time.expected_s), plan.usd(plan.time.high_s)
    if usd is None or most is None:
        yield f"No price: give price_usd_per_hour in config/nodes/{plan.booking.node.name}.yaml to see dollars."
    else:
        price = plan.booking.node.price_usd_per_hour
        yield f"Expected {usd:,.2f} USD, at most {most:,.2f} USD, at {price:,.2f} USD an hour."


def _sources(session: Planned) -> Iterator[str]:
    yield "Where the times come from:"
    told: dict[str, list[str]] = {}
    for phase in session.phases:
        name = phase.what if phase.concurrency is None else f"{phase.what} c{phase.concurrency}"
        told.setdefault(phase.time.source, []).append(name)
    for source, names in told.items():
        yield f"  {', '.join(names)}: {source}"
    again = total(phase.time for phase in session.phases if phase.what == "rerun")
    if again.high_s:
        yield (f"  Reruns are counted with {clock(again.expected_s)} a session; none saves that, all of them take "
               f"{clock(again.high_s)}.")  # fmt: skip


def _comparisons(plan: Plan) -> Iterator[str]:
    yield "The smallest effect that comparisons find in 4 of 5 tries:"
    for item in plan.comparisons:
        size = "none" if item.mde_pct is None else f"{item.mde_pct:.1f} %"
        levels = ", ".join(map(str, item.concurrency))
        named = "" if item.declared else " (no hypothesis)"
        yield f"  {item.arm} against {item.baseline}, {item.metric} at {levels}{named}: {size}"
    for why in dict.fromkeys(item.why for item in plan.comparisons if item.why):
        yield f"  none: {why}."
    sources = ", ".join(dict.fromkeys(item.sigma_from for item in plan.comparisons))
    yield f"  Noise taken: {sources}."


def _budget(plan: Plan) -> Iterator[str]:
    assert plan.budget_s is not None
    if plan.fits:
        yield f"Within the budget of {clock(plan.budget_s)}."
        yield from (f"  {line}." for line in plan.room)
        return
    over_s = plan.time.expected_s - plan.budget_s
    yield f"OVER THE BUDGET of {clock(plan.budget_s)} by {clock(over_s)}. What to cut, the least loss first:"
    for cut in plan.cuts:
        usd = plan.usd(cut.saves_s)
        money = "" if usd is None else f", {usd:,.2f} USD"
        yield f"  - {cut.what} ({cut.how}): saves {clock(cut.saves_s)}{money}, leaves {clock(cut.left_s)}"
        yield f"    loses {cut.costs}"
    if not plan.can_fit:
        yield "  Even so it does not fit: take a larger budget, fewer arms, or a cheaper node."
