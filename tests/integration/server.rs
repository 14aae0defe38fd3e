//! A local server that follows a script, and records its requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The server's reaction to one request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Answers with a status, more headers, and a body.
    Answer(u16, &'static str, String),
    /// Never answers within any timeout.
    Silence,
    /// Ends the connection without an answer.
    HangUp,
    /// Promises more than it sends.
    CutShort,
    /// Sends a byte now and then, beyond any timeout.
    Drip,
    /// Begins a body and stalls.
    Stall,
    /// Sends a body without end.
    Flood,
    /// Answers correctly after a while.
    Slow(Duration, String),
    /// Sends this raw response and ends the connection.
    Raw(String),
    /// Resets the connection before it has read everything.
    Reset,
    /// Computes the status and body of the answer from the request's body.
    Judge(fn(&serde_json::Value) -> (u16, String)),
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A server that follows its steps and repeats the last one forever.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        let steps: Arc<[Step]> = steps.into();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                let steps = Arc::clone(&steps);
                thread::spawn(move || serve(stream, &steps, &seen));
            }
        });
        Server { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

fn serve(stream: TcpStream, steps: &[Step], seen: &Mutex<Vec<Request>>) {
    // The buffer is smaller than any request, so unread bytes remain when the connection is to be reset.
    let mut reader = BufReader::with_capacity(256, stream.try_clone().expect("a handle"));
    while let Some(head) = read_head(&mut reader) {
        {
            let mut seen = seen.lock().expect("not poisoned");
            if let Some(Step::Reset) = steps.get(seen.len()).or(steps.last()) {
                seen.push(Request { head, body: String::new() });
                return;
            }
        }
        let Some(request) = read_body(&mut reader, head) else { return };
        let number = {
            let mut seen = seen.lock().expect("not poisoned");
            seen.push(request);
            seen.len() - 1
        };
        let Some(step) = steps.get(number).or(steps.last()) else { return };
        let body = seen.lock().expect("not poisoned")[number].body.clone();
        if react(&stream, step, &body).is_none() {
            return;
        }
    }
}

/// Reacts to a request with this body; `None` ends the connection.
fn react(mut stream: &TcpStream, step: &Step, body: &str) -> Option<()> {
    match step {
        Step::Answer(status, headers, body) => {
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
            stream.write_all(answer.as_bytes()).ok()
        }
        Step::Judge(judge) => {
            let (status, body) = judge(&serde_json::from_str(body).expect("JSON"));
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nretry-after: 0\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).ok()
        }
        Step::Silence => {
            thread::sleep(Duration::from_secs(60));
            Some(())
        }
        Step::CutShort => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choices\"");
            None
        }
        Step::Drip => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
            while stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
            None
        }
        Step::Stall => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{");
            thread::sleep(Duration::from_secs(60));
            Some(())
        }
        Step::Flood => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
            None
        }
        Step::Slow(wait, body) => {
            thread::sleep(*wait);
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).ok()
        }
        Step::Raw(answer) => {
            let _ = stream.write_all(answer.as_bytes());
            None
        }
        Step::HangUp | Step::Reset => None,
    }
}

fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

fn read_body(reader: &mut impl BufRead, head: String) -> Option<Request> {
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: String::from_utf8_lossy(&body).into_owned() })
}

/// A summary that begins with these words and is long enough for any history.
pub(crate) fn at_length(words: &str) -> String {
    format!("{words} It tells what was asked for, what was done, and which of the steps are next.")
}

/// The answer of a model with `text`.
pub(crate) fn completion(text: &str, finish_reason: &str) -> Step {
    let body = serde_json::json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    });
    Step::Answer(200, "content-type: application/json\r\n", body.to_string())
}
