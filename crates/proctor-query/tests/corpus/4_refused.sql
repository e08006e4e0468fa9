-- What is refused, here or there.
SELECT arrayMap(x -> x + 1, [1, 2])
;
SELECT arrayFilter(x -> x > 1, [1, 2, 3])
;
SELECT a.x FROM (SELECT 1 AS x, 2 AS t) AS a ASOF JOIN (SELECT 1 AS x, 1 AS t) AS b ON a.x = b.x AND a.t >= b.t
;
SELECT * FROM numbers(3)
;
SELECT * FROM file('/etc/passwd')
;
SELECT agent, count() FROM measurements GROUP BY agent WITH TOTALS ORDER BY agent
;
SELECT agent, count() FROM measurements GROUP BY agent WITH ROLLUP ORDER BY agent
;
SELECT agent, count() FROM measurements GROUP BY GROUPING SETS ((agent), ()) ORDER BY agent
;
SELECT 1 SETTINGS join_use_nulls = 1
;
SELECT dictGet('d', 'a', 1)
;
SELECT cityHash64('a')
;
SELECT now() > toDateTime('2020-01-01')
;
SELECT sumArray([1, 2])
;
SELECT sumState(1)
;
SELECT if(1, 'a', 1)
;
SELECT [toInt64(1), 1.5]
;
SELECT 'a' = 1
;
SELECT payload = 1 FROM events
;
SELECT payload + 1 FROM events
;
SELECT sum(payload) FROM events
;
SELECT 1 WHERE 'a'
;
SELECT agent, count() FROM measurements
;
SELECT max(source_seq) AS m FROM events WHERE m > 1
;
SELECT sum(count()) FROM events
;
SELECT text FROM events
;
SELECT nothing.agent FROM events
;
SELECT 1 FROM event_s
;
SELECT (SELECT agent FROM measurements)
;
SELECT intDiv(1, 0)
;
SELECT 1 % 0
;
SELECT toInt64('x')
;
SELECT match('a', '(')
;
SELECT toUInt64(-1)
;
SELECT 18446744073709551615
;
SELECT toDateTime64('2024-01-02 03:04:05.678', 3) - toDateTime64('2024-01-02 03:04:05.000', 3)
;
SELECT 1 UNION SELECT 1
;
SELECT 1 AS x UNION ALL SELECT 2 ORDER BY x
;
SELECT agent FROM measurements SAMPLE 0.1
;
WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t WHERE x < 3) SELECT * FROM t
;
SELECT a.agent FROM measurements a LEFT ANTI JOIN measurements b ON a.run_id = b.run_id
;
SELECT e.run_id FROM events e WHERE EXISTS (SELECT 1 FROM measurements m WHERE m.run_id = e.run_id)
;
SELECT quantileTDigest(0.5)(source_seq) FROM events
;
SELECT topKWeighted(2)(agent, repeat_idx) FROM measurements
;
SELECT [1, 2] < [1, 3]
;
SELECT x FROM (SELECT [1] AS x) ORDER BY x
;
SELECT {a:UInt8}
;
SELECT assumeNotNull(model), JSONExtractKeys(model) FROM measurements
;
SELECT splitByChar(',', command) FROM events
;
SELECT 1 IN (source_seq) FROM events
;
INSERT INTO events VALUES (1)
;
DROP TABLE events
;
ALTER TABLE events DELETE WHERE 1
;
SELECT 1; SELECT 2
;
SELECT position('a')
;
SELECT toDate('2024-01-02', 'Asia/Tokyo')
;
SELECT JSONExtract('{"a":1}', 'a', 'Decimal(3, 2)')
;
SELECT 'a' AND 1
;
SELECT 1 ORDER BY 5
;
SELECT first_value(model) OVER (ORDER BY run_id) FROM measurements
;
SELECT groupArray(x / y) FROM (SELECT 0 AS x, 0 AS y)
;
SELECT toNullable(0) / 0
;
SELECT count() OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM (SELECT arrayJoin([1, 2, 4]) AS x)
;
SELECT agent FROM measurements ORDER BY agent WITH FILL
;
SELECT sleep(3)
;
SELECT * FROM system.tables
;
SELECT * FROM sqlite_master
;
SELECT load_extension('x')
;
SELECT ch_text('String', 'a')
;
SELECT c0 FROM (SELECT 1 AS a)
;
SELECT rowid FROM events
;
SELECT repeat('x', 100000000)
;
SELECT format('{} {1}', 'a', 'b')
;
SELECT x FROM (SELECT 1 AS x, 0 AS y) ORDER BY x / y, y / y LIMIT 1 WITH TIES
;
