//! The requests of a channel, as values.

use bursar_core::money::Money;
use bursar_core::payouts::Beneficiary;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request};
use jiff::Timestamp;

use super::{Auth, BadSettings, HttpSettings, Target};
use crate::gsma::{CALLBACK_URL, CORRELATION_ID, Transaction, is_name};
use crate::secret::Secret;
use crate::signature;

/// The parts that all requests share.
#[derive(Debug)]
pub(super) struct Requests {
    authority: String,
    path: String,
    auth: Signer,
    callback_url: Option<HeaderValue>,
    debit_party: Option<String>,
}

#[derive(Debug)]
enum Signer {
    None,
    Bearer(HeaderValue),
    Hmac { key_id: HeaderValue, secret: Secret },
}

impl Requests {
    pub(super) fn new(target: &Target, settings: &HttpSettings) -> Result<Self, BadSettings> {
        let header = |what, value: &str| {
            HeaderValue::from_str(value).map_err(|_| BadSettings::Header { what })
        };
        let auth = match &settings.auth {
            Auth::None => Signer::None,
            Auth::Bearer(token) => {
                let mut value = header("the token", &format!("Bearer {}", token.reveal()))?;
                // `Debug` does not print it.
                value.set_sensitive(true);
                Signer::Bearer(value)
            }
            Auth::Hmac { key_id, secret } => {
                let (key_id, secret) = (header("the key id", key_id)?, secret.clone());
                Signer::Hmac { key_id, secret }
            }
        };
        let callback_url = settings.callback_url.as_deref();
        Ok(Self {
            authority: target.authority.clone(),
            path: target.path.clone(),
            auth,
            callback_url: callback_url.map(|url| header("the callback URL", url)).transpose()?,
            debit_party: settings.debit_party.clone(),
        })
    }

    pub(super) fn submission(
        &self,
        reference: &str,
        amount: Money,
        beneficiary: &Beneficiary,
    ) -> Result<Request<Full<Bytes>>, String> {
        let debit_party = self.debit_party.as_deref();
        let body = Transaction::new(reference, amount, beneficiary, debit_party);
        let body = serde_json::to_vec(&body).map_err(|error| unsent(&error.to_string()))?;
        let mut builder = self.begin(&Method::POST, "/transactions", reference, &body)?;
        builder = builder.header(CONTENT_TYPE, "application/json");
        if let Some(url) = &self.callback_url {
            builder = builder.header(CALLBACK_URL, url);
        }
        finish(builder, body)
    }

    /// By our reference alone: the provider's own name for it may never have reached us.
    pub(super) fn query(&self, reference: &str) -> Result<Request<Full<Bytes>>, String> {
        let path = format!("/responses/{}", escape(reference));
        finish(self.begin(&Method::GET, &path, reference, b"")?, Vec::new())
    }

    /// Follows the provider's link to the transaction.
    pub(super) fn follow(
        &self,
        link: &str,
        reference: &str,
    ) -> Result<Request<Full<Bytes>>, String> {
        finish(self.begin(&Method::GET, link, reference, b"")?, Vec::new())
    }

    fn begin(
        &self,
        method: &Method,
        path: &str,
        reference: &str,
        body: &[u8],
    ) -> Result<Builder, String> {
        if !is_name(reference) {
            return Err(unsent("the reference cannot be sent in a header"));
        }
        let path = format!("{}{path}", self.path);
        let builder = Request::builder()
            .method(method)
            .uri(&path)
            .header(HOST, &self.authority)
            .header(ACCEPT, "application/json")
            .header(CORRELATION_ID, reference);
        Ok(match &self.auth {
            Signer::None => builder,
            Signer::Bearer(token) => builder.header(AUTHORIZATION, token),
            Signer::Hmac { key_id, secret } => {
                let timestamp = Timestamp::now().as_second();
                let digest = signature::digest(body);
                let message = format!("{method}\n{path}\n{timestamp}\n{digest}");
                builder
                    .header("x-key-id", key_id)
                    .header("x-timestamp", timestamp)
                    .header("x-signature", signature::sign(secret, message.as_bytes()))
            }
        })
    }
}

fn finish(builder: Builder, body: Vec<u8>) -> Result<Request<Full<Bytes>>, String> {
    let body = Full::new(Bytes::from(body));
    builder.body(body).map_err(|error| unsent(&error.to_string()))
}

fn unsent(why: &str) -> String {
    format!("the request cannot be written: {why}")
}

/// A name as one part of a path, or as a value of a query.
pub fn escape(name: &str) -> String {
    let escape_byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        // A full stop too: a name must not climb to another folder.
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(escape_byte).collect()
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn a_reference_stays_one_part_of_the_path() {
        assert_eq!(escape("0198-aB_~"), "0198-aB_~");
        assert_eq!(escape("../books?a=1#é"), "%2E%2E%2Fbooks%3Fa%3D1%23%C3%A9");
    }
}
