//! Classifies answers over HTTP. An answer that proves nothing is `Unknown` or `Failed`, with a detail that says why.

use bursar_core::payouts::{Answer, Outcome};
use serde::Deserialize;

use crate::error_map::{ErrorMap, Meaning, StatusMeaning};
use crate::gsma::{ErrorBody, State, Status, excerpt, is_name, read};
use bursar_core::payouts::UNMAPPED;

/// A complete HTTP answer.
#[derive(Debug, Clone)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// The reference in the headers, if there is one.
    pub(crate) echo: Option<String>,
    pub(crate) body: Vec<u8>,
    /// Whether the connection has carried another call before: then this may be a late answer to that one.
    pub(crate) is_reused: bool,
}

/// Which reference an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    Ours,
    Another,
    None,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    #[serde(default)]
    client_correlation_id: Option<String>,
    /// The name of the same field in a whole transaction.
    #[serde(default)]
    requesting_organisation_transaction_reference: Option<String>,
}

#[derive(Deserialize)]
struct Link {
    link: String,
}

impl HttpAnswer {
    pub(crate) fn echo_of(&self, reference: &str) -> Echo {
        let parsed: Option<Named> = read(&self.body).ok();
        let in_body = parsed.map(|parsed| {
            [parsed.client_correlation_id, parsed.requesting_organisation_transaction_reference]
        });
        let in_body = in_body.iter().flatten().flatten();
        let is_ours: Vec<bool> = self
            .echo
            .iter()
            .chain(in_body)
            .map(|name| name.eq_ignore_ascii_case(reference))
            .collect();
        if is_ours.is_empty() {
            Echo::None
        } else if is_ours.iter().all(|is_ours| *is_ours) {
            Echo::Ours
        } else {
            Echo::Another
        }
    }

    /// The link to the transaction, if the answer is nothing else: a path at the same provider.
    pub(crate) fn link(&self, reference: &str) -> Option<String> {
        let is_ours = self.status == 200 && self.doubt(reference).is_none();
        let said: Link = read(&self.body).ok().filter(|_| is_ours)?;
        let is_path = is_name(&said.link) && said.link.starts_with('/');
        let says_more = read::<State>(&self.body).is_ok();
        Some(said.link).filter(|_| is_path && !says_more)
    }

    /// Why this may be the answer to another request.
    fn doubt(&self, reference: &str) -> Option<String> {
        match self.echo_of(reference) {
            Echo::Another => Some("the answer is about another reference".to_owned()),
            Echo::None if self.is_reused => {
                Some("the answer does not say which reference it is about".to_owned())
            }
            Echo::Ours | Echo::None => None,
        }
    }
}

/// The outcome of a submission, by its answer.
pub(crate) fn submission(errors: &ErrorMap, reference: &str, answer: &HttpAnswer) -> Outcome {
    if let Some(detail) = answer.doubt(reference) {
        return Outcome::Unknown { detail };
    }
    match answer.status {
        200..=299 => match read_state(&answer.body) {
            Ok(state) => accepted(errors, &state),
            Err(detail) => Outcome::Unknown { detail },
        },
        400..=499 => refused(errors, answer),
        500..=599 => Outcome::Unknown { detail: format!("status {}", answer.status) },
        status => Outcome::Unknown { detail: format!("{UNMAPPED}status {status}") },
    }
}

fn accepted(errors: &ErrorMap, state: &State) -> Outcome {
    let (provider_reference, reported) = (state.provider_reference(), state.reported());
    match Status::from_word(&state.status) {
        Some(Status::Pending) => Outcome::Accepted { provider_reference, reported },
        Some(Status::Completed) => Outcome::Paid { provider_reference, reported },
        Some(Status::Failed) => match failure(errors, state) {
            Ok((is_retryable, detail)) => Outcome::Rejected { is_retryable, detail },
            Err(Meaning::Duplicate) => Outcome::Duplicate,
            Err(Meaning::Rejected { .. } | Meaning::NotFound | Meaning::Unknown) => {
                Outcome::Unknown { detail: format!("failed, or not: {}", reason(state)) }
            }
        },
        // A submission cannot be returned at once: the next query decides.
        Some(Status::Returned) => Outcome::Unknown { detail: "returned at once".to_owned() },
        None => Outcome::Unknown { detail: unmapped_word(&state.status) },
    }
}

/// A refusal needs one of the provider's error codes in the map.
fn refused(errors: &ErrorMap, answer: &HttpAnswer) -> Outcome {
    let status = answer.status;
    let error: Option<ErrorBody> = read(&answer.body).ok();
    let text = error.as_ref().map(ErrorBody::text).unwrap_or_default();
    let meaning = error.as_ref().and_then(|error| errors.codes.get(&error.error_code));
    match (meaning, errors.statuses.get(&status)) {
        (Some(Meaning::Rejected { is_retryable }), _) => {
            Outcome::Rejected { is_retryable: *is_retryable, detail: text }
        }
        (Some(Meaning::Duplicate), _) | (None, Some(StatusMeaning::Duplicate)) => {
            Outcome::Duplicate
        }
        (Some(Meaning::NotFound | Meaning::Unknown), _) | (None, Some(StatusMeaning::Unknown)) => {
            Outcome::Unknown { detail: format!("status {status} {text}").trim_end().to_owned() }
        }
        (None, None) if error.is_some() => {
            Outcome::Unknown { detail: format!("{UNMAPPED}error code {text} (status {status})") }
        }
        (None, None) => Outcome::Unknown { detail: format!("{UNMAPPED}status {status}") },
    }
}

/// The answer to a query about a reference. An error is about the query, never about the money.
pub(crate) fn query(errors: &ErrorMap, reference: &str, answer: &HttpAnswer) -> Answer {
    if let Some(detail) = answer.doubt(reference) {
        return Answer::Failed { detail };
    }
    match answer.status {
        200 => match read_state(&answer.body) {
            Ok(state) => state_answer(errors, &state),
            Err(detail) => Answer::Failed { detail },
        },
        // A proxy on the way can answer 404; only the provider has its own code.
        404 if is_not_found(errors, &answer.body) => Answer::NotFound,
        500..=599 => Answer::Failed { detail: format!("status {}", answer.status) },
        status => Answer::Failed { detail: format!("{UNMAPPED}status {status}") },
    }
}

fn state_answer(errors: &ErrorMap, state: &State) -> Answer {
    let (provider_reference, reported) = (state.provider_reference(), state.reported());
    match Status::from_word(&state.status) {
        Some(Status::Pending) => Answer::Pending { provider_reference, reported },
        Some(Status::Completed) => Answer::Paid { provider_reference, reported },
        Some(Status::Failed) => match failure(errors, state) {
            Ok((is_retryable, detail)) => Answer::NotPaid { is_retryable, detail },
            Err(_) => Answer::Failed { detail: format!("failed, or not: {}", reason(state)) },
        },
        Some(Status::Returned) => Answer::Returned { detail: reason(state), reported },
        None => Answer::Failed { detail: unmapped_word(&state.status) },
    }
}

fn is_not_found(errors: &ErrorMap, body: &[u8]) -> bool {
    let error: Option<ErrorBody> = read(body).ok();
    error.is_some_and(|error| errors.codes.get(&error.error_code) == Some(&Meaning::NotFound))
}

/// A failure is final, whatever the reason; only a code in the map allows another attempt. A code with another meaning
/// contradicts the status.
fn failure(errors: &ErrorMap, state: &State) -> Result<(bool, String), Meaning> {
    let Some(error) = &state.error_reference else { return Ok((false, "failed".to_owned())) };
    match errors.codes.get(&error.error_code) {
        Some(Meaning::Rejected { is_retryable }) => Ok((*is_retryable, error.text())),
        Some(meaning @ (Meaning::Duplicate | Meaning::NotFound | Meaning::Unknown)) => {
            Err(*meaning)
        }
        None => Ok((false, format!("{UNMAPPED}error code {}", error.text()))),
    }
}

fn reason(state: &State) -> String {
    state.error_reference.as_ref().map_or_else(|| excerpt(&state.status), ErrorBody::text)
}

fn unmapped_word(word: &str) -> String {
    format!("{UNMAPPED}status {:?}", excerpt(word))
}

fn read_state(body: &[u8]) -> Result<State, String> {
    read(body).map_err(|error| format!("the answer cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{Answer, Echo, ErrorMap, HttpAnswer, Outcome, query, submission};

    fn http_answer(status: u16, body: &str) -> HttpAnswer {
        let echo = Some("r-1".to_owned());
        HttpAnswer { status, echo, body: body.as_bytes().to_vec(), is_reused: false }
    }

    fn submitted(status: u16, body: &str) -> Outcome {
        submission(&ErrorMap::default(), "r-1", &http_answer(status, body))
    }

    fn asked(status: u16, body: &str) -> Answer {
        query(&ErrorMap::default(), "r-1", &http_answer(status, body))
    }

    #[test]
    fn only_a_mapped_code_is_a_refusal() {
        let closed = r#"{"errorCode":"AccountClosed"}"#;
        let busy = r#"{"errorCode":"SystemBusy"}"#;
        let is_rejected = |outcome: &Outcome, wanted: bool| matches!(outcome, Outcome::Rejected { is_retryable, .. } if *is_retryable == wanted);
        assert!(is_rejected(&submitted(400, closed), false));
        assert!(is_rejected(&submitted(422, busy), true));
        for (status, body) in [(500, closed), (503, busy), (302, closed), (100, closed)] {
            assert!(matches!(submitted(status, body), Outcome::Unknown { .. }), "{status}");
        }
        for (status, body) in
            [(400, ""), (401, "{}"), (404, "<html>"), (400, r#"{"errorCode":"Odd"}"#)]
        {
            let Outcome::Unknown { detail } = submitted(status, body) else {
                panic!("{status} {body} proves nothing")
            };
            assert!(detail.starts_with("unmapped "), "{detail}");
        }
    }

    #[test]
    fn an_error_to_a_query_proves_nothing_about_the_money() {
        let closed = r#"{"errorCode":"AccountClosed"}"#;
        for (status, body) in
            [(400, closed), (500, closed), (404, closed), (404, "<html>"), (200, "")]
        {
            assert!(matches!(asked(status, body), Answer::Failed { .. }), "{status} {body}");
        }
        assert_eq!(asked(404, r#"{"errorCode":"TransactionNotFound"}"#), Answer::NotFound);
    }

    #[test]
    fn a_contradictory_answer_proves_nothing() {
        let duplicate = r#"{"status":"failed","errorReference":{"errorCode":"DuplicateRequest"}}"#;
        assert_eq!(submitted(200, duplicate), Outcome::Duplicate);
        assert!(matches!(asked(200, duplicate), Answer::Failed { .. }));
        let internal = r#"{"status":"failed","errorReference":{"errorCode":"InternalError"}}"#;
        assert!(matches!(submitted(200, internal), Outcome::Unknown { .. }));
        let both = r#"{"status":"failed","status":"completed"}"#;
        assert!(matches!(submitted(200, both), Outcome::Unknown { .. }));
    }

    #[test]
    fn a_list_of_the_right_words_is_not_an_answer() {
        for body in [r#"["completed"]"#, r#"["completed","r-1"]"#, r#"["failed",null]"#] {
            assert!(matches!(submitted(200, body), Outcome::Unknown { .. }), "{body}");
            assert!(matches!(asked(200, body), Answer::Failed { .. }), "{body}");
        }
        assert!(matches!(submitted(400, r#"["AccountClosed"]"#), Outcome::Unknown { .. }));
        assert!(matches!(asked(404, r#"["TransactionNotFound"]"#), Answer::Failed { .. }));
        let within = r#"{"status":"failed","errorReference":["SystemBusy"]}"#;
        assert!(matches!(submitted(200, within), Outcome::Unknown { .. }));
    }

    #[test]
    fn an_answer_about_another_reference_proves_nothing() {
        let body = r#"{"status":"completed","clientCorrelationId":"r-2"}"#;
        assert!(matches!(submitted(200, body), Outcome::Unknown { .. }));
        assert!(matches!(asked(200, body), Answer::Failed { .. }));
        let silent = |is_reused| HttpAnswer {
            echo: None,
            is_reused,
            ..http_answer(200, r#"{"status":"completed"}"#)
        };
        let map = ErrorMap::default();
        assert!(matches!(submission(&map, "r-1", &silent(false)), Outcome::Paid { .. }));
        assert!(matches!(submission(&map, "r-1", &silent(true)), Outcome::Unknown { .. }));
        assert_eq!(silent(true).echo_of("r-1"), Echo::None);
    }

    proptest! {
        #[test]
        fn random_bytes_prove_nothing(status in any::<u16>(), body in proptest::collection::vec(any::<u8>(), 0..256)) {
            let answer = HttpAnswer { status, echo: None, body, is_reused: false };
            let outcome = submission(&ErrorMap::default(), "r-1", &answer);
            let proves_nothing = matches!(outcome, Outcome::Unknown { .. } | Outcome::Duplicate);
            prop_assert!(proves_nothing, "noise is not an answer: {:?}", outcome);
            let queried = query(&ErrorMap::default(), "r-1", &answer);
            let proves_nothing = matches!(queried, Answer::Failed { .. });
            prop_assert!(proves_nothing, "noise is not an answer: {:?}", queried);
        }
    }
}
