#!/usr/bin/env python3
"""What `ax-run-query` costs a test: whole processes, from within the sandbox of the test.

    cargo build --release && benches/query/in_a_test.py [--events 5000] [--rounds 5]

A scripted agent leaves a session of that many events. Its test asks three questions, twenty times
each, and starts `true` twenty times for comparison. Medians of the rounds, in milliseconds a process.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROCTOR = Path(os.environ.get("PROCTOR", ROOT / "target/release/proctor"))
TIMES = 20
ASK = 'ax-run-query "$AX_RUN_ID" sql "{}" > /dev/null'
COMMANDS = {
    "start `true`": "/bin/true",
    "count the events": ASK.format("SELECT count() AS c FROM events"),
    "count the calls of each tool": ASK.format(
        "SELECT tool_name, count() AS c FROM sd_current_tool_calls "
        "WHERE run_id = '$AX_RUN_ID' GROUP BY tool_name"),
    "search every payload": ASK.format(
        "SELECT countIf(positionCaseInsensitive(payload, 'agents.md') > 0) AS n FROM events "
        "WHERE run_id = '$AX_RUN_ID'"),
}
EXPERIMENT = """\
schema_version: 2
id: ask
name: what a question costs
agents: [scripted]
prompts: [{id: work, prompt: Work.}]
tests:
  - name: asks
    script_file: test.sh
limits: {max_time_seconds: 300}
"""


def lay_out(project, events):
    # A call of a tool leaves two events: the call and its result.
    steps = [f'  - say: "note {index}: the agent says what it has found and what it is about to do"'
             if index % 3 == 0 else f'  - write: {{ path: file-{index % 7}.txt, text: "{index}" }}'
             for index in range(events * 3 // 5)]
    (project / "agent.yaml").write_text("steps:\n" + "\n".join(steps) + "\n")
    script = ["set -e"]
    for name, command in COMMANDS.items():
        script += ["from=$(date +%s%N)", f"for i in $(seq {TIMES}); do {command}; done",
                   f'echo "$(( $(date +%s%N) - from )) {name.replace("`", "")}"']
    (project / "test.sh").write_text("\n".join(script) + "\n")
    (project / "ask.yaml").write_text(EXPERIMENT)


def one_round(events):
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder), events)
        done = subprocess.run([PROCTOR, "experiment", "run", "ask.yaml", "--format", "json"],
                              cwd=folder, capture_output=True, text=True, check=False)
        test = json.loads(done.stdout)["trials"][0]["tests"][0]
        assert test["status"] == "passed", test
        nanoseconds = [int(line.split()[0]) for line in test["stdout_tail"].splitlines()]
        return [took / TIMES / 1e6 for took in nanoseconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rounds = [one_round(args.events) for _ in range(args.rounds)]
    print("| what | ms a process | least |\n|---|---:|---:|")
    for index, name in enumerate(COMMANDS):
        took = [each[index] for each in rounds]
        print(f"| {name} | {statistics.median(took):.1f} | {min(took):.1f} |")


if __name__ == "__main__":
    main()
