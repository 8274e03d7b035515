//! A browser without a window, asked over the DevTools protocol on a pair of pipes.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>: JSON objects, each ended by a NUL.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Browsers that speak it, by the names of their programs.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A running browser with one page; ended when dropped.
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    last: u64,
    /// Events that came while an answer was awaited.
    events: VecDeque<Value>,
}

/// The first browser installed here.
pub fn installed() -> Option<&'static str> {
    BROWSERS.into_iter().find(|name| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

impl Browser {
    /// Starts it with its files below `dir`, for no longer than ten minutes: a machine may be slow.
    pub fn start(name: &str, dir: &Path) -> Self {
        let [to, from] = ["to", "from"].map(|pipe| dir.join(pipe));
        let made = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success());
        // The shell opens the pipes at the numbers that the browser expects.
        let child = Command::new("timeout")
            .args(["600", "sh", "-c"])
            .arg(r#"exec "$@" 3<"$TO" 4>"$FROM""#)
            .args(["sh", name, "--headless", "--no-sandbox", "--disable-gpu"])
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", dir.join("profile").display()))
            .env("TO", &to)
            .env("FROM", &from)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Self {
            child,
            to: File::options().write(true).open(&to).unwrap(),
            from: BufReader::new(File::open(&from).unwrap()),
            session: None,
            last: 0,
            events: VecDeque::new(),
        };
        let page = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let of = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", of);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.ask("Page.enable", json!({}));
        browser
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&request).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let message = self.next();
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Opens a page in a window of this width, in light or dark, and waits until it is loaded.
    pub fn open(&mut self, page: &Path, width: u32, scheme: &str) {
        let window =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", window);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", media);
        self.events.clear();
        let url = format!("file://{}", page.display());
        self.ask("Page.navigate", json!({ "url": url }));
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.next(),
            };
            if event["method"] == "Page.loadEventFired" {
                break;
            }
        }
        // Chromium drops input before the first frame of a page.
        self.settle();
    }

    /// Waits for two frames: moves of a pointer reach the page with the next one.
    pub fn settle(&mut self) {
        self.value(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))",
        );
    }

    /// Value of an expression on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.ask("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{result}");
        result["result"]["value"].clone()
    }

    /// Presses and lets go a key, as a keyboard does.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // `timeout` ends what it started; a killed one would leave it.
        self.session = None;
        let request = b"{\"id\":0,\"method\":\"Browser.close\"}\0";
        let _ = self.to.write_all(request);
        let _ = self.child.wait();
    }
}
