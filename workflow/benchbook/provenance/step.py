"""A rule's script: its named inputs, parameters and outputs from the command line, and the sidecars it owes.

    with Step.from_command_line(inputs=["manifest"], params=["raw"], outputs=["boot"]) as step:
        ...                                     # read step.file("manifest"), write step.output("boot")

A BenchbookError inside is printed as its one sentence and ends the script with its exit code. When the body ends well,
each output gets its sidecar.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from benchbook.errors import BenchbookError
from benchbook.measure.store import USABLE
from benchbook.provenance import code, sidecar


class Step:
    """What Snakemake handed to one run of a script, which is named after its rule; see the module's docstring."""

    def __init__(
        self, script: Path, inputs: dict[str, list[Path]], params: dict[str, str], outputs: dict[str, Path]
    ):
        self.rule = script.stem
        self._script = script
        self._inputs = inputs
        self._params = params
        self._outputs = outputs

    @classmethod
    def from_command_line(
        cls, *, inputs: Sequence[str] = (), params: Sequence[str] = (), outputs: Sequence[str] = (),
        argv: Sequence[str] | None = None,
    ) -> Step:  # fmt: skip
        parser = argparse.ArgumentParser(description=f"Script of a rule; see {Path(sys.argv[0]).name}.")
        for name in inputs:
            parser.add_argument(f"--{name}", nargs="*", required=True, type=Path)
        for name in params:
            parser.add_argument(f"--{name}", required=True)
        for name in outputs:
            parser.add_argument(f"--{name}", required=True, type=Path)
        given = vars(parser.parse_args(argv))
        return cls(
            Path(sys.argv[0]),
            {name: given[name.replace("-", "_")] for name in inputs},
            {name: given[name.replace("-", "_")] for name in params},
            {name: given[name.replace("-", "_")] for name in outputs},
        )  # fmt: skip

    def files(self, name: str) -> list[Path]:
        return self._inputs[name]

    def file(self, name: str) -> Path:
        (path,) = self._inputs[name]
        return path

    def param(self, name: str) -> str:
        return self._params[name]

    def output(self, name: str) -> Path:
        path = self._outputs[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def __enter__(self) -> Step:
        try:
            for path in (path for paths in self._inputs.values() for path in paths):
                sidecar.check(path)
        except BenchbookError as error:
            self.__exit__(BenchbookError, error, None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, BenchbookError):
            print(f"{self.rule}: {error}", file=sys.stderr)
            sys.exit(error.exit_code)
        if error is None:
            self._document()

    def _document(self) -> None:
        inputs = [path for paths in self._inputs.values() for path in paths]
        run_ids = {run for path in inputs for run in _runs_of(path)}
        hashes = code.fingerprint(code.closure(self._script), Path.cwd())
        for output in self._outputs.values():
            sidecar.write(
                output, rule=self.rule, script=str(self._script), params=self._params, inputs=inputs, code=hashes,
                code_fingerprint=code.combined(hashes), run_ids=run_ids,
            )  # fmt: skip


def _runs_of(path: Path) -> list[str]:
    """Run ids behind an input: a session manifest lists its own, everything else inherits them."""
    if sidecar.path_of(path).exists():
        return list(sidecar.read(path)["run_ids"])
    if path.suffix == ".json":
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return [
            f"{session['session']}/{Path(file).parts[1]}"
            for session in manifest.get("sessions", [])
            if session["status"] in USABLE
            for file in session["files"]
            if file.startswith("runs/") and file.endswith("/record.json")
        ]
    return []
