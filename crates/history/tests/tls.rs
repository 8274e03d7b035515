//! TLS to a real PostgreSQL server: each mode of libpq with good and bad ends of it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, clippy::print_stdout, reason = "this is a test")]

#[allow(dead_code, reason = "shared with other tests")]
mod server;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use nicety_history::{Caution, Environment, HistoryError, PATIENCE, Postgres};
use nicety_model::{Coded, ProblemCode};
use nicety_testkit::certificates::{self, Authority, Pair};
use postgres::{Client, NoTls};
use server::Server;

/// Who may do what by which connection.
const ACCESS: &str = "local all all trust
hostssl needs_certificate all 127.0.0.1/32 trust clientcert=verify-ca
hostssl only_tls all 127.0.0.1/32 trust
hostnossl only_clear all 127.0.0.1/32 trust
host with_password all 127.0.0.1/32 scram-sha-256
host team all 127.0.0.1/32 trust
";
const DATABASES: [&str; 5] = [
    "team",
    "only_tls",
    "only_clear",
    "needs_certificate",
    "with_password",
];

struct Lab {
    server: Server,
    port: u16,
    /// Counts for all calls but for what they set themselves.
    environment: Environment,
}

/// What a call ends with.
#[derive(Debug)]
enum End<'a> {
    Encrypted,
    Clear(Option<Caution>),
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
        let mut client = Client::connect(&server.url("team"), NoTls).unwrap();
        let role = "ALTER ROLE tester PASSWORD 'open sesame'";
        client.batch_execute(role).unwrap();
        drop(client);
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        server.file("access", ACCESS);
        let home = server.dir().join("home");
        fs::create_dir(&home).unwrap();
        let environment = Environment::default().at_home(&home);
        Some(Self {
            server,
            port,
            environment,
        })
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

    fn open(&self, host: &str, database: &str, query: &str) -> Result<Postgres, HistoryError> {
        let url = format!("postgres://tester@{host}:{}/{database}?{query}", self.port);
        Postgres::open(&url, &self.environment, true, PATIENCE)
    }

    #[track_caller]
    fn ends(&self, database: &str, query: &str, end: &End<'_>) {
        self.ends_at("localhost", database, query, end);
    }

    /// Opens a store, and asks the server how that was done.
    #[track_caller]
    fn ends_at(&self, host: &str, database: &str, query: &str, end: &End<'_>) {
        let what = format!("{host} {database} {query}");
        self.as_libpq(&what, host, database, query, end);
        let opened = self.open(host, database, query);
        let said = match (&opened, end) {
            (Ok(store), Encrypted) => {
                assert_eq!(self.is_encrypted(), Some(true), "{what}");
                let cautions = nicety_history::History::cautions(store);
                return assert_eq!(cautions, [], "{what}");
            }
            (Ok(store), Clear(caution)) => {
                assert_eq!(self.is_encrypted(), Some(false), "{what}");
                let cautions = nicety_history::History::cautions(store);
                return assert_eq!(cautions, caution.as_slice(), "{what}");
            }
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

    /// libpq's own client ends the same way.
    #[track_caller]
    fn as_libpq(&self, what: &str, host: &str, database: &str, query: &str, end: &End<'_>) {
        // Known from version 16 on.
        if query.contains("sslrootcert=system") {
            return;
        }
        let url = format!("postgres://tester@{host}:{}/{database}?{query}", self.port);
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let psql = Command::new(self.server.program("psql"))
            .args(["-XAtqwc", sql, &url])
            .env("HOME", self.server.dir().join("home"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&psql.stdout);
        let expected = match end {
            Encrypted => "t\n",
            Clear(_) => "f\n",
            Refused(_) => "",
        };
        assert_eq!(said, expected, "libpq, {what}: {psql:?}");
    }

    /// Whether nicety's connection is encrypted, as the server sees it.
    fn is_encrypted(&self) -> Option<bool> {
        let mut client = Client::connect(&self.server.url("team"), NoTls).unwrap();
        let sql = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE application_name = 'nicety' ORDER BY backend_start DESC LIMIT 1";
        client.query_opt(sql, &[]).unwrap().map(|row| row.get(0))
    }
}

#[test]
fn each_mode_means_what_libpq_means() {
    let Some(mut lab) = Lab::start("each_mode_means_what_libpq_means") else {
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
    for mode in ["disable", "allow"] {
        lab.ends("team", &format!("sslmode={mode}"), &Clear(None));
    }
    let none = Clear(Some(Caution::NoTlsOffered));
    lab.ends("team", "sslmode=prefer", &none);
    // Without a wish, and on this machine, there is nothing to tell.
    lab.ends("team", "", &Clear(None));
    for mode in ["require", "verify-ca", "verify-full"] {
        let query = format!("sslmode={mode}&{known}");
        lab.ends("team", &query, &Refused("the server offers no TLS; switch"));
    }

    lab.serve(Some(&good), &ours.certificate);
    lab.ends("team", "sslmode=disable", &Clear(None));
    lab.ends("team", "sslmode=allow", &Clear(None));
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
    let failed = Clear(Some(Caution::TlsFailed));
    lab.ends("team", &format!("sslmode=prefer&{unknown}"), &failed);
    for mode in ["verify-ca", "verify-full"] {
        let home = Refused("home/.postgresql/root.crt; put the server's authority there");
        lab.ends("team", &format!("sslmode={mode}"), &home);
    }
    let weak = Refused("sslmode=require: too weak for sslrootcert=system");
    lab.ends("team", "sslmode=require&sslrootcert=system", &weak);
    // What the server lets in by which connection.
    lab.ends("only_tls", "sslmode=allow", &Encrypted);
    lab.ends(
        "only_tls",
        "sslmode=disable",
        &Refused("no pg_hba.conf entry"),
    );
    let fallen = Clear(Some(Caution::TlsFailed));
    lab.ends("only_clear", "sslmode=prefer", &fallen);
    lab.ends(
        "only_clear",
        "sslmode=require",
        &Refused("no pg_hba.conf entry"),
    );
    let socket = format!(
        "host={}&sslmode=verify-full&port={}",
        lab.server.dir().display(),
        lab.port
    );
    let url = format!("postgres://tester@/team?{socket}");
    Postgres::open(&url, &lab.environment, true, PATIENCE).unwrap();

    client_certificates(&lab, &ours, &others, &known);
    passwords(&lab, &known);

    // The same file for all servers of this machine.
    let pinned = certificates::own_authority("localhost");
    lab.serve(Some(&pinned), &ours.certificate);
    let own = root(&lab, "own", &pinned.certificate);
    lab.ends("team", &format!("sslmode=verify-full&{own}"), &Encrypted);
    lab.ends("team", &format!("sslmode=verify-ca&{known}"), &who);
    let name = Refused("is for localhost, not for 127.0.0.1; use a name");
    lab.ends_at(
        "127.0.0.1",
        "team",
        &format!("sslmode=verify-full&{own}"),
        &name,
    );

    let other = ours.sign("db", &["db.example", "*.db.example"], false);
    lab.serve(Some(&other), &ours.certificate);
    lab.ends("team", &format!("sslmode=verify-ca&{known}"), &Encrypted);
    let name = Refused("is for db.example, *.db.example, not for localhost; use a name");
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
    let asked = Refused("the server asks for a client certificate; name yours");
    lab.ends(database, &format!("sslmode=verify-full&{known}"), &asked);
    lab.ends(database, "sslmode=prefer", &asked);
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
    lab.ends(
        database,
        &theirs,
        &Refused("the server refuses the client certificate"),
    );
    let mixed = mine.replace("mine.key", "theirs.key");
    lab.ends(database, &mixed, &Refused("does not fit its key"));
    let none = mine.replace("mine.key", "none.key");
    lab.ends(
        database,
        &none,
        &Refused("none.key is not there; name it in sslkey"),
    );
    let swapped = mine.replace("mine.crt", "mine.key");
    lab.ends(database, &swapped, &Refused("has no certificate in PEM"));
    let missing = mine.replace("mine.crt", "none.crt");
    lab.ends(
        database,
        &missing,
        &Refused("none.crt: cannot be read: No such file"),
    );

    // Rights as libpq has them: a group may read what is root's.
    let key = lab.server.dir().join("mine.key");
    let root = lab.server.dir().join("roots.key");
    let mode =
        |path: &Path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    mode(&key, 0o640);
    lab.ends(
        database,
        &mine,
        &Refused("others can read or write this key; run chmod 600"),
    );
    mode(&key, 0o600);
    fs::copy(&key, &root).unwrap();
    mode(&root, 0o640);
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata(&root).unwrap()) == 0 {
        let roots = mine.replace("mine.key", "roots.key");
        lab.ends(database, &roots, &Encrypted);
        mode(&root, 0o644);
        lab.ends(
            database,
            &roots,
            &Refused("others can read or write this key"),
        );
    }
    // Where nobody names files, those of the user's home count.
    let home = lab.server.dir().join("home/.postgresql");
    fs::create_dir(&home).unwrap();
    for (from, to) in [
        ("ours", "root.crt"),
        ("mine.crt", "postgresql.crt"),
        ("mine.key", "postgresql.key"),
    ] {
        fs::copy(lab.server.dir().join(from), home.join(to)).unwrap();
    }
    lab.ends(database, "sslmode=verify-full", &Encrypted);
    fs::remove_dir_all(&home).unwrap();
}

/// Passwords come from files, over TLS bound to its channel, and are in no message.
fn passwords(lab: &Lab, known: &str) {
    let database = "with_password";
    let query = &format!("sslmode=verify-full&{known}");
    let none = lab.open("localhost", database, query).unwrap_err();
    assert_eq!(none.code(), ProblemCode::Unreachable, "{none}");
    let line = format!("localhost:{}:*:tester:open sesame\n", lab.port);
    let file = lab.server.file("home/.pgpass", &line);
    lab.ends(database, query, &Encrypted);
    lab.ends(
        database,
        &format!("{query}&channel_binding=require"),
        &Encrypted,
    );
    fs::remove_file(&file).unwrap();
    let wrong = lab.server.file("wrong", &line.replace("open", "shut"));
    let wrong = format!("{query}&passfile={}", wrong.display());
    lab.ends(database, &wrong, &Refused("password authentication failed"));
    let service = format!(
        "[bench]\nhost=localhost\nport={}\nuser=tester\ndbname={database}\npassword=open sesame\n{}\n",
        lab.port,
        query.replace('&', "\n")
    );
    let service = lab.server.file("services", &service);
    let environment = Environment::default()
        .with("PGSERVICEFILE", service.to_str().unwrap())
        .with("PGSERVICE", "bench");
    let store = Postgres::open("postgres://", &environment, true, PATIENCE).unwrap();
    assert_eq!(lab.is_encrypted(), Some(true));
    let shown = format!("{store:?} {environment:?}");
    assert!(!shown.contains("sesame"), "{shown}");
}
