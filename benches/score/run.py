#!/usr/bin/env python3
"""Measures `proctor score`: JSON Lines of three sizes, and 10,000 files beside `cat`.

Runs of about 1 KB with three checks each, the same each time. Needs Linux and a release build:
    cargo build --release && benches/score/run.py
Goals on two idle cores: 100,000 lines in less than 2 s and 100 MB, memory that does not grow with
the number of runs, and 10,000 files within twice the time of `cat`.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCTOR = Path(__file__).parents[2] / "target/release/proctor"
CITIES = ["Lisbon", "Berlin", "Porto", "Madrid", "Oslo"]
WORDS = "the user moved last spring and works as a teacher near the river with old friends".split()
CATEGORIES = ["forgetting", "chronology", "entity-confusion"]


def runs(count):
    dice = random.Random(7)
    text = lambda words: " ".join(dice.choices(WORDS, k=words))
    for number in range(count):
        memory = [{"t": f"2026-0{month}-11", "fact": text(9)} for month in range(1, 7)]
        expected = {
            "mustContain": [dice.choice(CITIES)],
            "mustNotContain": ["Helsinki", "Rome"],
            "attributedTo": "Alice",
        }
        fixture = {
            "id": f"fixture-{number:07}",
            "category": CATEGORIES[number % 3],
            "kind": "positive",
            "query": "What city does the user currently live in, and with whom?",
            "memory": memory,
            "expected": expected,
        }
        answer = f"{text(24)} in {dice.choice(CITIES)}."
        actual = {"answer": answer, "entity": "alice"}
        yield json.dumps({"contractVersion": "1", "fixture": fixture, "actual": actual})


def measure(what, command, output):
    """The best of three rounds by wall time."""
    rounds = []
    for _ in range(3):
        with open(output, "wb") as out:
            start = time.monotonic()
            child = subprocess.Popen(command, stdout=out, shell=isinstance(command, str))
            _, _, usage = os.wait4(child.pid, 0)
            rounds.append((time.monotonic() - start, usage))
    wall, usage = min(rounds, key=lambda one: one[0])
    print(
        f"| {what} | {wall:.2f} | {usage.ru_utime:.2f} | {usage.ru_stime:.2f} "
        f"| {usage.ru_maxrss / 1024:.0f} |",
        flush=True,
    )


def main():
    if not PROCTOR.exists():
        sys.exit(f"{PROCTOR} is missing: cargo build --release")
    print("| what | wall s | user s | system s | peak MB |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        report = folder / "report.json"
        for count in [10_000, 100_000, 300_000]:
            lines = folder / "runs.jsonl"
            with lines.open("w") as out:
                out.writelines(run + "\n" for run in runs(count))
            size = lines.stat().st_size / 1e6
            measure(f"{count:,} lines, {size:.0f} MB", [PROCTOR, "score", lines], report)
            if count == 100_000:
                one = [PROCTOR, "score", "--jobs", "1", lines]
                measure(f"{count:,} lines, one worker", one, report)
            lines.unlink()
        files = folder / "files"
        files.mkdir()
        for number, run in enumerate(runs(10_000)):
            (files / f"{number:05}.json").write_text(run)
        measure("10,000 files", [PROCTOR, "score", files], report)
        measure("`cat` of the same files", f"exec cat {files}/*", report)


main()
