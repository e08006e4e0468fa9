#!/usr/bin/env python3
"""Measures `proctor experiment validate` and `variants` on an experiment of 10,000 variants.

Needs Linux and a release build:
    cargo build --release && benches/experiments/variants.py
Goal: resolving in less than 300 ms, the program's start and the printing of 10,000 rows included.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCTOR = Path(os.environ.get("PROCTOR", Path(__file__).parents[2] / "target/release/proctor"))
VARIANTS = 10_000


def block(indent, lines):
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def experiment():
    """2 agents x 5 models each x 10 prompts x 10 environments x 10 products, scripts of real length."""
    text = "schema_version: 2\nid: large\nname: Large\nagents: [claude, codex]\nmodels:\n"
    for model in range(5):
        text += f"  - claude-sonnet-{model}\n  - {{name: gpt-5.{model}, effort: medium}}\n"
    text += "prompts:\n"
    for prompt in range(10):
        text += f"  - id: prompt-{prompt}\n    prompt: |\n"
        text += block(6, [f"Line {n}: connect, write one row, say what you did." for n in range(20)])
    for axis in ["environment", "product"]:
        text += f"{axis}s:\n"
        for number in range(10):
            text += f"  - name: {axis}-{number}\n    setup:\n      - name: prepare\n        script: |\n"
            text += block(10, [f"install --mode=0755 tool-{n} /usr/local/bin/" for n in range(20)])
            text += f"        files: [{{name: data, source: data, dest: {axis}/{number}}}]\n"
    text += "tests:\n"
    for test in range(15):
        text += f"  - name: test-{test}\n    script: |\n      python3 - <<'PY'\n"
        text += block(6, [f"value_{n} = json.load(open('/workspace/result.json'))['k{n}']" for n in range(150)])
        text += "      PY\n"
    return text + "limits:\n  max_time_seconds: 300\n"


def measure(root, arguments):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([PROCTOR, "experiment", *arguments], cwd=root, capture_output=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{arguments}: exit {done.returncode}\n{done.stderr.decode()[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "large.yaml").write_text(experiment())
        (root / "data").mkdir()
        for number in range(20):
            (root / f"data/{number}.txt").write_text("A line of data.\n" * 100)
        for arguments in [["validate", "large.yaml"], ["variants", "large.yaml", "--format", "json"]]:
            runs = sorted(measure(root, arguments) for _ in range(5))
            wall, cpu, out = runs[2]
            print(f"{arguments[0]:10} {wall * 1000:6.0f} ms wall {cpu * 1000:6.0f} ms CPU  (median of 5)")
        assert len(json.loads(out)) == VARIANTS


main()
