#!/usr/bin/env python3
"""Runs 200 trivial agents, four at a time, in Proctor and in three other tools, and prints a table.

    cargo build --release && benches/peers/agents.py [--agents 200] [--rounds 3]

Every agent is one process that prints a line, every answer gets one check. Whole tools are measured,
from start to the written result: CPU seconds of all processes, the largest resident set of any of
them, and the files that are left. Proctor runs twice: as it does by default, each agent and each test
in a sandbox of its own, and without sandboxes, which is what the others do.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys

from run import (
    HERE, INSPECT, NODE_BIN, PEERS, PROCTOR, PROMPTFOO, PYTHON, environment, inspect_passed, install,
    measured,
)

AGENTV = "4.42.4"
INSPECT_TASK = "agents_inspect.py"
EXPERIMENT = """\
schema_version: 2
id: trivial
name: trivial agents
agents: [scripted]
prompts: [{id: say, prompt: Say ok.}]
tests:
  - name: said-ok
    script: |
      ax-run-query "$AX_RUN_ID" sql "SELECT payload FROM events WHERE kind = 'message'" | grep -q ok
limits: {max_time_seconds: 60}
"""
AGENT = "steps:\n  - say: ok\n"


def install_agentv():
    if not (NODE_BIN / "agentv").exists():
        command = ["npm", "install", "--no-audit", "--no-fund", "--silent", f"agentv@{AGENTV}"]
        subprocess.run(command, cwd=PEERS / "node", check=True)


def write_work(work, agents):
    """What each tool reads; all of it in one folder, which is not counted as left."""
    (work / "experiment.yaml").write_text(EXPERIMENT)
    (work / "agent.yaml").write_text(AGENT)
    (work / "agent.sh").write_text('printf "ok %s" "$1"\n')
    cases = [{"vars": {"a": f"case {i}"}, "assert": [{"type": "contains", "value": "ok"}]}
             for i in range(agents)]
    config = {"prompts": ["{{a}}"], "providers": ["exec: sh agent.sh"], "tests": cases}
    (work / "promptfoo.json").write_text(json.dumps(config))
    shutil.copy(HERE / INSPECT_TASK, work)
    (work / ".agentv").mkdir()
    target = {"name": "echoer", "provider": "cli", "command": "cp {PROMPT_FILE} {OUTPUT_FILE}",
              "grader_target": "echoer", "workers": 4}
    (work / ".agentv" / "targets.yaml").write_text(json.dumps({"targets": [target]}))
    tests = [{"id": f"c{i}", "input": f"ok {i}", "criteria": "ok",
              "assertions": [{"type": "contains", "value": "ok"}]} for i in range(agents)]
    suite = {"description": "trivial", "execution": {"target": "echoer"}, "tests": tests}
    (work / "suite.eval.yaml").write_text(json.dumps(suite))


def proctor_passed(work):
    report = json.loads((work / "out").read_text(encoding="utf-8"))
    return report["counts"]["passed"] if "counts" in report else report["total"]["passed"]


def promptfoo_passed(work):
    results = json.loads((work / "results.json").read_text(encoding="utf-8"))
    return results["results"]["stats"]["successes"]


def agentv_passed(work):
    lines = (work / "agentv" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return sum(json.loads(line)["score"] == 1 for line in lines)


def contestants(agents):
    """Name, version, command, how to count the passes."""
    version = subprocess.run([PROCTOR, "--version"], capture_output=True, text=True, check=True)
    ours = version.stdout.split()[1]
    run = [PROCTOR, "experiment", "run", "experiment.yaml", "--repeat", str(agents), "--jobs", "4",
           "--format", "json"]
    return [
        ("Proctor, in sandboxes", ours, run, proctor_passed),
        ("Proctor, without", ours, [*run, "--sandbox", "none", "--allow-unsandboxed"],
         proctor_passed),
        ("AgentV cli", AGENTV, [NODE_BIN / "agentv", "eval", "suite.eval.yaml", "--workers", "4",
                                "--output", "agentv"], agentv_passed),
        ("promptfoo exec", PROMPTFOO,
         [NODE_BIN / "promptfoo", "eval", "-c", "promptfoo.json", "-j", "4", "--no-cache",
          "--no-table", "--no-progress-bar", "--no-share", "-o", "results.json"], promptfoo_passed),
        ("inspect-ai subprocess", INSPECT,
         [PYTHON / "inspect", "eval", INSPECT_TASK, "--model", "mockllm/model", "--max-samples", "4",
          "--display", "none", "--log-dir", "logs"], inspect_passed),
    ]


def files_in(work):
    return {path for path in work.rglob("*") if not path.is_dir()}


def one_round(contestant, agents):
    name, _, command, count = contestant
    work = PEERS / "work" / name.split(",")[0].split()[0].lower()
    shutil.rmtree(work, ignore_errors=True)
    (work / "home").mkdir(parents=True)
    write_work(work, agents)
    before = files_in(work)
    result = measured(command, work, work / "out", {"AGENTS": str(agents)})
    # What the measuring itself leaves does not count.
    left = files_in(work) - before - {work / "out", work / "stderr", work / "figures"}
    result["files"] = len(left)
    result["bytes"] = sum(path.lstat().st_size for path in left)
    try:
        result["passed"] = count(work)
    except (OSError, ValueError, KeyError, IndexError, StopIteration, subprocess.SubprocessError):
        result["passed"] = None
    return result


def row(contestant, results):
    name, version = contestant[:2]
    keys = ("user", "system", "wall", "memory")
    user, system, wall, memory = (statistics.median(r[key] for r in results) for key in keys)
    last = results[-1]
    passed = "?" if last["passed"] is None else last["passed"]
    return (
        f"| {name} | {version} | {user:.2f} | {system:.2f} | {wall:.2f} | {memory:.0f} "
        f"| {last['files']:,} | {last['bytes'] / 1e6:.1f} | {passed} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if not PROCTOR.exists():
        sys.exit(f"{PROCTOR} is missing: run `cargo build --release` first")
    install()
    install_agentv()
    field = contestants(args.agents)
    results = {contestant[0]: [] for contestant in field}
    for _ in range(args.rounds):
        for contestant in field:
            results[contestant[0]].append(one_round(contestant, args.agents))
    print("| tool | version | user s | system s | wall s | peak MB | files | MB | pass |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for contestant in field:
        print(row(contestant, results[contestant[0]]), flush=True)


if __name__ == "__main__":
    main()
