//! What every page has around its content: one file, nothing from elsewhere, its data inside.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::error::{ReportError, write_text};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded from anywhere; what is in the page may run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Bytes of data from which they are kept compressed.
const PACKED: usize = 1 << 20;

/// Compressed, as text that may stand in a page.
fn pack(data: &[u8]) -> Result<String, ReportError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(data).and_then(|()| encoder.finish());
    let packed = packed.map_err(|source| ReportError::Write {
        format: "HTML",
        source,
    })?;
    Ok(STANDARD.encode(packed))
}

/// A page.
pub struct Page<'a> {
    /// Title of the window.
    pub title: &'a str,
    /// What made it.
    pub generator: Option<&'a str>,
    /// Everything that is seen.
    pub body: Markup,
    /// What the button saves: JSON from [`embeddable`].
    pub data: String,
    /// Under which name.
    pub data_name: &'a str,
}

impl Page<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// [`ReportError::Write`] when the writer fails.
    pub fn write(&self, out: &mut impl Write) -> Result<(), ReportError> {
        let packed = match self.data.len() > PACKED {
            true => Some(pack(self.data.as_bytes())?),
            false => None,
        };
        let (kind, data) = match &packed {
            Some(packed) => ("application/gzip", packed),
            None => ("application/json", &self.data),
        };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    @if let Some(generator) = self.generator { meta name="generator" content=(generator); }
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    div.page { (self.body) }
                    script #run-data type=(kind) data-name=(self.data_name) { (PreEscaped(data)) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        write_text(out, "HTML", &page.into_string())
    }
}

/// JSON that cannot end its script element: no `<` is left in it.
pub fn embeddable(json: &str) -> String {
    json.replace('<', "\\u003c")
}
