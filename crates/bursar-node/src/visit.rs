//! A Temporal cluster for what is made up: which one, for the demo and the benchmark.

use clap::Args;

#[cfg(not(feature = "temporal"))]
pub use self::absent::Venue;
#[cfg(feature = "temporal")]
pub use crate::temporal::Venue;

#[derive(Debug, Clone, Args)]
pub struct VisitArguments {
    /// A Temporal cluster to use if it answers, never one that has real payouts [default: a dev server, started and stopped by this command]
    #[arg(long = "temporal", value_name = "HOST:PORT")]
    pub address: Option<String>,
    /// Its namespace
    #[arg(long, value_name = "NS", default_value = "default")]
    pub namespace: String,
}

#[cfg(not(feature = "temporal"))]
mod absent {
    //! This binary does not speak Temporal: there is no such place.

    use std::future::{Ready, ready};
    use std::sync::Arc;

    use bursar_core::rules::Rules;
    use bursar_store::Location;

    use super::VisitArguments;
    use crate::failure::Failure;
    use crate::host::not_here;
    use crate::node::Node;

    #[derive(Debug)]
    pub enum Venue {}

    impl Venue {
        pub fn find(visit: &VisitArguments) -> Ready<Result<Self, Failure>> {
            let VisitArguments { address: _, namespace: _ } = visit;
            ready(Err(not_here()))
        }

        pub fn name(&self) -> &str {
            match *self {}
        }

        pub fn hire(
            &mut self,
            _: &Node,
            _: &Location,
            _: &Arc<Rules>,
        ) -> Ready<Result<(), Failure>> {
            match *self {}
        }

        pub fn close(self) -> Ready<()> {
            match self {}
        }
    }
}
