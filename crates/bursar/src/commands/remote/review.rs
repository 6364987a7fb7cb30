//! `bursar review` and `bursar find`: what waits for a person, and search.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::Args;

use super::{Filter, ListArgs, MerchantFilter, Resource, Server};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    list: ListArgs<ReviewFilter>,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewFilter {
    #[command(flatten)]
    merchant: MerchantFilter,
}

impl Filter for ReviewFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        self.merchant.narrow(request)
    }

    fn is_worklist(&self) -> bool {
        true
    }
}

const REVIEW: Resource = Resource {
    path: "/v1/review",
    columns: &[
        Column::text("since", "since"),
        Column::text("reason", "why"),
        Column::text("flow/id", "id"),
        Column::text("flow/status", "status"),
        Column::text("merchant_id", "merchant"),
        Column::text("flow/reason", "reason"),
        Column::text("flow/beneficiary/name", "beneficiary"),
        Column::text("flow/beneficiary/account|flow/beneficiary/msisdn", "account"),
        Column::text("flow/external_id", "external id"),
        Column::text("flow/provider_reference", "provider reference"),
        Column::text("flow/currency", ""),
        Column::number("flow/amount", "amount"),
    ],
};

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        REVIEW.list(&self.server, &self.list)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    #[command(flatten)]
    server: Server,
    /// An id, the reference of an attempt or a pay-in, the channel's own reference, a trace id, or the caller's own id
    #[arg(value_name = "TEXT")]
    text: String,
}

const FOUND: &[Column] = &[
    Column::text("kind", "kind"),
    Column::text("id", "id"),
    Column::text("status", "status"),
    Column::text("merchant_id", "merchant"),
];

impl Find {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.server.print_list(Some(1), FOUND, |cursor| {
            ApiRequest::get("/v1/find").with("q", Some(&self.text)).with("cursor", cursor)
        })
    }
}
