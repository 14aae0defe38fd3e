//! Failures between the program and an endpoint.

use std::time::{Duration, Instant, SystemTime};

use crate::program::{run, tcompact, with};
use crate::server::{Server, Step, completion};
use crate::summary_requests::{KEY, ask, assert_fails, status, summary_of};

#[test]
fn permanent_errors_are_not_retried() {
    for code in [400, 401, 403, 404] {
        let body = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\\u001b[2J\"}}}}");
        let server = Server::start(vec![status(code, &body)]);
        let run = ask(&server, &[]);
        assert_fails(&run, 4, &[&format!("answered {code}"), "Incorrect API key provided: [key]"]);
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
        assert_eq!(server.requests().len(), 1, "{code}");
    }
}

/// `ask` searches all output for the key.
#[test]
fn a_key_in_an_answer_is_never_shown() {
    let clipped = format!("{}{KEY}", "x".repeat(290));
    for body in [clipped, format!("a {KEY} b"), format!("{{\"error\":{{\"message\":\"{KEY}\"}}}}")] {
        assert_fails(&ask(&Server::start(vec![status(401, &body)]), &[]), 4, &["answered 401"]);
    }
    for body in [format!("{{\"choices\":\"{KEY}\"}}"), format!("{{\"error\":\"quota of {KEY}\"}}"), KEY.to_owned()] {
        let server = Server::start(vec![Step::Answer(200, "", body)]);
        assert_fails(&ask(&server, &[]), 4, &["gave no summary"]);
        assert_eq!(ask(&server, &["--on-error", "embed"]).code, 0);
    }
    for address in ["http://user:secret@localhost:9/v1", "http://localhost:9/v1?key=secret"] {
        let run = with(&["--model", "openai:m", "--base-url", address, "openai-chat/plain.json"]);
        assert_fails(&run, 2, &["--base-url"]);
        assert!(!run.stderr.contains("secret"), "{run:?}");
    }
}

#[test]
fn temporary_errors_are_retried() {
    for code in [408, 409, 429, 500, 503] {
        let server = Server::start(vec![status(code, "busy"), status(code, "busy"), completion("At last.", "stop")]);
        assert!(summary_of(&ask(&server, &[])).ends_with("\nAt last.\n</summary>"), "{code}");
        assert_eq!(server.requests().len(), 3, "{code}");
    }
    let server = Server::start(vec![status(500, "broken")]);
    assert_fails(&ask(&server, &["--retries", "2"]), 4, &["answered 500", "broken", "tried 3 times"]);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn broken_connections_are_retried() {
    for step in [Step::HangUp, Step::CutShort] {
        let server = Server::start(vec![step, completion("At last.", "stop")]);
        assert!(summary_of(&ask(&server, &["--retries", "1"])).ends_with("\nAt last.\n</summary>"));
    }
    let nobody =
        ["--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0", "--keep", "messages:2"];
    assert_fails(
        &with(&[&nobody[..], &["openai-chat/plain.json"]].concat()),
        4,
        &["no answer from http://127.0.0.1:9/v1"],
    );
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    for (step, words) in [
        (Step::Silence, "no answer from"),
        (Step::Drip, "it took longer than --timeout"),
        (Step::Stall, "it took longer than --timeout"),
    ] {
        let server = Server::start(vec![step]);
        let started = Instant::now();
        assert_fails(&ask(&server, &["--timeout", "1", "--retries", "1"]), 4, &[words]);
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn unusable_answers_are_errors() {
    for (body, words) in [
        ("", "not a JSON object"),
        ("<html>busy</html>", "the server sent a web page"),
        ("{\"choices\":[]}", "no choices"),
        ("{\"error\":\"odd\"}", "not a chat completion"),
    ] {
        let server = Server::start(vec![Step::Answer(200, "", body.to_owned())]);
        assert_fails(&ask(&server, &[]), 4, &[words]);
    }
}

#[test]
fn a_redirect_never_carries_the_key() {
    let other = Server::start(vec![completion("Stolen.", "stop")]);
    let location: &'static str = Box::leak(format!("location: {}/chat/completions\r\n", other.url).into_boxed_str());
    let server = Server::start(vec![Step::Answer(307, location, String::new())]);
    assert_fails(&ask(&server, &[]), 4, &["answered 307"]);
    assert!(other.requests().is_empty());
}

#[test]
fn an_error_names_the_target_of_a_redirect() {
    let server = Server::start(vec![Step::Answer(301, "location: https://other.example/v2?key=x\r\n", String::new())]);
    assert_fails(
        &ask(&server, &[]),
        4,
        &["answered 301", "redirects to https://other.example/v2, and redirects are not followed"],
    );
    assert_eq!(server.requests().len(), 1);
}

/// A header with the time `seconds` from now.
fn retry_after_date(seconds: u64) -> &'static str {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(seconds));
    Box::leak(format!("retry-after: {date}\r\n").into_boxed_str())
}

#[test]
fn retry_after_is_respected() {
    let in_seconds = || "retry-after: 2\r\n";
    // A date has no fractions of a second.
    let as_a_date = || retry_after_date(3);
    for header in [in_seconds as fn() -> &'static str, as_a_date] {
        let server = Server::start(vec![Step::Answer(429, header(), String::new()), completion("At last.", "stop")]);
        let started = Instant::now();
        assert!(summary_of(&ask(&server, &[])).contains("At last."));
        assert!(started.elapsed() > Duration::from_millis(1500), "{:?}", started.elapsed());
    }
    let server = Server::start(vec![Step::Answer(503, "retry-after: 86400\r\n", "down".to_owned())]);
    assert_fails(&ask(&server, &[]), 4, &["answered 503", "down (it asks for a pause of 86400 seconds)"]);
    assert_eq!(server.requests().len(), 1, "nobody waits a day");
}

#[test]
fn the_rate_limit_spaces_requests() {
    let server = Server::start(vec![status(500, ""), status(500, ""), completion("At last.", "stop")]);
    let started = Instant::now();
    assert!(summary_of(&ask(&server, &["--rate", "60"])).contains("At last."));
    assert!(started.elapsed() >= Duration::from_secs(2), "{:?}", started.elapsed());
    assert_fails(&with(&["--rate", "0", "openai-chat/plain.json"]), 2, &["--rate"]);
}

#[test]
fn slow_headers_are_waited_for() {
    let Step::Answer(_, _, body) = completion("At last.", "stop") else { unreachable!() };
    let server = Server::start(vec![Step::Slow(Duration::from_millis(700), body)]);
    assert!(summary_of(&ask(&server, &["--timeout", "20"])).contains("At last."));
}

#[test]
fn an_endless_body_is_given_up() {
    let server = Server::start(vec![Step::Flood]);
    assert_fails(&ask(&server, &[]), 4, &["it is larger than 2 MiB, and no summary is that long"]);
    assert_eq!(server.requests().len(), 1, "it would be as large again");
}

#[test]
fn errors_with_status_200_and_html_errors_are_recognized() {
    let body = r#"{"error":{"code":503,"message":"Provider returned error"}}"#;
    let busy = Step::Answer(200, "retry-after: 0\r\n", body.to_owned());
    let server = Server::start(vec![busy.clone(), completion("At last.", "stop")]);
    assert!(summary_of(&ask(&server, &[])).contains("At last."));
    assert_fails(&ask(&Server::start(vec![busy]), &["--retries", "0"]), 4, &["Provider returned error"]);
    let page =
        "<!DOCTYPE html><html><head><title>403 Forbidden</title></head><body><h1>Go\u{1b}[2J away</h1></body></html>";
    let run = ask(&Server::start(vec![Step::Answer(403, "content-type: text/html\r\n", page.to_owned())]), &[]);
    assert_fails(&run, 4, &["answered 403 Forbidden: 403 Forbidden\n"]);
    // A page that is not an error is what a browser would see at this address.
    for page in [page, "\n<html>", "<?xml version=\"1.0\"?><html/>"] {
        let server = Server::start(vec![Step::Answer(200, "content-type: text/html\r\n", page.to_owned())]);
        let run = ask(&server, &[]);
        assert_fails(&run, 4, &["gave no summary: the server sent a web page; does --base-url end in /v1?\n"]);
        assert!(
            run.stderr.contains("try: tcompact") && run.stderr.contains("--base-url says where the API is"),
            "{run:?}"
        );
        assert_eq!(server.requests().len(), 1, "the page would come again");
    }
}

#[test]
fn a_wrong_address_gets_a_hint() {
    let server = Server::start(vec![status(404, "404 page not found")]);
    assert_fails(&ask(&server, &[]), 4, &["404 page not found; --base-url ends with the version of the API"]);
}

#[test]
fn the_proxy_of_the_environment_is_used() {
    let proxy = Server::start(vec![completion("By way of the proxy.", "stop")]);
    let address = proxy.url.trim_end_matches("/v1").replace("http://", "http://someone:hush@");
    let arguments = ["--model", "openai:m", "--base-url", "http://models.example/v1", "--keep", "messages:2"];
    let through = |variable: &str, more: &[(&str, &str)]| {
        let mut command = tcompact();
        command.args(arguments).arg("openai-chat/plain.json").env("OPENAI_API_KEY", KEY).env(variable, &address);
        run(command.args(["--retries", "0", "--timeout", "5"]).envs(more.iter().copied()), b"")
    };
    assert!(summary_of(&through("http_proxy", &[])).contains("By way of the proxy."));
    let request = proxy.requests().pop().expect("a request");
    assert!(request.head.starts_with("POST http://models.example/v1/chat/completions "), "{}", request.head);
    assert!(through("http_proxy", &[]).stderr.contains("the key goes to models.example unencrypted"));
    let past = through("http_proxy", &[("no_proxy", "models.example")]);
    assert_eq!(past.code, 4, "{past:?}");
    assert!(!past.stderr.contains("hush"), "{past:?}");
    assert_eq!(proxy.requests().len(), 2);
}

/// Nothing goes past a proxy that is not understood.
#[test]
fn a_proxy_that_cannot_be_used_is_named() {
    let proxy = Server::start(vec![completion("By way of the proxy.", "stop")]);
    let arguments = ["--model", "openai:m", "--keep", "messages:2", "--retries", "0", "--timeout", "5"];
    let through = |url: &str, variables: &[(&str, &str)]| {
        let mut command = tcompact();
        command.args(arguments).args(["--base-url", url]).arg("openai-chat/plain.json").env("OPENAI_API_KEY", KEY);
        run(command.envs(variables.iter().copied()), b"")
    };
    let (plain, encrypted) = ("http://models.example/v1", "https://models.example/v1");
    for value in
        ["http//me:hush@proxy:1", "http://me:hu sh@proxy", "ftp://me:hush@proxy", "http://", "http://me:hush@proxy:1:2"]
    {
        for (url, variable) in [(plain, "http_proxy"), (encrypted, "HTTPS_PROXY"), (plain, "all_proxy")] {
            let run = through(url, &[(variable, value)]);
            assert_fails(&run, 4, &[&format!("{variable} is no address of a proxy"), "http://proxy.example:3128"]);
            assert!(!run.stderr.contains("me:hu"), "{run:?}");
        }
    }
    assert_fails(
        &through(encrypted, &[("ALL_PROXY", "socks5://me:hush@proxy:1")]),
        4,
        &["ALL_PROXY names a SOCKS proxy"],
    );
    // Nothing listens there.
    let unreachable = through(encrypted, &[("https_proxy", "http://127.0.0.1:9")]);
    assert_fails(&unreachable, 4, &["no answer from https://models.example/v1", "through the proxy in https_proxy"]);
    // The variable of another scheme does not matter, nor does one for a server on this machine.
    let address = proxy.url.trim_end_matches("/v1");
    let of_other = through(plain, &[("http_proxy", address), ("https_proxy", "http//x"), ("all_proxy", "ftp://x")]);
    assert!(summary_of(&of_other).contains("By way of the proxy."), "{of_other:?}");
    let local = through(&proxy.url, &[("http_proxy", "http//x")]);
    assert!(summary_of(&local).contains("By way of the proxy."), "{local:?}");
}

/// Ollama and its like listen on this machine, where no proxy of a company leads.
#[test]
fn a_server_on_this_machine_is_asked_without_a_proxy() {
    let server = Server::start(vec![completion("By no way at all.", "stop")]);
    let proxy = Server::start(vec![status(500, "")]);
    let port = server.url.trim_end_matches("/v1").rsplit(':').next().expect("a port").to_owned();
    let variables = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
    for (host, variable) in ["127.0.0.1", "localhost", "127.1", "127.0.0.1"].into_iter().zip(variables) {
        let mut command = tcompact();
        let url = format!("http://{host}:{port}/v1");
        command.args(["--model", "openai:m", "--base-url", &url, "--keep", "messages:2", "--retries", "0"]);
        command.arg("openai-chat/plain.json").env(variable, proxy.url.trim_end_matches("/v1"));
        let asked = run(&mut command, b"");
        assert!(summary_of(&asked).contains("By no way at all."), "{host} {variable}: {asked:?}");
    }
    assert!(proxy.requests().is_empty());
}

#[test]
fn verbose_runs_report_waits() {
    let server = Server::start(vec![status(429, "slow down"), completion("", "stop"), completion("At last.", "stop")]);
    let run = ask(&server, &["-v"]);
    assert!(summary_of(&run).contains("At last."));
    assert!(run.stderr.contains("429 Too Many Requests: slow down; trying again in 0.0 seconds"), "{}", run.stderr);
    assert!(run.stderr.contains("the summary is empty; asked once more"), "{}", run.stderr);
}

#[test]
fn a_command_keeps_to_the_rate_limit() {
    let started = Instant::now();
    let command = ["--summarizer-cmd", "cat > /dev/null; echo Notes.", "--rate", "60", "--keep", "messages:1"];
    let run = with(&[&command[..], &["--accept", "any", "openai-chat/conversations.jsonl"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

#[test]
fn the_server_decides_whether_and_when_to_retry() {
    let again = |status: u16, headers: &'static str| {
        let server =
            Server::start(vec![Step::Answer(status, headers, "busy".to_owned()), completion("At last.", "stop")]);
        (ask(&server, &[]).code, server.requests().len())
    };
    assert_eq!(again(400, "x-should-retry: true\r\nretry-after: 0\r\n"), (0, 2));
    assert_eq!(again(503, "x-should-retry: false\r\n"), (4, 1));
    assert_eq!(again(503, "x-should-retry: perhaps\r\nretry-after: 0\r\n"), (0, 2));
    let started = Instant::now();
    assert_eq!(again(429, "retry-after-ms: 1200\r\nretry-after: 60\r\n"), (0, 2));
    assert!((1200..20_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

#[test]
fn invalid_requests_fail_without_a_wait() {
    for (code, body, hint) in [
        (400, r#"{"error":{"message":"bad"}}"#, "--request-json"),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#, "add credit"),
        (403, r#"{"error":{"message":"no access to this model"}}"#, "list models\n  for a model that the key may use"),
        (404, r#"{"error":{"message":"no such model"}}"#, "list models"),
        (429, r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#, "add credit"),
    ] {
        let server = Server::start(vec![status(code, body)]);
        let run = ask(&server, &[]);
        assert_fails(&run, 4, &[&format!("answered {code}"), hint]);
        assert!(!run.stderr.contains("--retries"), "{run:?}");
        assert_eq!(server.requests().len(), 1, "{code}");
    }
    let google =
        r#"{"error":{"code":429,"message":"You exceeded your current quota","details":[{"retryDelay":"0.1s"}]}}"#;
    let server = Server::start(vec![Step::Answer(429, "", google.to_owned()), completion("At last.", "stop")]);
    assert!(summary_of(&ask(&server, &[])).contains("At last."), "a minute's quota comes back");
}

/// Slim containers have no certificates.
#[test]
fn only_https_needs_certificates() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, directory) = (folder.path().join("none.pem"), folder.path().join("none"));
    std::fs::write(&file, "").expect("written");
    std::fs::create_dir(&directory).expect("made");
    let server = Server::start(vec![completion("Short.", "stop")]);
    let without = |address: &str| {
        let arguments =
            ["--model", "openai:m", "--base-url", address, "--keep", "messages:2", "openai-chat/plain.json"];
        run(tcompact().args(arguments).env("SSL_CERT_FILE", &file).env("SSL_CERT_DIR", &directory), b"")
    };
    assert!(summary_of(&without(&server.url)).contains("Short."));
    let run = without(&server.url.replace("http:", "https:"));
    assert_fails(&run, 4, &["certificates", "install the package ca-certificates", "SSL_CERT_FILE"]);
    assert!(!run.stderr.contains("--retries"), "{run:?}");
}
