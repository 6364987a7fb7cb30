//! Activities: turns about a flow, and jobs in the world. Each ends with what the workflow does next.

use std::sync::Arc;
use std::time::Duration;

use bursar_core::delivery::{self, Outcome, Response};
use bursar_core::drive::{self, Drive, Driven, Job, Look, Move, foresee};
use bursar_core::ids::{DeliveryId, FlowId, PayoutId};
use bursar_core::rejection::Rejection;
use bursar_core::request::{Body, Busy, News, Reply};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::hands::Hands;
use crate::message::{Order, Step};
use crate::port::Office;
use crate::relay::Relay;
use crate::step::Place;

/// Why an activity has no step to tell.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It will be refused however often it is tried.
    Refused { code: String, message: String },
    /// Nothing can be said now.
    Unavailable(String),
}

impl From<Rejection> for Failed {
    fn from(rejection: Rejection) -> Self {
        Self::Refused { code: rejection.code().to_owned(), message: rejection.to_string() }
    }
}

/// Everything that activities need.
pub(crate) struct Activities {
    pub(crate) office: Arc<dyn Office>,
    pub(crate) hands: Hands,
    pub(crate) relay: Arc<Relay>,
    pub(crate) is_searchable: bool,
}

/// How long a job waits for a free hand before it lets others try: whoever waits keeps a place in the worker.
const HAND_WAIT: Duration = Duration::from_secs(2);
/// How long it leaves the place to others then, in milliseconds.
const HAND_REST: u64 = 5_000;

impl Activities {
    pub(crate) async fn ask(&self, body: Body) -> Result<Reply, Failed> {
        let answer = self.office.ask(body).await.map_err(Failed::Unavailable)?;
        answer.map_err(Failed::from)
    }

    /// A turn about a flow.
    pub(crate) async fn look(&self, look: Look) -> Result<Driven, Failed> {
        let reply = self.ask(Body::Drive(Drive::Look(look))).await?;
        let Reply::Driven(driven) = reply else { return Err(unexpected()) };
        Ok(*driven)
    }

    /// A turn that takes news, if there are any, and begins no job.
    pub(crate) async fn turn(&self, order: &Order) -> Result<Step, Failed> {
        let look = Look { flow: flow(&order.flow)?, news: order.news.clone(), hands: None };
        let driven = self.look(look).await?;
        Ok(self.step(&driven))
    }

    pub(crate) fn step(&self, driven: &Driven) -> Step {
        let place = Place { rules: self.office.rules(), now: self.office.now() };
        let refused = driven.refused.as_ref().map(ToString::to_string);
        if let Some(rejection) = &driven.refused {
            self.office.refused(driven.flow.name(), rejection.clone());
        }
        Step { is_searchable: self.is_searchable, refused, ..place.step(driven) }
    }

    /// A job: saved first, done afterwards, and what came of it taken note of.
    pub(crate) async fn work(&self, order: &Order) -> Result<Step, Failed> {
        match flow_kind(&order.flow)? {
            Kind::Payout(flow) => self.pay(flow, order).await,
            Kind::Delivery(flow) => self.deliver(flow, order).await,
        }
    }

    async fn pay(&self, flow: FlowId, order: &Order) -> Result<Step, Failed> {
        let hand = self.hands.for_channel(&order.lane);
        let Ok(_hand) = tokio::time::timeout(HAND_WAIT, hand).await else {
            return self.turn(order).await.map(later);
        };
        let (instant, time) = (Instant::now(), self.office.now());
        let look = Look { flow, news: None, hands: Some(Busy::default()) };
        let driven = self.look(look).await?;
        let Some(Job::Call(effect)) = driven.job.clone() else { return Ok(self.step(&driven)) };
        let deadline = instant_of((instant, time), effect.lease_until);
        let event = self.office.call(effect, deadline).await;
        self.came_back(driven, News::Payout(event)).await
    }

    async fn deliver(&self, flow: FlowId, order: &Order) -> Result<Step, Failed> {
        let Ok(endpoint) = order.lane.parse().map(|id| self.hands.endpoint(id)) else {
            return self.turn(order).await;
        };
        let Ok(gate) = tokio::time::timeout(HAND_WAIT, endpoint.gate()).await else {
            return self.turn(order).await.map(later);
        };
        let (instant, time) = (Instant::now(), self.office.now());
        let look = Look { flow, news: None, hands: Some(endpoint.busy(time)) };
        let driven = self.look(look).await?;
        let Some(Job::Send(parcel)) = driven.job.clone() else {
            let step = self.step(&driven);
            return Ok(if driven.is_full { later(step) } else { step });
        };
        let _under_way = endpoint.begin(time);
        drop(gate);
        let deadline = instant_of((instant, time), parcel.lease_until);
        let event = self.office.send(*parcel, deadline).await;
        self.came_back(driven, News::Delivery(event)).await
    }

    /// What only has to be noted is noted at once. What moves money, or gives up, is a turn of its own, which the
    /// cluster repeats until it is made; so is what could not be noted.
    async fn came_back(&self, driven: Driven, news: News) -> Result<Step, Failed> {
        let now = self.office.now();
        let r#move = foresee(self.office.rules(), &driven.flow, &news, now);
        if r#move == Move::Note {
            let look = Look { flow: driven.flow.id, news: Some(news.clone()), hands: None };
            match self.look(look).await {
                Ok(driven) => return Ok(self.step(&driven)),
                Err(Failed::Refused { .. } | Failed::Unavailable(_)) => {}
            }
        }
        let next = drive::Next { at: now, r#move };
        let step = self.step(&Driven { next: Some(next), job: None, ..driven });
        Ok(Step { news: Some(without_words(news)), ..step })
    }

    /// The relay starts what waits for the cluster now, so that merchants are told soon.
    pub(crate) fn notify(&self, order: &Order) -> Step {
        self.relay.hurry();
        Step::unknown(order)
    }
}

/// There was no free hand: others try first.
fn later(mut step: Step) -> Step {
    if let Some(next) = &mut step.next {
        next.pause = next.pause.max(HAND_REST);
    }
    step
}

/// The end of a lease on the monotonic clock.
fn instant_of((instant, time): (Instant, Timestamp), lease_until: Timestamp) -> Instant {
    let left = lease_until.duration_since(time).max(SignedDuration::ZERO);
    instant.checked_add(left.unsigned_abs()).unwrap_or(instant)
}

/// What a receiver said is none of the cluster's business.
fn without_words(news: News) -> News {
    match news {
        News::Delivery(delivery::Event::Returned {
            attempt,
            took_ms,
            outcome: Outcome::Answered { status, retry_after, .. },
        }) => {
            let response = Response::Text(String::new());
            let outcome = Outcome::Answered { status, retry_after, response };
            News::Delivery(delivery::Event::Returned { attempt, took_ms, outcome })
        }
        news @ (News::Payout(_) | News::Delivery(_)) => news,
    }
}

pub(crate) enum Kind {
    Payout(FlowId),
    Delivery(FlowId),
}

fn flow_kind(name: &str) -> Result<Kind, Failed> {
    let payout = name.parse::<PayoutId>().map(|id| Kind::Payout(id.into()));
    let delivery = name.parse::<DeliveryId>().map(|id| Kind::Delivery(id.into()));
    payout.or(delivery).map_err(|_| Failed::Refused {
        code: "unknown_flow".to_owned(),
        message: format!("{name:?} is neither a payout nor a delivery: nothing was done"),
    })
}

pub(crate) fn flow(name: &str) -> Result<FlowId, Failed> {
    let (Kind::Payout(flow) | Kind::Delivery(flow)) = flow_kind(name)?;
    Ok(flow)
}

pub(crate) fn unexpected() -> Failed {
    Failed::Unavailable("a turn was answered with something else than was asked for".to_owned())
}
