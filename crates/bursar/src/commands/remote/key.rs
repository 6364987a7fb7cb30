//! `bursar key`: API keys. The server stores digests only and shows a key once.

use bursar_connect::escape;
use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::{GetArgs, ListArgs, MerchantFilter, RemoteCommand, Resource, Server, fields, given};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Issue an API key; it is shown only once. A key that may approve works when a second person approves it
    Issue {
        /// The name of its holder, as recorded in the audit log
        #[arg(long)]
        name: String,
        #[arg(long)]
        role: Role,
        /// The merchant that the key is limited to; required for the role `merchant`, not allowed for others
        #[arg(long, value_name = "ID", required_if_eq("role", "merchant"))]
        merchant: Option<String>,
        /// The person behind a key of staff, such as a login: two keys of one person are one person [default: the name]
        #[arg(long, value_name = "NAME")]
        person: Option<String>,
        /// Why it is issued, for the person who approves it
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// List API keys, including revoked ones
    List(ListArgs<MerchantFilter>),
    /// Revoke an API key (key_…); it stops working within a second. That of another approver needs a second person
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    key: GetArgs,
    /// Why it is revoked, for the person who approves it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Revoke it now, in an emergency; another person must approve it afterwards
    #[arg(long)]
    break_glass: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    Merchant,
    Operator,
    Approver,
    Admin,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

const KEYS: Resource = Resource {
    path: "/v1/keys",
    columns: &[
        Column::text("id", "id"),
        Column::text("name", "name"),
        Column::text("person", "person"),
        Column::text("role", "role"),
        Column::text("merchant_id", "merchant"),
        Column::text("created_at", "created"),
        Column::text("revoked_at", "revoked"),
    ],
};

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Issue { name, role, merchant, person, reason } => {
                let body = given([
                    ("name", Some(name.into())),
                    ("role", Some(role.name().into())),
                    ("merchant_id", merchant.map(Value::from)),
                    ("person", person.map(Value::from)),
                    ("reason", reason.map(Value::from)),
                ]);
                server.print_response(&ApiRequest::post(KEYS.path, body), fields)
            }
            Self::List(arguments) => match &arguments.filter.merchant {
                Some(merchant) => {
                    let path = format!("/v1/merchants/{}/keys", escape(merchant));
                    server.print_list(arguments.wanted(), KEYS.columns, |cursor| {
                        arguments.page(ApiRequest::get(&path), cursor)
                    })
                }
                None => KEYS.list(server, &arguments),
            },
            Self::Revoke(Revoke { key, reason, break_glass }) => {
                let request = ApiRequest::delete(KEYS.path_of(&key))
                    .with("reason", reason.as_ref())
                    .with("break_glass", break_glass.then_some(true));
                server.print_response(&request, fields)
            }
        }
    }
}
