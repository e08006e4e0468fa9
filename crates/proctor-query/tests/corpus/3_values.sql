-- Values, one function or operator at a time.
SELECT 7 / 2, 1 / 0, 0 / 0, -7 / 2
;
SELECT intDiv(7, -2), 7 % -2, -7 % 2, 7.5 % 2, intDiv(7.9, 2)
;
SELECT 1 + 2, 1 - 2, 2 * 3, -(-3), 255 + 1, 65535 * 65535
;
SELECT toInt64(9223372036854775807) + 1 AS wraps
;
SELECT 0.1 + 0.2, 1e20, 1e21, 1e-7, 3.0, 1 / 3, -0.0, 100000.5
;
SELECT round(2.5), round(3.5), round(-2.5), round(1.235, 2), round(15, -1), round(25, -1), floor(-1.5), ceil(1.2), floor(1.55, 1)
;
SELECT abs(-5), abs(5), abs(-1.5), sign(-3), sqrt(4), sqrt(-1), pow(2, 10), exp(0), log(1), log2(8), log10(100)
;
SELECT greatest(1, 3, 2), least(1.5, 2), greatest(1, NULL), greatest('a', 'b')
;
SELECT 1 = 1, 1 != 1, 1 < 2, 2 <= 1, 'a' < 'b', 'a' = 'A'
;
SELECT 0 / 0 = 0 / 0, 0 / 0 != 0 / 0, 0 / 0 > 1, NOT (0 / 0 > 1)
;
SELECT 5 AND 2, NOT 5, 1 OR 0, xor(1, 1), 1 AND NULL, 0 AND NULL, 1 OR NULL
;
SELECT true, false, true AND false, true = 1, toTypeName(true)
;
SELECT NULL + 1, NULL = NULL, concat('a', NULL), length(NULL), ifNull(NULL, 'x'), coalesce(NULL, NULL, 1), nullIf(1, 1), nullIf('a', 'b')
;
SELECT isNull(NULL), isNotNull(1), if(NULL, 1, 2), multiIf(NULL, 1, 2), assumeNotNull(toNullable(5))
;
SELECT 1 IN (2, NULL), 1 NOT IN (2, NULL), NULL IN (1), 1 IN ('1'), 'a' NOT IN ('b', 'c')
;
SELECT 3 BETWEEN 1 AND 5, 3 NOT BETWEEN 1 AND 5, 'b' BETWEEN 'a' AND 'c'
;
SELECT CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END, CASE WHEN 0 THEN 1 ELSE 2.5 END, if(1, -1, 2)
;
SELECT length('äb'), lengthUTF8('äb'), substring('hello', 0, 2), substring('hello', -3), substring('hello', -3, 2), substring('hello', 2, -1), substring('hello', 10), substringUTF8('äöü', 2, 1), substring('hello', -10, 7)
;
SELECT length(substring('äb', 1, 1)), concat(substring('ä', 1, 1), substring('ä', 2, 1)) = 'ä'
;
SELECT lower('ÄA'), upper('äa'), lowerUTF8('ÄA'), upperUTF8('äa'), reverse('abc'), reverseUTF8('äb')
;
SELECT trim('  a '), trimLeft(' a'), trimRight('a '), trim(BOTH 'x' FROM 'xax'), ltrim(' a'), trim('\t a')
;
SELECT leftPad('7', 3, '0'), rightPad('7', 3), lpad('abc', 2), left('abc', 2), right('abc', 2), left('abc', -1), repeat('ab', 3)
;
SELECT position('abc', 'c'), position('abcabc', 'b', 3), positionUTF8('äb', 'b'), positionCaseInsensitive('ÄB', 'ä'), positionCaseInsensitive('aBc', 'bC'), locate('c', 'abc'), position('abc', ''), position('', 'a')
;
SELECT startsWith('abc', 'ab'), endsWith('abc', 'bc'), startsWith('a', ''), hasToken('a b-c', 'c'), countSubstrings('aaa', 'aa')
;
SELECT replaceOne('aXbX', 'X', 'y'), replaceAll('aXbX', 'X', 'y'), replace('aXbX', '', 'y'), replaceAll('a', 'a', '')
;
SELECT format('{1}{0}', 'a', 'b'), format('{} {}', 'a', 'b'), concat('a', 1, 2.5), 'a' || 'b' || toString(3)
;
SELECT splitByChar(',', 'a,b,,c'), splitByString('--', 'a--b'), splitByString('', 'abc'), splitByChar(',', ''), splitByWhitespace(' a  b '), splitByRegexp('[0-9]', 'a1b2c')
;
SELECT substringIndex('a.b.c', '.', 2), substringIndex('a.b.c', '.', -1), basename('a/b/c.txt'), ascii('a')
;
SELECT 'abc' LIKE 'a%', 'a%c' LIKE 'a\\%c', 'abc' LIKE 'A%', 'abc' ILIKE 'A%', 'ÄB' ILIKE 'äb', 'a\nb' LIKE 'a%b', 'abc' NOT LIKE '%z%', 'abc' NOT ILIKE 'A_C'
;
SELECT match('a\nb', 'a.b'), match('ab', '^b'), match('AB', '(?i)ab'), extract('v=17;', 'v=([0-9]+)'), extract('abc', 'x'), extractAll('foo 12 bar 34', '([0-9]+)'), countMatches('a1b2', '[0-9]')
;
SELECT replaceRegexpAll('a1b2', '([0-9])', '<\\1>'), replaceRegexpOne('abc', 'b', '\\0\\0'), replaceRegexpAll('hello', 'l*', 'x'), replaceRegexpAll('a$b', '\\$', '$1')
;
SELECT multiSearchAny('abc', ['x', 'b']), multiMatchAny('abc', ['x', '^a']), multiSearchAnyCaseInsensitive('ABC', ['b'])
;
SELECT toString(1.0), toString(0.1), toString(true), toString(-5), toString(1 / 3), toString([1, 2]), toString(['a\'b']), toString((1, 'a')), toString(0 / 0)
;
SELECT toInt64('12'), toInt64OrZero('x'), toInt64OrNull('x'), toInt64OrNull('5'), toUInt8OrZero('300'), toUInt8(300), toInt8(200), toFloat64('1.5'), toFloat64OrNull('x'), toInt64(1.9), toInt64(-1.9), toFloat64OrZero('1e3')
;
SELECT toInt64OrNull(' 5'), toInt64OrNull('5 '), toInt64OrNull('+5'), toInt64OrNull('5.5'), toInt64OrNull(''), toFloat64OrNull(' 1'), toFloat64OrNull('1.')
;
SELECT CAST('5' AS Int64), CAST(5 AS String), '5'::UInt8, 5::Float64, '1.5'::Float64, CAST(1.7 AS Int64), CAST(NULL AS Nullable(String)), 'true'::Bool, CAST('x', 'String'), 5::Nullable(Int64), CAST(300 AS UInt8)
;
SELECT CAST('2024-01-02' AS Date), '2024-01-02 03:04:05'::DateTime, toDate('2024-01-02 03:04:05'), toDateTime('2024-01-02'), toDateTime64('2024-01-02 03:04:05.6789', 3), toDate(19724), toDateTime(1704164645)
;
SELECT toDate('2024-01-02') + 1, toDateTime('2024-01-02 03:04:05') + 60, toDateTime('2024-01-02 03:04:05') - toDateTime('2024-01-02 03:04:00'), toDate('2024-03-01') - toDate('2024-02-01'), toDate('2024-01-31') + INTERVAL 1 MONTH, toDateTime('2024-01-02 03:04:05') - INTERVAL 1 DAY, addHours(toDate('2024-01-02'), 1)
;
SELECT addDays(toDate('2024-01-31'), 1), addMonths(toDate('2024-01-31'), 1), subtractDays(toDate('2024-01-31'), 1), addYears(toDate('2024-02-29'), 1), addWeeks(toDate('2024-01-02'), 1), addMinutes(toDateTime('2024-01-02 03:04:05'), 5)
;
SELECT dateDiff('minute', toDateTime('2024-01-02 03:04:59'), toDateTime('2024-01-02 03:05:00')), dateDiff('day', toDate('2024-01-01'), toDate('2024-03-01')), dateDiff('month', toDate('2024-01-31'), toDate('2024-02-01')), dateDiff('year', toDate('2023-12-31'), toDate('2024-01-01')), dateDiff('week', toDate('2024-01-01'), toDate('2024-01-08')), dateDiff(day, toDate('2024-01-01'), toDate('2024-01-08')), dateDiff('quarter', toDate('2024-01-01'), toDate('2024-12-08'))
;
SELECT toStartOfMinute(t), toStartOfHour(t), toStartOfDay(t), toStartOfMonth(t), toStartOfWeek(t), toMonday(t), toStartOfQuarter(t), toStartOfYear(t), toStartOfFiveMinutes(t), toStartOfInterval(t, INTERVAL 15 MINUTE), date_trunc('hour', t), date_trunc('month', t) FROM (SELECT toDateTime('2024-01-03 03:44:05') AS t)
;
SELECT toYear(t), toQuarter(t), toMonth(t), toDayOfYear(t), toDayOfMonth(t), toDayOfWeek(t), toHour(t), toMinute(t), toSecond(t), toYYYYMM(t), toYYYYMMDD(t), toUnixTimestamp(t) FROM (SELECT toDateTime('2024-05-05 03:04:05') AS t)
;
SELECT formatDateTime(toDateTime('2024-01-02 15:04:05'), '%Y-%m-%d %H:%i:%S %F %T %j %e %y %a %b %W %p %I %%')
;
SELECT toDateTime('2024-01-02 03:04:05') > '2024-01-01', toDate('2024-01-02') = '2024-01-02', toDateTime64('2024-01-02 03:04:05.678', 3) > '2024-01-02 03:04:05.5', toDateTime('2024-01-02 03:04:05') > toDate('2024-01-02')
;
SELECT fromUnixTimestamp64Milli(1704164645678), toUnixTimestamp64Milli(toDateTime64('2024-01-02 03:04:05.678', 3)), fromUnixTimestamp(1704164645), toInt64(toDateTime64('2024-01-02 03:04:05.678', 3)), toFloat64(toDateTime64('2024-01-02 03:04:05.678', 3))
;
SELECT parseDateTimeBestEffort('2024-01-02T03:04:05+02:00'), parseDateTimeBestEffort('1704164645'), parseDateTimeBestEffortOrNull('x'), parseDateTimeBestEffortOrZero('x'), parseDateTime64BestEffortOrNull(''), parseDateTime64BestEffort('2024-01-02T03:04:05.678901Z', 6)
;
SELECT [1, 2, 3][1], [1, 2, 3][-1], [1, 2, 3][4], ['a'][2], [1, NULL][2], [[1], [2]][2], (1, 'a').2, tupleElement((1, 'a'), 1)
;
SELECT [1, 2, 3], ['a', 'b\'c'], (1, 'x'), [(1, 'a')], [1.5, 2], [NULL, 1], map('a', 1, 'b', 2), [], [true]
;
SELECT arraySort([3, 1, 2]), arraySort(['b', 'a']), arrayReverseSort([1, 3, 2]), arrayReverse([1, 2]), arrayDistinct([1, 2, 1, NULL, NULL]), arraySlice([1, 2, 3, 4], 2, 2), arraySlice([1, 2, 3, 4], -2), arrayConcat([1], [2, 3]), arrayPushBack([1], 2), arrayCompact([1, 1, 2]), arrayEnumerate(['a', 'b']), range(3), range(1, 4)
;
SELECT has([1, 2], 2), has(['a'], 'b'), has([1, NULL], NULL), hasAny([1, 2], [2, 3]), hasAll([1, 2], [2]), indexOf([1, 2, 3], 2), countEqual([1, 1], 1), length([1, 2]), empty([1]), notEmpty([1]), arrayUniq([1, 1, 2])
;
SELECT arraySum([1, 2, 3]), arrayAvg([1, 2]), arrayMin([3, 1]), arrayMax([1, 5]), arraySum([1.5, 2]), arrayStringConcat(['a', 'b'], '-'), arrayStringConcat([1, 2]), arrayStringConcat(['a', NULL, 'b'], ',')
;
SELECT map('a', 1)['a'], map('a', 1)['b'], mapKeys(map('a', 1)), mapValues(map('a', 1)), mapContains(map('a', 1), 'a')
;
SELECT [1, 2] = [1, 2], [1] = [1, 2], (1, 'a') = (1, 'a'), (1, 2) < (1, 3), ['a'] != ['b']
;
SELECT JSONExtractString('{"a":1}', 'a'), JSONExtractString('{"a":null}', 'a'), JSONExtractInt('{"a":"5"}', 'a'), JSONExtractInt('{"a":5.7}', 'a'), JSONExtractInt('{"a":true}', 'a'), JSONExtractUInt('{"a":-1}', 'a'), JSONExtractFloat('{"a":"1.5"}', 'a'), JSONExtractBool('{"a":1}', 'a'), JSONExtractBool('{"a":"true"}', 'a'), JSONExtractInt('{"a":1e3}', 'a')
;
SELECT JSONExtractRaw('{"a": {"b" : [1, 2.0, "x"]}}', 'a'), JSONExtractRaw('{"a":"x"}', 'a'), JSONExtractRaw('{"a":1.50}', 'a'), JSONExtractRaw('{"a":"é\\n/"}', 'a'), JSONExtractRaw('{"a":12345678901234567890}', 'a'), JSONExtractRaw('{"a":1e25}', 'a'), JSONExtractRaw('{}', 'a')
;
SELECT JSONExtractString('{"a":{"x":1}}', 'a'), JSONExtractString('[1,"b"]', 2), JSONExtractString('[1,"b"]', -1), JSONExtractString('{"a":1,"b":"z"}', 2), JSONExtractString('not json', 'a'), JSONExtractString('"abc"'), JSONExtractString('[1]', 0), JSONExtractString('{"a":"\\u00e9\\n"}', 'a'), JSONExtractString('{"a":1,"a":2}', 'a')
;
SELECT JSONExtract('{"a":[1,2]}', 'a', 'Array(Int64)'), JSONExtract('{"a":["x",1,null]}', 'a', 'Array(String)'), JSONExtract('{"a":["x",1,null]}', 'a', 'Array(Nullable(String))'), JSONExtract('{"a":"5"}', 'a', 'Int64'), JSONExtract('{}', 'a', 'String'), JSONExtract('{}', 'a', 'Nullable(String)'), JSONExtract('{"a":1.5}', 'a', 'Float64'), JSONExtract('{"a":true}', 'a', 'Bool'), JSONExtract('{"a":1}', 'Map(String, Int64)'), JSONExtract('[1,"x"]', 'Tuple(Int64, String)'), JSONExtract('{"a":[1,"x"]}', 'a', 'Array(Int64)')
;
SELECT JSONExtractArrayRaw('[1, {"a": 2},"x"]'), JSONExtractKeys('{"a":1,"b":2}'), JSONExtractKeysAndValues('{"a":1,"b":"x"}', 'String'), JSONExtractKeysAndValues('{"a":1,"b":"x"}', 'Int64'), JSONExtractKeysAndValuesRaw('{"a":1,"b":"x"}')
;
SELECT JSONLength('{"a":1,"b":2}'), JSONLength('[1,2,3]'), JSONLength('5'), JSONType('{"a":1}', 'a'), JSONType('{"a":1.5}', 'a'), JSONType('x'), JSONType('{"a":true}', 'a'), JSONHas('{"a":null}', 'a'), JSONHas('[1,2]', 2), JSONHas('[1,2]', 3), isValidJSON('{}'), isValidJSON('x'), isValidJSON('[1,]')
;
SELECT simpleJSONExtractString('{"a":"b\\nc"}', 'a'), simpleJSONExtractInt('{"a":5}', 'a'), simpleJSONHas('{"a":5}', 'b'), visitParamExtractRaw('{"a":[1, 2]}', 'a'), simpleJSONExtractBool('{"a":true}', 'a'), simpleJSONExtractInt('{"a":"7"}', 'a')
;
SELECT toTypeName(1), toTypeName(-1), toTypeName(300), toTypeName(1.5), toTypeName('a'), toTypeName(NULL), toTypeName([1, -1]), toTypeName((1, 'a')), toTypeName(1 = 1), toTypeName(1 + 1), toTypeName(1 / 1)
;
SELECT LENGTH('abc'), Lower('A'), COALESCE(NULL, 1), Count(), SUM(1), Avg(2), IF(1, 2, 3), Substring('abc', 2)
;
SELECT 'tab\tquote\'back\\slash', 'line\nfeed', '\x41', 'ü', ''
;
SELECT "agent" AS `the agent` FROM measurements WHERE run_id = 'claude::fix-bug'
;
SELECT 1 AS a, a + 1 AS b, b * 2 AS c
;
SELECT 1_000, 0x1F, 1.5e3, .5
;
SELECT sum(x), avg(x), min(x), max(x), count(x), any(x), groupArray(x), argMax(x, x) FROM (SELECT toInt64(1) AS x WHERE 0)
;
SELECT sum(x), avg(x), min(x), max(x), count(x), any(x), groupArray(x), uniq(x) FROM (SELECT toNullable(1) AS x WHERE 0)
;
SELECT min(x), max(x), any(x), count() FROM (SELECT 'a' AS x WHERE 0)
;
SELECT sum(x), avg(x), min(x), max(x), count(x) FROM (SELECT arrayJoin([1., 0 / 0, 3.]) AS x)
;
SELECT sum(x), avg(x), min(x), max(x), count(x) FROM (SELECT x / y AS x FROM (SELECT arrayJoin([0, 2, 4]) AS x, 2 AS y))
;
SELECT sum(x / y), max(x / y), min(x / y) FROM (SELECT arrayJoin([0, 2]) AS x, arrayJoin([0, 1]) AS y)
;
SELECT quantile(0.9)(x), quantiles(0.5, 0.9)(x), quantileExact(0.5)(x), quantileExact(0.9)(x), median(x), avgIf(x, x > 2), sumIf(x, x > 5), maxIf(x, x > 100), argMax(x, -x), quantileIf(0.5)(x, x > 1), sumDistinct(x), countDistinct(x), anyLast(x) FROM (SELECT arrayJoin([1, 2, 2, 3, 3, 3, 10]) AS x)
;
SELECT stddevPop(x), stddevSamp(x), varPop(x), varSamp(x), covarPop(x, x * x), covarSamp(x, x * x), corr(x, x * x) FROM (SELECT arrayJoin([1, 2, 2, 3, 3, 3, 10]) AS x)
;
SELECT stddevPop(x), varSamp(x), corr(x, x * 3) FROM (SELECT arrayJoin([1.25, 2.5, 17.125, 3.1, 0.3]) AS x)
;
SELECT uniqExact(a, b), count(DISTINCT a, b), uniq(a), count(DISTINCT b) FROM (SELECT arrayJoin([(1, 'a'), (1, 'b'), (NULL, 'a')]) AS t, t.1 AS a, t.2 AS b)
;
SELECT argMax(a, b), argMin(a, b), any(a), anyLast(a) FROM (SELECT arrayJoin([(NULL, 1), ('x', 2), ('y', NULL)]) AS t, t.1 AS a, t.2 AS b)
;
SELECT groupArray(a), count(a), count(), groupArray(1)(a) FROM (SELECT arrayJoin([NULL, 'x', 'y']) AS a)
;
SELECT groupConcat(x), groupConcat(',')(x), sumOrNull(1), countOrNull(1) FROM (SELECT arrayJoin(['a', 'b']) AS x)
;
SELECT sumOrNull(x), avgOrNull(x), maxOrNull(x) FROM (SELECT 1 AS x WHERE 0)
;
SELECT sumIf(1, NULL), countIf(NULL), sum(toUInt8(1)), sum(-1), sum(1.5)
;
SELECT x FROM (SELECT arrayJoin([3, NULL, 1]) AS x) ORDER BY x
;
SELECT x FROM (SELECT arrayJoin([3, NULL, 1]) AS x) ORDER BY x DESC
;
SELECT x FROM (SELECT arrayJoin([3, NULL, 1]) AS x) ORDER BY x DESC NULLS FIRST
;
SELECT x / y AS r FROM (SELECT arrayJoin([1, 0, 4]) AS x, arrayJoin([0, 2]) AS y) ORDER BY r, x, y
;
SELECT x FROM (SELECT arrayJoin([3, 1, 2]) AS x) ORDER BY x % 2, x LIMIT 1, 1
;
SELECT arrayJoin([1, 2]) AS a, arrayJoin([3, 4]) AS b, a + b
;
SELECT arrayJoin([1, 2, 3]) AS x WHERE x > 1
;
SELECT arrayJoin([1, 1, 2]) AS x, count() FROM (SELECT arrayJoin([1, 2])) GROUP BY x ORDER BY x
;
SELECT s, a FROM (SELECT 'x' AS s, [1, 2] AS arr) ARRAY JOIN arr AS a
;
SELECT s, arr FROM (SELECT 'x' AS s, [1, 2] AS arr) ARRAY JOIN arr
;
SELECT s, a FROM (SELECT 'x' AS s, emptyArrayUInt8() AS arr) LEFT ARRAY JOIN arr AS a
;
SELECT s, a FROM (SELECT 'x' AS s, splitByChar(',', 'a,b') AS arr) LEFT ARRAY JOIN arraySlice(arr, 3) AS a
;
SELECT s, a, b FROM (SELECT 'x' AS s, [1, 2] AS arr, ['p', 'q'] AS br) ARRAY JOIN arr AS a, br AS b
;
SELECT a.1, a.2 FROM (SELECT [(1, 'x'), (2, 'y')] AS arr) ARRAY JOIN arr AS a
;
SELECT l.x, r.y FROM (SELECT 1 AS x) AS l LEFT JOIN (SELECT 2 AS x, 'z' AS y) AS r ON l.x = r.x
;
SELECT * FROM (SELECT 1 AS x, 'l' AS v) AS l LEFT JOIN (SELECT 1 AS x, 'z' AS y) AS r USING x
;
SELECT * FROM (SELECT 1 AS x, 'l' AS v) AS l JOIN (SELECT 1 AS x, 'z' AS y) AS r ON l.x = r.x
;
SELECT v, y FROM (SELECT 1 AS x, 'l' AS v) AS l ANY LEFT JOIN (SELECT arrayJoin([1, 1]) AS x, 'z' AS y) AS r ON l.x = r.x
;
SELECT * FROM (SELECT arrayJoin([1, 2]) AS x) AS a RIGHT JOIN (SELECT arrayJoin([2, 3]) AS x, 'q' AS v) AS b USING x ORDER BY ALL
;
SELECT * FROM (SELECT arrayJoin([1, 2]) AS x) AS a FULL JOIN (SELECT arrayJoin([2, 3]) AS x) AS b ON a.x = b.x ORDER BY ALL
;
SELECT arrayJoin([1, 1, 2, 2, 3]) INTERSECT SELECT arrayJoin([1, 2, 2])
;
SELECT arrayJoin([1, 1, 2, 2, 3]) EXCEPT SELECT arrayJoin([1, 2])
;
SELECT arrayJoin([1, 1, 2, 2, 3]) EXCEPT DISTINCT SELECT 1
;
SELECT x FROM (SELECT 1 AS x UNION ALL SELECT 2.5)
;
SELECT x + 1 AS x FROM (SELECT arrayJoin([1, 2, 3]) AS x) WHERE x > 2
;
SELECT count() AS c, sum(x) FROM (SELECT arrayJoin([1, 2, 3]) AS x) HAVING c > 1
;
SELECT x FROM (SELECT arrayJoin([1, 2, 3]) AS x) HAVING x > 1
;
SELECT (SELECT 1), (SELECT 'a' WHERE 0), (SELECT max(x) FROM (SELECT arrayJoin([1, 5]) AS x))
;
SELECT EXISTS (SELECT 1 WHERE 0) AS no, EXISTS (SELECT 1) AS yes
;
SELECT x, sum(x) OVER (ORDER BY x), row_number() OVER (ORDER BY x DESC), lag(x) OVER (ORDER BY x), lead(x) OVER (ORDER BY x), lagInFrame(x, 1, 9) OVER (ORDER BY x), leadInFrame(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), first_value(x) OVER (ORDER BY x), last_value(x) OVER (ORDER BY x), avg(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), count() OVER (), ntile(2) OVER (ORDER BY x), percent_rank() OVER (ORDER BY x), nth_value(x, 2) OVER (ORDER BY x) FROM (SELECT arrayJoin([1, 2, 3]) AS x) ORDER BY x
;
SELECT x, max(x) OVER w, dense_rank() OVER w FROM (SELECT arrayJoin([2, 1, 2]) AS x) WINDOW w AS (ORDER BY x) ORDER BY x
;
SELECT sum(count()) OVER () AS s, x FROM (SELECT arrayJoin([2, 1, 2]) AS x) GROUP BY x ORDER BY x
;
SELECT count() FROM (SELECT 1) SETTINGS max_threads = 1
;
SELECT toBool(1), toBool('false'), reverse([1, 2]), materialize(1) + 1, isNaN(0 / 0), isFinite(1 / 0)
;
SELECT 'x' IN ('x'), ['a', 'b'][1] = 'a', length(splitByChar('/', 'a/b/c')) AS parts
;
