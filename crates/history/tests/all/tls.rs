//! TLS to a real PostgreSQL server: each mode with good and bad ends of it.

use std::net::TcpListener;
use std::path::Path;

use nicety_history::{History, HistoryError, open};
use nicety_model::{Coded, ProblemCode};
use nicety_testkit::certificates::{Authority, Pair};

use crate::server::Server;
use crate::session::Session;

/// Who may do what by which connection.
const ACCESS: &str = "local all all trust
hostssl needs_certificate all 127.0.0.1/32 trust clientcert=verify-ca
hostnossl only_clear all 127.0.0.1/32 trust
host with_password all 127.0.0.1/32 scram-sha-256
host team all 127.0.0.1/32 trust
";
const DATABASES: [&str; 4] = ["team", "only_clear", "needs_certificate", "with_password"];

struct Lab {
    server: Server,
    port: u16,
}

/// What a call ends with.
#[derive(Debug)]
enum End<'a> {
    Encrypted,
    Clear,
    /// A line with this part.
    Refused(&'a str),
}
use End::{Clear, Encrypted, Refused};

impl Lab {
    fn start(test: &str) -> Option<Self> {
        let server = Server::start(test)?;
        for name in DATABASES {
            server.database(name);
        }
        let mut session = Session::to(&server.url("team"));
        session.run("ALTER ROLE tester PASSWORD 'open sesame'");
        session.close();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        server.file("access", ACCESS);
        Some(Self { server, port })
    }

    /// Starts the server again with this certificate, or none; it trusts clients of `authority`.
    fn serve(&mut self, pair: Option<&Pair>, authority: &str) {
        let server = &mut self.server;
        let mut settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", self.port),
            format!("hba_file={}/access", server.dir().display()),
        ];
        if let Some(pair) = pair {
            let files = [
                ("ssl_cert_file", pair.certificate.as_str()),
                ("ssl_key_file", &pair.key),
                ("ssl_ca_file", authority),
            ];
            settings.push("ssl=on".to_owned());
            for (name, text) in files {
                settings.push(format!("{name}={}", server.file(name, text).display()));
            }
        }
        server.again_with(settings);
    }

    fn open(&self, host: &str, database: &str, query: &str) -> Result<History, HistoryError> {
        let user = match database {
            "with_password" => "tester:open%20sesame",
            _ => "tester",
        };
        let url = format!("postgres://{user}@{host}:{}/{database}?{query}", self.port);
        open(Path::new(&url), true)
    }

    #[track_caller]
    fn ends(&self, database: &str, query: &str, end: &End<'_>) {
        self.ends_at("localhost", database, query, end);
    }

    /// Opens a store, and asks the server how that was done.
    #[track_caller]
    fn ends_at(&self, host: &str, database: &str, query: &str, end: &End<'_>) {
        let what = format!("{host} {database} {query}");
        let opened = self.open(host, database, query);
        let said = match (&opened, end) {
            (Ok(_), Encrypted) => return assert!(self.is_encrypted(), "{what}"),
            (Ok(_), Clear) => return assert!(!self.is_encrypted(), "{what}"),
            (Err(error), Refused(part)) => {
                let said = error.to_string();
                assert!(said.contains(part), "{what}: {said}");
                said
            }
            (ended, end) => panic!("{what}: {ended:?} and not {end:?}"),
        };
        println!("{what}\n    {said}");
        let words = said.split_whitespace().count();
        assert!(!said.contains('\n') && words < 50, "{said}");
        assert!(!said.contains("sesame"), "{said}");
    }

    /// Whether nicety's connection is encrypted, as the server sees it.
    fn is_encrypted(&self) -> bool {
        let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE application_name = 'nicety' AND ssl";
        Session::to(&self.server.url("team")).number(sql) > 0
    }
}

#[test]
fn each_mode_encrypts_and_checks_what_it_says_as_any_user() {
    let Some(mut lab) = Lab::start("each_mode_encrypts_and_checks_what_it_says_as_any_user") else {
        return;
    };
    let ours = Authority::new("ours");
    let others = Authority::new("others");
    let root = |lab: &Lab, name: &str, text: &str| {
        let file = lab.server.file(name, text);
        format!("sslrootcert={}", file.display())
    };
    let good = ours.sign("db", &["localhost", "127.0.0.1"], false);

    lab.serve(None, "");
    let known = root(&lab, "ours", &ours.certificate);
    let unknown = root(&lab, "others", &others.certificate);
    for query in ["", "sslmode=prefer", "sslmode=disable"] {
        lab.ends("team", query, &Clear);
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let query = format!("sslmode={mode}&{known}");
        lab.ends("team", &query, &Refused("the server offers none; switch"));
    }

    lab.serve(Some(&good), &ours.certificate);
    lab.ends("team", "sslmode=disable", &Clear);
    for query in ["", "sslmode=prefer", "sslmode=require"] {
        lab.ends("team", query, &Encrypted);
    }
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        for host in ["localhost", "127.0.0.1"] {
            lab.ends_at(host, "team", &format!("sslmode={mode}&{known}"), &Encrypted);
        }
    }
    let who = Refused("no trusted authority signed the server's certificate");
    for mode in ["require", "verify-ca", "verify-full"] {
        lab.ends("team", &format!("sslmode={mode}&{unknown}"), &who);
    }
    lab.ends("team", "sslmode=verify-full", &who);
    lab.ends(
        "only_clear",
        "sslmode=require",
        &Refused("no pg_hba.conf entry"),
    );
    client_certificates(&lab, &ours, &others, &known);
    lab.ends(
        "with_password",
        &format!("sslmode=verify-full&{known}"),
        &Encrypted,
    );
    let none = format!(
        "postgres://tester@localhost:{}/with_password?sslmode=require",
        lab.port
    );
    let none = open(Path::new(&none), true).unwrap_err();
    assert_ne!(none.code(), ProblemCode::InUse, "{none}");

    let other = ours.sign("db", &["db.example", "*.db.example"], false);
    lab.serve(Some(&other), &ours.certificate);
    lab.ends("team", &format!("sslmode=verify-ca&{known}"), &Encrypted);
    let name = Refused("db.example");
    lab.ends("team", &format!("sslmode=verify-full&{known}"), &name);

    let old = ours.sign("db", &["localhost"], true);
    lab.serve(Some(&old), &ours.certificate);
    lab.ends("team", "sslmode=require", &Encrypted);
    for mode in ["require", "verify-ca", "verify-full"] {
        let query = format!("sslmode={mode}&{known}");
        lab.ends(
            "team",
            &query,
            &Refused("the server's certificate has expired"),
        );
    }
}

fn client_certificates(lab: &Lab, ours: &Authority, others: &Authority, known: &str) {
    let database = "needs_certificate";
    let asked = Refused("client certificate");
    lab.ends(database, &format!("sslmode=verify-full&{known}"), &asked);
    let pair = |name: &str, pair: &Pair| {
        let certificate = lab.server.file(&format!("{name}.crt"), &pair.certificate);
        let key = lab.server.file(&format!("{name}.key"), &pair.key);
        format!(
            "sslmode=verify-full&{known}&sslcert={}&sslkey={}",
            certificate.display(),
            key.display()
        )
    };
    let mine = pair("mine", &ours.sign("tester", &[], false));
    lab.ends(database, &mine, &Encrypted);
    let theirs = pair("theirs", &others.sign("tester", &[], false));
    lab.ends(database, &theirs, &Refused("the handshake failed"));
    let missing = mine.replace("mine.crt", "none.crt");
    lab.ends(database, &missing, &Refused("No such file"));
}
