"""Rule `write_archive`: the tables beside the report, and the archive of all that the report rests on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchbook import masking
from benchbook.archive import tables, write
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["html", "pdf", "acceptance", "tables", "figures", "manifests"], params=["asked"], outputs=["archive"]
    ) as step:
        report = step.file("html").parent
        tables.publish(step.files("tables"), report / "tables")
        tables.publish(step.files("figures"), report / "figures")
        asked = write.Asked(**json.loads(step.param("asked")))
        told = write.write(Path.cwd(), asked, masking.this_machine())
        step.output("archive").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{report / told['archive']}: {told['size_bytes'] / 1e6:.1f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
