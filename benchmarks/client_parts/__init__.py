"""The parts of benchmarks/client.py: what each asks of the two clients, and what it finds."""
