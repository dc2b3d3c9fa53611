"""The part that needs the node and costs money. Imports the standard library, psutil and pynvml only.

session.py      one session: boot, warmup, runs in order, teardown
server.py       the server's process        client.py       the load client's process
guard.py        ends both when the session itself is gone
telemetry.py    samples while they run      gpu.py          NVML
store.py        the raw folder: written once, never changed
"""
