//! Every document of the corpus that compiles, drawn in all three ways and read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jaren::flow::graph::{Graph, Node, NodeKind};
use jaren::json::{ReadOptions, Value, read, value};

use super::scope::{self, lines};
use super::{Area, Layout, Point, draw, layout};

/// The documents of the corpus beside the repository, where it is there, and some of our own.
fn documents() -> Vec<Value> {
    let mut documents = own();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    for format in ["fsm", "statechart", "dag", "workflow"] {
        for file in files(&corpus.join(format)) {
            let bytes = std::fs::read(&file).unwrap();
            let Ok(cases) = read(&bytes, &ReadOptions::data()) else { continue };
            let cases = cases.as_array().cloned().unwrap_or_default();
            documents.extend(cases.iter().filter_map(|case| case.get("document").cloned()));
        }
    }
    documents
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn own() -> Vec<Value> {
    let odd = "a \"b\" <c> & 'd' \\n #35; `e` | ] } ; %% \u{7} 日本";
    vec![
        value!({
            "$fsm": "0.2", "initial": "all",
            "states": [
                { "id": "all", "type": "parallel", "entry": [{ "run": odd }] },
                { "id": "left", "parent": "all", "initial": "one" },
                { "id": "one", "parent": "left" }, { "id": "two", "parent": "left" },
                { "id": "right", "parent": "all", "initial": odd },
                { "id": odd, "parent": "right" }, { "id": "end", "parent": "right", "final": true },
                { "id": "memory", "parent": "all", "history": "deep" },
                "outside",
            ],
            "transitions": [
                { "from": "one", "event": odd, "guard": { "$eq": ["$.event", odd] }, "to": "two" },
                { "from": "two", "event": "x", "to": "one" },
                { "from": "one", "event": "x", "to": odd },
                { "from": odd, "after": 50, "to": "end" },
                { "from": "right", "done": true, "to": "outside" },
                { "from": "outside", "event": "back", "to": "memory" },
                { "from": "outside", "event": "again", "to": "two" },
                { "from": "all", "always": true, "guard": "$.context.stop", "to": "outside" },
                { "from": "all", "event": "self", "to": "all" },
                { "from": "one", "event": "self", "type": "internal", "to": "one" },
                { "from": "left", "event": "in", "type": "internal", "to": "two" },
                { "from": "two", "event": "up", "to": "all" },
            ],
        }),
        value!({
            "$dag": "0.1",
            "nodes": {
                "in": { "kind": "input" }, "n": { "kind": "const", "value": odd },
                "t": { "kind": "task", "run": odd, "version": "1", "checkpoint": true },
                "out": { "kind": "output" },
            },
            "edges": [
                { "from": "in", "to": "t", "port": odd }, { "from": "n", "to": "t", "port": "b" },
                { "from": "t", "to": "out", "select": "$.a" },
            ],
        }),
    ]
}

/// The boxes of siblings do not overlap, and every box lies in its parent's.
fn check_boxes(graph: &Graph, layout: &Layout) {
    let overlap = |a: &Area, b: &Area| {
        a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
    };
    for (index, (node, area)) in graph.nodes().iter().zip(&layout.areas).enumerate() {
        let outer = node
            .parent
            .map_or(Area { x: 0.0, y: 0.0, width: layout.width, height: layout.height }, |parent| {
                layout.areas[parent]
            });
        assert!(area.width > 0.0 && area.height > 0.0, "{node:?} has no size");
        assert!(
            area.x >= outer.x
                && area.y >= outer.y
                && area.x + area.width <= outer.x + outer.width + 0.01
                && area.y + area.height <= outer.y + outer.height + 0.01,
            "{node:?} at {area:?} sticks out of {outer:?}"
        );
        for other in graph.children(node.parent).filter(|other| *other < index) {
            assert!(!overlap(area, &layout.areas[other]), "{node:?} overlaps {:?}", graph.nodes()[other]);
        }
    }
}

/// Lines begin and end at their boxes, and pass no box without children; labels stand on none, and not on each other.
fn check_lines(graph: &Graph, layout: &Layout) {
    let leaves: Vec<&Area> = (0..graph.nodes().len())
        .filter(|node| !graph.is_group(*node))
        .map(|node| &layout.areas[node])
        .collect();
    let mut labels: Vec<Area> = Vec::new();
    for (edge, route) in graph.edges().iter().zip(&layout.routes).filter(|(edge, _)| edge.from != edge.to) {
        let touches = |point: &Point, node: usize| {
            let area = layout.areas[node];
            let x = point.x >= area.x - 0.01 && point.x <= area.x + area.width + 0.01;
            let on = |side: f64| (point.y - side).abs() < 0.01;
            x && (on(area.y) || on(area.y + area.height))
        };
        let [first, .., last] = route.points.as_slice() else { panic!("{edge:?} is no line") };
        assert!(
            touches(first, edge.from) && touches(last, edge.to),
            "{edge:?} touches not its ends: {route:?}"
        );
        for pair in route.points.windows(2) {
            let [left, right] = [pair[0].x.min(pair[1].x), pair[0].x.max(pair[1].x)];
            let [top, bottom] = [pair[0].y.min(pair[1].y), pair[0].y.max(pair[1].y)];
            let passed = leaves.iter().find(|area| {
                left < area.x + area.width && right > area.x && top < area.y + area.height && bottom > area.y
            });
            assert!(passed.is_none(), "{edge:?} passes {passed:?}");
        }
        if let Some(middle) = route.label {
            let (width, height) = scope::label_size(edge);
            let own = Area { x: middle.x - width / 2.0, y: middle.y - height / 2.0, width, height };
            for other in leaves.iter().copied().chain(&labels) {
                let apart = own.x >= other.x + other.width
                    || other.x >= own.x + own.width
                    || own.y >= other.y + other.height
                    || other.y >= own.y + own.height;
                assert!(apart, "the label of {edge:?} stands on {other:?}");
            }
            labels.push(own);
        }
    }
}

/// How often each name or pair of names is there.
fn counted<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    items.into_iter().for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}

fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn check_svg(graph: &Graph) {
    let text = draw(graph, "a title with <odd> & characters").unwrap();
    let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let groups = |class: &'static str| {
        document.descendants().filter(move |element| {
            element.attribute("class").is_some_and(|classes| classes.split(' ').any(|word| word == class))
        })
    };
    let said = |element: roxmltree::Node<'_, '_>| -> Vec<String> {
        let texts = element.children().filter(|child| child.has_tag_name("text"));
        texts.map(|child| child.text().unwrap_or_default().to_owned()).collect()
    };
    let named =
        |class| groups(class).map(|node| (node.attribute("data-name").unwrap().to_owned(), said(node)));
    let is_group = |node: &Node| matches!(node.kind, NodeKind::Group | NodeKind::Parallel);
    let nodes = graph.nodes().iter().map(|node| {
        let is_bare = node.kind == NodeKind::Start || is_group(node);
        (visible(&node.name), if is_bare { Vec::new() } else { lines(node).map(visible).collect() })
    });
    assert_eq!(counted(named("node")), counted(nodes));
    let titles = graph.nodes().iter().filter(|node| is_group(node));
    let titles = titles.map(|node| (visible(&node.name), lines(node).map(visible).collect()));
    assert_eq!(counted(named("over")), counted(titles));
    let drawn = groups("edge").map(|edge| {
        let [from, to] = ["data-from", "data-to"].map(|end| edge.attribute(end).unwrap().to_owned());
        (from, to, said(edge))
    });
    let edges = graph.edges().iter().map(|edge| {
        let [from, to] = [edge.from, edge.to].map(|end| visible(&graph.nodes()[end].name));
        (from, to, edge.label.iter().map(|line| visible(line)).collect())
    });
    assert_eq!(counted(drawn), counted(edges));
}

/// A line of a text picture without what is quoted in it, and what is quoted.
fn unquoted(line: &str) -> (String, Vec<String>) {
    let (mut bare, mut quoted, mut open) = (String::new(), Vec::new(), None::<String>);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (&mut open, character) {
            (Some(text), '\\') => text.extend([character].into_iter().chain(characters.next())),
            (Some(_), '"') => quoted.extend(open.take()),
            (Some(text), other) => text.push(other),
            (None, '"') => open = Some(String::new()),
            (None, other) => bare.push(other),
        }
    }
    assert!(open.is_none(), "a quote is left open in {line}");
    (bare, quoted)
}

fn check_dot(graph: &Graph) {
    let text = graph.to_dot();
    let (mut depth, mut nodes, mut edges) = (0, Vec::new(), Vec::new());
    for line in text.lines() {
        let (bare, quoted) = unquoted(line);
        depth += bare.matches('{').count();
        depth -= bare.matches('}').count();
        let label = |text: &String| text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
        if let Some((from, to)) = bare.trim().split_once(" -> ") {
            edges.push((from.to_owned(), to.split(' ').next().unwrap().to_owned()));
        } else if let Some(node) = bare.trim().split_once(" [").filter(|_| bare.trim().starts_with('n')) {
            nodes.push((node.0.to_owned(), quoted.first().map(label)));
        }
    }
    assert_eq!(depth, 0, "{text}");
    assert_eq!(counted(nodes.iter().map(|(node, _)| node)).into_values().max().unwrap_or(1), 1, "{text}");
    assert_eq!(nodes.iter().filter(|(name, _)| name != "node").count(), graph.nodes().len(), "{text}");
    let expected = graph.edges().iter().map(|edge| (format!("n{}", edge.from), format!("n{}", edge.to)));
    assert_eq!(edges, expected.collect::<Vec<_>>());
}

fn check_mermaid(graph: &Graph) {
    let text = graph.to_mermaid();
    let mut rest = text.lines();
    assert!(rest.next().unwrap().starts_with("flowchart "));
    let (mut depth, mut nodes, mut edges) = (0, 0, Vec::new());
    for line in rest {
        let (bare, quoted) = unquoted(line);
        let words: Vec<&str> = bare.split_whitespace().collect();
        let is_safe = |text: &String| {
            !text.contains(['<', '`', '&', ';']) || text.contains("<br/>") || text.contains('#')
        };
        assert!(quoted.iter().all(is_safe), "{line}");
        match words.as_slice() {
            ["end"] => depth -= 1,
            ["subgraph", ..] => (depth, nodes) = (depth + 1, nodes + 1),
            ["classDef" | "class", ..] => {}
            [from, arrow, to] if arrow.contains('>') => {
                let name = |end: &str| end.trim_end_matches('a').to_owned();
                edges.push((name(from), name(to)));
            }
            [node] => nodes += usize::from(!node.split(['(', '[', '{']).next().unwrap().ends_with('a')),
            _ => panic!("{line} is nothing that Mermaid knows"),
        }
    }
    assert_eq!((depth, nodes), (0, graph.nodes().len()), "{text}");
    let expected = graph.edges().iter().map(|edge| (format!("n{}", edge.from), format!("n{}", edge.to)));
    assert_eq!(edges, expected.collect::<Vec<_>>());
}

#[test]
fn every_document_that_compiles_is_drawn_whole() {
    let mut drawn = 0;
    for document in documents() {
        let Ok(mut graph) = Graph::of(&document) else { continue };
        let names: Vec<_> = graph.nodes().iter().map(|node| node.name.clone()).take(3).collect();
        for name in names.iter().filter(|name| !name.is_empty()) {
            assert!(graph.light(name));
        }
        let layout = layout(&graph);
        check_boxes(&graph, &layout);
        check_lines(&graph, &layout);
        check_svg(&graph);
        check_dot(&graph);
        check_mermaid(&graph);
        drawn += 1;
    }
    println!("{drawn} documents were drawn");
    assert!(drawn >= own().len());
}

#[test]
fn what_no_line_connects_stands_side_by_side() {
    // The wide label pushes its part to the right in every round, away from the history.
    let wide =
        value!({ "$and": [{ "$gt": ["$.payload.amount", 1000] }, { "$eq": ["$.payload.role", "manager"] }] });
    let document = value!({
        "$fsm": "0.2", "initial": "approval",
        "states": [
            { "id": "approval", "initial": "pending" },
            { "id": "pending", "parent": "approval" },
            { "id": "escalated", "parent": "approval" },
            { "id": "approved", "parent": "approval", "final": true },
            { "id": "memory", "parent": "approval", "history": "shallow" },
            "hold"
        ],
        "transitions": [
            { "from": "pending", "event": "approve", "guard": wide, "to": "approved" },
            { "from": "pending", "after": 86_400_000, "to": "escalated" },
            { "from": "escalated", "event": "approve", "to": "approved" },
            { "from": "approval", "event": "hold", "to": "hold" },
            { "from": "hold", "event": "resume", "to": "memory" }
        ]
    });
    let layout = layout(&Graph::of(&document).unwrap());
    assert!(layout.width < 700.0, "{} wide", layout.width);
}

#[test]
fn a_graph_that_nobody_could_read_is_refused() {
    let states: Value = (0..4000).map(|index| Value::from(format!("s{index}"))).collect();
    let document = value!({ "initial": "s0", "states": states, "transitions": [] });
    assert!(draw(&Graph::of(&document).unwrap(), "").is_err());
}
