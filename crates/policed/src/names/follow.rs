//! Follows names while their owners start, stop and move: a thread for each source, so that one that hangs stops
//! itself only, and one that hears of interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nicety_netdev::link::LinkNews;
use nicety_netdev::netns::NetNs;
use nicety_police::names::{Absent, Name, Resolution, Source, Target};
use nicety_police::report::NameSource;

use super::ask::{Asker, Trouble};
use crate::Error;

/// How often names are looked at that are no port now, and all of them.
const POLL: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(60);
/// After news names are looked at again soon: an owner that starts tells its interface a moment later.
const SOON: Duration = Duration::from_secs(1);
/// The least time between two questions.
const SPACE: Duration = Duration::from_millis(200);
/// How often the thread that listens looks whether it is still wanted.
const LISTEN: Duration = Duration::from_secs(1);

/// Follows the names of a policy. It ends when it is dropped, which waits for nobody.
#[derive(Debug)]
pub struct Follower(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    sources: BTreeMap<Source, Asked>,
    known: BTreeMap<Name, Resolution>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Asked {
    names: BTreeSet<Name>,
    /// Numbers of the last question that was wished for and of the last that was answered.
    wished: u64,
    answered: u64,
    /// All names are wished for.
    whole: bool,
    /// When it answered last.
    heard: Option<Instant>,
    trouble: Option<String>,
}

/// What is known of the names.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Which ports they are.
    pub names: BTreeMap<Name, Resolution>,
    /// How those who were asked do.
    pub sources: Vec<NameSource>,
}

impl Follower {
    /// Follows some names in a network namespace, beginning with what was known of them `before`.
    ///
    /// # Errors
    /// When the kernel gives no thread or socket.
    pub fn start(
        ns: &NetNs,
        names: impl Iterator<Item = Name>,
        mut before: BTreeMap<Name, Resolution>,
    ) -> Result<Self, Error> {
        let mut state = State::default();
        for name in names {
            if let Some((name, known)) = before.remove_entry(&name) {
                state.known.insert(name, known);
            }
            let asked = state.sources.entry(name.source()).or_default();
            asked.names.insert(name);
            (asked.wished, asked.whole) = (1, true);
        }
        let sources: Vec<Source> = state.sources.keys().copied().collect();
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let this = Self(Arc::clone(&shared));
        for source in sources {
            let (shared, asker) = (Arc::clone(&shared), Asker::open(ns)?);
            let named = std::thread::Builder::new().name(format!("names {source}"));
            named.spawn(move || shared.ask(source, &asker))?;
        }
        let mut news = LinkNews::listen(ns)?;
        let named = std::thread::Builder::new().name("names links".to_owned());
        named.spawn(move || {
            while !shared.lock().ended {
                if news.wait(LISTEN) {
                    shared.wish(false);
                }
            }
        })?;
        Ok(this)
    }

    /// Has everybody asked again.
    pub fn look_again(&self) {
        self.0.wish(true);
    }

    /// What is known. Waits so long for those who are being asked, unless they are in trouble.
    pub fn answers(&self, wait: Duration) -> Answers {
        let waits = |state: &mut State| {
            let mut sources = state.sources.values();
            sources.any(|asked| asked.answered < asked.wished && asked.trouble.is_none())
        };
        let (shared, state) = (&self.0, self.0.lock());
        let (state, _) = (shared.changed.wait_timeout_while(state, wait, waits))
            .unwrap_or_else(PoisonError::into_inner);
        let names = state.sources.values().flat_map(|asked| {
            asked.names.iter().map(|name| {
                let resolution = match (state.known.get(name), &asked.trouble) {
                    (Some(known), _) => known.clone(),
                    (None, Some(why)) => Resolution::Absent(Absent::NoAnswer(why.clone())),
                    (None, None) => Resolution::Absent(Absent::NotAsked),
                };
                (name.clone(), resolution)
            })
        });
        let sources = state.sources.iter().map(|(source, asked)| NameSource {
            source: source.to_string(),
            heard_s: asked.heard.map(|at| at.elapsed().as_secs_f64()),
            trouble: asked.trouble.clone(),
        });
        Answers {
            names: names.collect(),
            sources: sources.collect(),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wish(&self, whole: bool) {
        let mut state = self.lock();
        for asked in state.sources.values_mut() {
            asked.wished += 1;
            asked.whole |= whole;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Asks one source again and again.
    fn ask(&self, source: Source, asker: &Asker) {
        let mut whole_at = Instant::now();
        let mut pause = SOON;
        loop {
            let Some((goal, names, known)) = self.next(source, &mut whole_at, &mut pause) else {
                return;
            };
            let answer = match asker.stale(source, names, &known) {
                // Nobody needs to be asked.
                Ok(names) if names.is_empty() => Ok(None),
                Ok(names) => asker.ask(source, &names).map(Some),
                Err(error) => Err(error),
            };
            let mut state = self.lock();
            let State { sources, known, .. } = &mut *state;
            if let Some(asked) = sources.get_mut(&source) {
                asked.answered = goal;
                match answer {
                    Ok(None) => {}
                    Ok(Some(found)) => {
                        known.extend(found);
                        (asked.heard, asked.trouble) = (Some(Instant::now()), None);
                    }
                    // What it said last goes on.
                    Err(error) => asked.trouble = Some(error.to_string()),
                }
            }
            let ended = state.ended;
            drop(state);
            self.changed.notify_all();
            if ended {
                return;
            }
            std::thread::sleep(SPACE);
        }
    }

    /// Waits for the next question: its number, the names, and what is known of those that need not be asked for
    /// again while they are the same. None at the end.
    fn next(
        &self,
        source: Source,
        whole_at: &mut Instant,
        pause: &mut Duration,
    ) -> Option<(u64, BTreeSet<Name>, BTreeMap<Name, Resolution>)> {
        let mut state = self.lock();
        let begin = Instant::now();
        loop {
            if state.ended {
                return None;
            }
            let State { sources, known, .. } = &mut *state;
            let asked = sources.get_mut(&source)?;
            let news = asked.wished > asked.answered;
            let resolved = |name: &Name| matches!(known.get(name), Some(Resolution::Resolved(_)));
            let poll = if asked.names.iter().all(resolved) {
                POLL
            } else {
                *pause
            };
            let waited = begin.elapsed();
            if news || waited >= poll {
                *pause = if news { SOON } else { (*pause * 2).min(POLL) };
                let whole = std::mem::take(&mut asked.whole)
                    || whole_at.elapsed() >= WHOLE
                    || asked.trouble.is_some();
                let known = if whole {
                    BTreeMap::new()
                } else {
                    known.clone()
                };
                if whole {
                    *whole_at = Instant::now();
                }
                return Some((asked.wished, asked.names.clone(), known));
            }
            let changed = self.changed.wait_timeout(state, poll - waited);
            state = changed.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Asker {
    /// The names that must be asked for: where one question answers all, all of them; else those that are not
    /// known to be the same port as before.
    fn stale(
        &self,
        source: Source,
        names: BTreeSet<Name>,
        known: &BTreeMap<Name, Resolution>,
    ) -> Result<BTreeSet<Name>, Trouble> {
        if source != Source::Libvirt || known.is_empty() {
            return Ok(names);
        }
        let links = self.indexes()?;
        let same = |name: &Name| match known.get(name) {
            Some(Resolution::Resolved(Target::Interface { name, index })) => {
                links.get(name) == Some(index)
            }
            Some(Resolution::Resolved(Target::Function { pf, .. })) => links.contains_key(pf),
            _ => false,
        };
        Ok(names.into_iter().filter(|name| !same(name)).collect())
    }
}
