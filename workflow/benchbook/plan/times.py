"""Boot, wave and reading of a booking: from earlier sessions, else from defaults that are said to be such."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from benchbook.claims.model_bytes import GB, SizesNotTold, model_bytes
from benchbook.claims.step_floor import coverage, floor_ms, per_gpu, step_bytes
from benchbook.config.records import Arm, Booking
from benchbook.measure.warmup import Converged
from benchbook.plan.earlier import Earlier, lengths
from benchbook.plan.estimate import Estimate

# vLLM 0.26, 4B and 30B models on one H200: 147 to 251 s cold, 125 s warm; vLLM 0.32 on two CPU cores: 27 to 80 s.
BOOT_S = {("gpu", True): (120, 240, 420), ("gpu", False): (45, 120, 240),
          ("cpu", True): (25, 60, 180), ("cpu", False): (20, 50, 150)}  # fmt: skip
BESIDE_S = (1.0, 6.0, 30.0)
GAP_S = (0.05, 0.7, 3.0)
STEP_OVER_FLOOR = (1.1, 2.0, 6.0)  # 1.2 to 4 were measured on an H200
CPU_TB_S = 0.02
CPU_STEP = ((1.0, 1.0), (3.0, 2.0), (10.0, 8.0))  # ms, and so many times the byte floor
STEP_UNKNOWN_MS = (3.0, 30.0, 200.0)
PREFILL_TOK_S = 20_000.0
MEASURED, BETWEEN, BEYOND, OTHER_LENGTHS = 0.05, 0.15, 0.3, 0.3
RERUN_SHARE = 0.12  # docs/method.md 2: how often a server that is warm fails the gate by chance


@dataclass(frozen=True)
class Times:
    """What is known beforehand of `booking`; `seen`: earlier sessions, oldest first."""

    booking: Booking
    seen: Sequence[Earlier]

    def boot(self, arm: Arm) -> Estimate:
        cold = self.booking.schedule.cold_boot
        found = [item for item in self.seen if item.boot_s is not None and (item.recorded or item.cold_boot == cold)]
        mine = [item for item in found if item.arm == arm.name and item.booking == self.booking.id] or found
        if not mine:
            place = "gpu" if self.booking.node.gpus else "cpu"
            kind = "cold" if cold else "warm"
            return Estimate(*BOOT_S[place, cold], f"a default for a {kind} boot on a {place.upper()}")
        seconds = [item.boot_s for item in mine if item.boot_s is not None]
        return Estimate(0.8 * min(seconds), mean(seconds), 1.4 * max(seconds), _named(mine))

    def beside(self) -> Estimate:
        """Client start and teardown."""
        found = [item for item in self.seen if not item.recorded]
        if not found:
            return Estimate(*BESIDE_S, "a default")
        return Estimate.around(mean(item.beside_s for item in found), 0.5, _named(found))

    def gap(self) -> Estimate:
        """Between two tasks of the load client."""
        found = [item for item in self.seen if item.gap_s is not None]
        if not found:
            return Estimate(*GAP_S, "a default")
        return Estimate.around(mean(item.gap_s for item in found if item.gap_s is not None), 0.5, _named(found))

    def wave(self, concurrency: int, arm: str) -> Estimate:
        """As many requests as are in flight, from the first one sent to the last one back. Where this booking's `arm`
        has been measured, it alone counts: arms are there to differ."""
        wanted = lengths(self.booking.workload.content)
        same = [item for item in self.seen if item.lengths == wanted and item.wave_s]
        own = [item for item in same if (item.booking, item.arm) == (self.booking.id, arm)]
        if same:
            return _at(concurrency, own or same, 1.0, 0.0)
        scaled = [(item, _longer(item.lengths, wanted)) for item in self.seen if item.wave_s]
        usable = [(item, times) for item, times in scaled if times is not None]
        if usable:
            item, times = usable[-1]
            return _at(concurrency, [item], times, OTHER_LENGTHS)
        return self._default_wave(concurrency)

    def readings(self, concurrency: int) -> tuple[int, float, int]:
        """Waves of warmup: the rule's least, expected, and the most."""
        rule, most = self.booking.warmup.limits, self.booking.warmup.max_readings
        least = min(max(rule.min_readings, 5 if isinstance(rule, Converged) else 2), most)
        took = [item.readings[concurrency] for item in self.seen
                if not item.recorded and concurrency in item.readings]  # fmt: skip
        expected = mean(took) if took else least + 1
        return least, min(max(expected, least), most), most

    def rerun_share(self) -> tuple[float, str]:
        """How often the runs of a concurrency are measured once more, and where that comes from."""
        if not isinstance(self.booking.warmup.limits, Converged):
            return 0.0, "the warmup rule has no gate"
        gated = sum(item.gated for item in self.seen if not item.recorded)
        if not gated:
            return RERUN_SHARE, "docs/method.md 2: a warm server fails the gate by chance"
        again = sum(item.reruns for item in self.seen if not item.recorded)
        return (again + RERUN_SHARE) / (gated + 1), f"{again} of {gated} concurrencies of earlier sessions"

    def _default_wave(self, concurrency: int) -> Estimate:
        content = self.booking.workload.content
        prompt, answer = (_mean_length(content.get(name)) for name in ("input_tokens", "output_tokens"))
        if answer is None:
            answer, prompt = 256.0, prompt or 256.0
        prefill_s = concurrency * (prompt or 0.0) / PREFILL_TOK_S
        low, expected, high, source = self._default_step(concurrency)
        low, expected, high = (prefill_s + answer * step / 1000 for step in (low, expected, high))
        return Estimate(low, expected, high, source)

    def _default_step(self, concurrency: int) -> tuple[float, float, float, str]:
        """Milliseconds of a decode step, low, expected and high, and where they come from."""
        node, gigabytes = self.booking.node, self._gigabytes(concurrency)
        if gigabytes is None or (node.gpus and node.memory_bandwidth_tb_s is None):
            return *STEP_UNKNOWN_MS, "a default that knows nothing of model and node: 3 to 200 ms a step"
        if not node.gpus:
            floor = floor_ms(gigabytes, CPU_TB_S)
            low, expected, high = (fixed + times * floor for fixed, times in CPU_STEP)
            return low, expected, high, f"a default: about {expected:.2g} ms a step of this model on a CPU"
        assert node.memory_bandwidth_tb_s is not None
        floor = floor_ms(per_gpu(gigabytes, node.gpus), node.memory_bandwidth_tb_s)
        low, expected, high = (floor * times for times in STEP_OVER_FLOOR)
        return low, expected, high, f"a default: {STEP_OVER_FLOOR[1]:g} times the byte floor of {floor:.3g} ms a step"

    def _gigabytes(self, concurrency: int) -> float | None:
        """What a step reads of the weights; None where the model does not say."""
        model, config = self.booking.model, self.booking.model.config
        told = {"name": model.name, "sizes": dict(model.sizes), "config": None if config is None else dict(config)}
        try:
            found = model_bytes(told, self.booking.arms[0].server_args)
        except SizesNotTold:
            return None
        share = coverage(found.experts_per_token, found.experts, concurrency) if found.routed else 0.0
        return step_bytes(found.dense, found.routed, share) / GB


def _at(concurrency: int, seen: Sequence[Earlier], times: float, wider: float) -> Estimate:
    """A wave at `concurrency` from sessions that measured there, else on a line through the nearest two in logarithms;
    `times` as long, because its answers are."""
    there = [item for item in seen if concurrency in item.wave_s]
    if there:
        seconds = [item.wave_s[concurrency] for item in there]
        spread = max(MEASURED, (max(seconds) - min(seconds)) / mean(seconds)) + wider
        return Estimate.around(times * mean(seconds), min(spread, 0.9), _named(there) + _scaled(times))
    curve: dict[int, float] = {}
    for item in seen:
        curve |= item.wave_s
    seconds_there, kind, spread = _on_line(concurrency, curve)
    return Estimate.around(times * seconds_there, spread + wider, f"{kind}, {_named(seen)}{_scaled(times)}")


def _on_line(concurrency: int, curve: Mapping[int, float]) -> tuple[float, str, float]:
    levels = sorted(curve)
    if len(levels) == 1:
        return curve[levels[0]], f"as at concurrency {levels[0]}", 2 * BEYOND
    inside = levels[0] <= concurrency <= levels[-1]
    above = next((place for place, level in enumerate(levels) if level >= concurrency), len(levels) - 1)
    low, high = levels[max(above, 1) - 1], levels[max(above, 1)]
    slope = math.log(curve[high] / curve[low]) / math.log(high / low)
    seconds = curve[low] * (concurrency / low) ** slope
    kind = "between" if inside else "beyond"
    return seconds, f"{kind} concurrency {low} and {high}", BETWEEN if inside else BEYOND


def _longer(had: tuple[object, object], wanted: tuple[object, object]) -> float | None:
    """How many times as long a wave takes with the wanted lengths: decoding counts, by output tokens."""
    before, now = _mean_length(had[1]), _mean_length(wanted[1])
    return now / before if before and now else None


def _mean_length(length: object) -> float | None:
    """A length, or about the middle of a distribution of lengths; None for a kind without."""
    if isinstance(length, int | float):
        return float(length)
    if isinstance(length, Mapping):
        known = [float(length[name]) for name in ("mean", "median") if name in length]
        return known[0] if known else mean([float(length["min"]), float(length["max"])])
    return None


def _scaled(times: float) -> str:
    return "" if times == 1 else f", times {times:.3g} for the answers' length"


def _named(seen: Sequence[Earlier]) -> str:
    last = seen[-1]
    more = f" and {len(seen) - 1} before it" if len(seen) > 1 else ""
    return f"session {last.session} of {last.booking}{more}"
