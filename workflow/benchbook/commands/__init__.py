"""The subcommands of `benchbook`, one module each: `add` declares it, its `run` does it and returns the exit code.

They import what they need when they run, so that the command starts fast and `session` needs no pandas.
"""
