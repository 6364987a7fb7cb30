//! `bursar beneficiary`: saved payees of a merchant.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{ListArgs, MerchantFilter, RemoteCommand, Resource, Server, fields, given};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a beneficiary
    Add(Add),
    /// List beneficiaries, newest first
    List(ListArgs<MerchantFilter>),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The merchant that owns the beneficiary
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// The name of the account holder
    #[arg(long)]
    name: String,
    /// The bank account; either this or a telephone number
    #[arg(long, conflicts_with = "msisdn", required_unless_present = "msisdn")]
    account: Option<String>,
    /// The telephone number of a mobile wallet
    #[arg(long)]
    msisdn: Option<String>,
    /// The bank of the account
    #[arg(long)]
    bank: Option<String>,
}

const BENEFICIARIES: Resource = Resource {
    path: "/v1/beneficiaries",
    columns: &[
        Column::text("id", "id"),
        Column::text("merchant_id", "merchant"),
        Column::text("name", "name"),
        Column::text("account", "account"),
        Column::text("msisdn", "telephone"),
        Column::text("bank", "bank"),
        Column::text("created_at", "created"),
    ],
};

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Add(Add { merchant, name, account, msisdn, bank }) => {
                let body = given([
                    ("merchant_id", Some(merchant.into())),
                    ("name", Some(name.into())),
                    ("account", account.map(Value::from)),
                    ("msisdn", msisdn.map(Value::from)),
                    ("bank", bank.map(Value::from)),
                ]);
                server.print_response(&ApiRequest::post(BENEFICIARIES.path, body), fields)
            }
            Self::List(arguments) => BENEFICIARIES.list(server, &arguments),
        }
    }
}
