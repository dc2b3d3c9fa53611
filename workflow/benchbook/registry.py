"""The registry of noise: what every finished booking found of its node kind's spread, kept for the bookings after it.

    REGISTRY/node_kind=<kind>/<id of the booking's last session>_<booking>.parquet    table `noise` of that booking

A file is written once. A booking that was measured further has a later last session, hence another file, and only its
newest counts. The names tell all that choosing needs, so `earlier` reads no file.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook.errors import BenchbookError, StoreError
from benchbook.measure import store
from benchbook.provenance import sidecar

if TYPE_CHECKING:
    import pandas as pd

_NAME = re.compile(r"(?P<until>\d{8}-\d{6})_(?P<booking>.+)\.parquet")


def feed(noise_table: Path, registry: Path) -> Path | None:
    """Write the table `noise` of a finished booking into the registry; return its file there, None when the booking
    found no spread at all.

    Equal content again is no change. StoreError when the file is there with another content, or the booking's last
    session has no id of the usual form.
    """
    import pandas as pd

    from benchbook import schema

    noise = schema.check(pd.read_parquet(noise_table), "noise")
    if not (noise["repeat_df"] + noise["session_df"]).sum():
        return None
    about = noise.iloc[0]
    name = f"{about['measured_until']}_{about['booking']}.parquet"
    if not _NAME.fullmatch(name):
        raise StoreError(f"{noise_table}: {about['measured_until']!r} is no session id; measure the booking again.")
    path = _folder(registry, str(about["node_kind"])) / name
    if path.exists():
        if not read(path).equals(noise):
            raise StoreError(
                f"{path} holds another noise of the same sessions: a file of the registry is never overwritten. "
                "Move it away if the booking's runs are judged otherwise now (new thresholds, newer code)."
            )
        return path
    data = io.BytesIO()
    noise.to_parquet(data, index=False)
    store.write_whole(path, data.getvalue())
    return path


def feed_when_finished(results: Path, registry: Path) -> str | None:
    """What a pipeline that ended well does: feed the noise of a booking whose every run was measured and accepted.

    `results`: the booking's folder. Returns a line for the log when there is news, also when the registry refuses.
    """
    noise, acceptance, runs = (results / name for name in ("tables/noise.parquet", "acceptance.json",
                                                           "tables/runs.parquet"))  # fmt: skip
    if not all(path.exists() for path in (noise, acceptance, runs)):
        return None
    judged = [sidecar.read(path)["inputs"].get(str(runs)) for path in (noise, acceptance)]
    if judged != [store.sha256(runs)] * 2:
        return None
    before = set(registry.rglob("*.parquet"))
    try:
        path = feed(noise, registry)
    except BenchbookError as error:
        return str(error)
    return None if path is None or path in before else f"The noise of this booking is in {path}, for later ones."


def read(path: Path) -> pd.DataFrame:
    """The table `noise` in a file of the registry; its folder's name adds no column. StoreError where it is none, or of
    another booking than its name says, which would count that booking's noise twice."""
    import pandas as pd

    from benchbook import schema

    try:
        noise = schema.check(pd.read_parquet(path, partitioning=None), "noise")
    except (OSError, ValueError, BenchbookError) as error:
        raise StoreError(f"{path} is no table of noise ({error}). Move it out of the registry.") from error
    name = _NAME.fullmatch(path.name)
    if name and set(noise["booking"]) != {name["booking"]}:
        raise StoreError(f"{path} holds the noise of another booking than its name says: "
                         f"{', '.join(sorted(set(noise['booking'])))}. Move it out of the registry.")  # fmt: skip
    return noise


def earlier(registry: Path, node_kind: str, before: str | None, without: str) -> list[Path]:
    """The newest file of every booking but `without` among those whose last session is older than session `before`
    (None: of whatever age), by booking name. No file is opened."""
    newest: dict[str, Path] = {}
    for path in sorted(_folder(registry, node_kind).glob("*.parquet")):
        name = _NAME.fullmatch(path.name)
        if name and name["booking"] != without and (before is None or name["until"] < before):
            newest[name["booking"]] = path
    return [newest[booking] for booking in sorted(newest)]


def _folder(registry: Path, node_kind: str) -> Path:
    return registry / f"node_kind={node_kind}"
