//! The table of flow kinds. A new kind is a folder and one line here.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::machine::{Kind, KindInfo, Machine, Observation};
use super::{DecodedFlow, read};
use crate::rules::Rules;

/// ```text
/// flows! { "payout" => payout: Payout(crate::payouts::Payout), … }   makes
///
/// pub enum FlowState { Payout(Box<payouts::Payout>), … }
/// pub enum FlowView  { Payout(Arc<payouts::View>), … }         tagged with "kind"
/// pub enum Outcome   { Payout(payouts::Event), … }             tagged with the name
/// pub enum Call      { Payout(Box<payouts::Call>), … }         and Effect::lost
/// pub struct Planners<'p> { payout: payouts::Bookings<'p>, … }
/// pub const KINDS: &[KindInfo]
/// impl Listed for payouts::Payout                              from and into the enums
/// impl FlowState { pub fn payout(&self) -> Option<&payouts::Payout> }
/// each!(&flow.state, it => it.status())                       match, one arm for each kind
/// each_plan!(state, planners, (it, planner) => …)             the same with its planner
/// ```
macro_rules! flows {
    ($($name:literal => $field:ident: $Kind:ident($ty:ty),)*) => {
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum FlowState { $($Kind(Box<$ty>),)* }

        /// The public view of a flow.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum FlowView { $(#[serde(rename = $name)] $Kind(Arc<<$ty as Kind>::View>),)* }

        /// The outcome of an effect.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Outcome { $(#[serde(rename = $name)] $Kind(<$ty as Kind>::Outcome),)* }

        /// The call of an effect. The worker that runs it matches on the kind; the scheduler does not.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Call { $($Kind(Box<<$ty as Kind>::Call>),)* }

        impl Effect {
            /// The outcome if the worker panicked or did not report before the lease ended.
            pub fn lost(&self, detail: &str) -> Outcome {
                match &self.call {
                    $(Call::$Kind(call) => lost::<$ty>(self, call, detail),)*
                }
            }

            /// The outcome if it was not started in its slot. Nothing was sent.
            pub fn missed(&self) -> Option<Outcome> {
                match &self.call {
                    $(Call::$Kind(call) => missed::<$ty>(self, call),)*
                }
            }

            /// How its outcome counts in the statistics of a host.
            pub fn observe<'o>(&'o self, outcome: &'o Outcome) -> Observation<'o> {
                match (&self.call, outcome) {
                    $((Call::$Kind(call), Outcome::$Kind(outcome)) => observe::<$ty>(call, outcome),)*
                    _ => Observation::Nothing,
                }
            }
        }

        pub const KINDS: &[KindInfo] = &[$(<$ty as Kind>::INFO),*];

        // Attributes need a literal, so the name is written twice. This asserts that both are equal.
        const _: () = { $(assert!(is_same($name, <$ty as Kind>::INFO.name));)* };

        /// State that the flows of a batch share during planning.
        pub(crate) struct Planners<'p> { $(pub(crate) $field: <$ty as Machine>::Planner<'p>,)* }

        impl<'p> Planners<'p> {
            pub(crate) fn new(rules: &'p Rules) -> Self {
                Self { $($field: <$ty as Machine>::planner(rules),)* }
            }
        }

        impl FlowState {
            $(pub fn $field(&self) -> Option<&$ty> { <$ty>::of(self) })*

            pub fn references(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
                std::iter::empty()
                    $(.chain(<$ty>::of(self).into_iter().flat_map(Kind::references)))*
            }

            /// Its first external reference, if that is meant to follow from the idempotency key of its creation.
            pub fn keyed_reference(&self) -> Option<&str> {
                match self { $(Self::$Kind(it) => it.keyed_reference(),)* }
            }

            /// Texts that the caller gave the flow to find it again.
            pub fn labels(&self) -> impl Iterator<Item = &str> {
                std::iter::empty()
                    $(.chain(<$ty>::of(self).into_iter().flat_map(Kind::labels)))*
            }

            pub(super) fn decode(kind: &str, text: &str) -> Result<DecodedFlow, String> {
                match kind {
                    $($name => read(text, Self::$Kind),)*
                    _ => Err("this version does not know such flows".to_owned()),
                }
            }
        }

        $(
            impl Listed for $ty {
                fn of(state: &FlowState) -> Option<&Self> {
                    if let FlowState::$Kind(it) = state { Some(it) } else { None }
                }
                fn outcome<'o>(&self, outcome: &'o Outcome) -> Option<&'o Self::Outcome> {
                    if let Outcome::$Kind(it) = outcome { Some(it) } else { None }
                }
                fn into_outcome(outcome: Self::Outcome) -> Outcome {
                    Outcome::$Kind(outcome)
                }
                fn from_view(view: &FlowView) -> Option<&Arc<Self::View>> {
                    if let FlowView::$Kind(it) = view { Some(it) } else { None }
                }
                fn into_view(view: Arc<Self::View>) -> FlowView {
                    FlowView::$Kind(view)
                }
            }

            impl From<$ty> for FlowState {
                fn from(it: $ty) -> Self {
                    Self::$Kind(Box::new(it))
                }
            }
        )*

        macro_rules! each {
            ($state:expr, $it:ident => $body:expr) => {
                match $state { $($crate::flow::FlowState::$Kind($it) => $body,)* }
            };
        }
        pub(crate) use each;

        macro_rules! each_plan {
            ($state:expr, $planners:expr, ($it:ident, $planner:ident) => $body:expr) => {
                match $state {
                    $($crate::flow::FlowState::$Kind($it) => {
                        let $planner = &mut $planners.$field;
                        $body
                    })*
                }
            };
        }
        pub(crate) use each_plan;
    };
}

flows! {
    "payout" => payout: Payout(crate::payouts::Payout),
    "payin" => payin: PayIn(crate::payins::PayIn),
    "approval" => approval: Approval(crate::approvals::Approval),
    "delivery" => delivery: Delivery(crate::webhooks::delivery::Delivery),
}

/// A kind in the table: conversions between its own types and the enums over all kinds.
pub trait Listed: Kind {
    fn of(state: &FlowState) -> Option<&Self>;
    fn outcome<'o>(&self, outcome: &'o Outcome) -> Option<&'o Self::Outcome>;
    fn into_outcome(outcome: Self::Outcome) -> Outcome;
    fn from_view(view: &FlowView) -> Option<&Arc<Self::View>>;
    fn into_view(view: Arc<Self::View>) -> FlowView;
}

/// Generic, so that a kind without effects has no unreachable arm.
fn lost<K: Listed>(effect: &Effect, call: &K::Call, detail: &str) -> Outcome {
    K::into_outcome(K::lost(effect, call, detail))
}

fn missed<K: Listed>(effect: &Effect, call: &K::Call) -> Option<Outcome> {
    K::missed(effect, call).map(K::into_outcome)
}

fn observe<'o, K: Kind>(call: &'o K::Call, outcome: &'o K::Outcome) -> Observation<'o> {
    K::observe(call, outcome)
}

const fn is_same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    loop {
        match (one, other) {
            ([], []) => return true,
            ([a, rest_of_one @ ..], [b, rest_of_other @ ..]) if *a == *b => {
                (one, other) = (rest_of_one, rest_of_other);
            }
            _ => return false,
        }
    }
}
