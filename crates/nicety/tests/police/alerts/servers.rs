//! Debian's Prometheus and Alertmanager in the namespace from which all hosts can be reached, with the shipped rules and
//! routes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nicety_host::child;
use nicety_netdev::netns::NetNs;
use serde_json::Value;

use super::quick;
use super::web::{Message, Receiver, get};
use crate::harness::{Ends, has};

const RULES: &str = include_str!("../../../../../packaging/alerts/nicety.rules.yml");
const ROUTES: &str = include_str!("../../../../../packaging/alerts/alertmanager.yml");

const PROMETHEUS: &str = "127.0.0.1:9090";
const ALERTMANAGER: &str = "127.0.0.1:9093";
/// Where the shipped routes send messages.
const RECEIVER: &str = "127.0.0.1:9095";

const CONFIG: &str = "
global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 500ms
rule_files: [nicety.rules.yml]
alerting:
  alertmanagers:
    - static_configs:
        - targets: [\"127.0.0.1:9093\"]
scrape_configs:
  - job_name: nicety-police
    static_configs:
";

/// Alerts by name, instance, tenant and port, without what all names begin with, and whether Alertmanager lets them
/// pass: `active`, `suppressed`.
pub type Alerts = BTreeMap<String, String>;

struct Server {
    _program: Ends,
    log: PathBuf,
}

impl Server {
    fn start(ns: &NetNs, dir: &Path, program: &str, words: &[String]) -> Self {
        let ns = format!("{}/fd/{}", std::process::id(), ns.as_fd().as_raw_fd());
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{ns}"))
            .args(["setpriv", "--pdeathsig", "KILL", program])
            .args(words)
            .current_dir(dir);
        let log = dir.join(format!("{program}.log"));
        let file = File::create(&log).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file);
        Self {
            _program: Ends(child::spawn(command).unwrap()),
            log,
        }
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

pub struct Servers {
    prometheus: Server,
    alertmanager: Server,
    receiver: Receiver,
    ns: NetNs,
}

/// The program of Debian, or of the project itself.
pub fn alertmanager() -> Option<&'static str> {
    let names = ["prometheus-alertmanager", "alertmanager"];
    names.into_iter().find(|name| has(name))
}

impl Servers {
    /// Starts both, for hosts by name and address.
    pub fn start(ns: &NetNs, dir: &Path, targets: &[(&str, String)]) -> Self {
        let mut config = CONFIG.to_owned();
        for (name, at) in targets {
            config +=
                &format!("      - targets: [\"{at}\"]\n        labels: {{instance: \"{name}\"}}\n");
        }
        fs::write(dir.join("prometheus.yml"), config).unwrap();
        fs::write(dir.join("nicety.rules.yml"), quick::rules(RULES)).unwrap();
        fs::write(dir.join("alertmanager.yml"), quick::routes(ROUTES)).unwrap();
        let receiver = Receiver::start(ns, RECEIVER.parse().unwrap());
        let alertmanager = [
            "--config.file=alertmanager.yml".to_owned(),
            "--storage.path=alertmanager".to_owned(),
            format!("--web.listen-address={ALERTMANAGER}"),
            // Alone.
            "--cluster.listen-address=".to_owned(),
        ];
        let prometheus = [
            "--config.file=prometheus.yml".to_owned(),
            "--storage.tsdb.path=tsdb".to_owned(),
            format!("--web.listen-address={PROMETHEUS}"),
            "--log.level=warn".to_owned(),
        ];
        let program = self::alertmanager().unwrap();
        Self {
            alertmanager: Server::start(ns, dir, program, &alertmanager),
            prometheus: Server::start(ns, dir, "prometheus", &prometheus),
            receiver,
            ns: ns.clone(),
        }
    }

    fn get(&self, at: &str, path: &str) -> Option<Value> {
        let at: SocketAddr = at.parse().unwrap();
        get(&self.ns, at, path)
    }

    /// What Prometheus answers to a query.
    fn query(&self, query: &str) -> Vec<Value> {
        let code = |c: char| match c {
            c if c.is_ascii_alphanumeric() || c == '_' => c.to_string(),
            c => format!("%{:02X}", c as u32),
        };
        let query: String = query.chars().map(code).collect();
        let answer = self.get(PROMETHEUS, &format!("/api/v1/query?query={query}"));
        let result = answer.map(|answer| answer["data"]["result"].clone());
        result
            .and_then(|result| result.as_array().cloned())
            .unwrap_or_default()
    }

    /// Hosts that were scraped last time.
    pub fn scraped(&self) -> usize {
        self.query("up == 1").len()
    }

    /// Whether a host did not answer in time once.
    pub fn missed(&self, host: &str) -> bool {
        let answers = self.query(&format!("min_over_time(up{{instance=\"{host}\"}}[10m])"));
        answers[0]["value"][1] == "0"
    }

    /// How many rules are evaluated without an error.
    pub fn good_rules(&self) -> usize {
        let answer = self.get(PROMETHEUS, "/api/v1/rules").unwrap_or_default();
        let rules = answer["data"]["groups"][0]["rules"].as_array().cloned();
        let rules = rules.unwrap_or_default();
        rules.iter().filter(|rule| rule["health"] == "ok").count()
    }

    /// What Alertmanager has now; none where it does not answer.
    pub fn alerts(&self) -> Option<Alerts> {
        let answer = self.get(ALERTMANAGER, "/api/v2/alerts")?;
        let alerts = answer.as_array()?.iter();
        let state = |alert: &Value| alert["status"]["state"].as_str().map(str::to_owned);
        let alerts = alerts.map(|alert| Some((name(&alert["labels"]), state(alert)?)));
        alerts.collect()
    }

    /// How often each alert has fired since the start: a pause makes two of one.
    pub fn firings(&self) -> BTreeMap<String, usize> {
        let samples = |query: &str| {
            let mut all: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
            for series in self.query(query) {
                let values = series["values"].as_array().cloned().unwrap_or_default();
                let values = values.iter().map(|pair| {
                    let value = pair[1].as_str().unwrap_or_default().to_owned();
                    (pair[0].to_string(), value)
                });
                let name = name(&series["metric"]);
                all.entry(name).or_default().extend(values);
            }
            all
        };
        // When each began, at every moment; pending or firing.
        let begun = samples("ALERTS_FOR_STATE[10m]");
        let firing = samples("ALERTS{alertstate=\"firing\"}[10m]");
        let of = |(name, samples): (String, Vec<(String, String)>)| {
            let begun: BTreeMap<_, _> = begun
                .get(&name)
                .cloned()
                .unwrap_or_default()
                .into_iter()
                .collect();
            let begun: BTreeSet<_> = samples.iter().map(|(at, _)| begun.get(at)).collect();
            (name, begun.len())
        };
        firing.into_iter().map(of).collect()
    }

    pub fn messages(&self) -> Vec<Message> {
        self.receiver.messages()
    }

    pub fn said(&self) -> String {
        let pending: Vec<String> = self
            .query("ALERTS{alertstate=\"pending\"}")
            .iter()
            .map(|alert| name(&alert["metric"]))
            .collect();
        format!(
            "pending: {pending:?}\nPrometheus: {}\nAlertmanager: {}",
            self.prometheus.log(),
            self.alertmanager.log()
        )
    }
}

/// An alert by its labels.
pub fn name(labels: &Value) -> String {
    let keys = ["alertname", "instance", "tenant", "port"];
    let words = keys.iter().filter_map(|key| labels[key].as_str());
    let words: Vec<&str> = words.collect();
    let name = words.join(" ");
    name.strip_prefix("NicetyPolice")
        .map_or_else(|| name.clone(), str::to_owned)
}
