//! `DisbursementWorkflow`: one payout, started by the relay or by any client of the cluster.

mod request;
mod resolve;

use bursar_core::flow::{Flow, Pool};
use bursar_core::payouts::Payout;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Signal, WorkflowKind};
use crate::activities::{Activities, Failed};
use crate::activity_table::Activity;
use crate::message::{Next, Order, Step};
use crate::signals::WorkflowRef;

pub use request::DisbursementRequest;
pub use resolve::ManualResolution;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DisbursementResult {
    #[serde(rename = "DisbursementID")]
    pub disbursement_id: String,
    pub status: String,
    /// The reference of the channel, or else the reference of Bursar.
    pub channel_ref: String,
    pub completed_at: Timestamp,
    pub fee: String,
    /// What the beneficiary receives.
    pub net_amount: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

pub(crate) struct Disbursement;

const VALIDATE: &str = "ValidateRequest";
const RESERVE: &str = "ReserveBalance";
const RESOLVE: &str = "ResolveManually";

impl WorkflowKind for Disbursement {
    type Flow = Payout;

    const NAME: &'static str = "DisbursementWorkflow";
    const QUERY: &'static str = "status";
    const SIGNAL: Option<Signal> = Some(Signal { name: "manual-resolve", activity: RESOLVE });
    const TASK_QUEUE: &'static str = "payout-worker";
    const ACTIVITIES: &'static [Activity] = &[
        Activity::new(VALIDATE, |it, order, _| Box::pin(request::validate(it, order)))
            .within(10, 0),
        Activity::new(RESERVE, |it, order, by| Box::pin(request::reserve(it, order, by)))
            .within(15, 0),
        Activity::effect("SubmitToChannel"),
        Activity::effect("PollChannelStatus"),
        Activity::turn("UpdateLedger"),
        Activity::turn("ReleaseBalance"),
        Activity::turn("MarkAsStuck"),
        Activity::new(RESOLVE, |it, order, by| Box::pin(resolve::resolve(it, order, by))),
    ];

    fn opening(input: &Value) -> (Next, Order) {
        (Next::turn(VALIDATE), Order { input: input.clone(), ..Order::default() })
    }

    fn resumed(input: &Value, flow: &str) -> Value {
        json!({ "DisbursementID": flow, KNOWN_AS: client_id(input) })
    }

    /// A client that has given the disbursement an id of its own finds the result under that id.
    fn final_result(input: &Value, mut result: Value) -> Value {
        if let (Some(given), Some(fields)) = (client_id(input), result.as_object_mut())
            && let Some(ours) = fields.insert("DisbursementID".to_owned(), given.clone())
        {
            fields.insert("PayoutID".to_owned(), ours);
        }
        result
    }

    fn start_input(flow: &Flow, _: &Payout) -> Value {
        json!({ "DisbursementID": flow.name() })
    }

    fn lane(payout: &Payout) -> String {
        payout.terms.channel.clone()
    }

    fn pool(lane: &str) -> Option<Pool> {
        Some(Pool::Channel(lane.to_owned()))
    }

    fn status(flow: &Flow, payout: &Payout) -> Value {
        json!({
            "DisbursementID": flow.name(),
            "Status": payout.state.status(),
            "Version": flow.version,
            "ChannelRef": channel_ref(payout),
            "LastError": payout.reason(),
        })
    }

    fn result(flow: &Flow, payout: &Payout) -> Value {
        let funds = &payout.terms.funds;
        let result = DisbursementResult {
            disbursement_id: flow.name(),
            status: payout.state.status().to_owned(),
            channel_ref: channel_ref(payout),
            completed_at: flow.updated_at,
            fee: funds.fee.decimal(),
            net_amount: funds.amount.decimal(),
            reason: payout.reason().map(str::to_owned),
        };
        serde_json::to_value(result).unwrap_or_default()
    }

    async fn cancel(
        activities: &Activities,
        order: &Order,
        workflow: &WorkflowRef,
    ) -> Result<Step, Failed> {
        resolve::cancel(activities, order, workflow).await
    }
}

/// The field with the client's id in the input of a run that continues another one.
const KNOWN_AS: &str = "KnownAs";

/// The id that the client has given the disbursement.
fn client_id(input: &Value) -> Option<&Value> {
    let given = input.get(KNOWN_AS).or(input.get("DisbursementID"));
    given.filter(|given| given.as_str().is_some_and(|name| !name.is_empty()))
}

/// The reference of the channel, or else the reference of Bursar.
fn channel_ref(payout: &Payout) -> String {
    payout.provider_reference().unwrap_or_else(|| payout.reference()).to_owned()
}
