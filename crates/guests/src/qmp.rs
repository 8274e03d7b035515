//! QEMU's machine protocol: one JSON object per line (docs/interop/qmp-spec.rst).

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::QemuError;

/// Longest line that is read; QEMU's own answers stay far below.
const LONGEST_LINE: u64 = 4 << 20;

/// Events that are kept until somebody asks; QEMU sends one now and then, a guest can make it send more.
const MOST_EVENTS: usize = 256;

/// A monitor.
#[derive(Debug)]
pub struct Qmp {
    stream: BufReader<UnixStream>,
    events: VecDeque<Value>,
}

impl Qmp {
    /// Greets a monitor.
    ///
    /// # Errors
    /// When it does not answer within `limit`, which holds for every later answer too.
    pub fn connect(stream: UnixStream, limit: Duration) -> Result<Self, QemuError> {
        let error = |e| QemuError::io("use", "QEMU's monitor", e);
        stream.set_read_timeout(Some(limit)).map_err(error)?;
        stream.set_write_timeout(Some(limit)).map_err(error)?;
        let mut qmp = Self {
            stream: BufReader::new(stream),
            events: VecDeque::new(),
        };
        let greeting = qmp.line()?;
        if greeting.get("QMP").is_none() {
            return Err(QemuError::answer(
                "the greeting of QEMU's monitor",
                greeting.to_string(),
            ));
        }
        qmp.execute("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Runs a command and returns what it returns.
    ///
    /// # Errors
    /// What QEMU says, or [`QemuError::Io`] when it does not answer.
    pub fn execute(&mut self, command: &str, arguments: &Value) -> Result<Value, QemuError> {
        let mut text = json!({"execute": command, "arguments": arguments}).to_string();
        text.push('\n');
        self.stream
            .get_mut()
            .write_all(text.as_bytes())
            .map_err(|e| QemuError::io("write to", "QEMU's monitor", e))?;
        loop {
            let mut answer = self.line()?;
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            if let Some(error) = answer.get("error") {
                return Err(QemuError::Qmp {
                    command: command.to_owned(),
                    why: error["desc"].as_str().unwrap_or_default().to_owned(),
                });
            }
            // The oldest goes: what came last is what matters.
            if self.events.len() == MOST_EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(answer);
        }
    }

    /// The next event that came in between answers.
    pub fn event(&mut self) -> Option<Value> {
        self.events.pop_front()
    }

    /// Thread of every virtual CPU, in the order of their numbers.
    ///
    /// # Errors
    /// As [`Qmp::execute`].
    pub fn vcpu_threads(&mut self) -> Result<Vec<i32>, QemuError> {
        let answer = self.execute("query-cpus-fast", &json!({}))?;
        let threads = answer.as_array().map(|cpus| {
            let thread = |cpu: &Value| {
                cpu["thread-id"]
                    .as_i64()
                    .and_then(|id| i32::try_from(id).ok())
            };
            cpus.iter().filter_map(thread).collect()
        });
        threads.ok_or_else(|| QemuError::answer("QEMU's list of CPUs", answer.to_string()))
    }

    /// Stops the virtual CPUs, or lets them go on.
    ///
    /// # Errors
    /// As [`Qmp::execute`].
    pub fn stand(&mut self, still: bool) -> Result<(), QemuError> {
        let command = if still { "stop" } else { "cont" };
        self.execute(command, &json!({})).map(drop)
    }

    /// Presses the machine's reset button. Its guest boots again.
    ///
    /// # Errors
    /// As [`Qmp::execute`].
    pub fn reset(&mut self) -> Result<(), QemuError> {
        // QEMU was told to end with the guest that reboots.
        self.execute("set-action", &json!({"reboot": "reset"}))?;
        self.execute("system_reset", &json!({})).map(drop)
    }

    fn line(&mut self) -> Result<Value, QemuError> {
        let error = |e| QemuError::io("read from", "QEMU's monitor", e);
        let mut text = String::new();
        let mut limited = io::Read::take(&mut self.stream, LONGEST_LINE);
        if limited.read_line(&mut text).map_err(error)? == 0 {
            return Err(error(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&text).map_err(|_| QemuError::answer("QEMU's monitor", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A monitor that greets and answers the given lines, one per command.
    fn monitor(answers: &'static [&'static str]) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut out = theirs.try_clone().unwrap();
            out.write_all(b"{\"QMP\": {\"version\": {}}}\r\n").unwrap();
            let mut commands = BufReader::new(theirs).lines();
            for answer in ["{\"return\": {}}\r\n"].iter().chain(answers) {
                commands.next().unwrap().unwrap();
                out.write_all(answer.as_bytes()).unwrap();
            }
        });
        ours
    }

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn answers_and_events_are_told_apart() {
        let stream = monitor(&[
            "{\"event\": \"RESUME\"}\r\n{\"return\": [{\"thread-id\": 7}, {\"thread-id\": 9}]}\r\n",
            "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such thing\"}}\r\n",
        ]);
        let mut qmp = Qmp::connect(stream, LIMIT).unwrap();
        assert_eq!(qmp.vcpu_threads().unwrap(), [7, 9]);
        assert_eq!(qmp.event().unwrap()["event"], "RESUME");
        assert_eq!(qmp.event(), None);
        let error = qmp.execute("nosuch", &json!({})).unwrap_err().to_string();
        assert_eq!(error, "QEMU refused nosuch: no such thing");
        // The monitor is gone now.
        assert!(matches!(
            qmp.execute("quit", &json!({})),
            Err(QemuError::Io { .. })
        ));
    }

    #[test]
    fn events_without_end_take_no_memory_without_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let flood = std::thread::spawn(move || {
            let mut out = theirs.try_clone().unwrap();
            let mut commands = BufReader::new(theirs).lines();
            out.write_all(b"{\"QMP\": {}}\n").unwrap();
            commands.next().unwrap().unwrap();
            for number in 0..5000 {
                writeln!(out, "{{\"event\": {number}}}").unwrap();
            }
            out.write_all(b"{\"return\": {}}\n").unwrap();
        });
        let mut qmp = Qmp::connect(ours, LIMIT).unwrap();
        flood.join().unwrap();
        let kept: Vec<Value> = std::iter::from_fn(|| qmp.event()).collect();
        assert_eq!(kept.len(), MOST_EVENTS);
        assert_eq!(kept.last().unwrap()["event"], 4999);
    }

    #[test]
    fn other_greetings_are_refused() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"{}\n").unwrap();
        assert!(matches!(
            Qmp::connect(ours, LIMIT),
            Err(QemuError::Answer { .. })
        ));
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"hello\n").unwrap();
        assert!(matches!(
            Qmp::connect(ours, LIMIT),
            Err(QemuError::Answer { .. })
        ));
    }
}
