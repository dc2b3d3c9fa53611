"""The colours of the figures: enough contrast, apart for every eye and in grey, none outside the palette.

Contrast is WCAG 2.1's ratio of relative luminances. Colour blindness is simulated after Machado, Oliveira and
Fernandes, A physiologically-based model for simulation of color vision deficiency, IEEE TVCG 15(6), 2009, severity 1.0,
on linear sRGB. Distance is CIEDE2000 (Sharma, Wu and Dalal, Color Res. Appl. 30, 2005) over CIELAB at D65.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import frames
import numpy as np
import pytest
import test_figure_anomalies
import test_figures
from benchbook import schema
from benchbook.present import figure_anomalies, figure_comparisons, figure_sweep, figure_telemetry, palette, svg
from benchbook.present.levels import LEVELS
from numpy.typing import NDArray

Vector = NDArray[np.float64]
EYES = {
    "full sight": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                [0.0193339, 0.1191920, 0.9503041]])
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
GRAPHICS, TEXT = 3.0, 4.5
ARMS_APART, PHASES_APART, GREYS_APART = 16.0, 16.0, 15.0
GROUNDS = {"light": palette.PAPER, "dark": palette.DARK[palette.PAPER]}
DRAWN = {*palette.COLOURS, *palette.PHASES.values(), *palette.SAMPLED.values(), palette.MUTED, palette.INK, palette.BAD,
         palette.CLAIMED, palette.USUAL, palette.ODD}  # fmt: skip
SOFT = {palette.PAPER, palette.RULE, palette.MARGIN, palette.BAD_SOFT}
HEX = re.compile(r"#[0-9a-fA-F]{3,8}\b")
SVG = "{http://www.w3.org/2000/svg}"
LEVEL_NAMES = [level.name for level in LEVELS]
SOURCES = sorted(Path(palette.__file__).parent.glob("*.py"))


def linear(colour: str) -> Vector:
    """Red, green, blue in linear light, 0 to 1 (IEC 61966-2-1)."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(float(linear(colour) @ LUMINANCE) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def lab(colour: str, eye: str = "full sight") -> Vector:
    """CIELAB of what `eye` sees of `colour`."""
    seen = np.clip(np.array(EYES[eye]) @ linear(colour), 0, 1)
    part = XYZ @ seen / XYZ.sum(axis=1)
    x, y, z = np.where(part > (6 / 29) ** 3, np.cbrt(part), part / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one: Vector, other: Vector) -> float:
    """CIEDE2000 of two CIELAB colours, with unit weights."""
    chroma = (np.hypot(*one[1:]) + np.hypot(*other[1:])) / 2
    stretch = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    (a1, b1), (a2, b2) = one[1:] * (stretch, 1), other[1:] * (stretch, 1)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (one[0] + other[0]) / 2, (c1 + c2) / 2
    cosines = [np.cos(np.radians(n * hue + shift)) for n, shift in ((1, -30), (2, 0), (3, 6), (4, -63))]
    t = 1 + np.array([-0.17, 0.24, 0.32, -0.20]) @ cosines
    dl = (other[0] - one[0]) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(
        np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    return float(np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh))


def closest(colours: Iterable[str], eye: str) -> tuple[float, str, str]:
    return min((distance(lab(one, eye), lab(other, eye)), one, other) for one, other in combinations(colours, 2))


def in_mode(colours: Iterable[str], mode: str) -> list[str]:
    return [colour if mode == "light" else palette.DARK[colour] for colour in colours]


@pytest.mark.parametrize(("one", "other", "known"), [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0),
    ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
])  # fmt: skip
def test_the_distance_is_that_of_the_published_pairs(
    one: tuple[float, ...], other: tuple[float, ...], known: float
) -> None:
    assert distance(np.array(one), np.array(other)) == pytest.approx(known, abs=1e-4)


def test_the_measures_are_right_where_the_answer_is_known() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.005)
    assert lab("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    for eye in EYES:
        assert lab("#808080", eye) == pytest.approx(lab("#808080"), abs=0.01)
    # What the former palette was found wanting for.
    assert contrast("#e69f00", "#ffffff") == pytest.approx(2.25, abs=0.005)
    assert closest(("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1a1a1a"), "tritanopia")[0] < 11


@pytest.mark.parametrize("mode", GROUNDS)
def test_whatever_is_drawn_stands_out_from_the_ground(mode: str) -> None:
    ratios = {colour: contrast(colour, GROUNDS[mode]) for colour in in_mode(sorted(DRAWN), mode)}
    assert {colour: ratio for colour, ratio in ratios.items() if ratio < GRAPHICS} == {}
    for colour in in_mode((palette.INK, palette.MUTED, palette.BAD), mode):
        assert contrast(colour, GROUNDS[mode]) >= TEXT


@pytest.mark.parametrize("mode", GROUNDS)
def test_what_was_sampled_stands_out_from_the_shade_of_a_run(mode: str) -> None:
    run, shade = in_mode([palette.PHASES["run"]], mode)[0], figure_telemetry.RUN_SHADE
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (run, GROUNDS[mode])]
    mixed = [round(shade * over + (1 - shade) * under) for over, under in zip(*parts, strict=True)]
    ground = "#" + "".join(f"{part:02x}" for part in mixed)
    assert ground != GROUNDS[mode]
    assert min(contrast(colour, ground) for colour in in_mode(palette.SAMPLED.values(), mode)) >= GRAPHICS


def test_every_colour_has_a_dark_one_and_is_either_drawn_or_soft() -> None:
    assert set(palette.DARK) == DRAWN | SOFT
    assert len(set(palette.DARK.values())) == len(palette.DARK)
    assert all(colour == colour.lower() for colour in palette.DARK)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("mode", GROUNDS)
def test_arms_and_phases_stay_apart_for_every_eye(mode: str, eye: str) -> None:
    for colours, apart in ((palette.COLOURS, ARMS_APART), (palette.PHASES.values(), PHASES_APART)):
        nearest, one, other = closest(in_mode(colours, mode), eye)
        assert nearest >= apart, f"{one} and {other}"


@pytest.mark.parametrize("mode", GROUNDS)
def test_in_grey_neighbours_differ_in_lightness(mode: str) -> None:
    phases = palette.PHASES
    # A client that is there at once leaves the boot beside the warmup.
    for colours in (palette.COLOURS, tuple(phases.values()), (phases["boot"], phases["warmup"])):
        greys = [lab(colour)[0] for colour in in_mode(colours, mode)]
        assert min(abs(one - other) for one, other in pairwise(greys)) >= GREYS_APART


def test_what_grey_leaves_of_an_arm_is_its_own() -> None:
    styles = list(palette.arm_styles(f"arm {i}" for i in range(315)).values())
    assert len(set(styles)) == 315
    assert len({(style.marker, style.line) for style in styles[:45]}) == 45
    assert len({style.line for style in styles[:5]}) == 5


def test_dark_rules_name_every_colour_for_fill_and_stroke() -> None:
    rules = palette.dark_css()
    for light, dark in palette.DARK.items():
        for what in ("fill", "stroke"):
            assert f'[style*="{what}: {light}"] {{ {what}: {dark} !important; }}' in rules


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every figure, with all that it can draw: faults, failures, many arms, GPU, every level, no data."""
    out = tmp_path_factory.mktemp("drawn")
    found = {}
    full = frames.make(test_figures.SIX, gpu=True, repeats=1)
    full["warmup"]["late_work"] = full["warmup"]["stalls"] = 1
    full["steps"].loc[0, "regime"] = "requests waited"
    faulty = {**full, "fixed_cost": full["fixed_cost"].assign(refused="two concurrencies"),
              "warmup": full["warmup"].assign(verdict="UNWARMED", gate="failed"),
              "timeline": full["timeline"].assign(ok=False)}
    nothing = {table: schema.empty(table) for table in schema.TABLES} | {"samples": full["samples"].iloc[:0]}
    for name in test_figures.NAMES:
        for case, tables in (("full", full), ("faulty", faulty), ("nothing", nothing)):
            found[f"{name}, {case}"] = test_figures.draw(name, tables, out / f"{name}-{case}.svg")
    figure_anomalies.draw(*test_figure_anomalies.tables(), out / "anomalies.svg")
    found["anomalies"] = (out / "anomalies.svg").read_text(encoding="utf-8")
    of_arms = full["comparisons"].query("question == 'arms'").head(len(LEVEL_NAMES))
    levels = schema.empty("verdicts").reindex(range(len(of_arms)))
    levels = levels.assign(claim_id=of_arms["comparison_id"].to_numpy(), level=LEVEL_NAMES)
    figure_comparisons.draw(of_arms, levels, out / "levels.svg")
    found["levels"] = (out / "levels.svg").read_text(encoding="utf-8")
    assert palette.CLAIMED in found["levels"] and palette.BAD_SOFT in found["timeline, faulty"]
    return found


def silent_black(element: ElementTree.Element, paint: str | None = None) -> Iterator[str]:
    """Shapes that no one gave a fill, which SVG then fills black, whatever the page's ground."""
    style = element.get("style", "")
    if (said := re.search(r"fill(?:-opacity)?: ([^;]+)", style)) is not None:
        paint = said.group(1)
    if element.tag in (f"{SVG}defs", f"{SVG}clipPath"):
        return
    if element.tag in (f"{SVG}path", f"{SVG}use", f"{SVG}rect") and paint is None:
        yield ElementTree.tostring(element, encoding="unicode")[:200]
    for child in element:
        yield from silent_black(child, paint)


def test_no_figure_draws_a_colour_that_the_palette_has_not(drawings: dict[str, str]) -> None:
    for name, drawn in drawings.items():
        # Anchors (href="#...") and url(#...) are no colours.
        colours = {colour for style in re.findall(r'style="([^"]*)"', drawn)
                   for colour in HEX.findall(re.sub(r"url\([^)]*\)", "", style))}
        assert colours <= set(palette.DARK), name
        assert colours >= {palette.MUTED, palette.PAPER}, name
        assert list(silent_black(ElementTree.fromstring(drawn))) == [], name


def test_a_colour_of_ones_own_and_a_silent_black_would_be_found() -> None:
    shape = '<svg xmlns="http://www.w3.org/2000/svg"><g style="{}"><path d="M 0 0"/></g></svg>'
    assert len(list(silent_black(ElementTree.fromstring(shape.format("stroke: #24292f"))))) == 1
    assert list(silent_black(ElementTree.fromstring(shape.format("fill: #24292f")))) == []
    assert HEX.findall('color="#eef1f4"') == ["#eef1f4"]


def test_only_the_palette_names_a_colour_in_the_code() -> None:
    assert len(SOURCES) > 20
    named = {path.name: HEX.findall(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert named.pop("palette.py")
    assert {name: colours for name, colours in named.items() if colours} == {}
    words = re.compile(r"""colors?=["'](?!none)|["'](?:white|black|red|gr[ae]y|blue|green|orange)["']|["']C\d["']""")
    assert [path.name for path in SOURCES if words.search(path.read_text(encoding="utf-8"))] == []


def test_text_of_a_figure_is_seven_points_or_more(drawings: dict[str, str]) -> None:
    for name, drawn in drawings.items():
        sizes = [100 * float(size) for size in re.findall(r"scale\((0\.\d+) -", drawn)]
        assert sizes and min(sizes) >= 7, name


def test_each_arm_of_the_sweep_has_a_line_of_its_own(tmp_path: Path) -> None:
    tables = frames.make(test_figures.SIX[:5], failures=False, repeats=1)
    figure_sweep.draw(tables["sweep"], tables["runs"], tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    dashes = {}
    for colour in palette.COLOURS[:5]:
        styles = re.findall(rf'style="(fill: none;[^"]*stroke: {colour}[^"]*)"', drawn)
        dashes[colour] = {(re.search(r"dasharray: ([\d., ]+);", style) or ["", "solid"])[1] for style in styles}
    assert all(len(kinds) == 1 for kinds in dashes.values())
    assert len({kinds.copy().pop() for kinds in dashes.values()}) == 5


def test_in_the_page_no_marker_keeps_a_colour_out_of_reach(drawings: dict[str, str]) -> None:
    marked = 0
    for name, drawn in drawings.items():
        shown = str(svg.inline(drawn, "figure", "t", "d"))
        shapes = re.findall(r'<path id="figure-m[0-9a-f]+"[^>]*>', shown)
        assert not any("style=" in shape for shape in shapes), name
        assert 'style="--width: ' in shown, name
        uses = re.findall(r'<use xlink:href="#figure-m[0-9a-f]+"[^>]*>', shown)
        assert all("stroke: #" in use for use in uses), name
        marked += len(uses)
    assert marked > 100
