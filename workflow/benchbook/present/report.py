"""The report: one self-contained HTML page, and the same page as a PDF.

Equal input gives equal bytes: nothing here asks for the time, the machine or the user.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from benchbook.present import chapters, palette, trace_data
from benchbook.present.context import Arm, ReportInput, Threshold

REPORTS = Path(__file__).resolve().parents[3] / "reports"
__all__ = ["Arm", "ReportInput", "Threshold", "render", "write_pdf"]


def _environment(templates: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(text: object) -> Markup:
    """`text` escaped, with places where a long path or id may break."""
    return Markup(re.sub(r"([/_])", r"\1<wbr>", str(escape(text))))


def render(context: ReportInput, reports: Path = REPORTS) -> str:
    """The report as one HTML page. `reports` is the folder that holds templates/, style/ and script/; the page takes in
    every stylesheet and script of theirs, in the order of their names (report.css first, print.css last).

    Raises TableError when a table, a figure or a sidecar is missing.
    """
    return page("report.html.j2", reports, r=context, trace_data=trace_data.build(context), **chapters.build(context))


def page(template: str, reports: Path, **views: object) -> str:
    """A template of `reports` with the page's styles, its script and the policy that lets no other run."""
    style = _together(sorted((reports / "style").glob("*.css"), reverse=True)) + "\n" + Markup(palette.dark_css())
    script = _together(sorted((reports / "script").glob("*.js")))
    found = _environment(reports / "templates").get_template(template)
    return found.render(style=style, script=script, policy=_policy(script), **views)


def _policy(script: Markup) -> str:
    """The content security policy: nothing is fetched, and no script but this one runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
            "base-uri 'none'; form-action 'none'")  # fmt: skip


def _together(files: Iterable[Path]) -> Markup:
    return Markup("\n".join(path.read_text(encoding="utf-8").strip() for path in files))


def write_pdf(html: str, out: Path) -> None:
    """Write `html` as a paged PDF with bookmarks, whole or not at all. Fetches nothing: the page is self-contained."""
    import weasyprint

    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(out.name + ".part")
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols=("data",), fail_on_errors=True)
    weasyprint.HTML(string=html, url_fetcher=fetcher).write_pdf(partial, pdf_tags=True)
    os.replace(partial, out)
