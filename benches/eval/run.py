#!/usr/bin/env python3
"""Measures `proctor eval` on 500 skills with 5,000 cases: lint, dry run, and a fully cached run.

The runner of the first run answers at once what every case expects, so that everything is kept and
the next run has nothing to do. Needs Linux and a release build:
    cargo build --release && benches/eval/run.py
Goals: planning and linting in less than 500 ms, a fully cached run in less than 300 ms.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCTOR = Path(os.environ.get("PROCTOR", Path(__file__).parents[2] / "target/release/proctor"))
SKILLS, CASES = 500, 10
RUNNER = """import json, sys
request = json.load(sys.stdin)
results = [{"case": c["id"], "arm": "with", "triggered": c["expect_trigger"], "output": "done",
            "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.0001} for c in request["cases"]]
json.dump({"version": 1, "results": results}, sys.stdout)
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def lay_out(root):
    write(root / "runner.py", RUNNER)
    for number in range(SKILLS):
        skill = root / f".ai-rulez/skills/skill-{number:03}"
        description = f"Does thing number {number} when asked to."
        body = f"# Skill {number}\n\n" + "Take one step after the other.\n" * 40
        write(skill / "SKILL.md", f"---\nname: skill-{number:03}\ndescription: {description}\n---\n{body}")
        cases = "".join(
            f"  - id: case-{case}\n    prompt: Please do thing {case} of {number}.\n"
            f"    expect_trigger: {'true' if case % 2 else 'false'}\n"
            for case in range(CASES)
        )
        write(skill / "evals/all.eval.yaml", f"schema_version: 1\ncases:\n{cases}")


def measure(root, name, arguments):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"XDG_CONFIG_HOME": str(root / "config")}
    done = subprocess.run([PROCTOR, "eval", *arguments], cwd=root, env=environment,
                          capture_output=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{name}: exit {done.returncode}\n{done.stderr.decode()[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:24} {wall:7.3f} s wall {cpu:7.3f} s CPU")
    return done.stdout.decode()


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay_out(root)
        run = ["run", "--runner-command", f"{sys.executable} runner.py"]
        measure(root, "lint", ["lint"])
        measure(root, "dry run", [*run, "--dry-run"])
        measure(root, "first run", run)
        for _ in range(3):
            report = measure(root, "fully cached run", run)
            if report.count("cached, passing") != SKILLS:
                sys.exit("not everything was cached")


if __name__ == "__main__":
    main()
