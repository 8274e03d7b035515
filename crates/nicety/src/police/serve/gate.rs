//! A token that readers must show, as RFC 6750 has it (Bearer), or as the password of any user (Basic, RFC
//! 7617), which browsers ask for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};
use nicety_socket::Token;

use crate::web::{Answer, text};

/// Lets in who shows the token; without one, everybody.
#[derive(Debug, Default)]
pub struct Gate(pub Option<Token>);

impl Gate {
    /// What to answer instead; none for who may look.
    pub fn refuses(&self, request: &Request<()>) -> Option<Answer> {
        let token = self.0.as_ref()?;
        let shown = request.headers().get(AUTHORIZATION);
        let shown = shown.and_then(|value| secret(value.to_str().ok()?));
        if shown.is_some_and(|shown| token.is(&shown)) {
            return None;
        }
        let mut refused = text(
            StatusCode::UNAUTHORIZED,
            "This page is for who knows the token of token-file in --listen. Send it as a bearer token, or as \
             the password of any user.\n"
                .to_owned(),
        );
        let ask = HeaderValue::from_static("Basic realm=\"nicety\", Bearer realm=\"nicety\"");
        refused.headers_mut().insert(WWW_AUTHENTICATE, ask);
        Some(refused)
    }
}

/// The secret in a header.
fn secret(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let both = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
    both.split_once(':')
        .map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens_the_gate() {
        let gate = Gate(Token::new("correct-horse").ok());
        let asked = |header: &str| {
            let request = Request::builder().header(AUTHORIZATION, header);
            gate.refuses(&request.body(()).unwrap())
        };
        // Any user, the token as password.
        let basic = format!("Basic {}", STANDARD.encode("me:correct-horse"));
        for right in ["Bearer correct-horse", "bearer  correct-horse", &basic] {
            assert!(asked(right).is_none(), "{right}");
        }
        let wrong = format!("Basic {}", STANDARD.encode("correct-horse:x"));
        for wrong in [
            "Bearer correct-hors",
            "Bearer",
            "",
            "Digest correct-horse",
            "Basic !",
            &wrong,
        ] {
            let refused = asked(wrong).unwrap();
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{wrong}");
            assert!(refused.headers().contains_key(WWW_AUTHENTICATE));
        }
        assert!(gate.refuses(&Request::new(())).is_some());
        assert!(Gate::default().refuses(&Request::new(())).is_none());
    }
}
