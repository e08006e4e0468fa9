-- What analysts ask over many runs.
SELECT agent, count() AS trials, countIf(status = 'pass') AS passed, round(passed / trials, 3) AS rate FROM measurements GROUP BY agent ORDER BY agent
;
SELECT agent, prompt_id, avg(input_tokens) AS mean, median(output_tokens) AS mid FROM measurements GROUP BY agent, prompt_id ORDER BY agent, prompt_id
;
SELECT model, sum(cost_usd_micros) / 1000000 AS usd FROM measurements GROUP BY model ORDER BY usd DESC, model
;
SELECT quantile(0.9)(input_tokens) AS p90, quantiles(0.25, 0.5, 0.75)(agent_time_ms) AS q FROM measurements
;
SELECT quantileExact(0.5)(agent_time_ms), medianExact(agent_time_ms) FROM measurements
;
SELECT stddevPop(input_tokens), stddevSamp(input_tokens), varPop(input_tokens), varSamp(input_tokens) FROM measurements
;
SELECT round(corr(input_tokens, output_tokens), 9) FROM measurements
;
SELECT groupArray(run_id) FROM (SELECT run_id FROM measurements ORDER BY run_id)
;
SELECT agent, arraySort(groupUniqArray(status)) AS seen FROM measurements GROUP BY agent ORDER BY agent
;
SELECT arrayStringConcat(arraySort(groupArray(tool_name)), ', ') FROM sd_current_tool_calls WHERE agent = 'codex'
;
SELECT tool_name, count() AS n, round(100 * n / sum(n) OVER (), 1) AS percent FROM sd_current_tool_calls GROUP BY tool_name ORDER BY n DESC, tool_name
;
SELECT status, agent FROM measurements ORDER BY agent, repeat_idx LIMIT 1 BY agent
;
SELECT agent, tool_name, count() AS n FROM sd_current_tool_calls GROUP BY agent, tool_name ORDER BY agent, n DESC, tool_name LIMIT 2 BY agent
;
SELECT agent, tool_name FROM sd_current_tool_calls ORDER BY agent, run_id, first_source_seq LIMIT 1, 2 BY agent LIMIT 3
;
SELECT DISTINCT ON (agent) agent, run_id FROM measurements ORDER BY agent, run_id
;
SELECT toStartOfHour(started_at) AS hour, count() FROM measurements GROUP BY hour ORDER BY hour
;
SELECT started_at, ended_at, dateDiff('second', started_at, ended_at) AS s FROM measurements ORDER BY started_at
;
SELECT formatDateTime(started_at, '%Y-%m-%d') AS day, count() FROM measurements GROUP BY day
;
SELECT count() FROM measurements WHERE started_at >= '2025-12-01 03:00:00' AND started_at < toDateTime('2025-12-01 03:01:30')
;
SELECT count() FROM measurements WHERE ended_at > started_at + INTERVAL 1 HOUR
;
SELECT toDate(started_at) AS d, toHour(started_at) AS h, toMinute(ended_at) AS m FROM measurements ORDER BY started_at
;
SELECT any(agent), anyLast(agent) FROM (SELECT agent FROM measurements ORDER BY run_id)
;
SELECT argMin(run_id, input_tokens), argMax(run_id, input_tokens), argMaxIf(run_id, input_tokens, agent = 'claude') FROM measurements
;
SELECT m.agent, t.test_name, count() AS n, countIf(t.exit_code = 0) AS ok FROM measurements AS m LEFT JOIN test_output AS t USING (run_id) GROUP BY m.agent, t.test_name ORDER BY m.agent, t.test_name
;
SELECT m.run_id, c.tool_name FROM measurements m LEFT JOIN (SELECT run_id, tool_name FROM sd_current_tool_calls WHERE tool_name = 'Skill') c ON m.run_id = c.run_id ORDER BY m.run_id
;
SELECT m.run_id, c.n FROM measurements m LEFT JOIN (SELECT run_id, count() AS n FROM sd_current_tool_calls WHERE status = 'denied' GROUP BY run_id) c USING run_id ORDER BY run_id
;
SELECT a.run_id, b.run_id FROM measurements a CROSS JOIN measurements b WHERE a.agent < b.agent AND a.prompt_id = b.prompt_id ORDER BY a.run_id
;
SELECT run_id FROM measurements WHERE run_id NOT IN (SELECT run_id FROM sd_current_tool_calls WHERE tool_name = 'Skill') ORDER BY run_id
;
SELECT run_id FROM measurements WHERE (agent, status) IN (('claude', 'pass'), ('codex', 'error')) ORDER BY run_id
;
SELECT run_id FROM measurements WHERE (agent, prompt_id) IN (SELECT agent, prompt_id FROM test_output WHERE exit_code = 1) ORDER BY run_id
;
SELECT arrayJoin(JSONExtract(payload, 'input', 'tags', 'Array(String)')) AS tag, count() AS n FROM events WHERE kind = 'tool_call' GROUP BY tag ORDER BY tag
;
SELECT run_id, tag FROM events ARRAY JOIN JSONExtract(payload, 'input', 'tags', 'Array(String)') AS tag WHERE tool_name = 'Read' AND agent = 'claude' ORDER BY run_id, tag
;
SELECT source_seq, tag FROM events LEFT ARRAY JOIN JSONExtract(payload, 'input', 'tags', 'Array(String)') AS tag WHERE run_id = 'claude::add-analytics' AND kind = 'tool_call' ORDER BY source_seq, tag
;
SELECT key, value FROM events ARRAY JOIN JSONExtractKeysAndValuesRaw(payload, 'input') AS kv WHERE tool_name = 'Bash' AND run_id = 'codex::fix-bug' AND (kv.1 AS key) != '' AND (kv.2 AS value) != '' ORDER BY key
;
SELECT kv.1 AS key, kv.2 AS value FROM events ARRAY JOIN JSONExtractKeysAndValuesRaw(payload, 'input') AS kv WHERE tool_name = 'Bash' AND run_id = 'codex::fix-bug' ORDER BY key
;
SELECT n, tag FROM events ARRAY JOIN JSONExtract(payload, 'input', 'tags', 'Array(String)') AS tag, arrayEnumerate(JSONExtract(payload, 'input', 'tags', 'Array(String)')) AS n WHERE run_id = 'codex::add-analytics' ORDER BY n
;
SELECT sum(JSONExtractUInt(payload, 'output_tokens')) AS tokens FROM events WHERE kind = 'usage'
;
SELECT kind, count() c FROM events GROUP BY kind ORDER BY c DESC, kind
;
SELECT countIf(positionCaseInsensitive(payload, 'agents.md') > 0) FROM events
;
SELECT run_id, sum(JSONExtractUInt(payload, 'input_tokens')) s FROM events GROUP BY run_id ORDER BY s DESC, run_id LIMIT 3
;
SELECT agent, sum(test_pass_count) AS p, sum(test_fail_count) AS f, p / (p + f) AS rate FROM measurements GROUP BY agent ORDER BY agent
;
SELECT prompt_id, groupArrayIf(agent, status = 'pass') AS winners FROM (SELECT * FROM measurements ORDER BY run_id) GROUP BY prompt_id ORDER BY prompt_id
;
WITH (SELECT avg(output_tokens) FROM measurements) AS mean SELECT run_id, output_tokens > mean AS above FROM measurements ORDER BY run_id
;
WITH 'claude' AS who SELECT count() FROM measurements WHERE agent = who
;
WITH per AS (SELECT agent, count() AS n FROM sd_current_tool_calls GROUP BY agent), total AS (SELECT sum(n) AS every FROM per) SELECT agent, n, n / every AS share FROM per, total ORDER BY agent
;
SELECT agent, n, rank() OVER (ORDER BY n DESC) AS place FROM (SELECT agent, count() AS n FROM events GROUP BY agent) ORDER BY place, agent
;
SELECT run_id, source_seq, lagInFrame(source_seq) OVER (PARTITION BY run_id ORDER BY source_seq) AS before FROM events WHERE kind = 'tool_call' AND run_id LIKE 'claude::%' ORDER BY run_id, source_seq
;
SELECT source_seq, sum(source_seq) OVER (ORDER BY source_seq ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM events WHERE run_id = 'claude::add-analytics' ORDER BY source_seq
;
SELECT agent, status, count() FROM measurements GROUP BY ALL ORDER BY ALL
;
SELECT agent FROM measurements UNION ALL SELECT prompt_id FROM measurements
;
SELECT agent FROM measurements UNION DISTINCT SELECT status FROM measurements
;
SELECT run_id FROM measurements INTERSECT SELECT run_id FROM sd_current_tool_calls
;
SELECT kind FROM events EXCEPT SELECT 'tool_call'
;
SELECT * EXCEPT (run_request_id, started_at, ended_at) FROM measurements WHERE agent = 'claude' ORDER BY run_id
;
SELECT COLUMNS('_id$') FROM sd_current_tool_calls WHERE agent = 'claude' ORDER BY run_id, tool_call_id
;
SELECT * REPLACE (upper(agent) AS agent) FROM verdicts ORDER BY run_id
;
SELECT run_id FROM events QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY source_seq DESC) = 1
;
SELECT topK(3)(tool_name) FROM sd_current_tool_calls
;
SELECT count() AS n, n > 3 ? 'many' : 'few' AS size FROM measurements
;
SELECT runs.status, runs.exit_reason, runs.agent_started_at FROM runs ORDER BY run_id
;
