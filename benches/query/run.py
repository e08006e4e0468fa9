#!/usr/bin/env python3
"""Asks the same 1,000,000 events in `proctor query`, ClickHouse local (chDB) and DuckDB.

    cargo build --release && PROCTOR_LIBCHDB=/path/to/libchdb.so benches/query/run.py

2,000 trials of 500 events are laid out as a run of a project. Proctor reads them at its first question;
the others load the rows of its table `events`, as one file of JSON lines, into a table of the same
columns. Then each answers six questions, the best of `--rounds` times. Proctor's times are those of
whole processes, which look at all 2,000 folders for what has changed each time; the others' are those
of statements within one process, since ClickHouse alone takes 0.15 s to start. The answers must be
the same. `--keep DIR` keeps the project for another time; without PROCTOR_LIBCHDB chDB is left out.
DuckDB is installed into `target/peers`.
"""

import argparse
import ctypes
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROCTOR = Path(os.environ.get("PROCTOR", ROOT / "target/release/proctor"))
DUCKDB = "2.0.1"
PEER = ROOT / "target/peers/duckdb"
TOOLS = ["Bash", "Read", "Edit", "Grep", "Write", "Task", "WebFetch"]
WORDS = ("cargo test build error warning expected unwrap panic src main lib mod fn pub use crate git commit "
         "diff apply patch assert failed passed file line column token review rename module").split()
RUN = "bench-01AAAAAAAAAAAAAAAAAAAAAAAA"
QUERIES = {
    "Q1": "SELECT kind, count() AS c FROM events GROUP BY kind ORDER BY c DESC, kind",
    "Q2": "SELECT countIf(positionCaseInsensitive(payload, 'agents.md') > 0) AS n FROM events",
    "Q3": "SELECT JSONExtractString(payload, 'tool_name') AS n, count() AS c FROM events GROUP BY n "
          "ORDER BY c DESC, n LIMIT 3",
    "Q4": "SELECT run_id, sum(JSONExtractUInt(payload, 'input', 'usage', 'output_tokens')) AS s "
          "FROM events GROUP BY run_id ORDER BY s DESC, run_id LIMIT 3",
    "Q5": "SELECT arrayJoin(JSONExtract(payload, 'input', 'tags', 'Array(String)')) AS tag, count() AS c "
          "FROM events GROUP BY tag ORDER BY c DESC, tag LIMIT 3",
    "Q6": "SELECT count() AS n, countIf(positionCaseInsensitive(payload, 'rule-7') > 0) AS m FROM events "
          "WHERE run_id = 'claude::p::000000000000002a' AND kind = 'tool_call'",
}
# The same for DuckDB, which has other names for them.
DUCK = {
    "Q1": "SELECT kind, count(*) AS c FROM events GROUP BY kind ORDER BY c DESC, kind",
    "Q2": "SELECT count(*) FILTER (WHERE contains(lower(payload), 'agents.md')) AS n FROM events",
    "Q3": "SELECT coalesce(payload ->> '$.tool_name', '') AS n, count(*) AS c FROM events GROUP BY n "
          "ORDER BY c DESC, n LIMIT 3",
    "Q4": "SELECT run_id, sum(coalesce((payload ->> '$.input.usage.output_tokens')::BIGINT, 0))::BIGINT AS s "
          "FROM events GROUP BY run_id ORDER BY s DESC, run_id LIMIT 3",
    "Q5": "SELECT tag, count(*) AS c FROM (SELECT unnest((payload -> '$.input.tags')::VARCHAR[]) AS tag "
          "FROM events) GROUP BY tag ORDER BY c DESC, tag LIMIT 3",
    "Q6": "SELECT count(*) AS n, count(*) FILTER (WHERE contains(lower(payload), 'rule-7')) AS m FROM events "
          "WHERE run_id = 'claude::p::000000000000002a' AND kind = 'tool_call'",
}


def lay_out(project, trials, events):
    chance = random.Random(7)
    folder = project / ".proctor/runs" / RUN
    folder.mkdir(parents=True)
    planned, journal = [], []
    for index in range(trials):
        trial = f"claude::p::{index:016x}"
        path = f"variants/claude__p/{index}"
        planned.append({"id": trial, "variant_id": "claude::p", "fingerprint": "sha256:0",
                        "repeat_idx": index, "path": path})
        journal.append({"event": "started", "trial": trial})
        journal.append({"event": "finished", "trial": trial, "status": "pass"})
        place = folder / path
        place.mkdir(parents=True)
        with (place / "events.jsonl").open("w") as lines:
            for seq in range(events):
                lines.write(json.dumps(event(chance, index * events + seq, seq)) + "\n")
        record = {
            "schema_version": 1, "run_id": trial, "run_group_id": RUN, "scenario_id": "bench",
            "variant_id": "claude::p", "fingerprint": "sha256:0", "repeat_idx": index,
            "coordinates": {"agent": "claude", "model": "sonnet", "effort": None, "prompt_id": "p",
                            "environment": None, "product": None, "extension_id": None},
            "status": "pass", "exit_reason": "end_turn", "started_at": 0, "ended_at": 1, "phases": [],
            "tool_calls": 0, "tool_calls_failed": 0, "tests": [],
        }
        (place / "run.json").write_text(json.dumps(record))
    plan = {"schema_version": 1, "run_id": RUN, "experiment_id": "bench", "created_at": 0,
            "proctor_version": "0", "experiment_file": "/bench.yaml", "experiment_digest": "sha256:0",
            "options": {}, "trials": planned}
    (folder / "group.json").write_text(json.dumps(plan))
    (folder / "index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in journal))


def event(chance, number, seq):
    text = " ".join(chance.choices(WORDS, k=chance.randint(8, 40)))
    if number % 997 == 0:
        text += " AGENTS.md Rule-7"
    kind = chance.choice(["tool_call", "tool_result", "message", "user", "reasoning"])
    made = {"seq": seq, "line": seq + 1, "ts_ms": 1_793_000_000_000 + number * 137}
    call = f"t{seq // 2}"
    if kind == "tool_call":
        made.update(kind=kind, id=call, name=chance.choice(TOOLS),
                    action={"action": "shell", "command": " ".join(chance.choices(WORDS, k=4))},
                    input={"command": text, "usage": {"output_tokens": chance.randint(1, 900)},
                           "tags": chance.sample(WORDS, 3)})
    elif kind == "tool_result":
        made.update(kind=kind, id=call, status="ok", text=text)
    elif kind == "reasoning":
        made.update(kind=kind, text=text)
    else:
        made.update(kind="message", role="user" if kind == "user" else "assistant", text=text)
    return made


def timed(work):
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, time.monotonic() - start, cpu


def ask_proctor(project, sql, out=subprocess.PIPE):
    done = subprocess.run([PROCTOR, "query", sql, "--all"], cwd=project, stdout=out,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"proctor: {done.stderr.strip()}", file=sys.stderr)
        return None
    return [list(json.loads(line).values()) for line in (done.stdout or "").splitlines()]


def proctor(project, rounds):
    kept = project / ".proctor"
    for path in kept.glob("evidence.*"):
        path.unlink()
    _, load, cpu = timed(lambda: ask_proctor(project, "SELECT 1 AS one"))
    size = sum(path.stat().st_size for path in kept.glob("evidence.*"))
    return {"load": load, "cpu": cpu, "size": size, **questions(QUERIES, rounds, lambda sql: ask_proctor(project, sql))}


def questions(queries, rounds, ask):
    found = {}
    for name, sql in queries.items():
        times, rows = [], None
        for _ in range(rounds):
            start = time.monotonic()
            rows = ask(sql)
            times.append(time.monotonic() - start)
        found[name] = (min(times), rows)
    return found


class Chdb:
    """The few functions of chDB's C interface that are needed."""

    def __init__(self, library, folder):
        self.library = ctypes.CDLL(library)
        for name, result, arguments in [
            ("chdb_connect", ctypes.c_void_p, [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]),
            ("chdb_query", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]),
            ("chdb_result_buffer", ctypes.c_void_p, [ctypes.c_void_p]),
            ("chdb_result_length", ctypes.c_size_t, [ctypes.c_void_p]),
            ("chdb_result_error", ctypes.c_char_p, [ctypes.c_void_p]),
            ("chdb_destroy_query_result", None, [ctypes.c_void_p]),
        ]:
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        arguments = (ctypes.c_char_p * 2)(b"clickhouse", f"--path={folder}".encode())
        connection = self.library.chdb_connect(2, arguments)
        self.connection = ctypes.cast(connection, ctypes.POINTER(ctypes.c_void_p))[0]

    def ask(self, sql):
        result = self.library.chdb_query(self.connection, sql.encode(), b"JSONCompactEachRow")
        error = self.library.chdb_result_error(result)
        if error:
            raise RuntimeError(error.decode())
        length = self.library.chdb_result_length(result)
        text = ctypes.string_at(self.library.chdb_result_buffer(result), length) if length else b""
        self.library.chdb_destroy_query_result(result)
        return [json.loads(line) for line in text.decode().splitlines()]


def chdb(columns, rows, folder, rounds):
    engine = Chdb(os.environ["PROCTOR_LIBCHDB"], folder)
    engine.ask("CREATE DATABASE IF NOT EXISTS e")
    engine.ask("USE e")
    engine.ask(f"CREATE TABLE events ({columns}) ENGINE MergeTree ORDER BY (run_request_id, run_id, source_seq)")
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    engine.ask(f"INSERT INTO events SELECT * FROM file('{rows}', 'JSONEachRow')")
    load, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
    engine.ask("OPTIMIZE TABLE events FINAL")
    [[size]] = engine.ask("SELECT toFloat64(sum(bytes_on_disk)) FROM system.parts WHERE active AND table = 'events'")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    settings = " SETTINGS output_format_json_quote_64bit_integers = 0"
    ask = questions(QUERIES, rounds, lambda sql: engine.ask(sql + settings))
    return {"load": load, "cpu": cpu, "size": size, **ask}


def duckdb(rows, folder, rounds):
    sys.path[:0] = [str(path) for path in PEER.glob("lib/python*/site-packages")]
    import duckdb as engine
    path = Path(folder) / "events.duckdb"
    connection = engine.connect(str(path))
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    connection.execute(f"CREATE TABLE events AS SELECT * FROM read_json('{rows}', format = 'newline_delimited', "
                       "maximum_object_size = 67108864, columns = {columns})".replace("{columns}", duck_columns()))
    connection.execute("CHECKPOINT")
    load, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ask = questions(DUCK, rounds, lambda sql: [list(row) for row in connection.execute(sql).fetchall()])
    return {"load": load, "cpu": cpu, "size": path.stat().st_size, **ask}


def duck_columns():
    names = json.loads(os.environ["BENCH_COLUMNS"])
    typed = {name: "BIGINT" if "Int64" in kind else "VARCHAR" for name, kind in names}
    return "{" + ", ".join(f"{name}: '{kind}'" for name, kind in typed.items()) + "}"


def peer(name, columns, rows, folder, rounds):
    """Each peer in a process of its own, so that none has another's memory."""
    command = [sys.executable, __file__, "--peer", name, "--rows", rows, "--folder", folder, "--rounds", str(rounds)]
    env = {**os.environ, "BENCH_COLUMNS": json.dumps(columns)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--events", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    for hidden in ["--peer", "--rows", "--folder"]:
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        columns = ", ".join(f"{name} {kind}" for name, kind in json.loads(os.environ["BENCH_COLUMNS"]))
        found = (chdb(columns, args.rows, args.folder, args.rounds) if args.peer == "chDB"
                 else duckdb(args.rows, args.folder, args.rounds))
        print(json.dumps(found))
        return
    if not PEER.exists():
        venv.create(PEER, with_pip=True)
        subprocess.run([PEER / "bin/python", "-m", "pip", "install", "--quiet", f"duckdb=={DUCKDB}"], check=True)
    with tempfile.TemporaryDirectory() as temporary:
        project = args.keep or Path(temporary) / "project"
        if not (project / ".proctor").exists():
            lay_out(project, args.trials, args.events)
        found = {"proctor": proctor(project, args.rounds)}
        columns = [row[:2] for row in ask_proctor(project, "DESCRIBE events")]
        rows = Path(temporary) / "events.jsonl"
        with rows.open("w") as out:
            ask_proctor(project, "SELECT * FROM events", out)
        for name in ["chDB", "DuckDB"]:
            if name == "chDB" and "PROCTOR_LIBCHDB" not in os.environ:
                continue
            folder = Path(temporary) / name
            folder.mkdir()
            found[name] = peer(name, columns, str(rows), str(folder), args.rounds)
        print(f"{rows.stat().st_size / 1e6:.0f} MB of rows as JSON lines")
    table(found)


def table(found):
    print("| engine | load s | CPU s | MB | " + " | ".join(QUERIES) + " |")
    print("|---|---|---|---|" + "---|" * len(QUERIES))
    for name, result in found.items():
        times = [f"{result[query][0]:.3f}" if result[query][1] is not None else "–" for query in QUERIES]
        print(f"| {name} | {result['load']:.1f} | {result['cpu']:.1f} | {result['size'] / 1e6:.0f} | "
              + " | ".join(times) + " |")
    for query in QUERIES:
        answers = {json.dumps(result[query][1]) for result in found.values() if result[query][1] is not None}
        if len(answers) > 1:
            sys.exit(f"{query}: the answers differ: {answers}")


main()
