//! All requests by domain, and the batch that one turn decides.
//!
//! This is the only list of domains: three enums, and one match for each phase of a turn. Only the folder of a domain
//! matches on its requests.

use std::sync::Arc;

use crate::flow::Planners;
use crate::ids::{CommitId, Seed};
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{Draft, ReadSet, Reads};

/// A request with the time and the seed of its admission.
#[derive(Debug, Clone)]
pub struct Request {
    pub admission: Admission,
    pub body: Body,
}

/// A request after validation and binding, ready for a turn.
pub(crate) trait Decide {
    type Reply;

    /// First planning round: the records that the request names.
    fn plan<'p>(&'p self, at: &Admission, planners: &mut Planners<'p>, reads: &mut Reads<'_>);

    /// Second planning round, for requests that depend on the records of the first.
    fn plan_second(&self, _first: &ReadSet, _reads: &mut Reads<'_>) {}

    /// Whether the request only defers flows and makes no step.
    fn is_quarantine(&self) -> bool {
        false
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Self::Reply, Rejection>;
}

macro_rules! requests {
    ($($Domain:ident($($module:ident)::+),)*) => {
        #[derive(Debug, Clone)]
        pub enum Body { $($Domain(crate::$($module)::+::Request),)* }

        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Reply { $($Domain(crate::$($module)::+::Reply),)* }

        #[derive(Debug)]
        pub(crate) enum Ready<'r> { $($Domain(crate::$($module)::+::Ready<'r>),)* }

        impl<'r> Ready<'r> {
            pub(crate) fn new(body: &'r Body, rules: &'r Rules, at: &Admission) -> Result<Self, Rejection> {
                match body { $(Body::$Domain(it) => it.admit(rules, at).map(Self::$Domain),)* }
            }
        }

        impl Decide for Ready<'_> {
            type Reply = Reply;

            fn plan<'p>(&'p self, at: &Admission, planners: &mut Planners<'p>, reads: &mut Reads<'_>) {
                match self { $(Self::$Domain(it) => it.plan(at, planners, reads),)* }
            }

            fn plan_second(&self, first: &ReadSet, reads: &mut Reads<'_>) {
                match self { $(Self::$Domain(it) => it.plan_second(first, reads),)* }
            }

            fn is_quarantine(&self) -> bool {
                match self { $(Self::$Domain(it) => it.is_quarantine(),)* }
            }

            fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Answer {
                match self { $(Self::$Domain(it) => it.apply(draft, at).map(Reply::$Domain),)* }
            }
        }
    };
}

requests! {
    Ledger(ledger),
    Payouts(payouts),
    PayIns(payins),
    Webhooks(webhooks),
    Registry(registry),
    Freezes(freezes),
    Restores(restores),
    Approvals(approvals),
    Flows(flow),
    Host(flow::host),
}

/// The reply to a request, or its rejection.
pub type Answer = Result<Reply, Rejection>;

/// The view of a flow in a reply: its current view, or the stored view of the first reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given<V> {
    pub view: Arc<V>,
    /// The view comes from a stored reply; the request was not carried out again.
    pub is_replay: bool,
}

/// A request type and its reply type. The caller gets the typed reply instead of the enum of all replies.
pub trait Ask: Into<Body> {
    type Reply;

    /// None for the reply of another request. The host checks this in one place for all callers.
    fn reply(reply: Reply) -> Option<Self::Reply>;
}

/// `Payouts { Create => Payout(Given<View>), }`, beside the `Request` and the `Reply` of the domain: the struct
/// `Create` is the variant of the same name of `Request`, and its reply is the variant `Payout` of `Reply`. A variant
/// may be boxed.
macro_rules! asks {
    ($Domain:ident { $($Ask:ident => $Reply:ident($reply:ty),)* }) => {
        $(
            impl From<$Ask> for $crate::turn::Body {
                fn from(ask: $Ask) -> Self {
                    Self::$Domain(Request::$Ask(ask.into()))
                }
            }

            impl $crate::turn::Ask for $Ask {
                type Reply = $reply;

                fn reply(reply: $crate::turn::Reply) -> Option<Self::Reply> {
                    type All = $crate::turn::Reply;
                    if let All::$Domain(Reply::$Reply(it)) = reply { Some(it) } else { None }
                }
            }
        )*
    };
}
pub(crate) use asks;

/// A request that is validated without records, or its rejection if no record can change it.
#[derive(Debug)]
pub(crate) struct Admitted<'r> {
    pub(crate) admission: Admission,
    pub(crate) ready: Result<Ready<'r>, Rejection>,
}

/// Requests that are decided together. Batch boundaries change no answer.
#[derive(Debug)]
pub struct TurnInput<'r> {
    rules: &'r Rules,
    requests: Vec<Admitted<'r>>,
}

impl<'r> TurnInput<'r> {
    pub fn new(rules: &'r Rules, requests: &'r [Request]) -> Self {
        let admit = |request: &'r Request| {
            let admission = request.admission;
            Admitted { admission, ready: Ready::new(&request.body, rules, &admission) }
        };
        Self { rules, requests: requests.iter().map(admit).collect() }
    }

    /// Identifies one run of the turn for exactly these requests, so that the store can look up a commit of unknown
    /// outcome. None if every request is rejected without any record.
    pub fn commit_id(&self, run: u64) -> Option<CommitId> {
        let admissions = || self.ready().map(|(admission, _)| admission);
        let first = admissions().next()?;
        let seed = Seed::join(admissions().map(|admission| &admission.seed));
        Some(CommitId::new(first.now, &seed, run))
    }

    pub(crate) fn rules(&self) -> &'r Rules {
        self.rules
    }

    pub(crate) fn requests(&self) -> &[Admitted<'r>] {
        &self.requests
    }

    /// The requests that are not rejected already.
    pub(crate) fn ready(&self) -> impl Iterator<Item = (&Admission, &Ready<'r>)> {
        self.requests.iter().filter_map(|it| Some((&it.admission, it.ready.as_ref().ok()?)))
    }

    /// Whether the batch makes no step. Then the turn does not read the records that make a step fail.
    pub(crate) fn only_quarantines(&self) -> bool {
        self.requests.iter().all(|it| it.ready.as_ref().is_ok_and(Ready::is_quarantine))
    }
}
