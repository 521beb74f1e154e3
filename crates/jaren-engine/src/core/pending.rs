//! The activation that is not finished (workflow §5).

use std::sync::{Arc, LazyLock, OnceLock};

use jaren_flow::dag::Node;
use jaren_flow::workflow::Workflow;
use jaren_json::delta::BatchText;
use jaren_json::{Object, Shape, Str, Value};

use super::activation::Activation;
use crate::numbers::count;

/// The activation of a run that is not finished.
///
/// Its input follows from the control and the context, and the identity of its dataflow from the workflow and the
/// input. Both are written out in the published JSON, the identity with the input's whole canonical text; neither is
/// made or stored otherwise. Cheap to clone and to change.
#[derive(Clone, Debug)]
pub struct Pending {
    admitted: Arc<Admitted>,
    is_identified: bool,
    values: Object,
    result: Option<Value>,
}

/// What does not change once it is admitted.
#[derive(Debug)]
struct Admitted {
    workflow: Workflow,
    state: Str,
    visit: u64,
    input: Value,
    key: OnceLock<Str>,
    /// Published members that we do not know: they are kept.
    unknown: Object,
}

/// The members that we know, in their order.
const MEMBERS: [&str; 6] = ["state", "visit", "input", "values", "identity", "result"];

/// The shapes of the stored form: without and with the identity, and the same with the result.
static STORED: LazyLock<[Option<Shape>; 4]> = LazyLock::new(|| {
    let members = [&["state", "visit", "values"][..], &["identity"], &["result"]];
    [&[0][..], &[0, 1], &[0, 2], &[0, 1, 2]].map(|parts| {
        let names = parts.iter().filter_map(|part| members.get(*part)).copied().flatten();
        Shape::new(names.copied())
    })
});

impl Pending {
    /// An activation that has its input.
    pub(super) fn new(workflow: &Workflow, state: &Str, visit: u64, input: Value) -> Self {
        let (workflow, state) = (workflow.clone(), state.clone());
        let (key, unknown) = (OnceLock::new(), Object::default());
        let admitted = Arc::new(Admitted { workflow, state, visit, input, key, unknown });
        Pending { admitted, is_identified: false, values: Object::default(), result: None }
    }

    /// An activation whose published members have been checked (`super::restore`).
    pub(super) fn checked(workflow: &Workflow, state: &Str, members: &Object) -> Self {
        let member = |name: &str| members.get(name).cloned();
        let unknown = members.iter().filter(|(name, _)| !MEMBERS.contains(name));
        let admitted = Arc::new(Admitted {
            workflow: workflow.clone(),
            state: state.clone(),
            visit: members.get("visit").and_then(Value::as_u64).unwrap_or_default(),
            input: member("input").unwrap_or_default(),
            key: OnceLock::new(),
            unknown: unknown.collect(),
        });
        Pending {
            admitted,
            is_identified: members.contains_key("identity"),
            values: members.get("values").and_then(Value::as_object).cloned().unwrap_or_default(),
            result: member("result"),
        }
    }

    /// The input of the work.
    pub fn input(&self) -> &Value {
        &self.admitted.input
    }

    /// Is the identity of its dataflow a part of it yet?
    pub fn has_identity(&self) -> bool {
        self.is_identified
    }

    /// The values of nodes that declare `checkpoint`.
    pub fn values(&self) -> &Object {
        &self.values
    }

    /// The result, once every node has settled.
    pub fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }

    /// The canonical activation key.
    pub(super) fn key(&self, run: &str) -> &Str {
        let Admitted { state, visit, key, .. } = &*self.admitted;
        key.get_or_init(|| Activation { run, state, visit: *visit }.key())
    }

    pub(super) fn identify(&mut self) {
        self.is_identified = true;
    }

    pub(super) fn keep(&mut self, node: &Node, value: Value) {
        self.values = node.with_value(&self.values, value);
    }

    pub(super) fn complete(&mut self, result: Value) {
        self.result = Some(result);
    }

    /// The published JSON.
    pub(super) fn to_value(&self) -> Value {
        let Admitted { workflow, state, input, unknown, .. } = &*self.admitted;
        // The state does work and its input is JSON, or there would be no activation.
        let identity = || workflow.dag_identity(state, input).unwrap_or_default();
        let known = [
            ("state", Some(Value::from(state))),
            ("visit", Some(count(self.admitted.visit))),
            ("input", Some(input.clone())),
            ("values", Some(Value::Object(self.values.clone()))),
            ("identity", self.is_identified.then(identity)),
            ("result", self.result.clone()),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Value::Object(known.chain(unknown.iter().map(|(name, value)| (name, value.clone()))).collect())
    }

    /// Adds the operations that lead here from what an earlier activation keeps in our store.
    pub(super) fn changes(&self, before: &Self, batch: &mut BatchText) {
        let (new, old) = (&*self.admitted, &*before.admitted);
        let alike = self.is_identified == before.is_identified
            && self.result.is_none()
            && before.result.is_none()
            && new.unknown.is_empty()
            && old.unknown.is_empty();
        if !alike {
            batch.set(&["pending"], &self.to_stored());
            return;
        }
        if new.state != old.state {
            batch.set(&["pending", "state"], &Value::from(&new.state));
        }
        if new.visit != old.visit {
            batch.set(&["pending", "visit"], &count(new.visit));
        }
        if !self.values.ptr_eq(&before.values) {
            let [old, new] = [&before.values, &self.values].map(|values| Value::Object(values.clone()));
            batch.change(&["pending", "values"], &old, &new);
        }
    }

    /// The same without what follows from the rest.
    pub(super) fn to_stored(&self) -> Value {
        let Admitted { state, visit, unknown, .. } = &*self.admitted;
        let mut values = Vec::with_capacity(MEMBERS.len());
        values.extend([Value::from(state), count(*visit), Value::Object(self.values.clone())]);
        values.extend(self.is_identified.then_some(Value::Bool(true)));
        values.extend(self.result.clone());
        let shape = STORED.get(usize::from(self.is_identified) + 2 * usize::from(self.result.is_some()));
        let known = shape.and_then(|shape| Object::from_shape(shape.as_ref()?, values)).unwrap_or_default();
        Value::Object(unknown.iter().fold(known, |known, (name, value)| known.with(name, value)))
    }
}
