//! One test after another over one control connection: repeats, saturation, results.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nicety_model::sock::{CurvePoint, SockAsk, SockResult, SockSeries};
use nicety_search::stats;
use nicety_socket::{Connection, SocketError, Token};
use nicety_workload::{Ends, Saturation, result};

use crate::bench::signals::Signals;

use super::progress::Progress;
use super::request::{HowOften, Request};

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
    let connection = match Connection::open(to, token, request.family) {
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
        let mut series = SockSeries {
            name: format!("{path}/{}", ask.name()),
            results: Vec::new(),
            headline: None,
            confidence: None,
            curve: Vec::new(),
            saturated_at: None,
        };
        let ended = match &request.repeats {
            HowOften::Saturate(most) => {
                series.name = format!("{path}/{}/{}", ask.test, ask.message_bytes);
                runner.saturate(ask, *most, &mut series)
            }
            _ => runner.repeat(ask, &mut series),
        };
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
    fn once(&mut self, ask: &SockAsk, repeat: u32) -> Result<SockResult, Early> {
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

    fn repeat(&mut self, ask: &SockAsk, series: &mut SockSeries) -> Result<(), Early> {
        let mut how_often = self.request.repeats.clone();
        let mut ended = Ok(());
        loop {
            let repeat = series.results.len() as u32 + 1;
            let again = match &how_often {
                HowOften::Times(times) => repeat <= *times,
                HowOften::Until(repeats) => repeats.again(),
                HowOften::Saturate(_) => false,
            };
            if !again {
                break;
            }
            let result = match self.once(ask, repeat) {
                Ok(result) => result,
                Err(early) => {
                    ended = Err(early);
                    break;
                }
            };
            let ending = result.ending;
            if let (HowOften::Until(repeats), Some(figure)) = (&mut how_often, result.headline()) {
                repeats.observe(figure);
            } else if let HowOften::Until(_) = how_often {
                // Without a figure no interval ever closes.
                how_often = HowOften::Times(repeat);
            }
            series.results.push(result);
            if is_last(ending) {
                ended = Err(None);
                break;
            }
        }
        let figures = series.results.iter().filter_map(SockResult::headline);
        series.headline = stats::spread(&figures.collect::<Vec<f64>>());
        if let HowOften::Until(repeats) = &how_often {
            series.confidence = Some(repeats.outcome());
        }
        ended
    }

    fn saturate(&mut self, ask: &SockAsk, most: u32, series: &mut SockSeries) -> Result<(), Early> {
        let mut search = Saturation::new(most);
        let mut ended = Ok(());
        while let Some(parallel) = search.next() {
            let ask = SockAsk {
                parallel,
                ..ask.clone()
            };
            let result = match self.once(&ask, 1) {
                Ok(result) => result,
                Err(early) => {
                    ended = Err(early);
                    break;
                }
            };
            let ending = result.ending;
            search.observe(CurvePoint {
                parallel,
                rate: result.headline().unwrap_or(0.0),
                p99_us: result.latency_us.map(|latency| latency.p99),
                client_busy_cpus: result.client.cpu.map(|cpu| cpu.host_busy_cpus),
            });
            series.results.push(result);
            if is_last(ending) {
                ended = Err(None);
                break;
            }
        }
        series.curve = search.curve().to_vec();
        series.saturated_at = search.saturated_at();
        // The row of the table is that of the saturated path.
        if let Some(pairs) = series.saturated_at
            && let Some(at) = series.results.iter().position(|r| r.ask.parallel == pairs)
        {
            let result = series.results.remove(at);
            series.results.push(result);
        }
        ended
    }
}

/// Whether nothing more can be measured after it.
fn is_last(ending: nicety_model::sock::Ending) -> bool {
    use nicety_model::sock::Ending::{Interrupted, PeerLost};
    matches!(ending, Interrupted | PeerLost)
}
