//! `bursar key`: shown once, kept as digests, revoked at once.

use bursar_connect::escape;
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::{Page, Server, fields, given, list};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key; it is shown this once and never again
    Issue {
        /// Who will use it, as the audit will name them
        #[arg(long)]
        name: String,
        #[arg(long)]
        role: Role,
        /// The only merchant that it can see; for the role `merchant`, and for no other
        #[arg(long, value_name = "ID", required_if_eq("role", "merchant"))]
        merchant: Option<String>,
    },
    /// Keys, also those that were revoked
    List {
        /// Of this merchant only
        #[arg(long, value_name = "ID")]
        merchant: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    /// Revoke a key; it opens nothing within a second
    Revoke {
        /// The key's id, such as key_…
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
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

const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("name", "name"),
    Column::text("role", "role"),
    Column::text("merchant_id", "merchant"),
    Column::text("created_at", "created"),
    Column::text("revoked_at", "revoked"),
];

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Issue { name, role, merchant } => {
                let body = given([
                    ("name", Some(name.into())),
                    ("role", Some(role.name().into())),
                    ("merchant_id", merchant.map(Value::from)),
                ]);
                server.tell(&Ask::post("/v1/keys", body), fields)
            }
            Command::List { merchant, page } => {
                let path = merchant.map_or("/v1/keys".to_owned(), |merchant| {
                    format!("/v1/merchants/{}/keys", escape(&merchant))
                });
                server.tell(&page.of(Ask::get(path)), list(COLUMNS))
            }
            Command::Revoke { id } => {
                server.tell(&Ask::delete(format!("/v1/keys/{}", escape(&id))), fields)
            }
        }
    }
}
