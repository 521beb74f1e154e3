//! The check on planted violations: each must be found, and the clean graph must stay clean.

use super::*;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// `low` (0, pure) ← `middle` (1) ← `top` (2), with a database below the middle one.
fn clean() -> Graph {
    let edges = [("low", set(&["serde"])), ("middle", set(&["low", "database"])), ("top", set(&["middle"]))];
    let members: BTreeMap<_, _> =
        edges.iter().map(|(name, below)| ((*name).to_owned(), below.clone())).collect();
    let mut normal = members.clone();
    normal.insert("database".to_owned(), set(&["clock"]));
    let ranks = [("low", 0), ("middle", 1), ("top", 2)];
    Graph {
        members,
        normal,
        rules: Rules {
            ranks: ranks.iter().map(|&(name, rank)| (name.to_owned(), rank)).collect(),
            pure: set(&["low"]),
            forbidden: set(&["clock"]),
            heavy: BTreeMap::from([("database".to_owned(), set(&["middle"]))]),
        },
    }
}

fn plant(change: impl FnOnce(&mut Graph)) -> Vec<String> {
    let mut graph = clean();
    change(&mut graph);
    check(&graph)
}

#[test]
fn a_clean_graph_has_no_violation() {
    assert_eq!(check(&clean()), Vec::<String>::new());
}

#[test]
fn an_upward_edge_is_found() {
    let found = plant(|graph| {
        graph.members.get_mut("low").unwrap().insert("top".to_owned());
    });
    assert_eq!(found, ["`low` (rank 0) depends on `top` (rank 2)"]);
}

#[test]
fn equal_ranks_never_know_each_other() {
    let found = plant(|graph| {
        graph.rules.ranks.insert("middle".to_owned(), 2);
    });
    assert_eq!(found, ["`top` (rank 2) depends on `middle` (rank 2)"]);
}

#[test]
fn a_member_without_a_rank_and_a_rank_without_a_member_are_found() {
    let found = plant(|graph| {
        let rank = graph.rules.ranks.remove("top").unwrap();
        graph.rules.ranks.insert("gone".to_owned(), rank);
    });
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("`top` has no rank"), "{found:?}");
    assert!(found[1].contains("`gone` has a rank and is no member"), "{found:?}");
}

#[test]
fn a_pure_crate_is_searched_to_the_bottom_of_its_tree() {
    let found = plant(|graph| {
        graph.normal.get_mut("low").unwrap().insert("helper".to_owned());
        graph.normal.insert("helper".to_owned(), set(&["database"]));
    });
    assert_eq!(found, ["`low` is pure and reaches `clock`: low → helper → database → clock"]);
}

#[test]
fn a_heavy_dependency_in_the_wrong_member_is_found() {
    let found = plant(|graph| {
        graph.members.get_mut("top").unwrap().insert("database".to_owned());
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("`top` names `database`"), "{found:?}");
}

#[test]
fn this_workspace_keeps_its_layers() {
    let graph = read::graph(&workspace::metadata().unwrap()).unwrap();
    assert!(graph.members.len() > 5, "cargo named too few members: {:?}", graph.members.keys());
    assert!(graph.normal.contains_key("serde"), "the resolved tree is missing");
    assert_eq!(check(&graph), Vec::<String>::new());
}
