//! Lowering: from a workflow document to one statechart, a dag for each work state, and where each comes from.
//! A function of the document alone (workflow format, section 3).

use jaren_json::{Diagnostic, Object, ObjectBuilder, Pointer, Report, Str, Value, value};

use super::order::ordered;
use super::proof::{self, Links};
use super::read::{self, CODE, Form, StateDocument, WorkDocument};
use super::{DONE, ERROR, LOWERING, NEXT, event_name};
use crate::defects::{Defects, unknown_members};
use crate::options::{CompileOptions, Queries};
use crate::statechart::Statechart;

/// Nested flows may be this deep.
pub(crate) const DEPTH_MAX: usize = 64;

/// A lowered workflow: what the format publishes as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    document: Value,
    revision: Str,
    fsm: Value,
    dags: Object,
    specs: Object,
    sources: Object,
}

impl Lowered {
    /// The original document, its members in canonical order.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The revision that its author declared.
    pub fn revision(&self) -> &Str {
        &self.revision
    }

    /// The statechart, a jaren-fsm 0.2 document.
    pub fn fsm(&self) -> &Value {
        &self.fsm
    }

    /// The dags by their qualified states.
    pub fn dags(&self) -> &Object {
        &self.dags
    }

    /// The published form: `{version, revision, document, fsm, dags, specs, sources}`.
    pub fn to_value(&self) -> Value {
        let members = [
            ("version", Value::from(LOWERING)),
            ("revision", Value::String(self.revision.clone())),
            ("document", self.document.clone()),
            ("fsm", self.fsm.clone()),
            ("dags", Value::Object(self.dags.clone())),
            ("specs", Value::Object(self.specs.clone())),
            ("sources", Value::Object(self.sources.clone())),
        ];
        Value::Object(members.into_iter().collect())
    }
}

/// Lowers a jaren-workflow 0.2 document. No handler is looked up and no dag is checked.
///
/// The report has every defect: JF0021 for shapes and references, JF0022 for a cycle that nothing bounds, JF0007 for
/// guards.
pub fn lower(document: &Value) -> Result<Lowered, Report> {
    lower_with(document, &CompileOptions::new())
}

/// The same with options: guards may name what the host lends.
pub fn lower_with(document: &Value, options: &CompileOptions) -> Result<Lowered, Report> {
    let mut defects = Defects::default();
    let draft = draft(document, &Queries::new(options), &mut defects);
    defects.finish(document, draft.map(|draft| draft.lowered))
}

/// What compiling needs beside the published form.
pub(super) struct Draft {
    pub(super) lowered: Lowered,
    pub(super) states: Vec<Drafted>,
    /// The compiled statechart, unless something is wrong with the document.
    pub(super) chart: Option<Statechart>,
}

/// One state, in the order of the walk.
pub(super) struct Drafted {
    pub(super) id: Str,
    pub(super) pointer: Pointer,
    pub(super) form: Form,
    pub(super) limit: Option<u64>,
    pub(super) catches: bool,
    /// The `input` query of a work state.
    pub(super) input: Option<Value>,
    /// The dag of a work state, and whether lowering wrote it for a task.
    pub(super) dag: Option<(Value, bool)>,
}

/// Lowers as much as is sound, into `defects`.
pub(super) fn draft(document: &Value, queries: &Queries, defects: &mut Defects) -> Option<Draft> {
    if document.depth() > jaren_json::ReadOptions::DEPTH_MAX {
        let message = format!("a workflow nests at most {} deep", jaren_json::ReadOptions::DEPTH_MAX);
        defects.push(CODE, Pointer::root(), message);
        return None;
    }
    if let Err(error) = jaren_json::canonical(document) {
        let defect = Diagnostic::new(CODE, Pointer::root(), "a workflow must be JSON");
        defects.add(defect.with_place(error.pointer().clone()));
        return None;
    }
    let before = defects.count();
    let document = ordered(document);
    let (head, revision) = read::head(&document, defects)?;
    let mut walk = Walk::default();
    let initial = walk.scope(Some(head), &Scope::root(), defects);
    for index in proof::unbounded(&walk.links) {
        let Some(state) = walk.links.get(index).and_then(|links| Pointer::parse(&links.id).ok()) else {
            continue;
        };
        let message = "an automatic cycle leads through this state: give a state of the cycle a limit";
        defects.push("JF0022", state, message);
    }
    let fsm = value!({
        "$fsm": "0.2",
        "initial": (initial.map_or(Value::Null, Value::String)),
        "states": (Value::Array(walk.states.iter().cloned().collect())),
        "transitions": (Value::Array(walk.transitions.iter().map(|edge| edge.value.clone()).collect()))
    });
    let chart = walk.chart(&fsm, defects.count() == before, queries, defects);
    let lowered = walk.finish(document.clone(), revision, fsm);
    Some(Draft { lowered, states: walk.drafted, chart })
}

/// A transition and where its guard stands in the workflow.
struct Edge {
    value: Value,
    guard: Pointer,
}

/// The lists that the walk over the states fills, in the published order.
#[derive(Default)]
struct Walk {
    states: Vec<Value>,
    transitions: Vec<Edge>,
    links: Vec<Links>,
    specs: ObjectBuilder,
    drafted: Vec<Drafted>,
}

/// The states that a name may refer to: those of one `states` object.
struct Scope<'a> {
    prefix: Pointer,
    parent: Option<&'a Str>,
    /// Where a final state of this scope leads to.
    continuation: Option<&'a Str>,
    depth: usize,
}

impl Scope<'_> {
    fn root() -> Self {
        Self { prefix: Pointer::root(), parent: None, continuation: None, depth: 0 }
    }

    fn states(&self) -> Pointer {
        self.prefix.child("states")
    }

    /// The qualified id of a name in this scope; `place` is where the name stands.
    fn resolve(
        &self,
        name: Option<&Value>,
        states: &Object,
        place: Pointer,
        defects: &mut Defects,
    ) -> Option<Str> {
        let declared = name.and_then(Value::as_str).filter(|name| states.contains_key(name));
        if declared.is_none() {
            let near = defects.suggest(name, states.keys().iter().map(Str::as_str));
            let problem = if name.is_none() { "is missing: it names" } else { "must name" };
            let message = format!("{place} {problem} a state of this scope{near}");
            defects.add(Diagnostic::new(CODE, self.states(), message).with_place(place));
        }
        declared.map(|name| Str::from(self.states().child(name).as_str()))
    }
}

impl Walk {
    /// Lowers the states of one scope; the qualified id of its initial state.
    fn scope(&mut self, body: Option<&Object>, scope: &Scope<'_>, defects: &mut Defects) -> Option<Str> {
        if scope.depth > DEPTH_MAX {
            let message = format!("flows nest at most {DEPTH_MAX} deep");
            defects.push(CODE, scope.prefix.clone(), message);
            return None;
        }
        let states = body.and_then(|body| body.get("states")).and_then(Value::as_object);
        let Some((body, states)) = body.zip(states.filter(|states| !states.is_empty())) else {
            let message = "states must be an object with at least one state";
            defects.push(CODE, scope.states(), message);
            return None;
        };
        if scope.parent.is_some() {
            unknown_members(defects, CODE, &scope.prefix, body, &["initial", "states"], "a nested flow");
        }
        let initial = body.get("initial").and_then(Value::as_str).filter(|name| states.contains_key(name));
        if initial.is_none() {
            let near = defects.suggest(body.get("initial"), states.keys().iter().map(Str::as_str));
            let message = format!("initial must name a state of this scope{near}");
            defects.push(CODE, scope.prefix.child("initial"), message);
        }
        for (name, spec) in states {
            let pointer = scope.states().child(name);
            if let Some(state) = read::state(name, spec, &pointer, defects) {
                self.state(&state, pointer, states, scope, defects);
            }
        }
        initial.map(|name| Str::from(scope.states().child(name).as_str()))
    }

    fn state(
        &mut self,
        state: &StateDocument<'_>,
        pointer: Pointer,
        siblings: &Object,
        scope: &Scope<'_>,
        defects: &mut Defects,
    ) {
        let id = Str::from(pointer.as_str());
        let spec = state.object.with("kind", state.form.name());
        self.specs.insert(id.clone(), Value::Object(spec));
        let links = self.links.len();
        self.links.push(Links { id: id.clone(), bounded: state.limit.is_some(), next: Vec::new() });
        let dag = match state.form {
            Form::Work => read::work(state.object, &pointer, defects).as_ref().map(dag_of),
            Form::Choose | Form::On | Form::Flow | Form::Final => None,
        };
        self.drafted.push(Drafted {
            id: id.clone(),
            pointer: pointer.clone(),
            form: state.form,
            limit: state.limit,
            catches: state.object.contains_key("catch"),
            input: state.object.get("input").filter(|input| !input.is_null()).cloned(),
            dag,
        });
        let mut lowered = ObjectBuilder::new();
        lowered.insert("id", id.clone());
        if let Some(parent) = scope.parent {
            lowered.insert("parent", parent.clone());
        }
        let mut from = Source { walk: self, links, id, pointer, siblings, scope };
        match state.form {
            Form::Work => {
                from.edge(state.object.get("then"), "then", &[("event", Value::from(DONE))], defects);
                if let Some(catch) = state.object.get("catch") {
                    from.edge(Some(catch), "catch", &[("event", Value::from(ERROR))], defects);
                }
            }
            Form::Choose => from.choose(state, defects),
            Form::On => from.wait(state, defects),
            Form::Flow => {
                let initial = from.flow(state, defects);
                lowered.insert("initial", initial.map_or(Value::Null, Value::String));
            }
            Form::Final => {
                lowered.insert("final", true);
                from.link(scope.continuation.cloned());
            }
        }
        self.states.push(Value::Object(lowered.build()));
    }

    /// Compiles the chart when the document is sound so far, otherwise only its guards; JF0007 either way.
    fn chart(
        &self,
        fsm: &Value,
        sound: bool,
        queries: &Queries,
        defects: &mut Defects,
    ) -> Option<Statechart> {
        let mut inner = Defects::default();
        let mut chart = None;
        if sound {
            chart = Statechart::check(fsm, queries, &mut inner);
        } else {
            for (index, edge) in self.transitions.iter().enumerate() {
                let Some(guard) = edge.value.get("guard").filter(|guard| !guard.is_null()) else { continue };
                let pointer = Pointer::root().child("transitions").child_index(index).child("guard");
                queries.in_step(guard, "JF0007", &pointer, "the guard", &mut inner);
            }
        }
        defects.take(inner, |defect| {
            let place = self.place(defect.place());
            defect.with_place(place)
        });
        chart
    }

    /// Where in the workflow a pointer below `/transitions/N/guard` of the chart leads.
    fn place(&self, pointer: &Pointer) -> Pointer {
        let mut tokens = pointer.tokens().skip(1);
        let edge = tokens.next().and_then(|index| self.transitions.get(index.parse::<usize>().ok()?));
        edge.map_or_else(Pointer::root, |edge| edge.guard.join(&Pointer::from_tokens(tokens.skip(1))))
    }

    fn finish(&mut self, document: Value, revision: Str, fsm: Value) -> Lowered {
        let dags = self.drafted.iter().filter_map(|state| {
            let (dag, _) = state.dag.as_ref()?;
            Some((state.id.clone(), dag.clone()))
        });
        let dags = dags.collect();
        let sources = self.drafted.iter().map(|state| (state.id.clone(), Value::String(state.id.clone())));
        let sources = sources.collect();
        let specs = std::mem::take(&mut self.specs).build();
        Lowered { document, revision, fsm, dags, specs, sources }
    }
}

/// The state whose outgoing edges are being lowered.
struct Source<'w, 'a> {
    walk: &'w mut Walk,
    /// Its position among the links.
    links: usize,
    id: Str,
    pointer: Pointer,
    siblings: &'a Object,
    scope: &'a Scope<'a>,
}

impl Source<'_, '_> {
    /// Something this state goes to by itself.
    fn link(&mut self, to: Option<Str>) {
        if let (Some(links), Some(to)) = (self.walk.links.get_mut(self.links), to) {
            links.next.push(to);
        }
    }

    fn resolve(&self, name: Option<&Value>, place: Pointer, defects: &mut Defects) -> Option<Str> {
        self.scope.resolve(name, self.siblings, place, defects)
    }

    fn transition(&mut self, to: &Str, fields: &[(&str, Value)], guard: Pointer) {
        let ends = [("from", Value::String(self.id.clone())), ("to", Value::String(to.clone()))];
        let value = Value::Object(ends.into_iter().chain(fields.iter().cloned()).collect());
        self.walk.transitions.push(Edge { value, guard });
    }

    /// An automatic edge whose target is the member `member` of the state.
    fn edge(&mut self, to: Option<&Value>, member: &str, fields: &[(&str, Value)], defects: &mut Defects) {
        let place = self.pointer.child(member);
        if let Some(to) = self.resolve(to, place.clone(), defects) {
            self.transition(&to, fields, place);
            self.link(Some(to));
        }
    }

    fn choose(&mut self, state: &StateDocument<'_>, defects: &mut Defects) {
        for (index, branch) in
            read::branches(state.object, Form::Choose, &self.pointer, defects).iter().enumerate()
        {
            let pointer = self.pointer.child("choose").child_index(index);
            let Some((guard, to)) = read::choice(branch, &pointer, defects) else { continue };
            if let Some(to) = self.resolve(to, pointer.child("to"), defects) {
                let fields = [("event", Value::from(NEXT)), ("guard", guard.clone())];
                self.transition(&to, &fields, pointer.child("guard"));
                self.link(Some(to));
            }
        }
        let otherwise = state.object.get("otherwise");
        self.edge(otherwise, "otherwise", &[("event", Value::from(NEXT))], defects);
    }

    fn wait(&mut self, state: &StateDocument<'_>, defects: &mut Defects) {
        for (index, branch) in
            read::branches(state.object, Form::On, &self.pointer, defects).iter().enumerate()
        {
            let pointer = self.pointer.child("on").child_index(index);
            let Some((event, guard, to)) = read::answer(branch, &pointer, defects) else { continue };
            // An event comes from outside: such an edge is no link.
            if let Some(to) = self.resolve(to, pointer.child("to"), defects) {
                let mut fields = vec![("event", Value::from(event_name(event)))];
                fields.extend(guard.map(|guard| ("guard", guard.clone())));
                self.transition(&to, &fields, pointer.child("guard"));
            }
        }
        if let Some((duration, to)) = read::after(state.object, &self.pointer, defects) {
            let place = self.pointer.child("after").child("to");
            if let Some(to) = self.resolve(to, place.clone(), defects) {
                self.transition(&to, &[("after", Value::Number(duration))], place);
                self.link(Some(to));
            }
        }
    }

    /// Lowers a nested flow; the qualified id of its initial state.
    fn flow(&mut self, state: &StateDocument<'_>, defects: &mut Defects) -> Option<Str> {
        let place = self.pointer.child("then");
        let then = self.resolve(state.object.get("then"), place.clone(), defects);
        let scope = Scope {
            prefix: self.pointer.child("flow"),
            parent: Some(&self.id),
            continuation: then.as_ref(),
            depth: self.scope.depth + 1,
        };
        let body = state.object.get("flow").and_then(Value::as_object);
        let initial = self.walk.scope(body, &scope, defects);
        self.link(initial.clone());
        if let Some(then) = then {
            self.transition(&then, &[("done", Value::Bool(true))], place);
        }
        initial
    }
}

/// The dag of a work state, and whether it is written here for a task.
fn dag_of(work: &WorkDocument<'_>) -> (Value, bool) {
    match work {
        WorkDocument::Task { task, version, with } => {
            let node = value!({ "kind": "task", "run": *task, "version": *version, "checkpoint": true });
            let node = match (node, with) {
                (Value::Object(node), Some(with)) => Value::Object(node.with("with", *with)),
                (node, _) => node,
            };
            let dag = value!({
                "$dag": "0.1",
                "nodes": {
                    "input": { "kind": "input" },
                    "task": (node),
                    "output": { "kind": "output", "checkpoint": true }
                },
                "edges": [{ "from": "input", "to": "task" }, { "from": "task", "to": "output" }]
            });
            (dag, true)
        }
        WorkDocument::Dag(dag) => (with_kept_output(dag), false),
    }
}

/// The dag with the checkpoint of its output switched on: a completed region is kept whatever its author chose for
/// the nodes between. The dag may be malformed still.
fn with_kept_output(dag: &Value) -> Value {
    let keep = |node: &Value| match node {
        Value::Object(members) if members.get("kind").and_then(Value::as_str) == Some("output") => {
            Value::Object(members.with("checkpoint", true))
        }
        other => other.clone(),
    };
    let nodes = match dag.get("nodes") {
        Some(Value::Object(nodes)) => {
            nodes.iter().map(|(id, node)| (id, keep(node))).collect::<Object>().into()
        }
        Some(Value::Array(nodes)) => Value::Array(nodes.iter().map(keep).collect()),
        _ => return dag.clone(),
    };
    dag.as_object().map_or(Value::Null, |dag| Value::Object(dag.with("nodes", nodes)))
}
