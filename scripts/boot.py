"""Rule `boot`: each session's server log to facts, or to the reason it failed."""

from __future__ import annotations

import json
from pathlib import Path

from benchbook import rawdata
from benchbook.derive import boot
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["manifest"], params=["raw"], outputs=["boot"]) as step:
        sessions = rawdata.sessions(read_json(step.file("manifest")), Path(step.param("raw")))
        step.output("boot").write_text(json.dumps(boot.facts(sessions), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
