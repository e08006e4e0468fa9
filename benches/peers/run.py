#!/usr/bin/env python3
"""Scores the same recorded outputs with Proctor and with three other tools, and prints a table.

    cargo build --release && benches/peers/run.py [--sizes 1000,10000] [--rounds 3]

The other tools come from the package registries, at the versions below, into `target/peers`. Whole
processes are measured: user and system CPU seconds and the largest resident set of any of them. The
contestants take turns; the table has medians. How many runs each found to pass is in the table too,
since a fast wrong answer is worth nothing. Needs Python 3.11 or later, Node and GNU time.
"""

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import venv
from pathlib import Path

INSPECT, DEEPEVAL, PROMPTFOO, NODE = "0.3.285", "4.3.1", "0.121.20", "22"

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = ROOT / "target" / "peers"
PYTHON = PEERS / "python" / "bin"
NODE_BIN = PEERS / "node" / "node_modules" / ".bin"
PROCTOR = ROOT / "target" / "release" / "proctor"
TIME = "/usr/bin/time"
TASK = "inspect_task.py"


def install():
    """Installs what is not there yet, each in a folder of its own."""
    if not (PYTHON / "inspect").exists():
        venv.create(PEERS / "bootstrap", with_pip=True)
        # pip itself needs minutes to resolve these.
        subprocess.run([PEERS / "bootstrap/bin/pip", "install", "--quiet", "uv"], check=True)
        uv = PEERS / "bootstrap/bin/uv"
        subprocess.run([uv, "venv", "--quiet", PEERS / "python"], check=True)
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", PYTHON / "python"]
            + [f"inspect-ai=={INSPECT}", f"deepeval=={DEEPEVAL}"],
            check=True,
        )
    if not (NODE_BIN / "promptfoo").exists():
        (PEERS / "node").mkdir(parents=True, exist_ok=True)
        (PEERS / "node" / "package.json").write_text('{"private": true}')
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--silent"]
            + [f"node@{NODE}", f"promptfoo@{PROMPTFOO}"],
            cwd=PEERS / "node",
            check=True,
        )
    # A start that compiles everything first would be unfair.
    compileall.compile_dir(PEERS / "python" / "lib", quiet=2, workers=os.cpu_count() or 1)


def environment(work):
    """The same for all: a home of their own, nothing sent anywhere, no checks for updates."""
    return {
        "PATH": f"{NODE_BIN}:{PYTHON}:/usr/bin:/bin",
        "HOME": str(work / "home"),
        "LANG": "C.UTF-8",
        "PROMPTFOO_CONFIG_DIR": str(work / "promptfoo"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "DEEPEVAL_RESULTS_FOLDER": "",
        "INSPECT_LOG_LEVEL": "error",
    }


def measured(command, work, output, extra):
    """Runs a command to its end: exit code, wall, user and system seconds, peak memory in MB.

    GNU time starts it, since the peak of a child counts from its fork and Python is large itself.
    """
    figures = work / "figures"
    command = [TIME, "--quiet", "--format", "%x %e %U %S %M", "--output", figures, *command]
    with output.open("wb") as out, (work / "stderr").open("wb") as err:
        subprocess.run(
            command, cwd=work, env=environment(work) | extra, stdout=out, stderr=err,
            stdin=subprocess.DEVNULL, check=False,
        )
    code, wall, user, system, memory = figures.read_text().split()
    return {
        "exit": int(code),
        "wall": float(wall),
        "user": float(user),
        "system": float(system),
        "memory": int(memory) / 1024,
    }


def proctor_passed(work):
    # Only the head: the file is large and the counts come before the runs.
    with (work / "out").open(encoding="utf-8") as report:
        head = report.read(4096)
    return int(head.split('"pass":', 1)[1].split("\n", 1)[0].strip(" ,}"))


def promptfoo_passed(work):
    results = json.loads((work / "results.json").read_text(encoding="utf-8"))
    return results["results"]["stats"]["successes"]


def inspect_passed(work):
    """Asks inspect itself, outside of what is measured."""
    script = (
        "import sys; from inspect_ai.log import read_eval_log as read;"
        "log = read(sys.argv[1]);"
        "print(sum(all(s.value == 'C' for s in x.scores.values()) for x in log.samples))"
    )
    log = next((work / "logs").glob("*.eval"))
    command = [PYTHON / "python", "-c", script, log]
    printed = subprocess.run(command, env=environment(work), capture_output=True, check=True)
    return int(printed.stdout)


def deepeval_passed(work):
    lines = (work / "out").read_text(encoding="utf-8", errors="replace").splitlines()
    return int(next(line for line in lines if line.startswith("passed ")).split()[1])


def contestants(data):
    """Name, version, command, further environment, how to count the passes."""
    version = subprocess.run([PROCTOR, "--version"], capture_output=True, text=True, check=True)
    return [
        ("Proctor", version.stdout.split()[1], [PROCTOR, "score", data / "proctor.jsonl"], {},
         proctor_passed),
        ("deepeval", DEEPEVAL, [PYTHON / "python", HERE / "deepeval_run.py", data / "deepeval.jsonl"],
         {}, deepeval_passed),
        ("promptfoo", PROMPTFOO,
         [NODE_BIN / "promptfoo", "eval", "-c", data / "promptfoo.yaml", "--no-cache", "--no-table",
          "--no-progress-bar", "--no-share", "-o", "results.json"], {}, promptfoo_passed),
        ("inspect-ai", INSPECT,
         [PYTHON / "inspect", "eval", TASK, "--model", "mockllm/model",
          "--display", "none", "--log-dir", "logs"], {"RECORDED": str(data / "inspect.json")},
         inspect_passed),
    ]


def one_round(contestant, place):
    name, _, command, extra, count = contestant
    work = place / name.lower()
    shutil.rmtree(work, ignore_errors=True)
    (work / "home").mkdir(parents=True)
    # inspect takes relative paths only.
    shutil.copy(HERE / TASK, work)
    result = measured(command, work, work / "out", extra)
    try:
        result["passed"] = count(work)
    except (OSError, ValueError, KeyError, IndexError, StopIteration, subprocess.SubprocessError):
        result["passed"] = None
    shutil.rmtree(work / "promptfoo", ignore_errors=True)
    return result


def row(contestant, size, results):
    name, version = contestant[:2]
    keys = ("user", "system", "wall", "memory")
    user, system, wall, memory = (statistics.median(r[key] for r in results) for key in keys)
    passed, code = results[-1]["passed"], results[-1]["exit"]
    passed = "?" if passed is None else f"{passed:,}"
    return (
        f"| {size:,} | {name} | {version} | {user:.2f} | {system:.2f} | {wall:.2f} | {memory:.0f} "
        f"| {passed} | {code} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000", help="numbers of runs, with commas between")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each size")
    parser.add_argument("--only", help="names of contestants, with commas between")
    args = parser.parse_args()
    if not PROCTOR.exists():
        sys.exit(f"{PROCTOR} is missing: run `cargo build --release` first")
    install()
    print("| runs | tool | version | user s | system s | wall s | peak MB | pass | exit |")
    print("|---:|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for size in [int(size) for size in args.sizes.split(",")]:
        data = PEERS / "data" / str(size)
        subprocess.run([sys.executable, HERE / "make_data.py", str(size), data], check=True)
        field = contestants(data)
        if args.only:
            field = [c for c in field if c[0].lower() in args.only.lower().split(",")]
        results = {contestant[0]: [] for contestant in field}
        for _ in range(args.rounds):
            for contestant in field:
                results[contestant[0]].append(one_round(contestant, PEERS / "work"))
        for contestant in field:
            print(row(contestant, size, results[contestant[0]]), flush=True)


if __name__ == "__main__":
    main()
