"""`benchbook plan`: what a booking will take, find and cost, before it is hired."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "plan",
        help="say what a booking will take and cost, what its comparisons can find, and what to cut",
        description="Reads config/bookings/BOOKING.yaml below the current folder and what earlier sessions on such a "
        "node took (results/). Exits 0 when it fits its budget or has none, 1 when it does not, 2 when it cannot be "
        "read.",
    )
    command.add_argument("booking", metavar="BOOKING", help="name of a file in config/bookings/")
    command.add_argument("--json", action="store_true", help="print the plan as JSON")
    command.add_argument("--draw", type=Path, metavar="DIR", help="also write plan.json and plan.svg into this folder")
    command.add_argument("--without", metavar="BOOKING", help="leave a booking's sessions out, to see how well it "
                         "would have been foretold")  # fmt: skip
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook import registry
    from benchbook.config.load import load_booking, load_registry
    from benchbook.plan import plan, text

    root = Path.cwd()
    booking = load_booking(root, given.booking)
    files = registry.earlier(root / load_registry(root), booking.node.kind, None, given.without or "")
    found = plan.of(booking, root, [registry.read(path) for path in files], given.without)
    told = json.dumps(found.to_json(), indent=1)
    print(told if given.json else "\n".join(text.lines(found)))
    if given.draw is not None:
        from benchbook.present import figure_plan

        given.draw.mkdir(parents=True, exist_ok=True)
        (given.draw / "plan.json").write_text(told + "\n", encoding="utf-8")
        figure_plan.draw(found.to_json()["sessions"], given.draw / "plan.svg")
    return 1 if found.fits is False else 0
