//! The grammar of QEMU's options (qemu-options.hx; util/qemu-option.c, `get_opt_name_value`):
//! `key=value` after commas, `,,` for a comma, a first value whose key is implied, keys alone for
//! `on`; or a JSON object.

use std::fmt::Write;

/// Keys with their values, in order. Of a key that comes twice the last value counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options(Vec<(String, String)>);

impl Options {
    /// Reads an option whose first value may stand without its key, `implied`.
    pub(super) fn parse(text: &str, implied: &str) -> Self {
        if text.starts_with('{') {
            return Self::json(text);
        }
        let mut pairs = Vec::new();
        for part in parts(text) {
            let pair = match part.split_once('=') {
                Some((key, value)) => (key.to_owned(), value.to_owned()),
                None if pairs.is_empty() => (implied.to_owned(), part),
                None => flag(&part),
            };
            pairs.push(pair);
        }
        Self(pairs)
    }

    fn json(text: &str) -> Self {
        let Ok(serde_json::Value::Object(map)) = serde_json::from_str(text) else {
            return Self::default();
        };
        let pairs = map.into_iter().filter_map(|(key, value)| {
            let value = match value {
                serde_json::Value::String(text) => text,
                serde_json::Value::Bool(on) => if on { "on" } else { "off" }.to_owned(),
                serde_json::Value::Number(number) => number.to_string(),
                _ => return None,
            };
            Some((key, value))
        });
        Self(pairs.collect())
    }

    /// Value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.0.iter().rev();
        let (_, value) = pairs.find(|(name, _)| name == key)?;
        Some(value)
    }

    /// Value of a switch (qapi/qapi-util.c, `qapi_bool_parse`).
    pub(super) fn on(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            "on" | "yes" | "true" | "y" => Some(true),
            "off" | "no" | "false" | "n" => Some(false),
            _ => None,
        }
    }

    /// Value of a number.
    pub(super) fn number(&self, key: &str) -> Option<u32> {
        self.get(key)?.parse().ok()
    }

    /// Adds a pair, which counts from now on.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.0.push((key.to_owned(), value.to_owned()));
    }

    /// Adds a pair that counts where the key is not there.
    pub(super) fn default_to(&mut self, key: &str, value: &str) {
        self.0.insert(0, (key.to_owned(), value.to_owned()));
    }

    /// The same with pairs left out for which `public` gives nothing, and values as it gives them.
    pub(super) fn filtered(&self, public: impl Fn(&str, &str) -> Option<String>) -> Self {
        let pairs = self.0.iter();
        let pairs = pairs.filter_map(|(key, value)| Some((key.clone(), public(key, value)?)));
        Self(pairs.collect())
    }

    /// As a text that [`Self::parse`] reads; the key `implied` comes first, without its name.
    pub(super) fn text(&self, implied: &str) -> String {
        let mut text = self.get(implied).map(escaped).unwrap_or_default();
        for (key, value) in self.0.iter().filter(|(key, _)| key != implied) {
            let comma = if text.is_empty() { "" } else { "," };
            // A String takes all that is written to it.
            let _ = write!(text, "{comma}{key}={}", escaped(value));
        }
        text
    }
}

fn escaped(value: &str) -> String {
    value.replace(',', ",,")
}

/// What single commas separate, with double ones made single.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ',' && letters.next_if_eq(&',').is_none() {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A key alone is on, and off after `no`.
fn flag(word: &str) -> (String, String) {
    match word.strip_prefix("no") {
        Some(key) => (key.to_owned(), "off".to_owned()),
        None => (word.to_owned(), "on".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_grammar_of_qemu() {
        let tap = Options::parse("tap,id=n0,vhost=on,script=/a,,b,queues=4,mq,noads", "type");
        assert_eq!(tap.get("type"), Some("tap"));
        assert_eq!(tap.get("script"), Some("/a,b"));
        assert_eq!(tap.number("queues"), Some(4));
        assert_eq!((tap.on("mq"), tap.on("ads")), (Some(true), Some(false)));
        assert_eq!((tap.get("ifname"), tap.on("id")), (None, None));
        let last = Options::parse("type=tap,vhost=y,vhost=n", "type");
        assert_eq!(
            (last.get("type"), last.on("vhost")),
            (Some("tap"), Some(false))
        );
        let json = Options::parse(r#"{"driver":"x","mq":true,"vectors":10,"l":[1]}"#, "driver");
        assert_eq!(json.get("driver"), Some("x"));
        assert_eq!(
            (json.on("mq"), json.number("vectors")),
            (Some(true), Some(10))
        );
        assert_eq!(json.get("l"), None);
        assert_eq!(Options::parse("{\"driver\":", "driver"), Options::default());
        assert_eq!(Options::parse("", "driver"), Options::default());
    }

    #[test]
    fn a_written_option_reads_the_same() {
        for text in ["a,,b,key=1,,2", "x", "tap,id=n0", "model=virtio"] {
            assert_eq!(Options::parse(text, "type").text("type"), text);
        }
        let all = Options::parse("id=n0,type=tap,mq", "type");
        assert_eq!(all.text("type"), "tap,id=n0,mq=on");
        let some = all.filtered(|key, value| (key != "id").then(|| value.to_owned()));
        assert_eq!(some.text("type"), "tap,mq=on");
    }
}
