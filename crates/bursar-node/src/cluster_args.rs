//! Arguments of the demo and the benchmarks that select a temporary Temporal cluster.

use clap::Args;

#[cfg(not(feature = "temporal"))]
pub use self::absent::TempCluster;
#[cfg(feature = "temporal")]
pub use crate::temporal::TempCluster;

#[derive(Debug, Clone, Args)]
pub struct ClusterArguments {
    /// A Temporal cluster to use if it is reachable, never one with real payouts [default: a dev server, started and stopped by this command]
    #[arg(long = "temporal", value_name = "HOST:PORT")]
    pub address: Option<String>,
    /// Its namespace
    #[arg(long, value_name = "NS", default_value = "default")]
    pub namespace: String,
}

#[cfg(not(feature = "temporal"))]
mod absent {
    //! The build without Temporal: there is no cluster.

    use std::future::{Ready, ready};
    use std::sync::Arc;

    use bursar_core::rules::Rules;
    use bursar_store::Location;

    use super::ClusterArguments;
    use crate::failure::Failure;
    use crate::host::built_without_temporal;
    use crate::node::Node;

    #[derive(Debug)]
    pub enum TempCluster {}

    impl TempCluster {
        pub fn find(arguments: &ClusterArguments) -> Ready<Result<Self, Failure>> {
            let ClusterArguments { address: _, namespace: _ } = arguments;
            ready(Err(built_without_temporal()))
        }

        pub fn name(&self) -> &str {
            match *self {}
        }

        pub fn start_worker(
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
