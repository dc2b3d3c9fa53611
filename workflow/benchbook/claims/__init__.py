"""From tables of runs to what may be said of them (columns in benchbook.columns.claims). No file is opened here.

usable           which runs enter a claim          byte_floor     the least a decode step can take
declared         what was expected beforehand      steps          the decode step of every run
repeatability    spread, and its registry `noise`  anomalies      what is odd, with the evidence
comparisons      arms against each other           occupancy      busy and idle time of a decode step
fixed_cost       the decode step's fixed cost      elimination    which causes can be ruled out
toll             its share at each concurrency     cost           dollars and joules
model_bytes      bytes that a step reads           memory         what fits into a GPU
verdicts         the level of every claim          hypotheses     what was expected, judged
next_experiments what to run next

What they share: sides and estimators (two sides of a comparison, and which interval its design allows), levels (the
rules of the verdicts alone), sentences and remedies (their words), behind (the runs behind a claim), reach (boots that
an effect needs), timings (what an experiment would take), layout (how a server spreads over GPUs), records (rows
without pandas' nulls), price, busy and step_floor (the algebra of cost, occupancy and floor), estimate (a mean against
a bound), bill (where the hired time went), evidence (the points that show an anomaly), candidate with causes_on_gpus
and causes_beside_gpus (the tests of elimination).
"""
