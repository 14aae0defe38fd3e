//! What programs print in place of a summary is refused, and no honest summary is.

use super::*;

/// Tokens of a short history and of a long one.
const FEW: u64 = 300;
const MANY: u64 = 9_000;

fn judged(answer: &str, replaced: u64) -> Option<MachineAnswer> {
    recognize(answer, Counter::APPROX, replaced)
}

/// Asserts that answers are refused, for any history and in what programs put around them.
fn assert_refused(what: MachineAnswer, answers: &[&str]) {
    let mut wrong = Vec::new();
    for answer in answers {
        let around = [
            (*answer).to_owned(),
            format!("\u{feff}\n {answer}\r\n"),
            format!("<summary>\n{answer}\n</summary>"),
            format!("<think>Hm.</think>{answer}"),
            format!("```\n{answer}\n```"),
            format!("```json\n{answer}\n```\n"),
            format!("Summary: {answer}"),
            format!("## Summary\n\n{answer}"),
            format!("Here is the summary of the conversation:\n{answer}"),
        ];
        let string = serde_json::Value::from(*answer).to_string();
        for text in around.into_iter().chain([string]) {
            let judged = [FEW, MANY].map(|replaced| judged(&text, replaced));
            if judged != [Some(what); 2] {
                wrong.push((text, judged));
            }
        }
    }
    assert!(wrong.is_empty(), "not {what:?}: {wrong:#?}");
}

#[test]
fn json_is_no_summary() {
    let nested = format!("{}1{}", "[".repeat(2_000), "]".repeat(2_000));
    assert_refused(
        MachineAnswer::Json,
        &[
            "null",
            "NULL",
            "true",
            "False",
            "0",
            "42",
            "-1.5e3",
            "{}",
            "[]",
            "{ }",
            "[[]]",
            "[null]",
            "NaN",
            "None",
            "undefined",
            "nil",
            "(null)",
            "<nil>",
            "`null`",
            "**null**",
            "'null'",
            "null.",
            "N/A",
            "[object Object]",
            "…",
            "---",
            "\u{1f44d}",
            "200 0.31 17",
            r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            r#"{"detail":"Not Found"}"#,
            r#"{"summary": "The user wants a parser; it is written and tested."}"#,
            r#"["The user wants a parser.", "It is written."]"#,
            r#"{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"The user wants a parser."}}]}"#,
            "{\"type\":\"start\"}\n{\"type\":\"delta\",\"text\":\"The user\"}\n{\"type\":\"end\"}",
            "\"The user\"\nnull",
            &nested,
        ],
    );
    // An array of a thousand members is one too.
    let long = serde_json::Value::from(vec!["The user wants a parser that reads all of it."; 1_000]).to_string();
    assert_eq!(judged(&long, MANY), Some(MachineAnswer::Json));
    assert_eq!(judged("\"The user wants a parser; it is written and tested.\"", FEW), None, "a string is text");
}

#[test]
fn a_web_page_is_no_summary() {
    let long = format!("<!DOCTYPE html>\n<html><body>{}</body></html>", "<p>Welcome to the gateway.</p>".repeat(500));
    assert_refused(
        MachineAnswer::WebPage,
        &[
            "<!DOCTYPE html><html><head><title>502</title></head></html>",
            "<!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n<HTML lang=en>\n<body>",
            "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>",
            "<html>502 Bad Gateway</html>",
            "<!-- a comment\n of two lines --><!-- and one --><html lang=\"en\"><p>Hello",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\">\n<head/>",
            "<!DOCTYPE html>",
            "<head><title>Log in</title></head>",
            "<body>\n<h1>It works!</h1></body>",
            "<body>It works!</body>",
            &long,
        ],
    );
}

#[test]
#[rustfmt::skip]
fn an_error_is_no_summary() {
    assert_refused(
        MachineAnswer::Error,
        &[
            "Error: 429 Too Many Requests", "error: request failed", "ERROR: no such model", "Error", "Error!",
            "Error 429", "error code: 1020", "Error code: 429 - {'error': {'message': 'Rate limit'}}", "ERROR - timeout",
            "[ERROR] cannot reach host", "[error] x", "2026-11-26T17:00:00Z ERROR: it failed", "❌ Error: it failed",
            "\u{1b}[31merror\u{1b}[0m: it failed", "**Error:** it failed", "> Error: it failed", "Error generating summary: timeout: it",
            "API Error: 529 overloaded", "HTTP Error 503: Service Unavailable", "HTTPError: 500 Server Error", "API error (HTTP 500): x",
            "openai.RateLimitError: Error code: 429", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x', port=443)",
            "TypeError: Cannot read properties of undefined (reading 'choices')", "TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument",
            "Uncaught (in promise) TypeError: Failed to fetch", "UnhandledPromiseRejection: x: Error: y", "error TS2304: Cannot find name 'x'.",
            "java.lang.NullPointerException: x", "Exception in thread \"main\" java.lang.NullPointerException", "Unhandled exception: System.Net.Http",
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'choices'",
            "Traceback (most recent call last)", "panic: runtime error: index out of range [0]", "fatal: not a git repository", "fatal error: all goroutines are asleep",
            "thread 'main' panicked at src/main.rs:2:5:\nx", "thread 'main' (12) panicked at src/main.rs:2:5", "goroutine 1 [running]:\nmain.main()",
            "429 Too Many Requests", "HTTP 429", "HTTP/1.1 502 Bad Gateway", "HTTP/2 503", "503 Service Unavailable", "500 Internal Server Error", "404 page not found",
            "404 Not Found", "status code: 500", "Status: 502 Bad Gateway", "401 Unauthorized", "403 Forbidden", "413: Payload Too Large",
            "Internal Server Error", "Bad Gateway", "Service Unavailable", "Service Temporarily Unavailable", "Gateway Timeout", "Too Many Requests", "Unauthorized", "Forbidden", "Not Found", "Bad Request",
            "upstream connect error or disconnect/reset before headers. reset reason: connection failure", "upstream request timeout", "no healthy upstream", "default backend - 404",
            "curl: (6) Could not resolve host: api.example.com", "curl: (28) Operation timed out after 30001 milliseconds", "wget: unable to resolve host address",
            "bash: llm: command not found", "bash: line 1: llm: command not found", "sh: 1: llm: not found", "zsh: command not found: llm", "llm: command not found",
            "'llm' is not recognized as an internal or external command,\noperable program or batch file.", "cat: notes.txt: No such file or directory", "/bin/sh: ./run: Permission denied",
            "python3: can't open file '/x/a.py': [Errno 2] No such file or directory", "llm: error: unrecognized arguments: -x", "Usage: llm [OPTIONS] COMMAND [ARGS]...", "usage: ask.py [-h] prompt",
            "Error: No such command 'sumarize'.", "npm ERR! code ENOENT", "npm error code E404", "Segmentation fault (core dumped)", "Killed", "Aborted (core dumped)", "Terminated", "Bus error: 10", "Broken pipe",
            "Rate limit exceeded", "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200. Please try again in 1.4s.",
            "rate_limit_exceeded", "You exceeded your current quota, please check your plan and billing details.", "You've hit your limit, resets 3pm", "You have been rate limited. Slow down.", "Sorry, you have been rate limited.",
            "Claude AI usage limit reached|1754000000", "Daily quota exceeded", "Usage limit exceeded.", "Insufficient credits. Add more using https://x.example", "insufficient_quota", "Your credit balance is too low to access the API.", "Credit balance is too low",
            "RESOURCE_EXHAUSTED", "Please try again later.", "Please log in to continue", "Try again in 5 minutes", "Request timed out.", "The request timed out", "timeout of 60000ms exceeded", "Timeout while waiting for the model", "Timed out", "context deadline exceeded",
            "Connection refused", "Connection reset by peer", "connect ECONNREFUSED 127.0.0.1:11434", "ECONNREFUSED", "getaddrinfo ENOTFOUND api.example.com", "socket hang up", "fetch failed", "Failed to fetch", "Network Error", "dial tcp 127.0.0.1:11434: connect: connection refused",
            "Get \"http://localhost:11434/api/tags\": dial tcp", "Could not connect to the server", "could not connect to ollama app, is it running?", "Unable to reach the API", "Failed to load model", "CUDA out of memory. Tried to allocate 2.00 GiB", "Out of memory",
            "The server is overloaded", "The model is currently overloaded with other requests.", "That model is currently overloaded with other requests.", "Overloaded", "overloaded_error", "The server had an error while processing your request. Sorry about that!", "The engine is currently overloaded, please try again later",
            "Something went wrong. If this issue persists please contact us.", "Oops! Something broke.", "An error occurred", "An unexpected error has occurred.", "We're experiencing high demand.", "Invalid API key", "Invalid API key · Please run /login", "Incorrect API key provided: sk-x.", "Missing API key", "No API key found for openai",
            "Your token has expired", "Authentication failed", "Permission denied (publickey).", "Access denied", "Invalid authentication credentials", "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", "context_length_exceeded", "prompt is too long: 210000 tokens > 200000 maximum",
            "The model `gpt-9` does not exist or you do not have access to it.", "model 'llama9' not found, try pulling it first", "Execution error", "Unexpected token < in JSON at position 0", "Cannot POST /v1/chat/completions", "Just a moment...", "Login required",
            "{\"error\": {\"message\": \"Rate limit", "{'error': 'quota'}", "{\"detail\":\"Method Not Al", "<h1>502 Bad Gateway</h1>", "<center><h1>404 Not Found</h1></center>", "<Error><Code>AccessDenied</Code></Error> Access denied", "<p>Error: it failed</p>",
            "错误：请求失败", "请求过于频繁，请稍后再试", "服务器内部错误", "服务器繁忙，请稍后重试", "连接超时", "余额不足", "エラー: リクエストに失敗しました", "サーバーエラーが発生しました", "リクエストが多すぎます", "오류: 요청 실패", "Fehler: Verbindung fehlgeschlagen", "Zu viele Anfragen", "Interner Serverfehler", "Erreur : trop de requêtes", "Trop de requêtes", "Error: demasiadas solicitudes", "Error interno del servidor", "Erro: falha", "Errore: richiesta non riuscita", "Ошибка: слишком много запросов", "Слишком много запросов",
        ],
    );
    // Behind so many words, it can be a summary that quotes one.
    let long = format!("Error: it failed. {}", "The parser reads one file after the other, in order. ".repeat(8));
    assert_eq!(judged(&long, MANY), None);
}

#[test]
fn a_few_words_are_no_summary_of_a_long_history() {
    for answer in [
        "ok",
        "OK.",
        "Done.",
        "Summary",
        "I have summarized it.",
        "好的",
        "Here is the summary:",
        "The user fixed a bug.",
    ] {
        assert_eq!((judged(answer, 999), judged(answer, 1_000)), (None, Some(MachineAnswer::TooShort)), "{answer}");
    }
    let twenty = "The user wants the parser to read dates; it does now, and all of its tests pass.";
    assert_eq!((twenty.len() / 4, judged(twenty, 200_000)), (20, None));
    assert_eq!(judged("用户要求修复登录页面；已改好 src/auth.rs，测试全部通过，下一步是部署。", 200_000), None);
}

#[test]
fn the_first_words_are_shown_on_a_line() {
    assert_eq!(first_words("\n null "), "null");
    assert!(first_words(&format!("Error: {}", "x\u{1b}[2J\n".repeat(12))).starts_with("Error: x[2J x[2J"));
    assert!(first_words(&"[1, 2, 3], ".repeat(9)).ends_with(", 2…"));
    // No mask is cut.
    let masked = format!("{{\"error\": \"{}key [github-token-1] was used\"}}", "a ".repeat(15));
    assert!(first_words(&masked).ends_with("a key …"), "{}", first_words(&masked));
}

/// Ten sessions in three languages: what the user wants, what was done, a rule, and what is next.
#[rustfmt::skip]
const SESSIONS: [[&str; 4]; 30] = [
    ["The user wants dates with a time zone to be read.", "src/parse.rs takes offsets such as +02:00; 14 tests pass.", "Never change the public API.", "Write the changelog."],
    ["Error handling was moved to src/err.rs on the user's wish.", "All 31 calls of unwrap are gone.", "No new dependency.", "Look at the error of the last test."],
    ["HTML pages of the shop get a dark theme.", "<html> has data-theme now, and style.css has 12 new rules.", "Keep IE out of it.", "Check the login page."],
    ["JSON output is wanted: {\"error\": null} on success.", "--json prints one object per file.", "Keys stay in snake case.", "Document the object."],
    ["Traceback (most recent call last) in app.py was reported by the user.", "KeyError: 'name' came from an old cache; it is cleared at start.", "Do not touch the database.", "Deploy on Friday."],
    ["429 Too Many Requests responses of the API are retried now.", "Backoff doubles up to 60 s; the limiter is in src/limit.rs.", "At most 3 retries.", "Measure it under load."],
    ["Internal server errors on /checkout were traced to a null cart.", "cart.ts returns an empty list.", "Ask before you push.", "Add a test for it."],
    ["Rate limits are to be shown in the dashboard.", "A panel reads x-ratelimit-remaining.", "No polling below 5 s.", "Choose its colours."],
    ["Fatal signals must not lose the journal.", "SIGTERM flushes it; SIGKILL cannot be caught.", "Support macOS too.", "Run the fuzzers."],
    ["Null values in the table are drawn as a dash.", "table.py formats None, NaN and null alike.", "True stays true.", "Nothing is left."],
    ["Der Nutzer will, dass Datumsangaben mit Zeitzone gelesen werden.", "src/parse.rs liest +02:00; 14 Tests laufen.", "Die API bleibt, wie sie ist.", "Das Changelog schreiben."],
    ["Fehlerbehandlung: nach src/err.rs verschoben.", "Alle 31 unwrap sind weg.", "Keine neue Abhängigkeit.", "Den letzten Fehler ansehen."],
    ["Die HTML-Seiten des Ladens bekommen ein dunkles Thema.", "style.css hat 12 neue Regeln.", "Nur moderne Browser.", "Die Anmeldung prüfen."],
    ["JSON als Ausgabe ist gewünscht.", "--json schreibt ein Objekt je Datei.", "Schlüssel in snake_case.", "Das Objekt beschreiben."],
    ["Ein Traceback in app.py wurde gemeldet.", "Ein alter Cache war schuld.", "Die Datenbank bleibt unberührt.", "Freitag ausliefern."],
    ["Fehler 429 der Schnittstelle wird jetzt wiederholt.", "Die Wartezeit verdoppelt sich bis 60 s.", "Höchstens 3 Versuche.", "Unter Last messen."],
    ["Interne Fehler bei /checkout kamen von einem leeren Korb.", "cart.ts gibt eine leere Liste zurück.", "Vor dem Push fragen.", "Einen Test schreiben."],
    ["Zu viele Anfragen sollen sichtbar sein, wünscht der Nutzer.", "Eine Tafel zeigt den Rest.", "Nicht öfter als alle 5 s.", "Farben wählen."],
    ["Fatale Signale dürfen das Journal nicht verlieren.", "SIGTERM schreibt es fertig.", "Auch macOS.", "Fuzzer laufen lassen."],
    ["Null steht in der Tabelle als Strich.", "table.py behandelt None und NaN gleich.", "True bleibt true.", "Nichts ist offen."],
    ["用户希望解析带时区的日期。", "src/parse.rs 已支持 +02:00，14 个测试通过。", "不要改动公共 API。", "编写更新日志。"],
    ["错误处理已移到 src/err.rs。", "31 处 unwrap 全部去掉。", "不加新的依赖。", "查看最后一个测试的错误。"],
    ["商店的 HTML 页面要有深色主题。", "style.css 新增 12 条规则。", "只支持新浏览器。", "检查登录页。"],
    ["需要 JSON 输出。", "--json 每个文件输出一个对象。", "键名用 snake_case。", "补充文档。"],
    ["app.py 的 Traceback 由用户报告。", "原因是旧缓存，启动时清除。", "不要动数据库。", "周五部署。"],
    ["请求过多（429）时现在会重试。", "等待时间翻倍，最多 60 秒。", "最多重试 3 次。", "压力测试。"],
    ["/checkout 的内部错误来自空购物车。", "cart.ts 返回空列表。", "推送前先询问。", "补一个测试。"],
    ["连接超时的问题已修复。", "超时改为 45 秒。", "不要轮询。", "选择颜色。"],
    ["致命信号不能丢失日志。", "SIGTERM 会写完日志。", "也要支持 macOS。", "运行模糊测试。"],
    ["表格中的空值显示为短横线。", "table.py 统一处理 None 和 NaN。", "True 保持不变。", "没有剩余工作。"],
];

/// Summaries of one sentence, which can begin as an error does.
#[rustfmt::skip]
const SENTENCES: [&str; 40] = [
    "Mia asked for the opening hours, and got them.",
    "The user asked what null means in SQL; it was explained.",
    "Error: the user reported E0308 in src/a.rs, and it is fixed.",
    "Error messages of the login form were translated.",
    "TypeError: x is undefined in app.js was fixed with a guard.",
    "`TypeError: x is undefined` was fixed with a guard.",
    "Errors: none. The user wants version 2.1 tagged.",
    "Error 404 pages were restyled.",
    "404 Not Found pages have a search box now.",
    "Internal server errors are logged with the id of their request.",
    "Too many requests from the crawler were the cause; robots.txt blocks it.",
    "Connection refused by Redis was solved: the port is 6380.",
    "Permission denied on deploy.sh was fixed by chmod +x.",
    "Failed to reproduce the crash; the user will send logs.",
    "Failed tests: none. Next: tag 2.1.",
    "Could not find a cause yet; the log line in net.rs will tell.",
    "Cannot log in since Monday, says the user: an expired certificate.",
    "Timeouts of the pool are 45 s now.",
    "Forbidden words are in words.txt, one a line.",
    "Forbidden: force pushes. The user wants a release by Friday.",
    "<!DOCTYPE html> was missing in index.html; I added it.",
    "<html> lacked a lang attribute, which is there now.",
    "{\"error\": …} is what the server answered; the user fixed its key.",
    "Panic in the parser was caused by an empty file.",
    "Killed jobs are restarted by the queue.",
    "Command not found in CI: we install jq now.",
    "Usage of the API is documented in docs/api.md.",
    "None of the tests fail.",
    "True colour is used where the terminal has it.",
    "Login fails in Safari only.",
    "Failed to connect to staging, said the user: the VPN was off.",
    "No such file was the answer for config.toml; it is config.yaml.",
    "Uncaught exceptions go to the log.",
    "Missing credentials are asked for at the start.",
    "Request failed in staging after the deploy; it was rolled back.",
    "Insufficient funds give a 402 in the shop.",
    "Quota exceeded mails go to ops.",
    "Empty response bodies are allowed.",
    "Rate limited endpoints are listed in docs/api.md.",
    "Fehler: Anmeldung in Safari; behoben.",
];

/// Writes a session in a style.
fn written(session: &[&str; 4], style: usize) -> String {
    let [goal, done, rule, next] = session;
    match style {
        0 => format!("## Session intent\n{goal}\n\n## Summary\n{done}\n\n## Rules\n{rule}\n\n## Next steps\n{next}"),
        1 => format!("- {goal}\n- {done}\n- {rule}\n- {next}"),
        2 => format!("1. {goal}\n2. {done}\n3. {rule}\n4. {next}"),
        3 => format!("{goal} {done} {rule} {next}"),
        _ => format!("<intent>{goal}</intent>\n<state>{done}</state>\n<rules>{rule}</rules>\n<next>{next}</next>"),
    }
}

#[test]
fn no_honest_summary_is_refused() {
    let mut honest: Vec<(String, u64)> = Vec::new();
    for session in &SESSIONS {
        honest.extend((0..5).map(|style| (written(session, style), FEW)));
        // The same in a few hundred tokens, for a history of any length.
        honest.push((written(session, 0) + &format!("\n\n{}", session.join(" ").repeat(6)), 200_000));
    }
    honest.extend(SENTENCES.iter().map(|sentence| ((*sentence).to_owned(), FEW)));
    honest.push(("The parser reads one file after the other, and tells which lines are broken. ".repeat(42), 200_000));
    let quoted = "The user pasted this:\n```\nTraceback (most recent call last):\nKeyError: 'name'\n```\nIt is fixed.";
    honest.push((quoted.to_owned(), FEW));
    honest.push((format!("```markdown\n{}\n```", written(&SESSIONS[0], 0)), FEW));
    honest.push((format!("Summary: {}", written(&SESSIONS[1], 3)), FEW));
    assert!(honest.len() >= 200);
    let counters = [Counter::APPROX, Counter::Exact(Encoding::O200kBase)];
    let judged =
        honest.iter().flat_map(|(text, replaced)| counters.map(|counter| (text, recognize(text, counter, *replaced))));
    let refused: Vec<_> = judged.filter(|(_, judged)| judged.is_some()).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
