//! One test after another over one control connection: repeats, saturation, results.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nicety_model::plan::HowOften;
use nicety_model::sock::{SockResult, SockSeries, SockSpec};
use nicety_search::stats;
use nicety_socket::{Connection, SocketError, Token};
use nicety_workload::{Ends, Steps, result};

use crate::bench::signals::Signals;

use super::progress::Progress;
use super::request::Request;

/// What was measured, and why there is no more of it.
#[derive(Debug, Default)]
pub struct Done {
    /// Results.
    pub series: Vec<SockSeries>,
    /// What holds for all.
    pub notes: Vec<String>,
    /// What ended it early.
    pub error: Option<SocketError>,
}

struct Runner<'a> {
    request: &'a Request,
    path: &'a str,
    connection: Connection,
    stop: Arc<AtomicBool>,
    progress: Progress,
}

/// Runs all tests of `request` against the server at `to`; `path` is its name in the results.
/// Must be called in the client's network namespace.
pub fn run(request: &Request, path: &str, to: &str, token: &Token, signals: &Signals) -> Done {
    let mut done = Done::default();
    let opened = Connection::open(to, token, request.family).and_then(|mut connection| {
        connection.pin(&request.cpus)?;
        Ok(connection)
    });
    let connection = match opened {
        Ok(connection) => connection,
        Err(error) => {
            done.error = Some(error);
            return done;
        }
    };
    if connection.shared_host() {
        done.notes.push(
            "both ends share this host: the CPU figures are those of both and of the path between"
                .to_owned(),
        );
    }
    let mut runner = Runner {
        progress: Progress::start(request),
        request,
        path,
        connection,
        stop: signals.flag(),
    };
    for ask in &request.asks {
        let mut name = format!("{path}/{}", ask.name());
        if matches!(request.how_often, HowOften::Saturate(_)) {
            name = format!("{path}/{}/{}", ask.test, ask.message_bytes);
        }
        let (series, ended) = runner.series(ask, name);
        if !series.results.is_empty() {
            done.series.push(series);
        }
        if let Err(error) = ended {
            done.error = error;
            break;
        }
    }
    runner.progress.finish();
    done
}

/// Why a series stops: an error, or an ending that its result tells.
type Early = Option<SocketError>;

impl Runner<'_> {
    fn once(&mut self, ask: &SockSpec, repeat: u32) -> Result<SockResult, Early> {
        self.progress.test(&ask.name(), repeat, ask.duration());
        let progress = &self.progress;
        let test = ask.test;
        let ran = self
            .connection
            .run(ask, self.request.threads, &self.stop, &mut |second| {
                progress.second(test, second);
            })?;
        let ends = Ends {
            path: self.path.to_owned(),
            family: self.connection.family(),
            shared_host: self.connection.shared_host(),
            ending: ran.ending,
            client: ran.client,
            server: ran.server,
        };
        let result = result(ask, repeat, ends);
        self.progress.done(&result);
        Ok(result)
    }

    fn series(&mut self, ask: &SockSpec, name: String) -> (SockSeries, Result<(), Early>) {
        let mut ended = Ok(());
        let mut steps = self.request.steps.clone();
        while let Some(step) = steps.next() {
            let ask = SockSpec {
                parallel: step.parallel.unwrap_or(ask.parallel),
                ..ask.clone()
            };
            match self.once(&ask, step.repeat) {
                Ok(result) => {
                    let last = is_last(result.ending);
                    steps.observe(result);
                    if last {
                        ended = Err(None);
                        break;
                    }
                }
                Err(early) => {
                    ended = Err(early);
                    break;
                }
            }
        }
        (finish(steps, name), ended)
    }
}

/// The series with the spread of its figures.
pub fn finish(steps: Steps, name: String) -> SockSeries {
    let mut series = steps.finish(name);
    if series.curve.is_empty() {
        let figures = series.results.iter().filter_map(SockResult::headline);
        series.headline = stats::spread(&figures.collect::<Vec<f64>>());
    }
    series
}

/// Whether nothing more can be measured after it.
pub fn is_last(ending: nicety_model::sock::Ending) -> bool {
    use nicety_model::sock::Ending::{Interrupted, PeerLost};
    matches!(ending, Interrupted | PeerLost)
}
