//! The client against the fake model on loopback, in every dialect.

use std::cell::Cell;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use proctor_model::llm::{Backend, LlmSettings, Named, Provider};
use proctor_testkit::fake_model::{OnExhausted, Outcome, StopReason, Usage};
use proctor_testkit::{FakeModel, Fault, Script, Turn};
use serde_json::{Value, json};

use crate::pace::Pace;
use crate::{Ask, AskError, Client, Model, NoClient, Price, ReplySchema, Said, Tokens, connect};

const KEY: &str = "key-0123456789-very-secret";
const PRICE: Option<Price> = Some(Price { input: 1.0, output: 10.0 });
const SAID: &str = r#"{"score":1}"#;

fn never() -> bool {
    false
}

/// Settings for `provider` on the fake model.
fn settings(model: &FakeModel, provider: Provider) -> LlmSettings {
    let root = match provider {
        Provider::Anthropic => model.url(),
        Provider::OpenAi => format!("{}/v1", model.url()),
        Provider::Gemini => format!("{}/v1beta", model.url()),
    };
    LlmSettings {
        provider: Some(Named::by_user(provider.name())),
        model: Some(Named::by_user("judge-1")),
        backend: Backend::LiterLlm,
        base_url: Some(root),
        api_key_env: Some("JUDGE_KEY".to_owned()),
        allow_network: true,
        ..LlmSettings::default()
    }
}

/// A client whose pauses are over at once.
fn client(settings: &LlmSettings) -> Client {
    let env = |name: &str| (name == "JUDGE_KEY").then(|| KEY.to_owned());
    let mut client = connect(settings, PRICE, &env).unwrap();
    client.pace = Pace { first: Duration::ZERO };
    client
}

fn schema() -> ReplySchema {
    ReplySchema {
        name: "grade".to_owned(),
        schema: json!({"type": "object", "additionalProperties": false, "required": ["score"],
                       "properties": {"score": {"type": "number"}}}),
    }
}

fn ask(client: &Client) -> Result<Said, AskError> {
    ask_with(client, false, &never)
}

fn ask_with(client: &Client, fresh: bool, cancel: &dyn Fn() -> bool) -> Result<Said, AskError> {
    let schema = schema();
    let (system, user) = ("be strict", "how good?");
    client.ask(&Ask { system, user, max_output_tokens: 2048, schema: &schema, fresh }, cancel)
}

/// What the question above costs at the most: its bytes by three, and the whole answer.
fn worst_cost() -> f64 {
    let bytes = "be stricthow good?".len() + schema().schema.to_string().len();
    let input = u32::try_from(bytes.div_ceil(3)).unwrap();
    (f64::from(input) + 2048.0 * 10.0) / 1e6
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Runs `check` for every provider, each with a fake model of its own.
fn for_each(script: impl Fn() -> Script, check: impl Fn(Provider, &FakeModel, &Client)) {
    for provider in Provider::ALL {
        let model = FakeModel::start(script());
        let client = client(&settings(&model, provider));
        check(provider, &model, &client);
    }
}

#[test]
fn an_answer_its_usage_and_its_cost() {
    let usage = Usage { input: 40, output: 9, cache_read: 60, cache_write: 0, reasoning: 0 };
    let script = || Turn::text(SAID).thinking("hm").usage(usage).into();
    for_each(script, |provider, _, client| {
        let said = ask(client).unwrap();
        assert_eq!(said.text, SAID, "{provider:?}");
        assert_eq!(said.usage, Some(Tokens { input: 100, output: 9 }), "{provider:?}");
        assert!(same(said.cost_usd, 190e-6) && same(client.spent_usd(), 190e-6), "{provider:?}");
        assert!(!said.cached);
        assert_eq!(client.id(), format!("{}/judge-1", provider.name()));
    });
}

#[test]
fn the_question_is_sent_whole_at_temperature_0_with_its_schema() {
    for_each(
        || Turn::text(SAID).into(),
        |provider, model, client| {
            ask(client).unwrap();
            let [request] = &model.model_requests()[..] else { panic!("one request") };
            assert_eq!(request.asked.model, "judge-1");
            assert_eq!(request.asked.system, "be strict");
            assert_eq!(request.asked.prompt, "how good?");
            assert!(!request.asked.stream);
            let (temperature, cap, sent) = match provider {
                Provider::Anthropic => {
                    ("/temperature", "/max_tokens", "/output_config/format/schema")
                }
                Provider::OpenAi => {
                    ("/temperature", "/max_tokens", "/response_format/json_schema/schema")
                }
                Provider::Gemini => (
                    "/generationConfig/temperature",
                    "/generationConfig/maxOutputTokens",
                    "/generationConfig/responseJsonSchema",
                ),
            };
            let at = |pointer| request.body.pointer(pointer).cloned().unwrap_or(Value::Null);
            assert_eq!((at(temperature), at(cap)), (json!(0), json!(2048)), "{provider:?}");
            assert_eq!(at(sent), schema().schema, "{provider:?}");
        },
    );
}

#[test]
fn the_key_is_in_its_header_and_nowhere_else() {
    for_each(
        || Turn::text(SAID).into(),
        |provider, model, client| {
            ask(client).unwrap();
            let [request] = &model.model_requests()[..] else { panic!("one request") };
            let (header, prefix) = match provider {
                Provider::Anthropic => ("x-api-key", ""),
                Provider::OpenAi => ("authorization", "Bearer "),
                Provider::Gemini => ("x-goog-api-key", ""),
            };
            let length = format!("<{} bytes>", prefix.len() + KEY.len());
            assert_eq!(request.headers.get(header), Some(&length), "{provider:?}");
            let masked = request.headers.values().filter(|value| value.starts_with('<')).count();
            assert_eq!(masked, 1, "{:?}", request.headers);
            assert!(!format!("{request:?}").contains("very-secret"));
            assert!(!format!("{client:?}").contains("very-secret"));
            assert_eq!(
                request.headers["user-agent"],
                concat!("proctor/", env!("CARGO_PKG_VERSION"))
            );
            assert_eq!(request.headers["accept"], "application/json");
        },
    );
}

#[test]
fn without_a_report_of_usage_the_worst_case_is_charged() {
    for_each(
        || Turn::text(SAID).without_usage().into(),
        |provider, _, client| {
            let said = ask(client).unwrap();
            assert_eq!(said.usage, None, "{provider:?}");
            assert!(same(said.cost_usd, worst_cost()), "{provider:?} {}", said.cost_usd);
        },
    );
}

#[test]
fn what_may_pass_is_tried_again_and_paid_for() {
    let script = || {
        let busy = Fault::status(429).header("retry-after", "0");
        Turn::text(SAID).after(busy).after(Fault::status(500)).after(Fault::html(503)).into()
    };
    for_each(script, |provider, model, client| {
        let said = ask(client).unwrap();
        assert_eq!(model.model_requests().len(), 4, "{provider:?}");
        let whole = 3.0 * worst_cost() + 300e-6;
        assert!(same(said.cost_usd, whole) && same(client.spent_usd(), whole), "{provider:?}");
    });
}

#[test]
fn repeats_have_an_end() {
    for_each(
        || Turn::fault(Fault::status(503).forever().message("busy")).into(),
        |_, model, client| {
            let error = ask(client).unwrap_err();
            let AskError::Failed { attempts: 4, message } = error else { panic!("{error:?}") };
            assert!(message.starts_with("status 503: ") && message.ends_with("busy"), "{message}");
            assert_eq!(model.model_requests().len(), 4);
        },
    );
}

#[test]
fn repeats_may_be_off() {
    let model = FakeModel::start(Turn::text(SAID).after(Fault::status(500)));
    let mut settings = settings(&model, Provider::OpenAi);
    settings.max_retries = 0;
    assert!(matches!(ask(&client(&settings)), Err(AskError::Failed { attempts: 1, .. })));
}

#[test]
fn a_pause_that_would_not_end_in_time_is_not_begun() {
    let model =
        FakeModel::start(Turn::text(SAID).after(Fault::status(429).header("retry-after", "25")));
    let mut settings = settings(&model, Provider::OpenAi);
    settings.timeout = Duration::from_secs(5);
    let begun = Instant::now();
    assert!(matches!(ask(&client(&settings)), Err(AskError::Failed { attempts: 1, .. })));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_will_not_pass_is_free_and_tried_once() {
    for status in [400, 401, 403, 404, 422] {
        let fault = move || {
            Turn::fault(Fault::status(status).forever().message(format!("no: {KEY}"))).into()
        };
        for_each(fault, |provider, model, client| {
            let error = ask(client).unwrap_err();
            let AskError::Refused { status: got, message } = &error else { panic!("{error:?}") };
            assert_eq!(*got, status);
            assert!(message.ends_with("no: [redacted]"), "{provider:?} {message}");
            assert!(client.spent_usd().abs() < f64::EPSILON);
            assert_eq!(model.model_requests().len(), 1);
        });
    }
}

#[test]
fn an_empty_purse_will_not_pass() {
    let fault = Fault::status(429).error_type("insufficient_quota").forever();
    let model = FakeModel::start(Turn::fault(fault));
    let error = ask(&client(&settings(&model, Provider::OpenAi))).unwrap_err();
    assert!(matches!(error, AskError::Refused { status: 429, .. }), "{error:?}");
}

#[test]
fn a_short_key_is_not_shown_either() {
    let model = FakeModel::start(Turn::fault(Fault::status(401).message("no such key: sk-1")));
    let settings = settings(&model, Provider::OpenAi);
    let client = connect(&settings, PRICE, &|_| Some("sk-1".to_owned())).unwrap();
    let AskError::Refused { message, .. } = ask(&client).unwrap_err() else { panic!("refused") };
    assert!(message.ends_with("no such key: [redacted]"), "{message}");
}

#[test]
fn long_messages_are_cut() {
    let text = format!("{KEY} \u{1b}[31m é{}", "é\n".repeat(5000));
    let model = FakeModel::start(Turn::fault(Fault::status(400).message(text)));
    let error = ask(&client(&settings(&model, Provider::OpenAi))).unwrap_err();
    let AskError::Refused { message, .. } = error else { panic!("{error:?}") };
    assert!(message.len() < 310 && message.ends_with(" ..."), "{message}");
    assert!(!message.contains(char::is_control) && !message.contains("secret"), "{message}");
}

#[test]
fn replies_that_are_no_answers_are_charged_and_never_read_as_one() {
    let bodies = [
        ("", "it is no JSON"),
        ("<html>", "it is no JSON"),
        (r#"{"choices":[{"mess"#, "it is no JSON"),
        ("[]", "it has no"),
        ("{}", "it has no"),
        (r#"{"error":{"message":"overloaded","type":"t"}}"#, "t: overloaded"),
    ];
    for (body, expected) in bodies {
        for_each(
            || Turn::fault(Fault::body(body)).into(),
            |provider, model, client| {
                let error = ask(client).unwrap_err();
                let AskError::Unreadable { message } = &error else { panic!("{error:?}") };
                assert!(message.starts_with(expected), "{provider:?} {body} {message}");
                assert!(same(client.spent_usd(), worst_cost()), "{provider:?} {body}");
                assert_eq!(model.model_requests().len(), 1);
            },
        );
    }
}

#[test]
fn an_answer_without_a_text_is_none() {
    for_each(
        || Turn::text(" \n").into(),
        |provider, _, client| {
            assert_eq!(ask(client), Err(AskError::Empty), "{provider:?}");
        },
    );
    for (provider, body) in [
        (Provider::Anthropic, r#"{"content":[],"stop_reason":"end_turn"}"#),
        (Provider::OpenAi, r#"{"choices":[]}"#),
        (Provider::Gemini, r#"{"candidates":[]}"#),
    ] {
        let model = FakeModel::start(Turn::fault(Fault::body(body)));
        assert_eq!(ask(&client(&settings(&model, provider))), Err(AskError::Empty));
    }
}

#[test]
fn an_answer_that_was_cut_off_is_none() {
    let cut = || Turn::text(SAID).stop_reason(StopReason::MaxTokens).into();
    for_each(cut, |provider, _, client| {
        assert_eq!(ask(client), Err(AskError::Truncated { limit: 2048 }), "{provider:?}");
        assert!(same(client.spent_usd(), 300e-6));
    });
}

#[test]
fn an_answer_that_was_withheld_is_none() {
    let withheld = || Turn::text(SAID).stop_reason(StopReason::Refusal).into();
    for_each(withheld, |provider, _, client| {
        let error = ask(client).unwrap_err();
        assert!(matches!(error, AskError::Withheld { .. }), "{provider:?} {error:?}");
    });
}

#[test]
fn a_huge_reply_is_not_read_to_its_end() {
    let body = "x".repeat(5 * 1024 * 1024);
    for_each(
        || Turn::fault(Fault::body(body.clone())).into(),
        |provider, _, client| {
            let expected = AskError::Unreadable { message: "it is larger than 4 MiB".into() };
            assert_eq!(ask(client), Err(expected), "{provider:?}");
            assert!(same(client.spent_usd(), worst_cost()));
        },
    );
}

#[test]
fn a_broken_connection_may_pass() {
    let script = || {
        let turn = Turn::text(SAID).after(Fault::drop_before_headers());
        turn.after(Fault::drop_midway()).into()
    };
    for_each(script, |provider, model, client| {
        assert_eq!(ask(client).unwrap().text, SAID, "{provider:?}");
        assert_eq!(model.model_requests().len(), 3);
        assert!(same(client.spent_usd(), 2.0 * worst_cost() + 300e-6), "{provider:?}");
    });
}

#[test]
fn nobody_there_costs_nothing() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let model = FakeModel::start(Script::default());
    let mut settings = settings(&model, Provider::OpenAi);
    settings.base_url = Some(format!("http://127.0.0.1:{port}/v1"));
    let client = client(&settings);
    assert!(matches!(ask(&client), Err(AskError::Failed { attempts: 4, .. })));
    assert!(client.spent_usd().abs() < f64::EPSILON);
}

#[test]
fn time_runs_out() {
    let hang = Duration::from_mins(1);
    for fault in [Fault::hang_before_headers(hang), Fault::hang(hang)] {
        let model = FakeModel::start(Turn::fault(fault));
        let mut settings = settings(&model, Provider::Anthropic);
        settings.timeout = Duration::from_millis(200);
        let client = client(&settings);
        assert_eq!(ask(&client), Err(AskError::TimedOut { seconds: 0 }));
        assert!(same(client.spent_usd(), worst_cost()));
    }
}

#[test]
fn a_question_can_be_called_off_while_it_waits() {
    let model = FakeModel::start(Turn::fault(Fault::hang_before_headers(Duration::from_mins(1))));
    let client = client(&settings(&model, Provider::Gemini));
    let begun = Instant::now();
    let cancel = || {
        model.wait_for_requests(1, Duration::from_secs(10));
        true
    };
    let looked = Cell::new(0);
    // The first look is before anything is sent.
    let cancel = || looked.replace(looked.get() + 1) > 0 && cancel();
    assert_eq!(ask_with(&client, false, &cancel), Err(AskError::Interrupted));
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(same(client.spent_usd(), worst_cost()));
    assert_eq!(model.requests()[0].outcome, Outcome::ClientGone);
}

#[test]
fn a_question_can_be_called_off_before_it_is_sent_and_while_it_rests() {
    let busy = Fault::status(429).header("retry-after", "20");
    let model = FakeModel::start(Turn::text(SAID).after(busy));
    let client = client(&settings(&model, Provider::OpenAi));
    assert_eq!(ask_with(&client, false, &|| true), Err(AskError::Interrupted));
    assert_eq!(model.requests().len(), 0);
    let answered = || !model.requests().is_empty();
    assert_eq!(ask_with(&client, false, &answered), Err(AskError::Interrupted));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = FakeModel::start(Turn::text(SAID));
    for status in [301, 302, 303, 307, 308] {
        let to = format!("{}/v1/chat/completions", elsewhere.url());
        let model = FakeModel::start(Turn::fault(Fault::status(status).header("location", &to)));
        let error = ask(&client(&settings(&model, Provider::OpenAi))).unwrap_err();
        assert!(
            matches!(error, AskError::Refused { status: got, .. } if got == status),
            "{error:?}"
        );
    }
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_known_question_is_free_unless_it_is_asked_afresh() {
    let script = || Script::new([Turn::text("a"), Turn::text("b"), Turn::text("c")]);
    let model = FakeModel::start(script());
    let client_with_cache = client(&settings(&model, Provider::OpenAi));
    let texts = [false, false, true, false].map(|fresh| {
        let said = ask_with(&client_with_cache, fresh, &never).unwrap();
        (said.text, said.cached, said.cost_usd > 0.0)
    });
    let expected = [("a", false, true), ("a", true, false), ("b", false, true), ("a", true, false)];
    assert_eq!(texts, expected.map(|(text, cached, paid)| (text.to_owned(), cached, paid)));
    let model = FakeModel::start(script());
    let mut settings = settings(&model, Provider::OpenAi);
    settings.cache = false;
    let client = client(&settings);
    assert_eq!([(); 2].map(|()| ask(&client).unwrap().text), ["a", "b"]);
}

#[test]
fn a_failed_question_is_asked_again() {
    let model = FakeModel::start([Turn::text(" "), Turn::text(SAID)]);
    let client = client(&settings(&model, Provider::OpenAi));
    assert_eq!(ask(&client), Err(AskError::Empty));
    assert_eq!(ask(&client).unwrap().text, SAID);
}

#[test]
fn limits_hold_before_anything_is_sent() {
    let model =
        FakeModel::start(Script::from(Turn::text(SAID)).on_exhausted(OnExhausted::RepeatLast));
    let mut limited = settings(&model, Provider::OpenAi);
    limited.max_cost_usd = Some(worst_cost() + 150e-6);
    let client_with_limit = client(&limited);
    ask_with(&client_with_limit, true, &never).unwrap();
    let error = ask_with(&client_with_limit, true, &never).unwrap_err();
    assert!(matches!(error, AskError::OverBudget { .. }), "{error:?}");
    // What is known needs no money.
    let mut limited = settings(&model, Provider::OpenAi);
    limited.max_calls = Some(1);
    let client_with_limit = client(&limited);
    ask(&client_with_limit).unwrap();
    assert!(ask(&client_with_limit).unwrap().cached);
    let error = ask_with(&client_with_limit, true, &never).unwrap_err();
    assert_eq!(error, AskError::TooManyCalls { limit: 1 });
    limited.max_calls = None;
    limited.max_tokens = Some(2048);
    assert!(matches!(ask(&client(&limited)), Err(AskError::TooManyTokens { .. })));
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn repeats_count_as_requests() {
    let model = FakeModel::start(Turn::text(SAID).after(Fault::status(500).times(3)));
    let mut settings = settings(&model, Provider::OpenAi);
    settings.max_calls = Some(2);
    assert_eq!(ask(&client(&settings)), Err(AskError::TooManyCalls { limit: 2 }));
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_limit_in_dollars_needs_a_price() {
    let model = FakeModel::start(Script::default());
    let mut settings = settings(&model, Provider::OpenAi);
    let env = |_: &str| Some(KEY.to_owned());
    assert!(connect(&settings, None, &env).is_ok());
    settings.max_cost_usd = Some(0.25);
    let error = connect(&settings, None, &env).unwrap_err();
    assert_eq!(error, NoClient::UnknownPrice { model: "openai/judge-1".into() });
}

#[test]
fn what_a_model_does_not_know_is_left_out_from_then_on() {
    let no_temperature = Fault::status(400).message("'temperature' is not supported here");
    let no_schema = Fault::status(422).message("response_format: not available");
    let other_name = Fault::status(400).message("use max_completion_tokens instead");
    let model = FakeModel::start([
        Turn::text(SAID).after(no_temperature).after(no_schema).after(other_name),
        Turn::text(SAID).forbids("temperature").forbids("response_format").forbids("max_tokens"),
    ]);
    let client = client(&settings(&model, Provider::OpenAi));
    let said = ask(&client).unwrap();
    assert!(same(said.cost_usd, 300e-6));
    ask_with(&client, true, &never).unwrap();
    assert_eq!(model.model_requests().len(), 5);
}

#[test]
fn several_threads_may_ask_at_once() {
    let model =
        FakeModel::start(Script::from(Turn::text(SAID)).on_exhausted(OnExhausted::RepeatLast));
    let client = client(&settings(&model, Provider::Anthropic));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| ask_with(&client, true, &never).unwrap());
        }
    });
    assert_eq!(model.model_requests().len(), 8);
    assert!(same(client.spent_usd(), 8.0 * 300e-6));
}
