"""python -m benchbook, for a node where the command is not installed."""

from benchbook.cli import main

if __name__ == "__main__":
    main()
