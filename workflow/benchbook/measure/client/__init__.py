"""Our own load client: what every figure of a run rests on, so it must not bend what it measures.

A run's path: `workloads` makes the prompts, `endpoints` the bytes of every request, both before anything is timed;
`arrivals` says when each is due; `workers` forks the processes, in which `drive` keeps requests in flight over
`connection`s that do nothing with what arrives but note when; after the run `answer` reads the noted bytes, and
`result` writes them down in the form of `vllm bench serve --save-detailed` and more. `serve` takes a session's runs,
one a line.

The timer of a request starts just before its first byte is handed to the kernel, on a connection that is already made,
and stops when the read that brought a chunk returns. TTFT ends with the first chunk that carries output of any channel
(reasoning, answer, tool call), E2EL with the last. What a new connection takes is kept apart (`connect_s`), and latency
from schedule, which holds it and the wait for a free slot, starts when the request was due. All times are
time.perf_counter(), one clock for every process of a machine.

Standard library only; uvloop is used where it is installed, and the result says whether it was.
"""
