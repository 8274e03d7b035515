//! Cloud Hypervisor's API: HTTP over a socket (its docs/api.md).

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::error::QemuError;

/// Longest line or body of an answer; its own stay far below.
const LONGEST: u64 = 1 << 20;
/// What it calls itself in errors.
const WHO: &str = "Cloud Hypervisor's API";

/// A connection.
#[derive(Debug)]
pub(crate) struct Api {
    stream: BufReader<UnixStream>,
}

impl Api {
    /// Waits for the first answer.
    ///
    /// # Errors
    /// When it does not come within `limit`, which holds for every later one too.
    pub(crate) fn connect(stream: UnixStream, limit: Duration) -> Result<Self, QemuError> {
        stream.set_read_timeout(Some(limit)).map_err(unusable)?;
        stream.set_write_timeout(Some(limit)).map_err(unusable)?;
        let mut api = Self {
            stream: BufReader::new(stream),
        };
        api.request("GET", "vmm.ping").map(|()| api)
    }

    /// Gives an order.
    ///
    /// # Errors
    /// What it says, or [`QemuError::Io`] when it does not answer.
    pub(crate) fn put(&mut self, order: &str) -> Result<(), QemuError> {
        self.request("PUT", order)
    }

    fn request(&mut self, method: &str, order: &str) -> Result<(), QemuError> {
        let text = format!("{method} /api/v1/{order} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let stream = self.stream.get_mut();
        stream.write_all(text.as_bytes()).map_err(unusable)?;
        let first = self.line()?;
        // `HTTP/1.1 204 `
        let code = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let code: u16 = code.ok_or_else(|| QemuError::answer(WHO, first.trim()))?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                let read = value.trim().parse::<u64>().ok().filter(|n| *n <= LONGEST);
                length = read.ok_or_else(|| QemuError::answer(WHO, line.trim()))?;
            }
        }
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body).map_err(unusable)?;
        match code {
            200..=299 => Ok(()),
            _ => Err(QemuError::Qmp {
                of: "Cloud Hypervisor",
                command: order.to_owned(),
                why: String::from_utf8_lossy(&body).trim().to_owned(),
            }),
        }
    }

    fn line(&mut self) -> Result<String, QemuError> {
        let mut line = String::new();
        let mut limited = Read::take(&mut self.stream, LONGEST);
        if limited.read_line(&mut line).map_err(unusable)? == 0 {
            return Err(unusable(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(line)
    }
}

fn unusable(error: std::io::Error) -> QemuError {
    QemuError::io("use", WHO, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Answers in turn, and returns the first line of every request.
    fn serve(stream: UnixStream, answers: &[&str]) -> Vec<String> {
        let mut out = stream.try_clone().unwrap();
        let mut lines = BufReader::new(stream).lines();
        let mut asked = Vec::new();
        for answer in answers {
            asked.push(lines.next().unwrap().unwrap());
            while !lines.next().unwrap().unwrap().is_empty() {}
            out.write_all(answer.as_bytes()).unwrap();
        }
        asked
    }

    #[test]
    fn orders_are_given_and_refusals_read() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answers = [
            "HTTP/1.1 200 \r\nServer: x\r\nContent-Length: 4\r\n\r\n{}  ",
            "HTTP/1.1 204 \r\nServer: x\r\n\r\n",
            "HTTP/1.1 500 \r\nContent-Length: 13\r\n\r\n[\"not running\"",
        ];
        let server = std::thread::spawn(move || serve(theirs, &answers));
        let mut api = Api::connect(ours, LIMIT).unwrap();
        api.put("vm.pause").unwrap();
        let refused = api.put("vm.resume").unwrap_err().to_string();
        assert!(refused.contains("vm.resume: [\"not running"), "{refused}");
        assert_eq!(
            server.join().unwrap(),
            [
                "GET /api/v1/vmm.ping HTTP/1.1",
                "PUT /api/v1/vm.pause HTTP/1.1",
                "PUT /api/v1/vm.resume HTTP/1.1",
            ]
        );
        // It is gone now.
        assert!(matches!(api.put("vm.pause"), Err(QemuError::Io { .. })));
    }

    #[test]
    fn an_answer_without_end_or_sense_is_refused() {
        for answer in [
            "SSH-2.0\r\n",
            "HTTP/1.1 200 \r\nContent-Length: 99999999\r\n\r\n",
        ] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let server = std::thread::spawn(move || serve(theirs, &[answer]));
            let refused = Api::connect(ours, LIMIT);
            assert!(
                matches!(refused, Err(QemuError::Answer { .. })),
                "{refused:?}"
            );
            server.join().unwrap();
        }
    }
}
