//! URLs of servers as libpq takes them (PostgreSQL documentation, 34.1.1.2).

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// What such URLs begin with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Whether a store is named as a PostgreSQL server.
pub fn is_url(place: &str) -> bool {
    SCHEMES.iter().any(|scheme| place.starts_with(scheme))
}

/// Whether a URL shows a password.
pub fn has_password(url: &str) -> bool {
    parameters(url).is_ok_and(|found| found.contains_key("password"))
}

/// The parameters that a URL sets, by libpq's keywords.
///
/// # Errors
/// What is wrong with it, without its values.
pub fn parameters(url: &str) -> Result<BTreeMap<String, String>, String> {
    let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme));
    let rest = rest.ok_or("it is no URL of PostgreSQL")?;
    let (base, query) = match rest.split_once('?') {
        Some((base, query)) => (base, query),
        None => (rest, ""),
    };
    let (server, database) = match base.split_once('/') {
        Some((server, database)) => (server, database),
        None => (base, ""),
    };
    let mut found = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| format!("{key} is no UTF-8"))?;
        found.insert(key.to_owned(), value.into_owned());
        Ok::<_, String>(())
    };
    let hosts = match server.rsplit_once('@') {
        Some((user, hosts)) => {
            let (user, password) = match user.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (user, None),
            };
            if !user.is_empty() {
                set("user", user)?;
            }
            if let Some(password) = password {
                set("password", password)?;
            }
            hosts
        }
        None => server,
    };
    if !hosts.is_empty() {
        let (hosts, ports) = lists(hosts)?;
        set("host", &hosts)?;
        if ports.chars().any(|c| c != ',') {
            set("port", &ports)?;
        }
    }
    if !database.is_empty() {
        set("dbname", database)?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair
            .split_once('=')
            .ok_or("its query has a word that is no KEY=VALUE")?;
        match (key, value) {
            // libpq keeps this spelling of JDBC.
            ("ssl", "true") => set("sslmode", "require")?,
            _ => set(key, value)?,
        }
    }
    Ok(found)
}

/// Hosts and ports, each as a list with commas.
fn lists(hosts: &str) -> Result<(String, String), String> {
    let mut lists = (Vec::new(), Vec::new());
    for one in hosts.split(',') {
        let (host, port) = match one.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or("a [ has no ]")?;
                let after = "a port after ] needs a colon";
                let port = match port {
                    "" => "",
                    port => port.strip_prefix(':').ok_or(after)?,
                };
                (host, port)
            }
            None => one.split_once(':').unwrap_or((one, "")),
        };
        lists.0.push(host);
        lists.1.push(port);
    }
    Ok((lists.0.join(","), lists.1.join(",")))
}

/// A URL that could not be read, its password hidden: it may stand between the user and the last
/// `@` before the path, or be a parameter.
pub fn without_password(url: &str) -> String {
    let (base, query) = match url.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (url, None),
    };
    let mut hidden = match base.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((user, rest)) => {
                let name = user.split_once(':').map_or(user, |(name, _)| name);
                format!("{scheme}://{name}@{rest}")
            }
            None => base.to_owned(),
        },
        None => base.to_owned(),
    };
    if let Some(query) = query {
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.starts_with("password") && !pair.starts_with("sslpassword"))
            .collect();
        if !kept.is_empty() {
            hidden = format!("{hidden}?{}", kept.join("&"));
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(url: &str, expected: &[(&str, &str)]) {
        let expected = expected.iter();
        let expected = expected.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        assert_eq!(parameters(url), Ok(expected.collect()), "{url}");
    }

    #[test]
    fn a_url_sets_what_it_names() {
        is("postgres://", &[]);
        is(
            "postgresql://me:a%40b@db:5433/runs?sslmode=require",
            &[
                ("dbname", "runs"),
                ("host", "db"),
                ("password", "a@b"),
                ("port", "5433"),
                ("sslmode", "require"),
                ("user", "me"),
            ],
        );
        is(
            "postgres://a,[::1]:1,c/?ssl=true",
            &[("host", "a,::1,c"), ("port", ",1,"), ("sslmode", "require")],
        );
        is(
            "postgres://%2Frun%2Fpg/x?service=bench",
            &[("dbname", "x"), ("host", "/run/pg"), ("service", "bench")],
        );
        assert!(has_password("postgres://db/?password=x"));
        assert!(has_password("postgres://me:x@db") && !has_password("postgres://me@db"));
        for bad in ["postgres://[::1/", "postgres://db?alone", "mysql://db"] {
            assert!(parameters(bad).is_err(), "{bad}");
        }
    }
}
