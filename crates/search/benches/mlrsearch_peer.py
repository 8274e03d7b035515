"""Runs the MLRsearch library on the simulated reference paths and prints JSON.

The path model is the one of crates/testkit/src/sut.rs; only the random numbers differ.
Usage: mlrsearch_peer.py SEEDS
"""

import importlib.metadata
import json
import random
import statistics
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

CAPACITY = 1e6
OVERHEAD_S = 0.5
PATHS = {
    "clean": (1e-9, 1e-9, 1024.0),
    "rare": (0.05, 1e-3, 1024.0),
    "lambda1": (1.0, 0.5e-3, 1024.0),
    "lambda5": (5.0, 0.2e-3, 256.0),
}
GOALS = {
    "quick": dict(loss_ratio=0.0001, exceed_ratio=0.5, relative_width=0.02, final_trial_duration=1.0, duration_sum=5.0),
    "std": dict(loss_ratio=0.0001, exceed_ratio=0.5, relative_width=0.01, final_trial_duration=1.0, duration_sum=11.0),
    "csit": dict(loss_ratio=0.0001, exceed_ratio=0.5, relative_width=0.005, final_trial_duration=1.0, duration_sum=21.0),
    "rfc2544": dict(loss_ratio=0.0, exceed_ratio=0.0, relative_width=0.01, final_trial_duration=60.0, duration_sum=60.0),
}
# Several goals in one search: the strictest alone, then three of them.
STRICT = [0.0]
THREE = [0.0, 0.0001, 0.005]
SEVERAL = {f"{name} {len(losses)} goals": (GOALS[name], losses) for name in ("std", "csit") for losses in (STRICT, THREE)}


class Path(AbstractMeasurer):
    """A fluid queue that stands still now and then."""

    def __init__(self, path, seed):
        self.rate, self.stall, self.ring = path
        self.rng = random.Random(seed)
        self.trials = 0
        self.wall = 0.0

    def measure(self, intended_duration, intended_load):
        self.trials += 1
        self.wall += intended_duration + OVERHEAD_S
        now = queued = lost = 0.0
        while now < intended_duration:
            for length, rate in (
                (self.rng.expovariate(self.rate), intended_load - CAPACITY),
                (self.rng.expovariate(1.0 / self.stall), intended_load),
            ):
                time = min(length, intended_duration - now)
                level = queued + rate * time
                lost += max(0.0, level - self.ring)
                queued = min(max(level, 0.0), self.ring)
                now += time
        sent = round(intended_load * intended_duration)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            loss_count=min(sent, round(lost)),
        )


def main():
    seeds = int(sys.argv[1])
    answer = {}
    try:
        answer["version"] = importlib.metadata.version("MLRsearch")
    except importlib.metadata.PackageNotFoundError:
        answer["version"] = "unknown"
    wanted = {name: (goal, [goal["loss_ratio"]]) for name, goal in GOALS.items()} | SEVERAL
    for goal_name, (goal, losses) in wanted.items():
        for path_name, path in PATHS.items():
            trials, walls, results = [], [], []
            for seed in range(seeds):
                config = Config()
                config.goals = [
                    SearchGoal(
                        initial_trial_duration=1.0,
                        preceding_targets=2,
                        expansion_coefficient=2,
                        fail_fast=True,
                        **{**goal, "loss_ratio": loss},
                    )
                    for loss in losses
                ]
                config.min_load = 9001.0
                config.max_load = 14880952.0
                config.search_duration_max = 1200.0
                config.warmup_duration = None
                measurer = Path(path, seed)
                search = MultipleLossRatioSearch(config=config)
                found = search.search(measurer=measurer, debug=lambda _: None)
                trials.append(measurer.trials)
                walls.append(measurer.wall)
                results.append(float(next(iter(found.values())).conditional_throughput))
            answer[f"{goal_name}/{path_name}"] = {
                "trials": statistics.mean(trials),
                "wall_s": statistics.mean(walls),
                "throughput_fps": statistics.mean(results),
                "relative_sd": statistics.stdev(results) / statistics.mean(results),
            }
    print(json.dumps(answer))


main()
