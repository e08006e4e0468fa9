#!/usr/bin/env python3
"""What other programs make of exported runs.

    python3 benches/exchange/check.py eval FILE.eval
    python3 benches/exchange/check.py parquet FOLDER
    python3 benches/exchange/check.py atif FILE.json
    python3 benches/exchange/check.py otlp FILE.jsonl

Needs the packages that are asked: inspect-ai (0.3.285), duckdb and pyarrow, harbor (0.26.0), or
opentelemetry-proto. Prints what was found as JSON; an exception is a failure.
"""

import json
import pathlib
import sys


def check_eval(path):
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    log = read_eval_log(path)
    summaries = read_eval_log_sample_summaries(path)
    assert len(summaries) == len(log.samples), (len(summaries), len(log.samples))
    header = read_eval_log(path, header_only=True)
    assert header.samples is None and header.results.total_samples >= len(log.samples)
    return {
        "status": log.status,
        "task": log.eval.task,
        "model": log.eval.model,
        "samples": [
            {
                "id": sample.id,
                "epoch": sample.epoch,
                "messages": len(sample.messages),
                "events": len(sample.events),
                "scores": {name: score.value for name, score in (sample.scores or {}).items()},
            }
            for sample in log.samples
        ],
    }


def check_parquet(folder):
    import duckdb
    import pyarrow.parquet

    database = duckdb.connect()
    found = {}
    for file in sorted(pathlib.Path(folder).glob("*.parquet")):
        rows = database.execute(f"SELECT count(*) FROM '{file}'").fetchall()[0][0]
        table = pyarrow.parquet.read_table(file)
        assert table.num_rows == rows
        found[file.stem] = {"rows": rows, "columns": table.column_names}
    joined = database.execute(
        f"""SELECT r.agent, count(DISTINCT e.seq) FROM '{folder}/runs.parquet' r
        JOIN '{folder}/agent_events.parquet' e USING (eval_id) GROUP BY 1 ORDER BY 1"""
    ).fetchall()
    assert joined
    return {"tables": found, "events": joined}


def check_atif(path):
    from harbor.models.trajectories import Trajectory

    trajectory = Trajectory.model_validate_json(pathlib.Path(path).read_text())
    return {"version": trajectory.schema_version, "steps": len(trajectory.steps)}


def check_otlp(path):
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans = 0
    for line in pathlib.Path(path).read_text().splitlines():
        request = Parse(line, ExportTraceServiceRequest())
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                spans += len(scope.spans)
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                known = {span["spanId"] for span in scope["spans"]}
                parents = {span.get("parentSpanId") for span in scope["spans"]} - {None}
                assert parents <= known and len(known) == len(scope["spans"])
    return {"spans": spans}


if __name__ == "__main__":
    what, path = sys.argv[1:]
    print(json.dumps(globals()[f"check_{what}"](path), indent=1, default=str))
