//! `bursar audit`: what people did, for the record.

use clap::Args;

use super::{Page, Server, list};
use crate::client::Ask;
use crate::failure::Failure;
use crate::report::Column;

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
