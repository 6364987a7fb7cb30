//! `bursar audit`: what people did, for the record.

use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::Args;

use super::{Page, Server, list};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    page: Page,
}

const COLUMNS: &[Column] = &[
    Column::text("time", "time"),
    Column::text("actor", "who"),
    Column::text("action", "did what"),
    Column::text("resource", "to what"),
    Column::text("note", "note"),
];

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.server.tell(&self.page.of(Ask::get("/v1/audit")), list(COLUMNS))
    }
}
