//! The ports of a policy on this host: counters, limits.

mod links;
mod look;
mod theirs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nicety_model::BitRate;
use nicety_model::traffic_control::RecordedLimit;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::{ChangeListener, Changes, Limits, Shapers, Survey, SurveyRequest};
use nicety_police::adopt::Way;
use nicety_police::liveness::{RESTORE, START, Silence};
use nicety_police::{Policy, PortName};

use crate::Error;
use crate::functions::{Functions, Nic, Wanted as Of};
use crate::kernel::{Group, Worker};
use crate::log::Log;
use links::{Interfaces, Wanted};
use theirs::Theirs;

pub use links::{How, Limit, Links};
pub use look::Look;

/// The kernel, in the calling process's network namespace: one thread for the plain interfaces, and one for
/// each NIC with functions.
pub struct Ports {
    links: Group<Links, Result<Interfaces, NetError>>,
    nics: BTreeMap<String, Group<Functions, Arc<Nic>>>,
    listener: ChangeListener,
    ns: NetNs,
    /// As the kernel knows them; names that are none now stay names.
    names: Arc<[PortName]>,
    /// NICs of which interfaces count a function.
    by_interfaces: BTreeSet<String>,
    /// How long an answer is waited for.
    wait: Duration,
    capacity: BitRate,
    log: Log,
    /// A limit of another program waits for being replaced, or may be made anew.
    waits: bool,
    anew: bool,
    /// There are such limits, or may come.
    watches: bool,
    /// What the interfaces count is read every time.
    counts: bool,
}

impl Ports {
    /// Those of a policy; of none for putting things back.
    ///
    /// # Errors
    /// When the kernel cannot be asked, or does not answer.
    pub fn open(policy: Option<&Policy>, log: &Log) -> Result<Self, Error> {
        let ns = NetNs::current()?;
        let names: Vec<PortName> = policy.map_or_else(Vec::new, |policy| {
            policy.ports().map(|(_, port)| port.clone()).collect()
        });
        let names: Arc<[PortName]> = names.into();
        let mut functions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for name in names.iter() {
            if let PortName::Vf { pf, vf } = name {
                functions.entry(pf.clone()).or_default().push(*vf);
            }
        }
        let capacity = policy.map(|policy| policy.capacity).unwrap_or_default();
        let shapers = Shapers::open(&ns)?;
        let listener = shapers.listen()?;
        let links = Links {
            shapers,
            names: Arc::clone(&names),
            theirs: Theirs::open(&ns, policy)?,
        };
        let doing = "reading interfaces and their limiters".to_owned();
        let nic = |(name, functions): (String, Vec<u32>)| {
            let of = Of {
                name: name.clone(),
                functions,
                capacity,
            };
            Ok::<_, Error>((name, nic_of(&ns, of, log)?))
        };
        Ok(Self {
            nics: functions
                .into_iter()
                .map(nic)
                .collect::<Result<_, Error>>()?,
            links: Group::start("interfaces", doing, START, || Ok(links))?,
            listener,
            ns,
            names,
            by_interfaces: BTreeSet::new(),
            wait: START,
            capacity,
            log: log.clone(),
            waits: false,
            anew: false,
            watches: false,
            counts: false,
        })
    }

    /// A port is this one of the host from now on.
    ///
    /// # Errors
    /// When it is a function of a NIC whose driver does not answer.
    pub fn bind(&mut self, port: usize, to: PortName) -> Result<(), Error> {
        let mut names = self.names.to_vec();
        let Some(name) = names.get_mut(port) else {
            return Ok(());
        };
        *name = to.clone();
        if let PortName::Vf { pf, .. } = &to {
            let functions = names.iter().filter_map(|name| match name {
                PortName::Vf { pf: of, vf } if of == pf => Some(*vf),
                _ => None,
            });
            let of = Of {
                name: pf.clone(),
                functions: functions.collect(),
                capacity: self.capacity,
            };
            let mut group = nic_of(&self.ns, of, &self.log)?;
            if let Some(before) = self.nics.get(pf) {
                group.follow(before);
            }
            self.nics.insert(pf.clone(), group);
        }
        self.names = names.into();
        Ok(())
    }

    /// The ports as the kernel knows them; names that are none now stay names.
    pub fn names(&self) -> &Arc<[PortName]> {
        &self.names
    }

    /// Waits so long for answers from now on.
    pub fn wait(&mut self, wait: Duration) {
        self.wait = wait;
    }

    /// Reads what the interfaces count every time from now on, or only where that is needed for limits.
    pub fn count_interfaces(&mut self, counts: bool) {
        self.counts = counts;
    }

    /// Goes on where the ports of another policy have left off.
    pub fn follow(&mut self, before: &Self) {
        self.links.follow(&before.links);
        for (name, group) in &mut self.nics {
            if let Some(before) = before.nics.get(name) {
                group.follow(before);
            }
        }
    }

    /// Inode of the network namespace, which tells it from others of the same boot.
    pub fn namespace(&self) -> u64 {
        self.ns.inode()
    }

    /// What somebody has changed of interfaces, qdiscs or filters since the last time.
    pub fn changes(&mut self) -> Changes {
        self.listener.changes()
    }

    /// The policy names functions: what these are like nobody tells.
    pub fn has_functions(&self) -> bool {
        !self.nics.is_empty()
    }

    /// All qdiscs, interfaces and functions now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn survey(&mut self) -> Result<Look, NetError> {
        let wanted = self.interfaces().map(|port| (port, None)).collect();
        self.look(None, BTreeMap::new(), wanted)
    }

    /// Counters and limits only; all of them, or those of ports that have something to do. `had` says by
    /// which interface a port was found whose limit was not written since.
    pub fn survey_again(
        &mut self,
        before: Look,
        all: bool,
        had: impl Fn(usize) -> Option<u32>,
    ) -> Result<Look, NetError> {
        let wanted: Wanted = self.interfaces().map(|port| (port, had(port))).collect();
        let interfaces = !wanted.is_empty();
        let request = SurveyRequest {
            interfaces: !self.by_interfaces.is_empty() || all && interfaces,
            ports: self.counts && interfaces,
            limits: match (interfaces, all) {
                (false, _) => Limits::None,
                (true, false) => Limits::Stirred,
                (true, true) => Limits::All,
            },
        };
        let survey = before.survey.map(|survey| (survey, request));
        self.look(survey, before.nics, wanted)
    }

    fn interfaces(&self) -> impl Iterator<Item = usize> {
        let ports = self.names.iter().enumerate();
        let plain =
            |(at, name): (usize, &PortName)| matches!(name, PortName::Interface(_)).then_some(at);
        ports.filter_map(plain)
    }

    /// Asks for the interfaces, which count some functions, and then for all NICs at once.
    fn look(
        &mut self,
        before: Option<(Arc<Survey>, SurveyRequest)>,
        mut nics: BTreeMap<String, Option<Arc<Nic>>>,
        wanted: Wanted,
    ) -> Result<Look, NetError> {
        let names = Arc::clone(&self.names);
        self.links.look(move |links| {
            links.names = names;
            links.look(before, &wanted)
        });
        let interfaces = self.links.take(Instant::now() + self.wait).transpose()?;
        let look = self.told(interfaces);
        let all = self.nics.keys();
        let all = all.map(|name| (name.clone(), nics.remove(name).flatten()));
        let all = all.collect();
        Ok(self.with_nics(look, all))
    }

    /// What was looked at, and what follows for the next time.
    fn told(&mut self, mut interfaces: Option<Interfaces>) -> Look {
        if let Some(watch) = interfaces.as_mut().and_then(|all| all.watch.take()) {
            (self.waits, self.anew) = (watch.waits, watch.anew);
            self.watches = !watch.interfaces.is_empty();
            self.listener.watch(watch.interfaces);
        }
        Look::new(interfaces)
    }

    /// A limit of another program waits for being replaced, or may be made anew, which the next look at everything
    /// tells.
    pub fn waits(&self) -> bool {
        self.waits || self.anew
    }

    /// Somebody may be making a limit anew: the next look comes soon.
    pub fn hurries(&self) -> bool {
        self.anew
    }

    /// Limits of others are adopted, whose changes are to be seen soon.
    pub fn watches(&self) -> bool {
        self.watches
    }

    /// Goes on with limits of others that were replaced, as they are noted.
    pub fn resume(&mut self, replaced: BTreeMap<String, (u32, RecordedLimit)>) {
        if !replaced.is_empty() {
            self.at_links(|links| links.resume(replaced));
        }
    }

    /// With some NICs, as they were before where that is known.
    fn with_nics(&mut self, mut look: Look, asked: BTreeMap<String, Option<Arc<Nic>>>) -> Look {
        let names: Vec<String> = asked.keys().cloned().collect();
        for (name, before) in asked {
            let survey = match (&look.survey, self.by_interfaces.contains(&name)) {
                (Some(survey), _) => Arc::clone(survey),
                // Nobody has read the interfaces that count its functions.
                (None, true) => continue,
                (None, false) => Arc::default(),
            };
            let at = look.at;
            if let Some(group) = self.nics.get_mut(&name) {
                group.look(move |functions| functions.look(before, (&survey, at)));
            }
        }
        let deadline = Instant::now() + self.wait;
        for name in names {
            let nic = self
                .nics
                .get_mut(&name)
                .and_then(|group| group.take(deadline));
            match &nic {
                Some(nic) if nic.needs_interfaces() => {
                    self.by_interfaces.insert(name.clone());
                }
                Some(_) => {
                    self.by_interfaces.remove(&name);
                }
                None => {}
            }
            look.nics.insert(name, nic);
        }
        look.silences = self.silences();
        look
    }

    /// Who has not answered for long, by NIC; the interfaces have no name.
    fn silences(&self) -> BTreeMap<Option<String>, Silence> {
        let nics = self.nics.iter();
        let nics = nics.filter_map(|(name, group)| Some((Some(name.clone()), group.silence()?)));
        let links = self.links.silence().map(|silence| (None, silence));
        nics.chain(links).collect()
    }

    /// The limits of some ports, after they were written.
    pub fn reread(&mut self, before: Look, written: &[usize]) -> Result<Look, NetError> {
        let names = Arc::clone(&self.names);
        let written = || {
            written
                .iter()
                .filter_map(|port| Some((*port, names.get(*port)?)))
        };
        let plain = |(port, name): (usize, &PortName)| {
            matches!(name, PortName::Interface(_)).then_some((port, None))
        };
        let wanted: Wanted = written().filter_map(plain).collect();
        let is_written = |nic: &String| {
            written().any(|(_, port)| matches!(port, PortName::Vf { pf, .. } if pf == nic))
        };
        let (asked, others): (BTreeMap<_, _>, BTreeMap<_, _>) = before
            .nics
            .into_iter()
            .partition(|(name, _)| is_written(name));
        // Counters of one moment.
        let count = (asked.values().flatten()).any(|nic| nic.needs_interfaces());
        let mut look = match before.survey {
            Some(survey) if count || !wanted.is_empty() => {
                let names = Arc::clone(&self.names);
                let reread = move |links: &mut Links| {
                    links.names = names;
                    links.reread(survey, &wanted, count)
                };
                let interfaces = self.links.run(self.wait, reread).transpose()?;
                self.told(interfaces)
            }
            survey => Look {
                survey,
                at: before.at,
                ..Look::new(None)
            },
        };
        look.nics = others;
        Ok(self.with_nics(look, asked))
    }

    /// Sets a limit; `how` is what to do with one that is there. None when the kernel does not answer: what
    /// the port has then is not known.
    pub fn set(
        &mut self,
        (way, port): (Way, usize),
        look: &Look,
        limit: Limit,
        how: How,
    ) -> Option<Result<(), NetError>> {
        match (self.names.get(port)?.clone(), way) {
            (PortName::Interface(name), _) => {
                let survey = Arc::clone(look.survey.as_ref()?);
                let set = move |links: &mut Links| match way {
                    Way::Sends => links.set((port, &name), &survey, limit, how),
                    Way::Receives => links.set_received((port, &name), &survey, limit, how),
                };
                self.links.run(self.wait, set)
            }
            (PortName::Vf { pf, vf }, Way::Sends) => {
                let nic = Arc::clone(look.nics.get(&pf)?.as_ref()?);
                let set = move |functions: &mut Functions| functions.set(vf, &nic, limit.rate);
                self.nics.get_mut(&pf)?.run(self.wait, set)
            }
            // Refused before.
            (PortName::Vf { .. }, Way::Receives) | (PortName::Named(_), _) => None,
        }
    }

    /// What begins or ends to be stuck: the NIC, none for the interfaces; for how long and in what, none when it
    /// answers again.
    pub fn turns(&mut self) -> Vec<(Option<String>, Option<Silence>)> {
        let nics = self.nics.iter_mut();
        let nics = nics.filter_map(|(name, group)| Some((Some(name.clone()), group.turn()?)));
        let links = self.links.turn().map(|turn| (None, turn));
        nics.chain(links).collect()
    }

    /// Makes limits deep enough for the frames of ports whose MTU has grown. Where that fails, their limits stay.
    pub fn deepen(&mut self, look: &Look) {
        let Some(survey) = look.survey.clone() else {
            return;
        };
        let ports = self.names.iter().filter_map(|name| match name {
            PortName::Interface(name) => survey.face(name),
            PortName::Vf { .. } | PortName::Named(_) => None,
        });
        let cramped = ports.filter(|face| survey.is_cramped(face));
        let cramped: Vec<String> = cramped.map(|face| face.name.clone()).collect();
        if !cramped.is_empty() {
            self.at_links(move |links| links.deepen(&cramped, &survey));
        }
    }

    /// For how long the kernel has not answered, by NIC or `interfaces`; zero where it does.
    pub fn all_silences(&self) -> Vec<(String, Duration)> {
        let lasts = |silence: Option<Silence>| silence.map_or(Duration::ZERO, |it| it.lasts);
        let nics = self.nics.iter();
        let nics = nics.map(|(name, group)| (name.clone(), lasts(group.silence())));
        let links = ("interfaces".to_owned(), lasts(self.links.silence()));
        std::iter::once(links).chain(nics).collect()
    }

    /// Has something done at the interfaces; none when the kernel does not answer.
    pub fn at_links<A: Send + 'static>(
        &mut self,
        job: impl FnOnce(&Links) -> A + Send + 'static,
    ) -> Option<A> {
        self.links.insist(RESTORE, |links| job(links))
    }

    /// Has something done at a NIC, of the policy or not; none when the kernel does not answer.
    pub fn at_nic<A: Send + 'static>(
        &mut self,
        name: &str,
        job: impl FnOnce() -> A + Send + 'static,
    ) -> Option<A> {
        match self.nics.get_mut(name) {
            Some(group) => group.insist(RESTORE, |_| job()),
            None => {
                let thread = Worker::start(&format!("nic {name}"), || Ok::<_, ()>(()));
                let (worker, opened) = thread.ok()?;
                let deadline = Instant::now() + RESTORE;
                opened.until(deadline)?;
                Some(worker.ask(|()| job())?.until(deadline)?.what)
            }
        }
    }
}

/// A thread for the functions of a NIC.
fn nic_of(ns: &NetNs, of: Of, log: &Log) -> Result<Group<Functions, Arc<Nic>>, Error> {
    let doing = format!("reading {}'s functions", of.name);
    let thread = format!("nic {}", of.name);
    let (ns, log) = (ns.clone(), log.clone());
    Group::start(&thread, doing, START, move || Functions::open(&ns, of, log))
}
