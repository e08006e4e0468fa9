-- What the tests of experiments ask of a run.
SELECT count(*) FROM events WHERE source IN ('stdout', 'transcript') AND payload ILIKE '%posthog%'
;
SELECT count() FROM events WHERE payload ILIKE '%posthog%'
;
SELECT payload FROM events WHERE kind = 'tool_call' AND positionCaseInsensitive(payload, 'skill.MD') > 0 ORDER BY run_id, source_seq LIMIT 5
;
SELECT substring(payload, 1, 40) AS start FROM events WHERE kind = 'message' ORDER BY run_id, source_seq
;
SELECT if(count() > 0, 'found', 'missing') AS answer FROM events WHERE payload LIKE '%npm test%'
;
SELECT coalesce(role, 'none') AS who, count(*) AS n FROM events GROUP BY who ORDER BY who
;
SELECT argMax(payload, source_seq) AS last FROM events WHERE kind = 'message' AND role = 'assistant' GROUP BY run_id ORDER BY run_id
;
SELECT min(source_seq), max(source_seq) FROM events WHERE kind = 'tool_call'
;
SELECT tool_call_id, count() AS rows FROM events WHERE tool_call_id IS NOT NULL GROUP BY tool_call_id ORDER BY tool_call_id
;
SELECT DISTINCT kind FROM events ORDER BY kind
;
SELECT tool_name, status, input, output FROM sd_current_tool_calls WHERE run_id = 'claude::add-analytics' ORDER BY first_source_seq
;
SELECT countIf(status = 'failed') AS failed, countIf(status = 'denied') AS denied, count() AS calls FROM sd_current_tool_calls
;
SELECT uniqExact(tool_name) AS tools, uniqExactIf(tool_name, status = 'completed') AS used FROM sd_current_tool_calls
;
SELECT countDistinct(run_id), countDistinctIf(run_id, kind = 'tool_call') FROM events
;
SELECT JSONExtractString(payload, 'input', 'command') AS command FROM events WHERE kind = 'tool_call' AND JSONHas(payload, 'input', 'command') ORDER BY run_id, source_seq
;
SELECT JSONExtractInt(payload, 'input', 'limit') AS n FROM events WHERE kind = 'tool_call' AND tool_name = 'Read' AND status = 'in_progress' ORDER BY run_id
;
SELECT run_id, minIf(source_seq, tool_name = 'Bash') AS first_bash, maxIf(source_seq, kind = 'message') AS last_message FROM events GROUP BY run_id ORDER BY run_id
;
SELECT e.run_id, t.test_name, t.exit_code FROM (SELECT DISTINCT run_id FROM events WHERE kind = 'tool_call') AS e INNER JOIN test_output AS t ON e.run_id = t.run_id ORDER BY e.run_id, t.test_name
;
SELECT multiIf(status = 'pass', 'ok', status = 'fail', 'bad', 'unknown') AS verdict, count() AS n FROM measurements GROUP BY verdict ORDER BY verdict
;
SELECT length(payload) > 10 AS long, count() FROM events GROUP BY long ORDER BY long
;
SELECT count() FROM events WHERE match(payload, 'v[0-9]+\\.[0-9]+\\.[0-9]+')
;
SELECT toUInt8(count() > 0) AS used_skill FROM events WHERE skill = 'deploy'
;
SELECT toUInt64(max(source_seq)) AS n FROM events WHERE run_id LIKE 'claude::%'
;
SELECT source_seq, row_number() OVER (PARTITION BY tool_call_id ORDER BY source_seq) AS nth FROM events WHERE run_id = 'codex::fix-bug' AND tool_call_id IS NOT NULL ORDER BY source_seq
;
WITH calls AS (SELECT * FROM sd_current_tool_calls WHERE tool_name = 'Bash') SELECT agent, count() AS n FROM calls GROUP BY agent ORDER BY agent
;
SELECT payload FROM events WHERE run_id = 'claude::running'
;
SELECT test_name, exit_code, stderr_tail FROM test_output ORDER BY run_id, test_name
;
SELECT text FROM agent_timeline_entries WHERE entry_kind = 'agent_message' ORDER BY run_id, seq_start
;
SELECT dateDiff('millisecond', fromUnixTimestamp64Milli(assumeNotNull(min(ts_ms))), fromUnixTimestamp64Milli(assumeNotNull(max(ts_ms)))) AS took FROM events WHERE run_id = 'claude::add-analytics'
;
SELECT parseDateTime64BestEffort('2026-12-01T03:07:19.250Z') AS t, dateDiff('second', parseDateTime64BestEffort('2026-12-01T03:07:19.250Z'), parseDateTime64BestEffort('2026-12-01T03:08:00Z')) AS s
;
SELECT (SELECT min(source_seq) FROM events WHERE tool_name = 'Read') < (SELECT min(source_seq) FROM events WHERE tool_name = 'Bash') AS read_first
;
SELECT position(payload, 'AGENTS.md') AS at FROM events WHERE kind = 'message' AND at > 0 ORDER BY run_id, source_seq
;
SELECT run_id FROM events WHERE command ILIKE '%TEST%' GROUP BY run_id HAVING count() >= 1 ORDER BY run_id
;
SELECT * FROM verdicts ORDER BY run_id
;
SELECT file_path, mcp_server, mcp_tool, skill FROM events WHERE file_path IS NOT NULL OR mcp_server IS NOT NULL OR skill IS NOT NULL ORDER BY run_id, source_seq
;
SELECT check_name, status, exit_code, duration_ms FROM checks ORDER BY run_id, check_name
;
SELECT cost_usd_micros, input_tokens + output_tokens AS tokens FROM costs ORDER BY run_id
;
