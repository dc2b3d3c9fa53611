"""Rule `compared_pdf`: the page over several bookings as a PDF."""

from __future__ import annotations

from benchbook.present import report
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["html"], outputs=["pdf"]) as step:
        report.write_pdf(step.file("html").read_text(encoding="utf-8"), step.output("pdf"))


if __name__ == "__main__":
    main()
