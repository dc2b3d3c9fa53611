"""Statistics on plain arrays (method.md 4, 6 and 8): no table, no booking, no file."""
