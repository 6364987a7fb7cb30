//! `bursar audit`: the audit log of operator actions.

use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::Args;

use super::{ListArgs, Resource, Server};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    list: ListArgs,
}

const AUDIT: Resource = Resource {
    path: "/v1/audit",
    columns: &[
        Column::text("time", "time"),
        Column::text("actor", "who"),
        Column::text("action", "did what"),
        Column::text("resource", "to what"),
        Column::text("note", "note"),
    ],
};

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        AUDIT.list(&self.server, &self.list)
    }
}
