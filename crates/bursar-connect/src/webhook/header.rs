//! Headers of a webhook: those of Bursar, and those that an endpoint may add.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::answer::{Class, NotAnswered};
use super::sender::OpenedCall;
use super::sign;

const NAME_MAX: usize = 64;
const VALUE_MAX: usize = 1_024;
const BRAND_MAX: usize = 32;

/// Headers that describe the connection or the body; a merchant could forge the request with these.
const OURS: [&str; 20] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];

/// Why an endpoint cannot have a header. Does not repeat its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHeader {
    #[error("a header's name has 1 to {NAME_MAX} letters, digits, - or _")]
    Name,
    #[error("{0} is set by us; leave it out")]
    Ours(String),
    #[error("the value of {0} is longer than {VALUE_MAX} characters; use a shorter one")]
    Long(String),
    #[error("the value of {0} has characters that are not visible ASCII; leave them out")]
    Value(String),
}

/// Whether an endpoint may have this header.
pub fn check_header(name: &str, value: &str, brand: &str) -> Result<(), BadHeader> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !(1..=NAME_MAX).contains(&name.len()) || !name.bytes().all(is_letter) {
        return Err(BadHeader::Name);
    }
    let lower = name.to_ascii_lowercase();
    let branded = format!("x-{}-", brand.to_ascii_lowercase());
    // Servers that pass headers on as variables do not distinguish the two.
    let dashed = lower.replace('_', "-");
    let is_ours = OURS.contains(&dashed.as_str())
        || dashed.starts_with("webhook-")
        || dashed.starts_with(&branded);
    if is_ours {
        return Err(BadHeader::Ours(lower));
    }
    if value.len() > VALUE_MAX {
        return Err(BadHeader::Long(lower));
    }
    let is_visible = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if !is_visible || value.trim() != value {
        return Err(BadHeader::Value(lower));
    }
    Ok(())
}

/// The names that carry the brand. They are sent in lower case: HTTP/2 has no other, HTTP/1.1 does not care, and the
/// client cannot write `Event-ID`, only `Event-Id`.
#[derive(Debug)]
pub(crate) struct Names {
    brand: String,
    event_id: HeaderName,
    event_type: HeaderName,
    timestamp: HeaderName,
    attempt: HeaderName,
    signature: HeaderName,
    agent: HeaderValue,
}

impl Names {
    /// None if the brand cannot be part of a header.
    pub(crate) fn new(brand: &str) -> Option<Self> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_word = (1..=BRAND_MAX).contains(&brand.len()) && brand.bytes().all(is_letter);
        if !is_word || brand.starts_with('-') || brand.ends_with('-') {
            return None;
        }
        let name = |rest: &str| HeaderName::from_bytes(format!("x-{brand}-{rest}").as_bytes()).ok();
        Some(Self {
            brand: brand.to_owned(),
            event_id: name("event-id")?,
            event_type: name("event-type")?,
            timestamp: name("timestamp")?,
            attempt: name("delivery-attempt")?,
            signature: name("signature")?,
            agent: HeaderValue::try_from(format!("{brand}-Webhooks/1.0")).ok()?,
        })
    }

    /// All headers of a call, signed with the time of this attempt.
    pub(crate) fn headers(&self, call: &OpenedCall) -> Result<HeaderMap, NotAnswered> {
        let mut headers = HeaderMap::new();
        for (name, value) in &call.headers {
            self.add(&mut headers, name, value)?;
        }
        let seconds = call.at.as_second();
        let id = visible("event id", &call.event_id)?;
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept-encoding", HeaderValue::from_static("identity"));
        headers.insert("user-agent", self.agent.clone());
        headers.insert(self.event_id.clone(), id.clone());
        headers.insert(self.event_type.clone(), visible("event type", &call.event_type)?);
        headers.insert(self.timestamp.clone(), seconds.into());
        headers.insert(self.attempt.clone(), call.attempt.into());
        let simple = sign::simple(&call.simple_secret, &call.body);
        headers.insert(self.signature.clone(), hidden(visible("signature", &simple)?));
        headers.insert("webhook-id", id);
        headers.insert("webhook-timestamp", seconds.into());
        let standard = visible("signature", &signatures(call)?)?;
        headers.insert("webhook-signature", hidden(standard));
        Ok(headers)
    }

    fn add(&self, headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), NotAnswered> {
        let refused = |error| NotAnswered::new(Class::Refused, error);
        check_header(name, value, &self.brand).map_err(refused)?;
        let bad_name = |_| refused(BadHeader::Name);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(bad_name)?;
        let bad_value = |_| refused(BadHeader::Value(name.to_string()));
        let value = HeaderValue::from_str(value).map_err(bad_value)?;
        headers.append(name, hidden(value));
        Ok(())
    }
}

/// One signature for each valid secret.
fn signatures(call: &OpenedCall) -> Result<String, NotAnswered> {
    let unsignable = |error| NotAnswered::new(Class::Signing, error);
    let OpenedCall { event_id, at, body, secrets, .. } = call;
    if secrets.is_empty() {
        return Err(unsignable(sign::Unsignable::NoSecret));
    }
    let signed =
        secrets.iter().map(|secret| sign::standard(secret, event_id, at.as_second(), body));
    Ok(signed.collect::<Result<Vec<_>, _>>().map_err(unsignable)?.join(" "))
}

fn visible(what: &str, text: &str) -> Result<HeaderValue, NotAnswered> {
    let bad =
        |_| NotAnswered::new(Class::Signing, format!("the {what} cannot be sent in a header"));
    HeaderValue::from_str(text).map_err(bad)
}

/// Not printed by `Debug`, and not indexed by HPACK.
fn hidden(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}
