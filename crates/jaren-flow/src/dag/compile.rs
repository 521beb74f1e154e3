//! Compiling a jaren-dag 0.1 document against a registry: JF0010 to JF0019.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use jaren_json::{Object, Pointer, Shape, Str, Value};

use super::cycle;
use super::plan::{Edge, Node, Plan, Work};
use super::read;
use crate::defects::Defects;
use crate::document::dag::Kind;
use crate::options::Queries;
use crate::tasks::{TaskEntry, TaskVersions};

/// What the host of a document has: its tasks, and what it lends to queries.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a> {
    pub(crate) tasks: &'a dyn TaskVersions,
    pub(crate) queries: &'a Queries,
}

/// Compiles into `defects`; a plan comes out only when the document is sound.
pub(super) fn check(document: &Value, host: Host<'_>, defects: &mut Defects) -> Option<Plan> {
    let before = defects.count();
    let head = read::head(document, defects)?;
    let declared = read::nodes(head, defects)?;
    let mut wiring = Wiring::declare(declared, host, defects);
    let outputs: Vec<usize> = wiring.all_of(Kind::Output);
    if outputs.len() != 1 {
        let message = format!("a dag has exactly one output node, found {}", outputs.len());
        defects.push("JF0017", Pointer::root().child("nodes"), message);
    }
    let edges = read::edges(head, defects)?;
    wiring.wire(edges, host.queries, defects);
    let canonical = match jaren_json::canonical(document) {
        Ok(canonical) => Str::from(canonical),
        Err(error) => {
            defects.push("JF0010", error.pointer().clone(), "a dag document must be JSON");
            return None;
        }
    };
    if defects.count() > before {
        return None;
    }
    let output = *outputs.first()?;
    let task_versions = wiring.task_versions(host.tasks);
    let by_id = wiring.by_id.iter().map(|(id, index)| (Str::from(*id), *index)).collect();
    Some(Plan { nodes: wiring.into_nodes()?, by_id, output, task_versions, canonical })
}

/// The declared nodes and the edges between them, sound or not.
struct Wiring<'a> {
    ids: Vec<&'a str>,
    by_id: BTreeMap<&'a str, usize>,
    /// `None` for a node whose declaration was refused.
    kinds: Vec<Option<Kind>>,
    works: Vec<Option<(Work, bool)>>,
    inbound: Vec<Vec<Edge>>,
}

fn pointer_of(id: &str) -> Pointer {
    Pointer::from_tokens(["nodes", id])
}

impl<'a> Wiring<'a> {
    fn declare(declared: &'a Object, host: Host<'_>, defects: &mut Defects) -> Self {
        let keeps = |node: &Value| node.get("checkpoint").and_then(Value::as_bool) == Some(true);
        let durable = declared.values().iter().any(keeps);
        let mut wiring = Self {
            ids: Vec::with_capacity(declared.len()),
            by_id: BTreeMap::new(),
            kinds: Vec::with_capacity(declared.len()),
            works: Vec::with_capacity(declared.len()),
            inbound: Vec::with_capacity(declared.len()),
        };
        for (index, (id, declaration)) in declared.iter().enumerate() {
            let pointer = pointer_of(id);
            let (kind, work) = match read::node(declaration, &pointer, defects) {
                None => (None, None),
                Some((object, kind)) => {
                    let checkpoint = read::checkpoint(object, &pointer, defects);
                    let work = work(object, kind, durable, &pointer, host, defects);
                    (Some(kind), work.map(|work| (work, checkpoint)))
                }
            };
            wiring.ids.push(id);
            wiring.by_id.insert(id, index);
            wiring.kinds.push(kind);
            wiring.works.push(work);
            wiring.inbound.push(Vec::new());
        }
        wiring
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    fn kind(&self, index: usize) -> Option<Kind> {
        self.kinds.get(index).copied().flatten()
    }

    fn all_of(&self, kind: Kind) -> Vec<usize> {
        (0..self.kinds.len()).filter(|index| self.kind(*index) == Some(kind)).collect()
    }

    /// Reads the edges and checks the wiring rules and acyclicity.
    fn wire(&mut self, edges: &[Value], queries: &Queries, defects: &mut Defects) {
        let mut ends = Vec::with_capacity(edges.len());
        for (index, item) in edges.iter().enumerate() {
            ends.push(self.edge(index, item, queries, defects));
        }
        // A node whose edge was refused does not lack one, and an edge to nowhere may have been meant for any.
        let refused = ends.iter().zip(edges).filter(|(ends, _)| ends.is_none());
        let meant =
            refused.map(|(_, edge)| edge.get("to").and_then(Value::as_str).and_then(|to| self.find(to)));
        let meant: BTreeSet<Option<usize>> = meant.collect();
        for index in 0..self.ids.len() {
            let may_lack = meant.contains(&None) || meant.contains(&Some(index));
            self.check_inbound(index, may_lack, defects);
        }
        let edges: Vec<(usize, usize)> = ends.iter().flatten().copied().collect();
        let core = cycle::core(self.ids.len(), &edges);
        let inside = |end: &usize| core.get(*end) == Some(&true);
        let offender =
            ends.iter().position(|ends| ends.is_some_and(|(from, to)| inside(&from) && inside(&to)));
        if let Some(offender) = offender {
            let members: Vec<&str> =
                self.ids.iter().enumerate().filter(|(index, _)| inside(index)).map(|(_, id)| *id).collect();
            let message = format!("the graph has a cycle among: {}", members.join(", "));
            let pointer = Pointer::root().child("edges").child_index(offender);
            defects.push("JF0016", pointer, message);
        }
    }

    /// Reads one edge and adds it to the node it enters; its ends.
    fn edge(
        &mut self,
        index: usize,
        item: &Value,
        queries: &Queries,
        defects: &mut Defects,
    ) -> Option<(usize, usize)> {
        let pointer = Pointer::root().child("edges").child_index(index);
        let edge = read::edge(item, &pointer, defects)?;
        let from = self.end(edge.from, "from", &pointer, defects);
        let to = self.end(edge.to, "to", &pointer, defects);
        let (from, to) = (from?, to?);
        let before = defects.count();
        if let Some(kind @ (Kind::Input | Kind::Const)) = self.kind(to) {
            let message = format!("nothing can flow into a node of kind {}", kind.word());
            defects.push("JF0015", pointer.child("to"), message);
        }
        if self.kind(from) == Some(Kind::Output) {
            defects.push("JF0015", pointer.child("from"), "nothing can flow out of the output node");
        }
        let wired = defects.count() == before;
        let select = edge.select.and_then(|select| {
            queries.in_step(select, "JF0014", &pointer.child("select"), "the select", defects)
        });
        if !wired {
            return None;
        }
        let edge = Edge { from, port: edge.port.cloned(), select, index };
        self.inbound.get_mut(to)?.push(edge);
        Some((from, to))
    }

    fn end(&self, id: &Str, member: &str, pointer: &Pointer, defects: &mut Defects) -> Option<usize> {
        let index = self.find(id);
        if index.is_none() {
            let near = defects.suggest(Some(&id.into()), self.ids.iter().copied());
            let message = format!("\"{member}\" of an edge must name a declared node{near}");
            defects.push("JF0013", pointer.child(member), message);
        }
        index
    }

    /// The inbound rules of section 6.1 for one node.
    fn check_inbound(&self, index: usize, may_lack: bool, defects: &mut Defects) {
        let Some((kind, edges)) = self.kind(index).zip(self.inbound.get(index)) else { return };
        let consumes = !matches!(kind, Kind::Input | Kind::Const);
        if consumes && edges.is_empty() && !may_lack {
            let id = self.ids.get(index).copied().unwrap_or_default();
            let message = format!("a node of kind {} needs an edge into it", kind.word());
            defects.push("JF0015", pointer_of(id), message);
        }
        if !is_ported(edges) || !consumes {
            return;
        }
        let mut seen = BTreeSet::new();
        for edge in edges {
            let pointer = Pointer::root().child("edges").child_index(edge.index);
            match &edge.port {
                None => {
                    let message =
                        "where several edges or a port lead into a node, every edge into it needs a port";
                    defects.push("JF0015", pointer, message);
                }
                Some(port) => {
                    if !seen.insert(port) {
                        let message = format!("another edge into the node has the port '{port}' already");
                        defects.push("JF0015", pointer.child("port"), message);
                    }
                }
            }
        }
    }

    /// Every declared version by its node's path, sorted (section 7.8).
    fn task_versions(&self, tasks: &dyn TaskVersions) -> Object {
        let mut versions: BTreeMap<String, Value> = BTreeMap::new();
        for (id, work) in self.ids.iter().zip(&self.works) {
            let Some((Work::Task { name, version: Some(version), .. }, _)) = work else { continue };
            let path = Pointer::from_tokens([id]);
            let path = path.as_str().trim_start_matches('/');
            for (inner, version) in tasks.nested(name, Some(version)) {
                versions.insert(format!("{path}/{inner}"), Value::from(version));
            }
            versions.insert(path.to_owned(), Value::String(version.clone()));
        }
        versions.into_iter().collect()
    }

    fn into_nodes(self) -> Option<Vec<Node>> {
        let mut consumers: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.ids.len()];
        let (mut sources, mut readers) = (vec![0; self.ids.len()], vec![0; self.ids.len()]);
        for (index, edges) in self.inbound.iter().enumerate() {
            for edge in edges {
                *readers.get_mut(edge.from)? += 1;
                if consumers.get_mut(edge.from)?.insert(index) {
                    *sources.get_mut(index)? += 1;
                }
            }
        }
        let mut nodes = Vec::with_capacity(self.ids.len());
        let counts = consumers.into_iter().zip(sources).zip(readers);
        for (((id, work), inbound), ((consumers, sources), readers)) in
            self.ids.into_iter().zip(self.works).zip(self.inbound).zip(counts)
        {
            let (work, checkpoint) = work?;
            nodes.push(Node {
                id: Str::from(id),
                pointer: pointer_of(id),
                checkpoint,
                work,
                ports: ports(&inbound),
                inbound,
                consumers: consumers.into_iter().collect(),
                sources,
                readers,
                alone: OnceLock::new(),
            });
        }
        Some(nodes)
    }
}

fn is_ported(edges: &[Edge]) -> bool {
    edges.len() > 1 || edges.iter().any(|edge| edge.port.is_some())
}

/// The names of the scope's members, where the scope is an object of ports; they differ, as far as the node reads them.
fn ports(edges: &[Edge]) -> Option<Shape> {
    let names = edges.iter().map(|edge| edge.port.clone().unwrap_or_default());
    if is_ported(edges) { Shape::new(names) } else { None }
}

/// What the node does; `None` when that was refused.
fn work(
    object: &Object,
    kind: Kind,
    durable: bool,
    pointer: &Pointer,
    host: Host<'_>,
    defects: &mut Defects,
) -> Option<Work> {
    match kind {
        Kind::Input => Some(Work::Input),
        Kind::Output => Some(Work::Output),
        Kind::Const => read::required(object, "value", pointer, defects).cloned().map(Work::Const),
        Kind::Query => {
            let query = read::required(object, "query", pointer, defects)?;
            host.queries.of_node(query, &pointer.child("query"), defects).map(Work::Query)
        }
        Kind::Jslt => {
            let sheet = read::required(object, "stylesheet", pointer, defects)?;
            host.queries.stylesheet(sheet, &pointer.child("stylesheet"), defects).map(Work::Stylesheet)
        }
        Kind::Task => task(object, durable, pointer, host, defects),
    }
}

fn task(
    object: &Object,
    durable: bool,
    pointer: &Pointer,
    host: Host<'_>,
    defects: &mut Defects,
) -> Option<Work> {
    let before = defects.count();
    let name = read::run(object, pointer, defects);
    let version = read::version(object, durable, pointer, defects);
    if let Some(name) = &name {
        agree(name, version.as_deref(), pointer, host.tasks, defects);
    }
    let with = object.get("with").and_then(|with| {
        host.queries.in_step(with, "JF0014", &pointer.child("with"), "the \"with\"", defects)
    });
    (defects.count() == before).then_some(())?;
    Some(Work::Task { name: name?, version, with })
}

/// Document and registry must agree about the handler and its version (section 7.8).
fn agree(
    name: &str,
    version: Option<&str>,
    pointer: &Pointer,
    tasks: &dyn TaskVersions,
    defects: &mut Defects,
) {
    match tasks.entry(name, version) {
        TaskEntry::Found => {}
        TaskEntry::Missing => {
            let near = defects.suggest(Some(&Value::from(name)), tasks.names());
            let message = format!(
                "no handler is registered for the task '{name}': register it or correct the name{near}"
            );
            defects.push("JF0018", pointer.child("run"), message);
        }
        TaskEntry::Others(others) => {
            let wanted = match version {
                Some(version) => format!("the document wants the task '{name}' at version '{version}'"),
                None => format!("the document does not say at which version it wants the task '{name}'"),
            };
            let message = format!("{wanted}, {}", registered(&others));
            defects.push("JF0019", pointer.child("version"), message);
        }
    }
}

/// How many versions a message lists.
const VERSIONS_SHOWN: usize = 8;

fn registered(versions: &[Option<&str>]) -> String {
    match versions {
        [None] => return "its handler is registered without one".to_owned(),
        [Some(found)] => return format!("the registered handler is '{found}'"),
        _ => {}
    }
    let name = |version: Option<&str>| {
        version.map_or_else(|| "one without a version".to_owned(), |version| format!("'{version}'"))
    };
    let shown: Vec<String> = versions.iter().copied().take(VERSIONS_SHOWN).map(name).collect();
    let more = if versions.len() > VERSIONS_SHOWN { " and more" } else { "" };
    format!("registered are {}{more}", shown.join(", "))
}
