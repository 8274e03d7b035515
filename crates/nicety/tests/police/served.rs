//! The daemon's web server: what a browser, Prometheus and strangers get.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child;
use serde_json::Value;

use crate::harness::{Ends, has, installed, skip};
use crate::uplink::{POLICY, Uplink};

const LISTEN: &str = "127.0.0.1:9471";
/// A browser may take so long to show a page.
const PAGE: Duration = Duration::from_secs(60);

/// An uplink whose loopback is up.
fn uplink() -> Option<Uplink> {
    let uplink = Uplink::new()?;
    uplink.lab.sh("ip link set lo up");
    Some(uplink)
}

/// The status line and the body of what a port answers.
fn get(uplink: &Uplink, port: u16, request: &str) -> (String, String) {
    get_as(uplink, port, request, "localhost")
}

/// The same, asked by another name.
fn get_as(uplink: &Uplink, port: u16, request: &str, host: &str) -> (String, String) {
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n' | cat >&3; cat <&3"
    );
    let answer = uplink.lab.sh(&format!("bash -c \"{script}\" || true"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    (status.to_owned(), body.to_owned())
}

#[test]
fn dropped_packets_are_counted_per_tenant_where_the_policy_wants_it() {
    let Some(uplink) = uplink() else { return };
    let policy = POLICY.replace("[link]", "[link]\ndrops = \"count\"");
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let mut daemon = uplink.daemon(&["--listen", LISTEN]);
    let flood = uplink.flood("a");
    let wanted = "nicety_police_tenant_dropped_packets_total{tenant=\"a\",direction=\"sent\",reason=\"QDISC_DROP\"} ";
    let mut metrics = String::new();
    let mut why = None;
    daemon.until("a's dropped packets in the metrics", |daemon| {
        let said = daemon.stderr();
        let line = said
            .lines()
            .find(|line| line.contains("dropped packets are not counted"));
        why = line.map(str::to_owned);
        metrics = get(&uplink, 9471, "GET /metrics").1;
        let line = metrics.lines().find_map(|line| line.strip_prefix(wanted));
        why.is_some() || line.is_some_and(|count| count.parse::<f64>().unwrap() > 1000.0)
    });
    drop(flood);
    if let Some(why) = why {
        skip(format_args!("{why}"));
    }
    assert!(
        !metrics.contains(
            "dropped_packets_total{tenant=\"b\",direction=\"sent\",reason=\"QDISC_DROP\"}"
        )
    );
    // Another policy ends it.
    uplink.reload_with(POLICY);
    daemon.until("metrics without it", |_| {
        !get(&uplink, 9471, "GET /metrics")
            .1
            .contains("dropped_packets_total")
    });
    daemon.stop();
}

#[test]
fn metrics_health_and_readiness_are_told() {
    let Some(uplink) = uplink() else { return };
    let notify = uplink.path("notify");
    let socket = UnixDatagram::bind(&notify).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut daemon = uplink.daemon_with(&["--listen", LISTEN], |call| {
        call.env("NOTIFY_SOCKET", notify.to_str().unwrap())
    });
    let mut buffer = [0; 4096];
    let count = socket.recv(&mut buffer).unwrap();
    let told = String::from_utf8_lossy(&buffer[..count]).into_owned();
    assert!(
        told.contains("READY=1") && told.contains("STATUS="),
        "{told}"
    );
    // Read on, as systemd does: the daemon waits for it.
    std::thread::spawn(move || while socket.recv(&mut [0; 4096]).is_ok() {});

    let flood = uplink.flood("a");
    let mut metrics = String::new();
    daemon.until("a's flood in the metrics", |_| {
        let (status, body) = get(&uplink, 9471, "GET /metrics");
        assert_eq!(status, "HTTP/1.1 200 OK");
        metrics = body;
        let sent = "nicety_police_port_bytes_total{port=\"a1\",tenant=\"a\",direction=\"sent\"} ";
        let line = metrics.lines().find_map(|line| line.strip_prefix(sent));
        line.unwrap().parse::<f64>().unwrap() > 1e6
    });
    drop(flood);
    for line in [
        "nicety_police_period_seconds 0.2\n",
        "nicety_police_errors_total 0.0\n",
        "nicety_police_tenant_limit_bytes_per_second{tenant=\"c\",kind=\"guarantee\"} 500000.0\n",
        "nicety_police_tenant_limit_bytes_per_second{tenant=\"a\",kind=\"hard\"} 5000000.0\n",
        "nicety_police_link_capacity_bytes_per_second 5000000.0\n",
        "nicety_police_port_present{port=\"b1\",tenant=\"b\"} 1.0\n",
    ] {
        assert!(metrics.contains(line), "no {line} in\n{metrics}");
    }
    assert!(
        metrics.contains("# TYPE nicety_police_port_bytes_total counter\n"),
        "{metrics}"
    );
    if installed("promtool", "prometheus") {
        fs::write(uplink.path("metrics"), &metrics).unwrap();
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "metrics"]);
        promtool.stdin(fs::File::open(uplink.path("metrics")).unwrap());
        let said = promtool.output().unwrap();
        assert!(said.status.success(), "{said:?}\n{metrics}");
    }
    let (status, body) = get(&uplink, 9471, "GET /health");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(body.starts_with("period "), "{body}");
    let (_, body) = get(&uplink, 9471, "GET /state.json?since=1e12");
    let state: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(state["history"], Value::Array(Vec::new()));
    assert_eq!(state["state"]["tenants"][1]["tenant"], "b");
    // The page says what keeps a tenant from more in the words of the command.
    daemon.until("the same words for an idle tenant", |_| {
        let (_, body) = get(&uplink, 9471, "GET /state.json?since=1e12");
        let state: Value = serde_json::from_str(&body).unwrap();
        let explained = uplink.police(&["status", "c"]).run();
        state["held_by"][2] == "idle" && explained.stdout.starts_with("c: idle, ")
    });

    // A port that is taken is said at once, and nothing has been changed.
    let before = uplink.lab.state();
    daemon.stop();
    let socket = uplink.lab.sh("ss -ltnH 'sport = :9471' | wc -l");
    assert_eq!(socket.trim(), "0");
    let wrong = uplink
        .police(&[
            "run",
            uplink.path("policy.toml").to_str().unwrap(),
            "--listen",
            "192.0.2.77:1",
        ])
        .run();
    wrong.assert_code(3);
    wrong.assert_err("cannot listen on 192.0.2.77:1: ");
    drop(before);
}

#[test]
fn strangers_do_not_stop_the_loop() {
    let Some(uplink) = uplink() else { return };
    let mut daemon = uplink.daemon(&["--listen", LISTEN]);
    for (request, code) in [
        ("POST /metrics", "HTTP/1.1 405 Method Not Allowed"),
        ("GET /../../etc/passwd", "HTTP/1.1 404 Not Found"),
        ("\\x00\\x01garbage", "HTTP/1.1 400 Bad Request"),
    ] {
        assert_eq!(get(&uplink, 9471, request).0, code, "{request}");
    }
    // The name of a stranger's page that was made to point here.
    let (status, body) = get_as(&uplink, 9471, "GET /state.json", "evil.example");
    assert_eq!(status, "HTTP/1.1 421 Misdirected Request", "{body}");
    // Connections that say nothing, one that never reads, one whose head never ends.
    let script = "for i in $(seq 100); do exec {fd}<>/dev/tcp/127.0.0.1/9471; done; exec sleep 60";
    let silent = uplink.spawn_here(&["bash", "-c", script]);
    let script = "exec 3<>/dev/tcp/127.0.0.1/9471; \
        while printf 'GET /state.json HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3; do :; done; exec sleep 60";
    let unread = uplink.spawn_here(&["bash", "-c", script]);
    let script = "exec 3<>/dev/tcp/127.0.0.1/9471; printf 'GET / HTTP/1.1\\r\\n' >&3; \
        while printf 'X: 0123456789\\r\\n' >&3; do :; done; exec sleep 60";
    let endless = uplink.spawn_here(&["bash", "-c", script]);
    uplink.periods(&mut daemon, 7);
    daemon.until("an answer for others", |_| {
        get(&uplink, 9471, "GET /health").0 == "HTTP/1.1 200 OK"
    });
    drop((silent, unread, endless));
    daemon.stop();
}

#[test]
fn a_real_prometheus_scrapes_the_daemon() {
    if !installed("prometheus", "prometheus") {
        return;
    }
    let Some(uplink) = uplink() else { return };
    let mut daemon = uplink.daemon(&["--listen", LISTEN]);
    let config = uplink.path("prometheus.yml");
    let rules = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/alerts/nicety.rules.yml"
    );
    // A copy, which every user may read.
    fs::copy(rules, uplink.path("nicety.rules.yml")).unwrap();
    let text = format!(
        "global:\n  evaluation_interval: 500ms\nrule_files: [nicety.rules.yml]\nscrape_configs:\n  - job_name: nicety\n    scrape_interval: 500ms\n    scrape_timeout: 500ms\n    static_configs:\n      - targets: [\"{LISTEN}\"]\n"
    );
    fs::write(&config, text).unwrap();
    let prometheus = uplink.spawn_here(&[
        "prometheus",
        &format!("--config.file={}", config.display()),
        &format!("--storage.tsdb.path={}", uplink.path("tsdb").display()),
        "--web.listen-address=127.0.0.1:9472",
        "--log.level=error",
    ]);
    let told = |path: &str| -> Value {
        let (_, body) = get(&uplink, 9472, &format!("GET /api/v1/{path}"));
        // In chunks, between which their sizes stand.
        let size = |part: &&str| part.len() < 7 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let body: String = body.split("\r\n").filter(|part| !size(part)).collect();
        let start = body.find('{').unwrap_or(body.len());
        let end = body.rfind('}').map_or(start, |end| end + 1);
        let answer: Value =
            serde_json::from_str(body.get(start..end).unwrap_or("null")).unwrap_or_default();
        answer["data"].clone()
    };
    let ask = |query: &str| told(&format!("query?query={query}"))["result"].clone();
    let tenants = |answer: &Value| {
        let results = answer.as_array().cloned().unwrap_or_default();
        let mut names: Vec<String> = results
            .iter()
            .map(|one| {
                one["metric"]["tenant"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        names.sort();
        names
    };
    daemon.until("rates in Prometheus", |_| {
        tenants(&ask("nicety_police_tenant_rate_bytes_per_second")) == ["a", "b", "c"]
    });
    daemon.until("two scrapes", |_| {
        let periods = ask("changes(nicety_police_periods_total[1m])");
        periods[0]["value"][1].as_str().is_some_and(|n| n != "0")
    });
    assert_eq!(ask("up")[0]["value"][1], "1");
    // The alerts are evaluated on what the daemon really writes, and a healthy daemon raises none.
    let rules = || told("rules")["groups"][0]["rules"].clone();
    let rules = || rules().as_array().cloned().unwrap_or_default();
    daemon.until("all alerts evaluated", |_| {
        rules().len() >= 12 && rules().iter().all(|rule| rule["health"] == "ok")
    });
    let firing = rules().into_iter().find(|rule| rule["state"] == "firing");
    assert_eq!(firing, None);
    drop(prometheus);
    daemon.stop();
}

fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(|name| has(name))
}

/// What the browser makes of a page that has `mark` when it is done. The browser ends when its own clock is over, which
/// on a busy machine may be before the page has begun.
fn dom(uplink: &Uplink, browser: &str, url: &str, more: &[&str], mark: &str) -> String {
    let end = Instant::now() + PAGE;
    loop {
        let page = dumped(uplink, browser, url, more);
        if page.contains(mark) || Instant::now() > end {
            return page;
        }
    }
}

fn dumped(uplink: &Uplink, browser: &str, url: &str, more: &[&str]) -> String {
    let profile = format!("--user-data-dir={}", uplink.path("profile").display());
    let mut words = vec![
        "timeout",
        "60",
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        &profile,
        "--dump-dom",
    ];
    words.extend(more);
    words.push(url);
    let mut command = uplink.command_here(&words);
    let out = command.stderr(Stdio::null()).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn the_live_page_works_in_a_browser() {
    let Some(browser) = chromium() else {
        skip("no chromium here; on Debian: apt-get install chromium");
        return;
    };
    let Some(uplink) = uplink() else { return };
    let mut daemon = uplink.daemon(&["--listen", LISTEN]);
    let _flood = uplink.flood("b");
    daemon.until("b's flood", |_| {
        uplink.status()["tenants"][1]["rate_bps"].as_f64().unwrap() > 5e6
    });
    let budget = ["--virtual-time-budget=4000"];
    let page = dom(
        &uplink,
        browser,
        &format!("http://{LISTEN}/"),
        &budget,
        "data-live=\"live\"",
    );
    assert!(page.contains("data-live=\"live\""), "{page}");
    for part in [
        "<h2>a</h2>",
        "<h2>b</h2>",
        "Mbit/s</dd>",
        " of 40.0 Mbit/s used, link ",
        "data-unit=\"Mbit/s\"",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let (_, state) = get(&uplink, 9471, "GET /state.json");
    let (head, html) = get(&uplink, 9471, "GET /");
    assert_eq!(head, "HTTP/1.1 200 OK");
    let [css, script, charts_css, charts] =
        ["page.css", "page.js", "uplot.css", "uplot.js"].map(|part| {
            let (status, body) = get(&uplink, 9471, &format!("GET /{part}"));
            assert_eq!(status, "HTTP/1.1 200 OK", "{part}");
            body
        });
    daemon.stop();

    // The same page with the same state, asked about itself; names that are markup stay names.
    let state = state.replace(
        "\"tenant\":\"c\"",
        "\"tenant\":\"<img src=x onerror=alert(1)>\"",
    );
    let alone = html
        .replace("<link rel=\"stylesheet\" href=\"page.css\">", &format!("<style>{charts_css}{css}</style>"))
        .replace("<link rel=\"stylesheet\" href=\"uplot.css\">", "")
        .replace("<script src=\"uplot.js\"></script>", &format!("<script>{charts}</script>"))
        .replace(
            "<script src=\"page.js\"></script>",
            &format!(
                "<script>window.__errors = []; onerror = (e) => __errors.push(e);
                const first = {state}; window.fetch = async () => ({{ ok: true, json: async () => first }});</script>
                <script>{script}</script><script>setTimeout(async () => {{
                const width = document.documentElement.clientWidth;
                const kept = document.documentElement.dataset.periods > 1;
                const other = structuredClone(first);
                other.history = [{{ at_s: 1e9, rate: [5e6, 0, 0], limit: [129e6, 0, 0] }}];
                other.state.written_s = 1e9;
                other.state.tenants[0].tenant = 'd';
                other.state.tenants[0].limit_bps = 129e6;
                other.held_by[0] = 'held by the link, shared with p, q, r and 13 more';
                take(other);
                await new Promise((done) => setTimeout(done, 50));
                const cards = document.querySelectorAll('#tenants article');
                const said = cards[0].textContent;
                const figure = cards[0].querySelector('figure');
                const pixels = figure.querySelector('canvas').getContext('2d').getImageData(0, 0, 100, 100).data;
                document.documentElement.dataset.told = JSON.stringify([__errors.length,
                  document.documentElement.scrollWidth - width,
                  cards.length, document.querySelectorAll('img').length, kept,
                  [...past.tenants.keys()].includes('b') && past.tenants.get('d').rate[0] === null,
                  said.includes('p, q, r and 13 more'), figure.dataset.unit, pixels.some((byte) => byte > 0),
                  5e6 / figure.dataset.top < 0.1 || said.includes('limit 129 Mbit/s is above this picture')]);
                }}, 300);</script>"
            ),
        );
    assert!(!alone.contains("page.js") && !alone.contains("page.css"));
    let file = uplink.path("alone.html");
    fs::write(&file, alone).unwrap();
    for width in [500, 1280] {
        let size = format!("--window-size={width},900");
        let url = format!("file://{}", file.display());
        let page = dom(
            &uplink,
            browser,
            &url,
            &[&size, "--virtual-time-budget=8000"],
            "data-told=\"",
        );
        assert!(
            page.contains("data-told=\"[0,0,3,0,true,true,true,&quot;Mbit/s&quot;,true,true]\""),
            "{width}: {page}"
        );
    }
    assert!(Path::new(&file).exists());
}

/// In the uplink's namespace, with all processes of this machine in sight.
impl Uplink {
    fn command_here(&self, words: &[&str]) -> Command {
        let enter = self.lab.enter();
        let mut command = Command::new(&enter[0]);
        command.args(&enter[1..]).args(words);
        command
    }

    fn spawn_here(&self, words: &[&str]) -> Ends {
        let mut command = self.command_here(words);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ends(child::spawn(command).unwrap())
    }
}

/// The status line and the body of what a socket answers.
fn ask_socket(socket: &Path, more: &str) -> (String, String) {
    let mut stream = UnixStream::connect(socket).unwrap();
    let request =
        format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn a_socket_and_a_token_choose_who_may_look_as_any_user() {
    let Some(uplink) = Uplink::new() else { return };
    let (socket, token) = (uplink.path("http.sock"), uplink.path("token"));
    fs::write(&token, "a-token-of-tests\n").unwrap();
    let listen = format!("unix:{},token-file={}", socket.display(), token.display());
    let words = ["--listen", &listen];
    let policy = uplink.path("policy.toml");
    let run: Vec<&str> = ["run", policy.to_str().unwrap()]
        .into_iter()
        .chain(words)
        .collect();
    fs::set_permissions(&token, Permissions::from_mode(0o644)).unwrap();
    let open = uplink.police(&run).run();
    open.assert_code(2);
    let line = "others can read or write it; run chmod 600 on it";
    assert!(open.stderr.contains(line), "{}", open.stderr);
    assert!(!socket.exists());

    fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
    let mut daemon = uplink.daemon(&words);
    daemon.until_err("curl --unix-socket");
    assert_eq!(socket.metadata().unwrap().mode() & 0o777, 0o660);
    for more in ["", "Authorization: Bearer another-token\r\n"] {
        let (head, _) = ask_socket(&socket, more);
        assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
        assert!(head.to_lowercase().contains("www-authenticate: "), "{head}");
    }
    // The second one is nicety:a-token-of-tests.
    for shown in [
        "Bearer a-token-of-tests",
        "Basic bmljZXR5OmEtdG9rZW4tb2YtdGVzdHM=",
    ] {
        let (head, body) = ask_socket(&socket, &format!("Authorization: {shown}\r\n"));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}\n{body}");
    }
    daemon.stop();
    assert!(!socket.exists());
}
