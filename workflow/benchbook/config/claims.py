"""What a booking file declares to compare and to expect, before anything is measured."""

from __future__ import annotations

from typing import Any

from benchbook.config.messages import Key, Problems, unknown
from benchbook.config.records import Comparisons, Hypothesis

Data = dict[str, Any]


def check(booking: Data, file: str, problems: Problems) -> None:
    """Arms and concurrencies that comparisons and hypotheses name are those of the booking, and no name comes twice."""
    if not all(problems.sound(file, key) for key in ("arms", "workload", "comparisons", "hypotheses")):
        return
    arms, levels = [arm["name"] for arm in booking["arms"]], booking["workload"]["concurrency"]
    places: list[tuple[Key, Data]] = [(("comparisons",), booking["comparisons"])]
    places += [(("hypotheses", index), item) for index, item in enumerate(booking["hypotheses"])]
    first: set[str] = set()
    for key, item in places:
        for role in ("arm", "baseline"):
            if role in item and item[role] not in arms:
                advice = unknown(item[role], arms, "arms:", "name one of these")
                problems.add(file, (*key, role), f"is not an arm {advice}", item[role])
        for place, level in enumerate(item.get("concurrency", [])):
            if level not in levels:
                problems.add(
                    file, (*key, "concurrency", place),
                    f"is not a concurrency of the workload; give one of {', '.join(map(str, levels))}.", level,
                )  # fmt: skip
        if "name" not in item:
            continue
        if item["arm"] == item.get("baseline", _baseline(booking)):
            problems.add(file, (*key, "arm"), "is compared with itself; name another arm or baseline.", item["arm"])
        if item["name"] in first:
            problems.add(file, (*key, "name"), "is the name of another hypothesis; give each its own.", item["name"])
        first.add(item["name"])


def comparisons(booking: Data) -> Comparisons:
    """The checked section `comparisons`, complete."""
    said = booking["comparisons"]
    return Comparisons(
        baseline=_baseline(booking),
        metrics=tuple(said["metrics"]),
        concurrency=tuple(said.get("concurrency", booking["workload"]["concurrency"])),
        alpha=float(said["alpha"]),
        equivalence=float(said["equivalence"]),
        smallest_effect=float(said["smallest_effect"]),
        sessions_min=said["sessions_min"],
    )


def hypotheses(booking: Data) -> tuple[Hypothesis, ...]:
    """The checked section `hypotheses`, complete."""
    return tuple(
        Hypothesis(
            name=item["name"],
            arm=item["arm"],
            baseline=item.get("baseline", _baseline(booking)),
            metric=item["metric"],
            concurrency=tuple(item.get("concurrency", booking["workload"]["concurrency"])),
            direction=item["direction"],
            smallest_effect=float(item["smallest_effect"]),
            because=item.get("because"),
        )
        for item in booking["hypotheses"]
    )


def _baseline(booking: Data) -> str:
    name: str = booking["comparisons"].get("baseline", booking["arms"][0]["name"])
    return name
