//! `jaren graph`: a document as a picture, with what is active lit.

use jaren::flow::graph::Graph;
use jaren::flow::{CompileOptions, Format};
use jaren::json::{Value, value};

use super::check::{format_of, refused};
use super::execute::{Execution, unknown_run};
use crate::args::{self, Picture};
use crate::exit::Exit;
use crate::input::{self, Document};
use crate::output::Output;
use crate::picture;
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::text;

/// Draws the graph of a document, or of a run.
pub(crate) async fn graph(arguments: &args::Graph, output: &mut Output) -> Result<Exit, Problem> {
    let view = match &arguments.run {
        Some(run) => {
            let path = &*arguments.store.store;
            let storage = store::open(path, Use::Read)?;
            let execution = Execution { run, path, storage, tasks: None, no_wait: true };
            Some(execution.view().await?.ok_or_else(|| unknown_run(run, path))?)
        }
        None => None,
    };
    let mut graph = match (&arguments.file, &view) {
        (Some(path), _) => {
            let document = input::document(path)?;
            let format = format_of(&document)?;
            read(&document, format)?
        }
        // A run may be of a host whose queries call what this program does not have.
        (None, Some(view)) => Graph::of_with(&view.document, &CompileOptions::for_reading())
            .map_err(|_| Problem::new(Exit::Store, "the document that the run keeps is none"))?,
        (None, None) => return Err(Problem::new(Exit::Usage, "name a file or a run")),
    };
    if let Some(view) = &view {
        light(&mut graph, &[&*view.state], "run")?;
    }
    if let Some(path) = &arguments.snapshot {
        let snapshot = input::data(path)?;
        light(&mut graph, &active(&snapshot)?, "snapshot")?;
    }
    let (format, drawn) = match arguments.format {
        Picture::Svg => ("svg", svg(&graph, arguments)?),
        Picture::Mermaid => ("mermaid", graph.to_mermaid()),
        Picture::Dot => ("dot", graph.to_dot()),
    };
    let drawn = text::lines(&drawn);
    let object = value!({ "type": "graph", "format": format, "text": &*drawn });
    output.print(&object, || drawn.to_string());
    Ok(Exit::Success)
}

fn read(document: &Document, format: Format) -> Result<Graph, Problem> {
    Graph::of(&document.value).map_err(|report| refused(format.name(), document, &report))
}

fn svg(graph: &Graph, arguments: &args::Graph) -> Result<String, Problem> {
    let file = arguments.file.as_ref().map(|path| path.display().to_string());
    let title = file.as_ref().or(arguments.run.as_ref()).map_or("", String::as_str);
    picture::draw(graph, title).map_err(|large| {
        let message = format!("the graph has {} parts, and at most {} are drawn", large.parts, large.max);
        Problem::new(Exit::Document, message).with_help("--format dot writes it for Graphviz")
    })
}

/// The active states of a snapshot: of a run, of a statechart, or of a machine, which is but the name of its state.
fn active(snapshot: &Value) -> Result<Vec<&str>, Problem> {
    let names = snapshot.get("control").unwrap_or(snapshot).get("active").and_then(Value::as_array);
    let names: Vec<&str> = match (snapshot.as_str(), names) {
        (Some(state), _) => vec![state],
        (None, Some(names)) => names.iter().filter_map(Value::as_str).collect(),
        (None, None) => Vec::new(),
    };
    if names.is_empty() {
        let help = "it is a snapshot of a statechart or of a run, or the name of a machine's state in quotes";
        return Err(Problem::new(Exit::Document, "the snapshot names no active state").with_help(help));
    }
    Ok(names)
}

fn light(graph: &mut Graph, names: &[&str], what: &str) -> Result<(), Problem> {
    match names.iter().find(|name| !graph.light(name)) {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("the {what} is at '{}', which is no state of the document", text::line(name));
            Err(Problem::new(Exit::Conflict, message))
        }
    }
}
