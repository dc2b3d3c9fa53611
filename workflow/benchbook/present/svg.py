"""A figure's SVG made fit to stand inside the page: own ids, a title for screen readers, no rule that leaks out."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from markupsafe import Markup

_ROOT = re.compile(r"<svg\b([^>]*)>", re.DOTALL)
_WIDTH = re.compile(r'\swidth="([\d.]+)pt"')
_IDS = (
    (re.compile(r'(\sid=")([^"]+)(")'), r"\1{p}\2\3"),
    (re.compile(r'((?:xlink:)?href="#)([^"]+)(")'), r"\1{p}\2\3"),
    (re.compile(r"(url\(#)([^)]+)(\))"), r"\1{p}\2\3"),
)
_LEAKING_STYLE = re.compile(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>|<style[^>]*>.*?</style>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_OWN_STYLE = re.compile(r'(<path id="m[0-9a-f]+"[^>]*?) style="[^"]*"')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


def inline(svg: str, prefix: str, title: str, description: str) -> Markup:
    """`svg` as an element for HTML: ids prefixed with `prefix`, `<title>` and `<desc>`, role=img. The shape of a
    marker loses its style, which every use of it repeats, so that the page's rules for dark colours reach it. The
    width in points becomes `--width`, from which the style sheet keeps the text large enough to read.

    Raises ValueError when `svg` has no <svg> element. The drawing is the pipeline's own output and is trusted.
    """
    found = _ROOT.search(svg)
    if not found:
        raise ValueError(f"figure {prefix}: no <svg> element.")
    body = svg[found.end():]
    for pattern in (_LEAKING_STYLE, _METADATA, _COMMENT):
        body = pattern.sub("", body)
    body = _OWN_STYLE.sub(r"\1", body)
    attributes = found.group(1)
    for pattern, replacement in _IDS:
        body = pattern.sub(replacement.format(p=f"{prefix}-"), body)
        attributes = pattern.sub(replacement.format(p=f"{prefix}-"), attributes)
    width = _WIDTH.search(attributes)
    style = f' style="--width: {width.group(1)}"' if width else ""
    head = (
        f'<svg{attributes}{style} role="img" aria-labelledby="{prefix}-title {prefix}-desc" stroke-linejoin="round" '
        f'stroke-linecap="butt">\n<title id="{prefix}-title">{escape(title)}</title>\n'
        f'<desc id="{prefix}-desc">{escape(description)}</desc>'
    )
    return Markup(head + body.strip())
