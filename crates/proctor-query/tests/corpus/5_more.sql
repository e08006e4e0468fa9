-- What is asked less often.
SELECT agent, run_id FROM measurements ORDER BY agent, run_id LIMIT 1 OFFSET 1 BY agent
;
SELECT agent, run_id FROM measurements ORDER BY agent DESC, run_id LIMIT 1 BY agent LIMIT 1 OFFSET 1
;
WITH ids AS (SELECT run_id FROM sd_current_tool_calls WHERE tool_name = 'Skill') SELECT agent FROM measurements WHERE run_id IN ids
;
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS x FROM a), c AS (SELECT a.x + b.x AS y FROM a CROSS JOIN b) SELECT y FROM c
;
SELECT x FROM (SELECT arrayJoin([1, 2, 3]) AS x) WHERE x IN (SELECT arrayJoin([2, 3, NULL])) ORDER BY x
;
SELECT x NOT IN (SELECT arrayJoin([2, NULL])) AS outside FROM (SELECT arrayJoin([1, 2]) AS x) ORDER BY x
;
SELECT model IN ('sonnet', 'gpt') AS known, count() FROM measurements GROUP BY known ORDER BY known
;
SELECT model NOT IN ('sonnet') AS other, model = 'gpt' AS gpt FROM measurements ORDER BY run_id
;
SELECT count() FROM measurements WHERE NOT (model = 'sonnet')
;
SELECT count() FROM measurements WHERE model != 'sonnet' OR model IS NULL
;
SELECT agent, count() AS n FROM events GROUP BY agent HAVING n > (SELECT avg(n) FROM (SELECT count() AS n FROM events GROUP BY agent)) ORDER BY agent
;
SELECT countIf(exit_code = 0) / count() AS rate, countIf(exit_code IS NULL) AS unknown FROM test_output
;
SELECT test_name, sum(exit_code) AS s, avg(exit_code) AS a, min(exit_code) AS low, max(exit_code) AS high, any(exit_code) AS one FROM test_output GROUP BY test_name ORDER BY test_name
;
SELECT exit_code, count() FROM test_output GROUP BY exit_code ORDER BY exit_code NULLS FIRST
;
SELECT groupArray(exit_code) AS codes, groupUniqArray(test_name = 'builds') AS seen FROM (SELECT * FROM test_output WHERE test_name = 'builds')
;
SELECT argMax(test_name, exit_code), argMin(test_name, exit_code) FROM (SELECT * FROM test_output ORDER BY run_id, test_name)
;
SELECT uniq(run_id, test_name), uniqExact(exit_code), count(DISTINCT run_id) FROM test_output
;
SELECT stderr_tail, length(stderr_tail), splitByChar(' ', stderr_tail) FROM test_output WHERE exit_code = 1 ORDER BY run_id LIMIT 1
;
SELECT extractAll(output, 'v([0-9.]+)') AS versions, extract(output, 'https?://[^/]+') AS host FROM sd_current_tool_calls WHERE tool_name = 'Skill'
;
SELECT JSONExtract(output, 'failed', 'Array(String)') AS failed, JSONExtractFloat(output, 'ratio') AS ratio, JSONExtractInt(output, 'exit') AS code FROM sd_current_tool_calls WHERE tool_name = 'Bash' ORDER BY run_id LIMIT 2
;
SELECT JSONExtractBool(input, 'env', 'CI') AS ci, JSONType(input, 'env', 'N') AS n, JSONExtractRaw(input, 'env') AS env, JSONExtractFloat(input, 'timeout') AS t FROM sd_current_tool_calls WHERE tool_name = 'Bash' ORDER BY run_id LIMIT 1
;
SELECT JSONExtractString(filter, 'k') AS k, JSONExtractString(filter, 'v') AS v FROM sd_current_tool_calls ARRAY JOIN JSONExtractArrayRaw(input, 'filters') AS filter WHERE tool_name = 'mcp__docs__search' ORDER BY run_id, k
;
SELECT JSONExtract(input, 'filters', 'Array(Tuple(String, String))') AS pairs FROM sd_current_tool_calls WHERE tool_name = 'mcp__docs__search' ORDER BY run_id LIMIT 1
;
SELECT JSONExtract(input, 'Map(String, String)')['file_path'] AS path FROM sd_current_tool_calls WHERE tool_name = 'Read' ORDER BY run_id LIMIT 1
;
SELECT arrayJoin(JSONExtractKeys(input)) AS key, count() AS n FROM sd_current_tool_calls WHERE isValidJSON(input) GROUP BY key HAVING n > 1 ORDER BY n DESC, key
;
SELECT arrayStringConcat(arraySlice(splitByChar('/', assumeNotNull(file_path)), 1, 2), '/') AS folder, count() FROM events WHERE file_path IS NOT NULL GROUP BY folder ORDER BY folder
;
SELECT run_id, arrayStringConcat(groupArray(tool_name), ' > ') AS path FROM (SELECT run_id, tool_name FROM sd_current_tool_calls ORDER BY run_id, first_source_seq) GROUP BY run_id ORDER BY run_id
;
SELECT run_id, has(groupArray(tool_name), 'Skill') AS used, length(groupArray(tool_name)) AS n FROM sd_current_tool_calls GROUP BY run_id ORDER BY run_id
;
SELECT run_id, max(source_seq) - min(source_seq) AS span, (max(ts_ms) - min(ts_ms)) / 1000 AS seconds FROM events GROUP BY run_id ORDER BY run_id
;
SELECT intDiv(ts_ms, 60000) AS minute, count() FROM events WHERE ts_ms IS NOT NULL GROUP BY minute ORDER BY minute
;
SELECT toStartOfMinute(fromUnixTimestamp64Milli(toInt64(assumeNotNull(ts_ms)))) AS minute, count() AS n FROM events WHERE ts_ms > 0 GROUP BY minute ORDER BY minute LIMIT 3
;
SELECT source_seq, ts_ms - lagInFrame(ts_ms, 1, ts_ms) OVER (PARTITION BY run_id ORDER BY source_seq) AS gap FROM events WHERE run_id = 'claude::add-analytics' ORDER BY source_seq
;
SELECT run_id, count() OVER (PARTITION BY agent) AS of_agent, row_number() OVER (PARTITION BY agent ORDER BY run_id) AS nth FROM measurements ORDER BY run_id
;
SELECT agent, status, count() AS n, sum(count()) OVER (PARTITION BY agent) AS of_agent FROM measurements GROUP BY agent, status ORDER BY agent, status
;
SELECT max(n) FROM (SELECT run_id, count() AS n FROM events GROUP BY run_id)
;
SELECT upper(agent) AS agent, count() FROM measurements GROUP BY agent ORDER BY agent
;
SELECT agent AS a, a || '/' || prompt_id AS b, length(b) AS c FROM measurements ORDER BY b
;
SELECT (agent, prompt_id) AS pair, pair.1 AS first, count() FROM measurements GROUP BY pair ORDER BY first, pair.2
;
SELECT tuple(agent, 1) = ('claude', 1) AS same FROM measurements ORDER BY run_id
;
SELECT (status = 'pass' ? 1 : (status = 'fail' ? 0 : NULL)) AS score FROM measurements ORDER BY run_id
;
SELECT avg(status = 'pass') AS rate, sum(status = 'pass') AS passed FROM measurements
;
SELECT avgIf(input_tokens, status = 'pass'), quantileIf(0.5)(input_tokens, status = 'pass'), sumIf(input_tokens, status = 'none'), avgIf(input_tokens, status = 'none') FROM measurements
;
SELECT round(quantile(0.95)(agent_time_ms), 2), floor(avg(agent_time_ms)), ceil(avg(input_tokens), 1) FROM measurements
;
SELECT least(input_tokens, 1100) AS l, greatest(output_tokens, 120) AS g FROM measurements WHERE input_tokens IS NOT NULL ORDER BY run_id
;
SELECT if(model IS NULL, 'none', model) AS m, ifNull(model, 'none') AS i, coalesce(model, agent) AS c, nullIf(agent, 'codex') AS n FROM measurements ORDER BY run_id
;
SELECT count() FROM measurements a JOIN measurements b ON a.agent = b.agent AND a.run_id < b.run_id
;
SELECT a.run_id AS x, b.run_id AS y FROM measurements a LEFT JOIN measurements b ON a.agent = b.agent AND b.status = 'fail' ORDER BY x, y
;
SELECT t.test_name, v.status FROM test_output t INNER JOIN verdicts v USING run_id WHERE v.agent = 'claude' ORDER BY t.run_id, t.test_name
;
SELECT a.agent AS agent, b.n AS events, c.n AS tests FROM (SELECT DISTINCT agent FROM measurements) a LEFT JOIN (SELECT agent, count() AS n FROM events GROUP BY agent) b USING agent LEFT JOIN (SELECT agent, count() AS n FROM test_output GROUP BY agent) c USING agent ORDER BY a.agent
;
SELECT DISTINCT agent, status FROM measurements ORDER BY agent, status LIMIT 3
;
SELECT count(), count(model), count(DISTINCT model), uniq(model) FROM measurements
;
SELECT agent FROM (SELECT agent FROM measurements UNION ALL SELECT kind FROM events) WHERE agent LIKE 'c%' GROUP BY agent ORDER BY agent
;
SELECT 'a\%b' LIKE 'a\\%b', '100%' LIKE '100\%', 'a_b' LIKE 'a\_b', 'x' LIKE '', '' LIKE '%'
;
SELECT match('naïve café', 'caf.$'), match('٣', '\\d'), match('ä', '\\w'), extract('key: value', '(?i)KEY:\\s*(\\w+)'), replaceRegexpAll('2026-12-01', '(\\d+)-(\\d+)-(\\d+)', '\\3.\\2.\\1')
;
SELECT toString(toDate('2024-01-02')), toString(toDateTime64('2024-01-02 03:04:05.678', 3)), concat(toDate('2024-01-02'), ' x'), toString([1.5, 2]), toString(map('a', 1))
;
SELECT arrayJoin(['x', 'y']) AS a, arrayJoin(['x', 'y']) AS b
;
SELECT sum(arrayJoin([1, 2, 3])) AS s, count()
;
SELECT arrayJoin(range(3)) AS n, n * 2 AS twice ORDER BY n DESC
;
SELECT length(arrayJoin([[1], [2, 3]])) AS l ORDER BY l
;
SELECT -source_seq AS minus, source_seq * -1 AS times, source_seq - 100 AS less FROM events WHERE run_id = 'claude::running'
;
SELECT toUInt8(256), toInt16(40000), toUInt16('65535'), toInt8OrNull('128'), toUInt32(1e3), toInt32(-1.5)
;
SELECT toFloat64('1e3'), toFloat64(3), 3::Float64 / 2, toString(2.50), toString(1e100), 1e15 + 0.5
;
SELECT NULL IS NULL, 1 IS NOT NULL, NULL IN (NULL), (NULL, 1) = (NULL, 1)
;
SELECT toDateTime('2024-02-29 23:59:59') + INTERVAL 1 YEAR, toDate('2024-01-31') - INTERVAL 1 MONTH, toDateTime('2024-01-02 03:04:05') + INTERVAL 90 MINUTE, toDate('2024-01-01') + INTERVAL 2 WEEK
;
