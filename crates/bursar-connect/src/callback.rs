//! Callbacks of a provider: signature and content.
//!
//! A callback is accepted only if its `X-Signature` is `sha256=` and the HMAC-SHA256 of the raw body, in hexadecimal.

use bursar_core::payouts::attempt::{Evidence, Source, Verdict};

use crate::error_map::{ErrorMap, Meaning};
use crate::gsma::{self, State, Status};
use crate::secret::Secret;
use crate::signature;
use bursar_core::payouts::UNMAPPED;

pub const SIGNATURE_HEADER: &str = "X-Signature";

/// The evidence of a callback about a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub reference: String,
    pub evidence: Evidence,
}

/// Why a callback is no evidence. It changes nothing; the channel can still be queried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCallback {
    #[error(
        "the callback is not what a provider sends: {0}. Nothing was changed; ask the provider"
    )]
    Malformed(String),
    #[error("{UNMAPPED}status {0:?} in a callback. Nothing was changed; the channel will be asked")]
    Unmapped(String),
    #[error("the callback proves nothing: {0}. Nothing was changed; the channel will be asked")]
    Unproven(String),
}

/// The value of the signature header for a body.
pub fn sign(secret: &Secret, body: &[u8]) -> String {
    signature::sign(secret, body)
}

/// Whether the header is the signature of this body with the secret.
pub fn verify(secret: &Secret, header: &str, body: &[u8]) -> bool {
    signature::verify(secret, header, body)
}

/// Reads a body whose signature was verified.
pub fn parse(body: &[u8]) -> Result<Callback, BadCallback> {
    parse_with(&ErrorMap::default(), body)
}

/// The same, with the provider's own error codes.
pub fn parse_with(errors: &ErrorMap, body: &[u8]) -> Result<Callback, BadCallback> {
    let state: State = gsma::read(body).map_err(BadCallback::Malformed)?;
    let reference = state.client_correlation_id.clone().filter(|name| gsma::is_name(name));
    let Some(reference) = reference else {
        return Err(BadCallback::Malformed("it does not name our reference".to_owned()));
    };
    let Some(status) = Status::from_word(&state.status) else {
        return Err(BadCallback::Unmapped(gsma::excerpt(&state.status)));
    };
    let verdict = match status {
        Status::Pending => Verdict::Accepted,
        Status::Completed => Verdict::Paid,
        Status::Failed => Verdict::NotPaid { is_retryable: is_retryable(errors, &state)? },
        Status::Returned => Verdict::Returned,
    };
    let evidence = Evidence {
        source: Source::Callback,
        verdict,
        provider_reference: state.provider_reference(),
        detail: state.error_reference.as_ref().map(gsma::ErrorBody::text),
        reported: state.reported(),
        digest: Some(signature::digest(body)),
    };
    Ok(Callback { reference, evidence })
}

/// A failure is final; only a code that is mapped as retryable allows another attempt.
fn is_retryable(errors: &ErrorMap, state: &State) -> Result<bool, BadCallback> {
    let error = state.error_reference.as_ref();
    match error.and_then(|error| errors.codes.get(&error.error_code)) {
        Some(Meaning::Rejected { is_retryable }) => Ok(*is_retryable),
        Some(Meaning::Duplicate | Meaning::NotFound | Meaning::Unknown) => {
            Err(BadCallback::Unproven(error.map(gsma::ErrorBody::text).unwrap_or_default()))
        }
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy as _, any, prop_assert, proptest};

    use super::{BadCallback, Verdict, parse};

    fn body(status: &str, more: &str) -> Vec<u8> {
        format!(r#"{{"status":"{status}","clientCorrelationId":"r-1"{more}}}"#).into_bytes()
    }

    #[test]
    fn each_status_has_one_meaning() {
        let busy = r#","errorReference":{"errorCode":"SystemBusy"}"#;
        let closed = r#","errorReference":{"errorCode":"AccountClosed"}"#;
        let odd = r#","errorReference":{"errorCode":"Tuesday","errorDescription":"no"}"#;
        for (status, more, expected) in [
            ("pending", "", Verdict::Accepted),
            ("completed", r#","transactionReference":"tx-9""#, Verdict::Paid),
            ("failed", busy, Verdict::NotPaid { is_retryable: true }),
            ("failed", closed, Verdict::NotPaid { is_retryable: false }),
            ("failed", odd, Verdict::NotPaid { is_retryable: false }),
            ("failed", "", Verdict::NotPaid { is_retryable: false }),
            ("reversed", "", Verdict::Returned),
            ("returned", "", Verdict::Returned),
        ] {
            let callback = parse(&body(status, more)).unwrap();
            assert_eq!(callback.reference, "r-1");
            assert_eq!(callback.evidence.digest.map_or(0, |digest| digest.len()), 64);
            assert_eq!(callback.evidence.verdict, expected, "{status}{more}");
        }
    }

    #[test]
    fn a_callback_that_proves_nothing_is_refused() {
        let error = parse(&body("celebrated", "")).unwrap_err();
        assert!(error.to_string().starts_with("unmapped "), "{error}");
        let unknown = body("failed", r#","errorReference":{"errorCode":"InternalError"}"#);
        assert!(matches!(parse(&unknown), Err(BadCallback::Unproven(_))));
        for body in [
            "",
            "[]",
            r#"["completed","r-1"]"#,
            "{",
            r#"{"status":"completed"}"#,
            r#"{"status":"completed","clientCorrelationId":""}"#,
            r#"{"status":"completed","clientCorrelationId":"a b"}"#,
            r#"{"status":"failed","status":"completed","clientCorrelationId":"r"}"#,
        ] {
            assert!(matches!(parse(body.as_bytes()), Err(BadCallback::Malformed(_))), "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(body in proptest::collection::vec(any::<u8>(), 0..512)) {
            drop(parse(&body));
        }

        #[test]
        fn no_words_break_it(
            (status, reference, code) in ("\\PC{0,12}", "\\PC{0,140}", "\\PC{0,300}").prop_map(|words| words)
        ) {
            let body = serde_json::json!({
                "status": status,
                "clientCorrelationId": reference,
                "errorReference": {"errorCode": code},
            });
            if let Ok(callback) = parse(body.to_string().as_bytes()) {
                prop_assert!(callback.evidence.detail.unwrap_or_default().chars().count() <= 200);
            }
        }
    }
}
