//! A constant load for hours: every interval is counted, kept and told; a restart goes on.

mod broken;
mod unseen;

use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_account::soak::{Keeper, Totals};
use nicety_host::clock;
use nicety_model::interval::{Gap, GapWhy, Interval, LoadLine, LoadSummary};
use nicety_model::soak::{LoadWish, SoakHead, Soaked};
use nicety_model::{FateMode, Fps, Note, SCHEMA, Validity};
use nicety_port::Stop;
use nicety_store::SoakDir;

use crate::constant::{Constant, Intervals, Wanted, Whole};
use crate::error::RunError;
use crate::event::Observer;
use crate::request::NewDir;

use broken::Broken;
use unseen::name_unseen;

/// The rest of a soak that is too short for one more interval.
const LEAST: Duration = Duration::from_millis(100);

/// A new directory, or one to go on with.
#[derive(Debug)]
pub enum SoakPlace {
    /// To be made.
    New {
        /// The directory.
        dir: NewDir,
        /// The load.
        wish: LoadWish,
        /// Length of an interval.
        every: Duration,
        /// Length of the whole.
        length: Duration,
        /// Command line that repeats it.
        command: String,
    },
    /// Holds a soak that was ended or killed.
    Resume {
        /// The directory.
        dir: PathBuf,
        /// Another length of the whole.
        length: Option<Duration>,
    },
}

/// How a session of a soak ended.
#[derive(Debug)]
pub enum SoakEnding {
    /// It went on for as long as was asked for.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// It cannot go on; what is known is kept.
    Failed(RunError),
}

/// A soak under way.
pub struct Soak {
    constant: Constant,
    dir: SoakDir,
    head: SoakHead,
    fate: FateMode,
    totals: Totals,
    keeper: Keeper,
    resumed: bool,
    notes: Vec<Note>,
    /// The directory, where it is new: what was made for it goes when nothing is in it.
    made: Option<NewDir>,
}

/// Whoever is told of each line.
pub type Say<'a> = &'a mut dyn FnMut(&LoadLine);

impl Soak {
    /// Looks at the host, makes or opens the directory, and finds the load. No thread may run yet.
    ///
    /// # Errors
    /// [`RunError::Interrupted`], or what is wrong; nothing is left behind then.
    pub fn open(
        wanted: Wanted,
        place: SoakPlace,
        fate: FateMode,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<Self, RunError> {
        let toml = wanted.plan.to_toml();
        let toml = toml.map_err(|error| RunError::WritePlan(error.into()))?;
        let (name, engine) = (wanted.plan.name.clone(), wanted.engine.to_string());
        let mut constant = Constant::open(wanted, stop, observer)?;
        let mut totals = Totals::default();
        let (dir, head, notes, made) = match place {
            SoakPlace::Resume { dir, length } => {
                let (dir, found) = SoakDir::open(&dir, |line| totals.replay(&line))?;
                let mut head = found.head;
                if let Some(length) = length {
                    head.for_s = length.as_secs_f64();
                    dir.write_head(&head)?;
                }
                (dir, head, found.notes, None)
            }
            SoakPlace::New {
                dir: new,
                wish,
                every,
                length,
                command,
            } => {
                let dir = SoakDir::create(&new, &toml, constant.host())?;
                let mut head = SoakHead {
                    schema: SCHEMA,
                    name,
                    cell: constant.key.name(),
                    started: clock::rfc3339(clock::unix_time()),
                    command,
                    wish,
                    found: None,
                    loss_goal: None,
                    load_fps: 0.0,
                    every_s: every.as_secs_f64(),
                    for_s: length.as_secs_f64(),
                    engine,
                    engine_name: String::new(),
                    notes: constant.notes().to_vec(),
                };
                let found = find(&mut constant, &mut head, observer);
                match found.and_then(|()| Ok(dir.write_head(&head)?)) {
                    Ok(()) => (dir, head, Vec::new(), Some(new)),
                    Err(error) => {
                        dir.abandon();
                        return Err(error);
                    }
                }
            }
        };
        Ok(Self {
            constant,
            dir,
            head,
            fate,
            totals,
            keeper: Keeper::default(),
            resumed: made.is_none(),
            notes,
            made,
        })
    }

    /// What is sent, over what, and for how long.
    pub fn head(&self) -> &SoakHead {
        &self.head
    }

    /// What earlier sessions came to, in seconds.
    pub fn done_s(&self) -> f64 {
        self.totals.wall_s()
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// When the first interval began, seconds since the Unix epoch; `None` before it.
    pub fn began_unix_s(&self) -> Option<f64> {
        self.totals.started_unix_s()
    }

    /// Takes the directory away again where nothing was measured in it.
    pub fn abandon(self) {
        if !self.resumed && self.totals.intervals() == 0 {
            self.dir.abandon();
        }
        drop(self.made);
    }

    /// What was odd about the directory's files.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Loads the path until the end, or until `stop`. `say` is told each line at once.
    ///
    /// # Errors
    /// When nothing could be measured in this session, or nothing can be written.
    pub fn run(
        &mut self,
        stop: &Stop,
        observer: &dyn Observer,
        say: Say<'_>,
    ) -> Result<SoakEnding, RunError> {
        let known_until = self.totals.ended_unix_s().filter(|_| self.resumed);
        let mut open = known_until.map(|from| (from, GapWhy::Restart));
        let (mut broken, mut ever) = (Broken::default(), false);
        let ending = loop {
            let mut begun = false;
            let once = self.until_broken(&mut open, &mut begun, stop, observer, say);
            ever |= begun;
            let why = match once {
                Ok(Some(ending)) => break ending,
                Err(RunError::Store(error)) => break SoakEnding::Failed(error.into()),
                _ if stop.is_set() => break SoakEnding::Interrupted,
                // What is wrong from the beginning is told at once.
                Err(error) if !ever => return Err(error),
                Ok(None) => "the path or a port broke".to_owned(),
                Err(error) => error.to_string(),
            };
            let from = self.totals.ended_unix_s();
            open.get_or_insert_with(|| {
                let from = from.unwrap_or_else(|| clock::unix_time().as_secs_f64());
                (from, GapWhy::Broken { why: why.clone() })
            });
            if begun {
                broken.was_whole();
            }
            if let Err(minutes) = broken.wait(stop) {
                break SoakEnding::Failed(RunError::StaysBroken { minutes, why });
            }
        };
        if let Some(kept) = self.keeper.flush() {
            self.dir.append(&LoadLine::Interval(Box::new(kept)))?;
        }
        Ok(ending)
    }

    /// One opening of the path. `None` when it broke.
    fn until_broken(
        &mut self,
        open: &mut Option<(f64, GapWhy)>,
        begun: &mut bool,
        stop: &Stop,
        observer: &dyn Observer,
        say: Say<'_>,
    ) -> Result<Option<SoakEnding>, RunError> {
        let Self {
            constant,
            dir,
            head,
            fate,
            totals,
            keeper,
            ..
        } = self;
        let (every, length) = (head.every_s, head.for_s);
        let mut book = Book {
            dir,
            totals,
            keeper,
        };
        let load = Fps(head.load_fps);
        constant.run(*fate, observer, |intervals: &mut Intervals<'_>| {
            if head.engine_name.is_empty() {
                head.engine_name = intervals.engine().to_owned();
                for note in intervals.notes() {
                    if !head.notes.contains(note) {
                        head.notes.push(note.clone());
                    }
                }
                book.dir.write_head(head)?;
            }
            intervals.number_from(book.totals.intervals());
            loop {
                let left = length - book.totals.wall_s();
                if left < LEAST.as_secs_f64() {
                    return Ok(Some(SoakEnding::Complete));
                }
                let duration = Duration::from_secs_f64(every.min(left));
                let Some(measured) = intervals.next(load, duration, stop)? else {
                    return Ok(Some(SoakEnding::Interrupted));
                };
                let interval = measured.interval;
                if let Validity::Broken { why } = &interval.validity {
                    let from = interval.started_unix_s;
                    open.get_or_insert_with(|| (from, GapWhy::Broken { why: why.clone() }));
                    return Ok(None);
                }
                if let Some((from_unix_s, why)) = open.take() {
                    let to_unix_s = interval.started_unix_s;
                    book.gap(from_unix_s, to_unix_s, why, say)?;
                }
                *begun = true;
                if name_unseen(&mut head.notes, &measured.notes) {
                    book.dir.write_head(head)?;
                }
                book.interval(interval, say)?;
                if stop.is_set() {
                    return Ok(Some(SoakEnding::Interrupted));
                }
            }
        })
    }

    /// What it comes to so far.
    pub fn summary(&self, ending: &SoakEnding) -> LoadSummary {
        let mut summary = self.totals.summary(matches!(ending, SoakEnding::Complete));
        summary.notes = self.notes.clone();
        summary
    }

    /// Writes the page, from what is on disk.
    ///
    /// # Errors
    /// When it cannot be written, or what was written cannot be read.
    pub fn report(&self, complete: bool) -> Result<(Soaked, PathBuf), RunError> {
        let mut soaked = read(self.dir.path())?;
        soaked.summary.complete = complete;
        let mut html = Vec::new();
        nicety_report::html(&soaked, &mut html).map_err(RunError::Report)?;
        let path = self.dir.write_report(&html)?;
        Ok((soaked, path))
    }
}

/// Reads a soak's directory as a page shows it.
///
/// # Errors
/// When it is none, or cannot be read.
pub fn read(dir: &Path) -> Result<Soaked, RunError> {
    let (mut totals, mut points) = (Totals::default(), nicety_account::soak::Points::default());
    let files = nicety_store::read_soak(dir, |line| {
        totals.replay(&line);
        points.add(line);
    })?;
    let complete = totals.wall_s() >= files.head.for_s - LEAST.as_secs_f64();
    let mut summary = totals.summary(complete);
    summary.notes = files.notes;
    Ok(Soaked {
        schema: SCHEMA,
        run: files.head,
        host: files.host,
        summary,
        lines: points.finish(),
    })
}

/// What intervals are written into.
struct Book<'a> {
    dir: &'a mut SoakDir,
    totals: &'a mut Totals,
    keeper: &'a mut Keeper,
}

impl Book<'_> {
    fn interval(&mut self, interval: Interval, say: Say<'_>) -> Result<(), RunError> {
        let kept = self.keeper.add(&interval);
        let alarm = self.totals.observe(&interval);
        // The first loss is on disk at once.
        let kept = if alarm.is_some() {
            kept.or_else(|| self.keeper.flush())
        } else {
            kept
        };
        say(&LoadLine::Interval(Box::new(interval)));
        if let Some(alarm) = alarm {
            say(&LoadLine::Alarm(alarm));
        }
        if let Some(kept) = kept {
            self.dir.append(&LoadLine::Interval(Box::new(kept)))?;
        }
        Ok(())
    }

    fn gap(&mut self, from: f64, to: f64, why: GapWhy, say: Say<'_>) -> Result<(), RunError> {
        if let Some(kept) = self.keeper.flush() {
            self.dir.append(&LoadLine::Interval(Box::new(kept)))?;
        }
        let gap = Gap {
            schema: SCHEMA,
            from_unix_s: from,
            to_unix_s: to,
            why,
        };
        self.totals.gap(&gap);
        let line = LoadLine::Gap(gap);
        self.dir.append(&line)?;
        say(&line);
        Ok(())
    }
}

/// Finds the load that was asked for.
fn find(
    constant: &mut Constant,
    head: &mut SoakHead,
    observer: &dyn Observer,
) -> Result<(), RunError> {
    let (whole, ratio): (Whole, f64) = match head.wish {
        LoadWish::Rate { fps } => {
            head.load_fps = fps;
            return Ok(());
        }
        LoadWish::Throughput { ratio } => (constant.throughput(observer)?, ratio),
        LoadWish::Maximum { ratio } => (constant.maximum(observer)?, ratio),
    };
    head.load_fps = whole.found.whole_fps * ratio;
    head.found = Some(whole.found);
    head.loss_goal = whole.loss_goal;
    Ok(())
}
