"""What is particular to one serving engine: its command line, its log, its benchmark command.

`inside/` holds the files that run in an engine's own environment; nothing of Benchbook is importable there.
"""
