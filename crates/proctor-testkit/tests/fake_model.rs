//! The fake model as a client sees it: raw bytes over TCP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use proctor_testkit::fake_model::{Api, OnExhausted, Outcome, StopReason, Usage};
use proctor_testkit::{FakeModel, Fault, Script, Turn};
use serde_json::{Value, json};

/// What came back on a connection, up to its end.
struct Reply {
    raw: String,
    /// Whether the connection ended in a reset.
    reset: bool,
}

impl Reply {
    fn status(&self) -> u16 {
        self.raw.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// The body, out of its chunks if it came in chunks.
    fn body(&self) -> String {
        let (head, body) = self.raw.split_once("\r\n\r\n").unwrap_or_default();
        if !head.contains("transfer-encoding: chunked") {
            return body.to_owned();
        }
        let mut out = String::new();
        let mut rest = body;
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            out.push_str(&after[..size]);
            rest = &after[size + 2..];
        }
        out
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body()).unwrap()
    }

    /// The data of the events, the last `[DONE]` of Chat Completions left out.
    fn events(&self) -> Vec<Value> {
        let body = self.body();
        let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

fn exchange(model: &FakeModel, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    let reset = stream.read_to_end(&mut bytes).is_err();
    // Lossy: one fault sends bytes that are no UTF-8, in a place where nothing counts them.
    Reply { raw: String::from_utf8_lossy(&bytes).into_owned(), reset }
}

fn post(model: &FakeModel, target: &str, body: &Value) -> Reply {
    let body = body.to_string();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: very-secret\r\nAuthorization: Bearer very-secret\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    exchange(model, (head + &body).as_bytes())
}

const PATHS: [&str; 3] = ["/v1/messages?beta=true", "/v1/responses", "/v1/chat/completions"];

fn ask(model: &FakeModel, path: &str, stream: bool) -> Reply {
    let mut body = match path {
        "/v1/responses" => json!({
            "instructions": "x", "tools": [{"type": "function", "name": "Write"}],
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<cwd>/w/s</cwd>"}]},
                      {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]}),
        "/v1/chat/completions" => json!({
            "messages": [{"role": "system", "content": "Working directory: /w/s"}, {"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {"name": "Write"}}]}),
        _ => json!({
            "system": [{"type": "text", "text": "Primary working directory: /w/s\n"}], "tools": [{"name": "Write"}],
            "messages": [{"role": "user", "content": "hi"}]}),
    };
    body["model"] = json!("m");
    body["stream"] = json!(stream);
    post(model, path, &body)
}

/// The concatenation of the strings that `pick` finds in the events.
fn join(reply: &Reply, pick: impl Fn(&Value) -> &Value) -> String {
    reply.events().iter().filter_map(|event| pick(event).as_str().map(str::to_owned)).collect()
}

#[test]
fn texts_and_tools_in_every_dialect_as_a_stream_and_plain() {
    let text = "hello wörld, long enough for several pieces";
    let turns = || {
        [
            Turn::text(text).thinking("hm, well").chunks(8, Duration::ZERO),
            Turn::tool("T", json!({"p": "${cwd}/f", "q": "${prompt}", "literal": "$${cwd}"})),
        ]
    };
    for path in PATHS {
        for stream in [true, false] {
            let model = FakeModel::start(turns());
            let (first, second) = (ask(&model, path, stream), ask(&model, path, stream));
            assert_eq!((first.status(), second.status()), (200, 200));
            let (said, input) = match (path, stream) {
                ("/v1/responses", _) => {
                    let whole = |reply: &Reply| {
                        if stream {
                            reply.events().pop().unwrap()["response"].clone()
                        } else {
                            reply.json()
                        }
                    };
                    let said = whole(&first)["output"][1]["content"][0]["text"].clone();
                    (said, whole(&second)["output"][0]["arguments"].clone())
                }
                ("/v1/chat/completions", true) => (
                    join(&first, |event| &event["choices"][0]["delta"]["content"]).into(),
                    join(&second, |event| {
                        &event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
                    })
                    .into(),
                ),
                ("/v1/chat/completions", false) => {
                    let message = |reply: &Reply| reply.json()["choices"][0]["message"].clone();
                    let call = message(&second)["tool_calls"][0]["function"]["arguments"].clone();
                    (message(&first)["content"].clone(), call)
                }
                (_, true) => (
                    join(&first, |event| &event["delta"]["text"]).into(),
                    join(&second, |event| &event["delta"]["partial_json"]).into(),
                ),
                (_, false) => (
                    first.json()["content"][1]["text"].clone(),
                    second.json()["content"][0]["input"].to_string().into(),
                ),
            };
            assert_eq!(said, text, "{path} {stream}");
            let input: Value = serde_json::from_str(input.as_str().unwrap()).unwrap();
            assert_eq!(
                input,
                json!({"p": "/w/s/f", "q": "hi", "literal": "${cwd}"}),
                "{path} {stream}"
            );
            let turns: Vec<_> = model.requests().iter().map(|request| request.turn).collect();
            assert_eq!(turns, [Some(0), Some(1)]);
        }
    }
}

#[test]
fn a_messages_stream_has_its_events_in_order() {
    let model = FakeModel::start(Turn::tool("T", json!({})).and_text("a"));
    let kinds = join(&ask(&model, PATHS[0], true), |event| &event["type"])
        .replace("content_block_", "")
        .replace("message_", "");
    assert_eq!(kinds, "startstartpingdeltastopstartdeltastopdeltastop");
}

#[test]
fn a_responses_stream_counts_its_events_and_knows_custom_and_namespaced_tools() {
    let model = FakeModel::start([
        Turn::custom_tool("apply_patch", "*** Begin Patch"),
        Turn::namespaced_tool("mcp__t", "echo", json!({"a": 1})),
    ]);
    let events = ask(&model, PATHS[1], true).events();
    let numbers: Vec<_> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let item = &events.last().unwrap()["response"]["output"][0];
    assert_eq!(
        (&item["type"], &item["input"]),
        (&json!("custom_tool_call"), &json!("*** Begin Patch"))
    );
    let item = &ask(&model, PATHS[1], false).json()["output"][0];
    assert_eq!((&item["namespace"], &item["arguments"]), (&json!("mcp__t"), &json!("{\"a\":1}")));
}

#[test]
fn usage_and_stop_reasons_have_their_own_words_in_each_dialect() {
    let usage = Usage { input: 1, output: 2, cache_read: 4, cache_write: 8, reasoning: 1 };
    let turn = Turn::text("x").usage(usage).stop_reason(StopReason::MaxTokens);
    let model = FakeModel::start(Script::from(turn).on_exhausted(OnExhausted::RepeatLast));
    let [messages, responses, chat] = PATHS.map(|path| ask(&model, path, false).json());
    assert_eq!(messages["stop_reason"], "max_tokens");
    assert_eq!(messages["usage"]["cache_creation_input_tokens"], 8);
    assert_eq!(responses["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(responses["usage"]["input_tokens"], 13);
    assert_eq!(chat["choices"][0]["finish_reason"], "length");
    assert_eq!(chat["usage"]["total_tokens"], 15);
    let refusal = FakeModel::start(Turn::text("no").stop_reason(StopReason::Refusal));
    assert_eq!(ask(&refusal, PATHS[0], false).json()["stop_reason"], "refusal");
}

#[test]
fn gemini_speaks_its_own_dialect() {
    let usage = Usage { input: 3, output: 5, cache_read: 0, cache_write: 0, reasoning: 2 };
    let turn = Turn::text("${prompt}!").thinking("hm").usage(usage);
    let model = FakeModel::start([
        turn.after(Fault::status(429).message("slow")),
        Turn::text("no").stop_reason(StopReason::Refusal),
        Turn::text("cut").stop_reason(StopReason::MaxTokens),
    ]);
    let path = "/s/g/v1beta/models/gemini-x:generateContent";
    let body = json!({"systemInstruction": {"parts": [{"text": "be good"}]},
                      "contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    let [first, answer, refused, cut] = [(); 4].map(|()| post(&model, path, &body));
    assert_eq!(
        (first.status(), &first.json()["error"]["status"]),
        (429, &json!("RESOURCE_EXHAUSTED"))
    );
    let answer = answer.json();
    let parts = &answer["candidates"][0]["content"]["parts"];
    assert_eq!(parts, &json!([{"text": "hm", "thought": true}, {"text": "hi!"}]));
    assert_eq!(
        answer["usageMetadata"],
        json!({"promptTokenCount": 3, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
               "totalTokenCount": 8})
    );
    assert_eq!(refused.json()["candidates"][0]["finishReason"], "SAFETY");
    assert_eq!(cut.json()["candidates"][0]["finishReason"], "MAX_TOKENS");
    let log = model.model_requests();
    assert_eq!((log[1].api, log[1].session.as_str()), (Api::Gemini, "g"));
    assert_eq!(
        (log[1].asked.model.as_str(), log[1].asked.system.as_str()),
        ("gemini-x", "be good")
    );
}

#[test]
fn a_plain_answer_may_hide_its_usage_or_be_anything() {
    let model = FakeModel::start([Turn::text("x").without_usage(), Turn::fault(Fault::body("{}"))]);
    assert!(ask(&model, PATHS[2], false).json().get("usage").is_none());
    let any = ask(&model, PATHS[2], false);
    assert_eq!((any.status(), any.body().as_str()), (200, "{}"));
}

#[test]
fn http_faults_come_first_and_then_the_answer() {
    for path in PATHS {
        let overloaded = Fault::status(529).header("retry-after", "7").message("busy");
        let turn = Turn::text("ok").after(overloaded).after(Fault::status(401).times(2));
        let model = FakeModel::start(turn);
        let first = ask(&model, path, true);
        assert!(first.raw.contains("\r\nretry-after: 7\r\n"), "{}", first.raw);
        assert_eq!(first.json()["error"]["message"], "busy");
        let statuses = [(); 3].map(|()| ask(&model, path, true).status());
        assert_eq!(statuses, [401, 401, 200]);
        let log = model.requests();
        let outcomes: Vec<_> = log.iter().map(|request| request.outcome.clone()).collect();
        assert_eq!(outcomes, [Outcome::Fault, Outcome::Fault, Outcome::Fault, Outcome::Answered]);
        assert_eq!(log[0].status, Some(529));
    }
}

#[test]
fn stream_faults() {
    let model = FakeModel::start([
        Turn::fault(Fault::sse_error().error_type("overloaded_error")),
        Turn::fault(Fault::malformed()),
        Turn::fault(Fault::truncate()),
        Turn::fault(Fault::empty()),
        Turn::fault(Fault::html(502)),
        Turn::fault(Fault::drop_midway()),
        Turn::fault(Fault::drop_before_headers()),
        Turn::text("ok"),
    ]);
    let got: Vec<_> = (0..8).map(|_| ask(&model, PATHS[0], true)).collect();
    let statuses: Vec<_> = got.iter().map(Reply::status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 502, 200, 0, 200]);
    let resets: Vec<_> = got.iter().map(|reply| reply.reset).collect();
    assert_eq!(resets, [false, false, false, false, false, true, true, false]);
    assert!(got[0].raw.contains("overloaded_error"));
    assert!(got[1].raw.contains("{{{ no json"));
    assert!(got[2].raw.contains("message_start") && !got[2].raw.contains("message_stop"));
    assert!(got[2].raw.ends_with("0\r\n\r\n"));
    assert_eq!(got[3].body(), "");
    assert!(got[4].raw.contains("<html>"));
    assert!(got[5].raw.contains("message_start") && !got[5].raw.contains("0\r\n\r\n"));
    assert_eq!(got[6].raw, "");
}

#[test]
fn stream_faults_of_requests_that_want_no_stream() {
    let faults = [
        Fault::sse_error(),
        Fault::malformed(),
        Fault::truncate(),
        Fault::empty(),
        Fault::drop_midway(),
    ];
    let model = FakeModel::start(faults.map(Turn::fault).to_vec());
    let got: Vec<_> = (0..5).map(|_| ask(&model, PATHS[0], false)).collect();
    assert_eq!(got[0].status(), 529);
    for reply in &got[1..] {
        assert_eq!(reply.status(), 200);
        assert!(serde_json::from_str::<Value>(&reply.body()).is_err());
    }
    assert!(got[4].reset);
}

#[test]
fn a_hanging_answer_ends_in_a_reset_or_when_the_client_leaves() {
    let silence = Duration::from_millis(50);
    let model = FakeModel::start([
        Turn::fault(Fault::hang(silence)),
        Turn::fault(Fault::hang_before_headers(silence)),
        Turn::fault(Fault::hang(Duration::from_hours(1))),
    ]);
    let (midway, before) = (ask(&model, PATHS[0], true), ask(&model, PATHS[0], true));
    assert!(midway.reset && midway.raw.contains("message_start"));
    assert!(before.reset && before.raw.is_empty());

    let mut leaving = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    leaving.write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    model.wait_for_requests(3, Duration::from_secs(10));
    drop(leaving);
    assert_eq!(model.requests()[2].outcome, Outcome::ClientGone);
}

#[test]
fn a_server_that_is_dropped_ends_what_hangs() {
    let model = FakeModel::start(Turn::fault(Fault::hang_before_headers(Duration::from_hours(1))));
    let mut waiting = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    waiting.write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    model.wait_for_requests(1, Duration::from_secs(10));
    let port = model.port();
    drop(model);
    assert_eq!(waiting.read(&mut [0; 1]).unwrap(), 0);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn delays_are_kept() {
    let pause = Duration::from_millis(20);
    let model = FakeModel::start(Turn::text("abcd").delay(pause).chunks(1, pause));
    let begin = Instant::now();
    ask(&model, PATHS[0], true);
    // Four pieces make ten events.
    assert!(begin.elapsed() >= pause * 11, "{:?}", begin.elapsed());
}

#[test]
fn sessions_have_their_own_place_in_the_script() {
    let model =
        FakeModel::start(Script::from(Turn::text("first")).on_exhausted(OnExhausted::Error));
    let say = |target: &str| post(&model, target, &json!({})).body();
    assert!(say("/v1/messages").contains("first"));
    assert!(say("/v1/messages").contains("no more turns"));
    assert!(say("/s/a/v1/messages").contains("first"));
    model.set_script("b", Turn::text("other"));
    assert!(say("/s/b/messages").contains("other"));
    let sessions: Vec<_> = model.requests().into_iter().map(|request| request.session).collect();
    assert_eq!(sessions, ["default", "default", "a", "b"]);
    assert_eq!(model.session_url("a"), format!("{}/s/a", model.url()));
}

#[test]
fn the_log_shows_what_was_asked_and_hides_credentials() {
    let model = FakeModel::start(Script::default());
    let result =
        json!({"type": "tool_result", "tool_use_id": "i", "is_error": true, "content": "boom"});
    post(
        &model,
        "/v1/messages",
        &json!({
        "model": "m", "system": "be good", "tools": [{"name": "Write"}],
        "messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [result]}]}),
    );
    let log = model.requests();
    let asked = &log[0].asked;
    assert_eq!(asked.tools, ["Write"]);
    assert_eq!((asked.prompt.as_str(), asked.system.as_str()), ("x", "be good"));
    assert_eq!(asked.tool_results[0].text, "boom");
    assert_eq!(log[0].headers["authorization"], "<18 bytes>");
    assert!(!format!("{log:?}").contains("very-secret"));
}

#[test]
fn expectations_that_are_not_met_are_http_400() {
    let model = FakeModel::start([Turn::text("a").needs("not there"), Turn::text("b").needs("hi")]);
    let reply = ask(&model, PATHS[2], false);
    assert_eq!(reply.status(), 400);
    assert_eq!(ask(&model, PATHS[2], false).status(), 200);
    let why = "the request does not contain \"not there\"".to_owned();
    assert_eq!(model.requests()[0].outcome, Outcome::Unmet(why));
}

#[test]
fn everything_that_is_no_model_request() {
    let model = FakeModel::start(Script::default());
    let send = |text: &str| exchange(&model, text.as_bytes()).status();
    assert_eq!(send("GET /v1/models HTTP/1.1\r\n\r\n"), 200);
    assert_eq!(post(&model, "/v1/messages/count_tokens", &json!({})).status(), 200);
    assert_eq!(send("GET /v1/responses HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"), 426);
    assert_eq!(send("CONNECT example.invalid:443 HTTP/1.1\r\n\r\n"), 403);
    assert_eq!(send("GET http://example.invalid/x HTTP/1.1\r\n\r\n"), 403);
    assert_eq!(send("HEAD /api/hello HTTP/1.1\r\n\r\n"), 404);
    assert_eq!(send("POST /v1/messages HTTP/1.1\r\ncontent-length: 3\r\n\r\n{no"), 400);
    assert_eq!(
        send("POST /v1/messages HTTP/1.1\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\n{}"),
        400
    );
    // A connection without a request is none.
    drop(TcpStream::connect(("127.0.0.1", model.port())).unwrap());
    let apis: Vec<_> = model.requests().iter().map(|request| request.api).collect();
    let (egress, messages) = (Api::Egress, Api::Messages);
    assert_eq!(
        apis,
        [
            Api::Models,
            Api::CountTokens,
            Api::WebSocket,
            egress,
            egress,
            Api::Other,
            messages,
            messages
        ]
    );
    assert_eq!(model.model_requests().len(), 2);
}

#[test]
fn bodies_in_chunks_and_after_a_continue() {
    let model = FakeModel::start(Turn::text("ok").needs("hello"));
    let reply = exchange(
        &model,
        b"POST /messages HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n\
          6;x=y\r\n{\"a\":\"\r\n7\r\nhello\"}\r\n0\r\n\r\n",
    );
    assert!(
        reply.raw.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"),
        "{}",
        reply.raw
    );
}

#[test]
fn twenty_clients_at_once_each_get_one_turn() {
    let model =
        FakeModel::start((0..20).map(|n| Turn::text(format!("turn-{n}."))).collect::<Vec<_>>());
    let bodies: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..20).map(|_| scope.spawn(|| ask(&model, PATHS[0], true).body())).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for n in 0..20 {
        let holders = bodies.iter().filter(|body| body.contains(&format!("turn-{n}."))).count();
        assert_eq!(holders, 1, "turn {n}");
    }
}
