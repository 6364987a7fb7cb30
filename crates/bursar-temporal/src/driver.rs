//! The workflow that drives a flow of any kind: it executes the activity that the last activity returned, waits as long as that
//! says, and passes on signals. It holds no business state, so a new version of Bursar replays old histories.

use std::any::Any;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporalio_common::data_converters::PayloadConverter;
use temporalio_common::protos::temporal::api::common::v1::Payloads;
use temporalio_common::{
    HasWorkflowDefinition, QueryDefinition, SignalDefinition, WorkflowDefinition,
};
use temporalio_sdk::workflow_interceptors::WorkflowOutputValue;
use temporalio_sdk::workflows::{
    ExecutableQuery, ExecutableSyncSignal, WorkflowDefinitionDescriptor, WorkflowError,
    WorkflowImplementation,
};
use temporalio_sdk::{
    SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowTermination,
};

use crate::kinds::WorkflowKind;
use crate::workflow_loop::run_loop;

/// The signal of the relay: another caller than the workflow has changed the flow.
pub(crate) const WAKE: &str = "wake";

/// The state of a workflow: the answer of its query, and signals that were received.
pub(crate) struct Driver<K> {
    input: Value,
    status: Value,
    last_error: Option<String>,
    signals: VecDeque<SignalRequest>,
    is_woken: bool,
    kind: PhantomData<fn() -> K>,
}

/// A signal that was received, and the activity that executes it.
pub(crate) struct SignalRequest {
    pub(crate) activity: &'static str,
    pub(crate) input: Value,
}

pub(crate) struct Run<K>(PhantomData<fn() -> K>);

impl<K: WorkflowKind> WorkflowDefinition for Run<K> {
    type Input = Value;
    type Output = Value;

    fn name(&self) -> &str {
        K::NAME
    }
}

impl<K> Run<K> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K: WorkflowKind> HasWorkflowDefinition for Run<K> {
    type Run = Self;
}

/// Any signal: its name and its input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Signalled {
    name: String,
    value: Value,
}

impl Signalled {
    pub(crate) fn wake() -> Self {
        Self { name: WAKE.to_owned(), value: Value::Null }
    }
}

pub(crate) struct Signals<K>(PhantomData<fn() -> K>);

impl<K> Signals<K> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K: WorkflowKind> SignalDefinition for Signals<K> {
    type Workflow = Run<K>;
    type Input = Signalled;

    fn name(&self) -> &str {
        WAKE
    }
}

pub(crate) struct Queries<K>(PhantomData<fn() -> K>);

impl<K: WorkflowKind> QueryDefinition for Queries<K> {
    type Workflow = Run<K>;
    type Input = ();
    type Output = Value;

    fn name(&self) -> &str {
        K::QUERY
    }
}

impl<K: WorkflowKind> ExecutableSyncSignal<Signals<K>> for Driver<K> {
    fn handle(&mut self, _: &mut SyncWorkflowContext<Self>, signalled: Signalled) {
        if let Some(signal) = K::SIGNAL.filter(|signal| signal.name == signalled.name) {
            let (activity, input) = (signal.activity, signalled.value);
            self.signals.push_back(SignalRequest { activity, input });
        } else if signalled.name == WAKE {
            self.is_woken = true;
        } else {
            self.last_error = Some(format!("the signal {:?} is not known here", signalled.name));
        }
    }
}

impl<K: WorkflowKind> ExecutableQuery<Queries<K>> for Driver<K> {
    fn handle(
        &self,
        _: &WorkflowContextView,
        (): (),
    ) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let mut status = self.status.clone();
        if let (Some(error), Some(fields)) = (&self.last_error, status.as_object_mut()) {
            fields.insert("LastError".to_owned(), Value::from(error.clone()));
        }
        Ok(status)
    }
}

impl<K: WorkflowKind> WorkflowImplementation for Driver<K> {
    type Run = Run<K>;

    const HAS_INIT: bool = true;
    const INIT_TAKES_INPUT: bool = true;

    fn name() -> &'static str {
        K::NAME
    }

    fn definition() -> WorkflowDefinitionDescriptor {
        let signals = K::SIGNAL.map(|signal| signal.name).into_iter().chain([WAKE]);
        WorkflowDefinitionDescriptor {
            workflow_type: K::NAME.to_owned(),
            has_init: true,
            init_takes_input: true,
            signals: signals.map(str::to_owned).collect(),
            queries: vec![K::QUERY.to_owned()],
            updates: Vec::new(),
        }
    }

    fn init(_: WorkflowContextView, input: Option<Value>) -> Self {
        Self {
            input: input.unwrap_or_default(),
            status: serde_json::json!({ "Status": "PENDING" }),
            last_error: None,
            signals: VecDeque::new(),
            is_woken: false,
            kind: PhantomData,
        }
    }

    fn run(
        ctx: WorkflowContext<Self>,
        _: Option<Value>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn WorkflowOutputValue>, WorkflowTermination>> {
        let ended = async move {
            let ended: Result<Value, WorkflowTermination> = run_loop(ctx).await;
            ended.map(|value| -> Box<dyn WorkflowOutputValue> { Box::new(value) })
        };
        ended.boxed_local()
    }

    fn decode_signal_input(
        name: &str,
        payloads: Payloads,
        _: &PayloadConverter,
    ) -> Result<Option<Box<dyn Any>>, WorkflowError> {
        // The activity refuses an input that is not JSON, so that the query and the audit show it.
        let value = payloads.payloads.first().map(|payload| {
            serde_json::from_slice(&payload.data).unwrap_or_else(|_| Value::from("not JSON"))
        });
        let signalled = Signalled { name: name.to_owned(), value: value.unwrap_or_default() };
        Ok(Some(Box::new(signalled)))
    }

    fn dispatch_signal(
        ctx: WorkflowContext<Self>,
        _: &str,
        input: Box<dyn Any>,
    ) -> LocalBoxFuture<'static, Result<(), WorkflowError>> {
        <Self as ExecutableSyncSignal<Signals<K>>>::dispatch(ctx, input)
    }

    fn decode_query_input(
        name: &str,
        _: &Payloads,
        _: &PayloadConverter,
    ) -> Result<Option<Box<dyn Any>>, WorkflowError> {
        let input: Option<Box<dyn Any>> = (name == K::QUERY).then(|| {
            let nothing: Box<dyn Any> = Box::new(());
            nothing
        });
        Ok(input)
    }

    fn dispatch_query(
        &self,
        ctx: WorkflowContextView,
        _: &str,
        input: Box<dyn Any>,
    ) -> Result<Box<dyn WorkflowOutputValue>, WorkflowError> {
        <Self as ExecutableQuery<Queries<K>>>::dispatch(self, &ctx, input)
    }

    fn dispatch_update(
        _: WorkflowContext<Self>,
        name: &str,
        _: Box<dyn Any>,
    ) -> LocalBoxFuture<'static, Result<Box<dyn WorkflowOutputValue>, WorkflowError>> {
        let error = no_updates(name);
        async move { Err(error) }.boxed_local()
    }

    fn validate_update(
        &self,
        _: WorkflowContextView,
        name: &str,
        _: Box<dyn Any>,
    ) -> Result<(), WorkflowError> {
        Err(no_updates(name))
    }
}

fn no_updates(name: &str) -> WorkflowError {
    WorkflowError::Execution(format!("there is no update {name:?}: nothing was done").into())
}

impl<K> Driver<K> {
    pub(crate) fn input(&self) -> &Value {
        &self.input
    }

    /// A signal or a wake waits to be handled.
    pub(crate) fn has_event(&self) -> bool {
        self.is_woken || self.has_signal()
    }

    pub(crate) fn has_signal(&self) -> bool {
        !self.signals.is_empty()
    }

    pub(crate) fn next_signal(&mut self) -> Option<SignalRequest> {
        self.signals.pop_front()
    }

    /// Whether the workflow was woken since the last poll.
    pub(crate) fn take_wake(&mut self) -> bool {
        std::mem::take(&mut self.is_woken)
    }

    /// Sets the answer of the query. A refusal stays in it until the status changes.
    pub(crate) fn show(&mut self, status: Value, refused: Option<String>) {
        let kept = self.last_error.take().filter(|_| self.status == status);
        self.last_error = refused.or(kept);
        self.status = status;
    }
}

impl<K> fmt::Debug for Driver<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Driver").field("status", &self.status).finish_non_exhaustive()
    }
}
