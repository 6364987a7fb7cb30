//! A turn: requests that are decided together. `plan` lists the records that they need, `apply` decides in memory and
//! returns the commit. Later requests see the changes of earlier ones. Batch boundaries change no answer.

mod chain;
pub(crate) mod check;
mod claim;
mod commit;
mod draft;
mod read_plan;
mod read_set;
mod record_cache;
mod request;
mod tally;
#[cfg(test)]
mod tests;
pub(crate) mod tracked;

pub use chain::{Digests, Link, SavedCommit, Sections, chain};
pub use claim::{DueClaim, FairClaim};
pub use commit::{AccountWrite, Appended, Commit, FlowWrite, HoldWrite, ReviewChange};
pub(crate) use draft::{Draft, RenderedReply};
pub(crate) use read_plan::Reads;
pub use read_plan::{ReadPlan, plan, plan_second};
pub use read_set::{KnownReference, ReadSet};
pub(crate) use request::{Admitted, Decide, Ready, asks};
pub use request::{Answer, Ask, Body, Given, Reply, Request, TurnInput};
pub use tally::{
    ALERT_TALLIES, FLOW_TALLIES, FlowTally, REVIEW_TALLIES, Tally, TallyName, tallies_of,
};
pub(crate) use tally::{Recount, tally_changes};

/// Decides a batch. It reads and writes nothing: the commit lists what the store must save.
pub fn apply(batch: &TurnInput<'_>, records: ReadSet) -> Commit {
    let mut draft = Draft::new(batch, records);
    let decide = |it: &Admitted<'_>| match &it.ready {
        Ok(ready) => ready.apply(&mut draft, &it.admission),
        Err(rejection) => Err(rejection.clone()),
    };
    let answers = batch.requests().iter().map(decide).collect();
    draft.into_commit(answers)
}
