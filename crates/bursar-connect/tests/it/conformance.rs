//! Every way in which a provider misbehaves, and what a connector may conclude from it.
//!
//! Whatever the script: not sent means that no byte arrived, paid means that the books say so, and no effect is sent twice.

use bursar_connect::{Connections, HttpSettings};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::effects::{class, http, later, query, submit, word};
use crate::script::{Act, Server, answer, answer_with};

const REFERENCE: &str = "019a-r1";
const COMPLETED: &str =
    r#"{"status":"completed","clientCorrelationId":"019a-r1","transactionReference":"tx-1"}"#;
const CLOSED: &str = r#"{"errorCode":"AccountClosed","errorDescription":"gone"}"#;
const BUSY: &str = r#"{"errorCode":"SystemBusy"}"#;

/// What a provider does, whether it paid, and what may be concluded.
struct Script {
    name: &'static str,
    acts: Vec<Act>,
    is_paid: bool,
    expected: &'static str,
}

fn script(name: &'static str, acts: Vec<Act>, is_paid: bool, expected: &'static str) -> Script {
    Script { name, acts, is_paid, expected }
}

/// One that reads the request and gives an answer.
fn answers(name: &'static str, act: Act, is_paid: bool, expected: &'static str) -> Script {
    script(name, vec![Act::Read, act, Act::Stay], is_paid, expected)
}

fn submissions() -> Vec<Script> {
    let said = |text: &str| Act::Say(text.to_owned());
    let huge = format!(r#"{{"status":"completed","filler":"{}"}}"#, "x".repeat(70_000));
    let many = "x-filler: 0123456789\r\n".repeat(20_000);
    let failed =
        |code| format!(r#"{{"status":"failed","errorReference":{{"errorCode":"{code}"}}}}"#);
    vec![
        script("timeout, paid", vec![Act::Read, Act::Hang], true, "unknown"),
        script("timeout, not paid", vec![Act::Read, Act::Hang], false, "unknown"),
        script("reset before it is read whole", vec![Act::ReadSome, Act::Reset], false, "unknown"),
        script("reset after it is processed", vec![Act::Read, Act::Reset], true, "unknown"),
        script("hangs up without an answer", vec![Act::Read], true, "unknown"),
        script("half a head", vec![Act::Read, said("HTTP/1.1 200 O")], true, "unknown"),
        script(
            "half a body",
            vec![Act::Read, said("HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{\"status\":")],
            true,
            "unknown",
        ),
        script(
            "a body that never ends",
            vec![Act::Read, said("HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"), Act::Hang],
            true,
            "unknown",
        ),
        answers("a body that is too long", answer(200, &huge), true, "unknown"),
        answers("a head that is too long", answer_with(200, &many, COMPLETED), true, "unknown"),
        answers("not HTTP", said("220 ready for mail\r\n\r\n"), true, "unknown"),
        answers("not JSON", answer(200, "<html>paid</html>"), true, "unknown"),
        answers("nothing", answer(204, ""), true, "unknown"),
        answers("500, paid", answer(500, ""), true, "unknown"),
        answers("503 with a code that refuses", answer(503, CLOSED), true, "unknown"),
        answers("504, not paid", answer(504, "gateway"), false, "unknown"),
        answers("elsewhere", answer_with(307, "location: /elsewhere\r\n", ""), false, "unmapped"),
        answers("an unmapped word", answer(200, r#"{"status":"celebrated"}"#), true, "unmapped"),
        answers("a refusal without a code", answer(400, ""), false, "unmapped"),
        answers("a refusal in HTML", answer(403, "<html>"), false, "unmapped"),
        answers("an unmapped code", answer(400, r#"{"errorCode":"Odd"}"#), false, "unmapped"),
        answers("busy, says a proxy", answer(429, ""), false, "unknown"),
        answers("refused", answer(400, CLOSED), false, "rejected"),
        answers("refused for now", answer(400, BUSY), false, "rejected for now"),
        answers("failed", answer(200, &failed("AccountClosed")), false, "rejected"),
        answers("failed for now", answer(200, &failed("SystemBusy")), false, "rejected for now"),
        answers(
            "failed, it says, by mistake",
            answer(200, &failed("InternalError")),
            true,
            "unknown",
        ),
        answers("duplicate", answer(409, r#"{"errorCode":"DuplicateRequest"}"#), true, "duplicate"),
        answers("accepted", answer(202, r#"{"status":"pending"}"#), false, "accepted"),
        answers("paid", answer(200, COMPLETED), true, "paid"),
        answers(
            "paid, about another",
            answer(200, &COMPLETED.replace("r1", "r2")),
            false,
            "unknown",
        ),
        answers(
            "paid, about another in the head",
            answer_with(200, "X-CorrelationID: 019a-r2\r\n", COMPLETED),
            false,
            "unknown",
        ),
    ]
}

/// Whatever the script says, this holds.
async fn hold(connect: impl Fn(&str) -> Connections, script: Script) {
    let Script { name, acts, is_paid, expected } = script;
    let server = Server::new(vec![acts]).await;
    let outcome = submit(&connect(&server.url), REFERENCE, later()).await;
    let found = class(&outcome);
    assert_eq!(found, expected, "{name}: {outcome:?}");
    let (requests, arrived) = server.seen(|seen| (seen.requests(), seen.bytes.len()));
    assert!(found != "not sent" || arrived == 0, "{name}: {arrived} bytes arrived, {outcome:?}");
    assert!(found != "paid" || is_paid, "{name}: the books do not say so");
    assert!(!found.starts_with("rejected") || !is_paid, "{name}: the books say that it was paid");
    assert_eq!(requests, 1, "{name}: an effect is sent once");
}

#[test]
fn whatever_a_provider_does_nothing_is_concluded_that_is_not_proven() {
    for script in submissions() {
        // Each has a runtime of its own, because some stop its clock.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(hold(|url| http(HttpSettings::new(url)), script));
    }
}

#[tokio::test]
async fn nobody_there_means_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let connections = http(HttpSettings::new(url));
    assert_eq!(class(&submit(&connections, REFERENCE, later()).await), "not sent");
    assert_eq!(word(&query(&connections, REFERENCE, later()).await), "failed");
}

#[tokio::test]
async fn a_channel_that_is_not_configured_gets_nothing() {
    let connections = Connections::new([]);
    assert_eq!(class(&submit(&connections, REFERENCE, later()).await), "not sent");
    assert_eq!(word(&query(&connections, REFERENCE, later()).await), "failed");
}

#[tokio::test]
async fn nothing_is_sent_after_the_lease() {
    let server = Server::new(vec![vec![Act::Read, answer(200, COMPLETED)]]).await;
    let connections = http(HttpSettings::new(&server.url));
    let now = Instant::now();
    assert_eq!(class(&submit(&connections, REFERENCE, now).await), "not sent");
    assert_eq!(word(&query(&connections, REFERENCE, now).await), "failed");
    assert_eq!(server.seen(|seen| seen.connections), 0);
    assert_eq!(class(&submit(&connections, REFERENCE, later()).await), "paid");
}

/// A server that hangs up at once may or may not get a byte; what is concluded must fit.
#[tokio::test]
async fn a_server_that_hangs_up_at_once_is_not_taken_for_one_that_never_was() {
    for act in [vec![Act::Reset], vec![]] {
        for _ in 0..50 {
            let server = Server::new(vec![act.clone()]).await;
            let outcome = submit(&http(HttpSettings::new(&server.url)), REFERENCE, later()).await;
            let arrived = server.seen(|seen| seen.bytes.len());
            match class(&outcome) {
                "not sent" => assert_eq!(arrived, 0, "{outcome:?}"),
                found => assert_eq!(found, "unknown", "{outcome:?}"),
            }
        }
    }
}

#[tokio::test]
async fn answers_to_questions_are_told_as_they_are() {
    let failed =
        |code| format!(r#"{{"status":"failed","errorReference":{{"errorCode":"{code}"}}}}"#);
    let state = |status| format!(r#"{{"status":"{status}","clientCorrelationId":"019a-r1"}}"#);
    for (status, body, expected) in [
        (200, state("completed"), "paid"),
        (200, state("pending"), "pending"),
        (200, state("failed"), "not paid"),
        (200, failed("SystemBusy"), "not paid for now"),
        (200, failed("InternalError"), "failed"),
        (200, state("reversed"), "returned"),
        (200, state("celebrated"), "unmapped"),
        (200, state("completed").replace("r1", "r2"), "failed"),
        (200, "paid".to_owned(), "failed"),
        (404, r#"{"errorCode":"TransactionNotFound"}"#.to_owned(), "not found"),
        (404, "<html>no such page</html>".to_owned(), "unmapped"),
        (400, CLOSED.to_owned(), "unmapped"),
        (302, String::new(), "unmapped"),
        (502, state("failed"), "failed"),
    ] {
        let server = Server::new(vec![vec![Act::Read, answer(status, &body), Act::Stay]]).await;
        let found = query(&http(HttpSettings::new(&server.url)), REFERENCE, later()).await;
        assert_eq!(word(&found), expected, "{status} {body}: {found:?}");
        assert_eq!(server.seen(super::script::Seen::requests), 1);
    }
}

/// Some providers change their mind. That is for the engine to judge; here it is only told.
#[tokio::test]
async fn a_provider_that_flips_is_reported_faithfully() {
    let failed = r#"{"status":"failed","clientCorrelationId":"019a-r1"}"#;
    let missing = r#"{"errorCode":"TransactionNotFound"}"#;
    let says = |status, body| vec![Act::Read, answer(status, body)];
    let turns = vec![says(404, missing), says(200, failed), says(200, COMPLETED)];
    let server = Server::new(turns).await;
    let connections = http(HttpSettings { idle_max: 0, ..HttpSettings::new(&server.url) });
    for expected in ["not found", "not paid", "paid"] {
        assert_eq!(word(&query(&connections, REFERENCE, later()).await), expected);
    }
}

#[tokio::test]
async fn a_link_is_followed_once_and_never_to_another_place() {
    let link = |to: &str| answer(200, &format!(r#"{{"link":"{to}"}}"#));
    let found = answer(
        200,
        r#"{"transactionStatus":"completed","requestingOrganisationTransactionReference":"019a-r1"}"#,
    );
    let missing = answer(404, r#"{"errorCode":"TransactionNotFound"}"#);
    let another = answer(
        200,
        r#"{"transactionStatus":"completed","requestingOrganisationTransactionReference":"019a-r2"}"#,
    );
    for (first, second, expected, requests) in [
        (link("/transactions/7"), found.clone(), "paid", 2),
        (link("/transactions/7"), another, "failed", 2),
        (link("/transactions/7"), link("/transactions/7"), "failed", 2),
        // A provider with a link for it has it: this does not prove that it never arrived.
        (link("/transactions/7"), missing, "failed", 2),
        (link("http://elsewhere.example/"), found.clone(), "failed", 1),
        (link("/a b"), found, "failed", 1),
    ] {
        let turns = vec![vec![Act::Read, first], vec![Act::Read, second, Act::Stay]];
        let server = Server::new(turns).await;
        let settings = HttpSettings::new(format!("{}/mm", server.url));
        let answer = query(&http(settings), REFERENCE, later()).await;
        assert_eq!(word(&answer), expected, "{answer:?}");
        let text = server.seen(|seen| String::from_utf8(seen.bytes.clone()).unwrap());
        assert_eq!(text.matches("GET /mm/").count(), requests, "{text}");
    }
}
