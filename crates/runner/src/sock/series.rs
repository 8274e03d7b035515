//! One test after another over one control connection: repeats, saturation, results.

use nicety_account::workload::{Ends, Step, Steps, result};
use nicety_model::Note;
use nicety_model::note::SockNote;
use nicety_model::plan::HowOften;
use nicety_model::sock::{Ending, Second, SockResult, SockSeries, SockSpec};
use nicety_port::Stop;
use nicety_search::stats;
use nicety_socket::{Connection, SocketError, Token};

use super::{Event, Request};

/// What was measured, and why there is no more of it.
#[derive(Debug, Default)]
pub struct Done {
    /// Results.
    pub series: Vec<SockSeries>,
    /// What holds for all.
    pub notes: Vec<Note>,
    /// What ended it early.
    pub error: Option<SocketError>,
}

struct Runner<'a> {
    request: &'a Request,
    path: &'a str,
    connection: Connection,
    stop: &'a Stop,
    observer: &'a dyn Fn(Event<'_>),
}

/// Runs all tests of `request` against the server at `to`, which wants to be shown `token`; `path` is
/// its name in the results.
/// Must be called in the client's network namespace.
pub fn run(
    request: &Request,
    path: &str,
    (to, token): (&str, &Token),
    stop: &Stop,
    observer: &dyn Fn(Event<'_>),
) -> Done {
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
        done.notes.push(SockNote::SameHost.into());
    }
    let mut runner = Runner {
        request,
        path,
        connection,
        stop,
        observer,
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
    done
}

/// Why a series stops: an error, or an ending that its result tells.
type Early = Option<SocketError>;

impl Runner<'_> {
    fn once(&mut self, ask: &SockSpec, step: Step) -> Result<SockResult, Early> {
        let name = &ask.name();
        let observer = self.observer;
        observer(Event::Begins {
            name,
            step,
            duration: ask.duration(),
        });
        let threads = self.request.threads;
        let stop = self.stop.flag();
        let test = ask.test;
        let mut second = |second: &Second| {
            observer(Event::Second {
                name,
                step,
                test,
                second,
            });
        };
        let ran = self.connection.run(ask, threads, stop, &mut second)?;
        let ends = Ends {
            path: self.path.to_owned(),
            family: self.connection.family(),
            shared_host: self.connection.shared_host(),
            ending: ran.ending,
            client: ran.client,
            server: ran.server,
        };
        let result = result(ask, step.repeat, ends);
        observer(Event::Ended {
            name,
            step,
            result: &result,
        });
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
            match self.once(&ask, step) {
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
fn is_last(ending: Ending) -> bool {
    matches!(ending, Ending::Interrupted | Ending::PeerLost)
}
