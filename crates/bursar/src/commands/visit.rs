//! A Temporal cluster for what is made up: which one, for the demo and the benchmark.

use clap::Args;

#[cfg(not(feature = "temporal"))]
pub(crate) use self::absent::Venue;
#[cfg(feature = "temporal")]
pub(crate) use crate::temporal::Venue;

#[derive(Debug, Clone, Args)]
pub(crate) struct VisitArguments {
    /// A Temporal cluster to use if it answers, never one that has real payouts [default: a dev server, started and stopped by this command]
    #[arg(long = "temporal", value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// Its namespace
    #[arg(long, value_name = "NS", default_value = "default")]
    pub(crate) namespace: String,
}

#[cfg(not(feature = "temporal"))]
mod absent {
    //! This binary does not speak Temporal: there is no such place.

    use std::future::{Ready, ready};
    use std::sync::Arc;

    use bursar_core::rules::Rules;
    use bursar_store::Location;

    use super::VisitArguments;
    use crate::commands::host::not_here;
    use crate::failure::Failure;
    use crate::node::Node;

    pub(crate) enum Venue {}

    impl Venue {
        pub(crate) fn find(visit: &VisitArguments) -> Ready<Result<Self, Failure>> {
            let VisitArguments { address: _, namespace: _ } = visit;
            ready(Err(not_here()))
        }

        pub(crate) fn name(&self) -> &str {
            match *self {}
        }

        pub(crate) fn hire(
            &mut self,
            _: &Node,
            _: &Location,
            _: &Arc<Rules>,
        ) -> Ready<Result<(), Failure>> {
            match *self {}
        }

        pub(crate) fn close(self) -> Ready<()> {
            match self {}
        }
    }
}
