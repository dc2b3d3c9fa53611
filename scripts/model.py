"""Rule `model`: write a model directory whose weights the engine makes up."""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml
from benchbook.prepare import model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="name of a file in config/models/")
    parser.add_argument("--model", type=Path, required=True, help="config.json in the folder to write")
    given = parser.parse_args()
    described = yaml.safe_load(Path(f"config/models/{given.name}.yaml").read_text(encoding="utf-8"))
    model.write(described["config"], given.model.parent)


if __name__ == "__main__":
    main()
