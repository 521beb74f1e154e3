//! The checkpoint store of a dag case: what a run tells it to load, which call fails, and what was called.

use std::sync::Mutex;

use jaren_engine::port::{BoxFuture, DagStore, StoreError};
use jaren_json::{Value, value};

use crate::tasks::locked;

#[derive(Debug, Default)]
pub(super) struct CaseStore(Mutex<Run>);

/// One run.
#[derive(Debug, Default)]
struct Run {
    load: Option<Value>,
    /// `load`, `complete`, or the node whose save fails.
    fails: Value,
    calls: Vec<Value>,
    identity: Option<Value>,
}

impl CaseStore {
    /// Begins a run.
    pub(super) fn begin(&self, run: &Value) {
        let load = run.get("load").filter(|load| !load.is_null()).cloned();
        let fails = run.get("storeFail").cloned().unwrap_or_default();
        *locked(&self.0) = Run { load, fails, ..Run::default() };
    }

    /// The calls of the run, in order.
    pub(super) fn calls(&self) -> Vec<Value> {
        locked(&self.0).calls.clone()
    }

    /// The identity that was handed to the calls.
    pub(super) fn identity(&self) -> Option<Value> {
        locked(&self.0).identity.clone()
    }

    fn call(
        &self,
        call: Value,
        identity: Option<&Value>,
        fails: impl Fn(&Value) -> bool,
    ) -> Result<(), StoreError> {
        let mut run = locked(&self.0);
        run.calls.push(call);
        run.identity = identity.cloned();
        if fails(&run.fails) { Err("the store failed".into()) } else { Ok(()) }
    }
}

impl DagStore for CaseStore {
    fn load<'a>(
        &'a self,
        run: &'a str,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Option<Value>, StoreError>> {
        let call = value!({ "call": "load", "runId": run });
        let called = self.call(call, identity, |fails| fails.get("load").is_some());
        let loaded = locked(&self.0).load.clone();
        Box::pin(async { called.map(|()| loaded) })
    }

    fn save<'a>(
        &'a self,
        run: &'a str,
        node: &'a str,
        value: &'a Value,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let call = value!({ "call": "save", "runId": run, "node": node, "value": value });
        let fails = |fails: &Value| fails.get("save").and_then(Value::as_str) == Some(node);
        let called = self.call(call, identity, fails);
        Box::pin(async { called })
    }

    fn complete<'a>(
        &'a self,
        run: &'a str,
        result: &'a Value,
        identity: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let call = value!({ "call": "complete", "runId": run, "result": result });
        let called = self.call(call, identity, |fails| fails.get("complete").is_some());
        Box::pin(async { called })
    }
}
