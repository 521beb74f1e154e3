//! Where values stand in the input, and which match paths lead there.
//!
//! Each node of the input that anything asked for has a number. A node keeps its parent and its position, so that its
//! path can be told. Those that a match path leads to have two sets of bits more: the paths that select the node, and those
//! that select something below it.
//! Everything is kept in flat lists, and a child always has a larger number than its parent.

use jaren_json::Value;
use jaren_query::extension::{Allowance, Location, Track};
use jaren_query::{JsonPath, NormalizedPath, WalkLimit};

#[derive(Debug, Default)]
pub(crate) struct Locations {
    nodes: Vec<Node>,
    /// The numbers of children, by position, for each node that has one; 0 where a child has none.
    children: Vec<u32>,
    /// Words in one set of bits.
    words: usize,
    /// The paths that were walked.
    walked: Vec<u64>,
    /// Sets of bits: the paths that select a node.
    here: Vec<u64>,
    /// Sets of bits: the paths that select something below a node.
    below: Vec<u64>,
}

#[derive(Debug)]
struct Node {
    parent: u32,
    position: u32,
    /// Where its children begin in `children`, if any of them has a number.
    children: Option<u32>,
    /// How many there are.
    width: u32,
    /// Where its sets begin in `here` and `below`, if it has any.
    sets: Option<usize>,
}

impl Locations {
    /// The location of the input itself.
    pub(crate) const ROOT: Location = Location(0);

    /// The locations of an input, of which only the root has a number, for so many match paths.
    pub(crate) fn new(paths: usize) -> Self {
        let words = paths.div_ceil(64);
        let mut locations = Self { words, walked: vec![0; words], ..Self::default() };
        locations.add(0, 0);
        locations
    }

    /// Walks those of `paths` that are in a set of bits, unless they were walked before. Then each node knows whether they
    /// select it or something below it.
    pub(crate) fn select(
        &mut self,
        input: &Value,
        (paths, set): (&[JsonPath], &[u64]),
        allowance: &Allowance,
    ) -> Result<(), WalkLimit> {
        let mut any = false;
        for (index, path) in paths.iter().enumerate() {
            if !contains(set, index) || contains(&self.walked, index) {
                continue;
            }
            if let Some(word) = self.walked.get_mut(index / 64) {
                *word |= 1 << (index % 64);
            }
            let mark = &mut |locations: &mut Self, _: &Value, found| locations.mark(found, index);
            path.walk(allowance, self, (input, Self::ROOT), mark)?;
            any = true;
        }
        if any {
            self.spread();
        }
        Ok(())
    }

    fn add(&mut self, parent: u32, position: u32) -> u32 {
        // An input of 2^32 nodes does not fit into memory; were there one, its last nodes would be taken for one.
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node { parent, position, children: None, width: 0, sets: None });
        number
    }

    /// Where the sets of a node begin, which it has from now on.
    fn sets(&mut self, number: usize) -> usize {
        let Self { nodes, here, below, words, .. } = self;
        let add = || {
            let first = here.len();
            here.resize(first + *words, 0);
            below.resize(first + *words, 0);
            first
        };
        // Every number is that of a node.
        nodes.get_mut(number).map_or(0, |node| *node.sets.get_or_insert_with(add))
    }

    fn mark(&mut self, location: Location, path: usize) {
        let first = self.sets(index(location.0));
        if let Some(word) = self.here.get_mut(first + path / 64) {
            *word |= 1 << (path % 64);
        }
    }

    /// Tells each node what is below it.
    fn spread(&mut self) {
        for number in (1..self.nodes.len()).rev() {
            let Some(Node { parent, sets: Some(from), .. }) = self.nodes.get(number) else { continue };
            let (parent, from) = (index(*parent), *from);
            let to = self.sets(parent);
            for word in 0..self.words {
                let bits = word_of(&self.here, from + word) | word_of(&self.below, from + word);
                if let Some(above) = self.below.get_mut(to + word) {
                    *above |= bits;
                }
            }
        }
    }

    fn sets_of(&self, location: Location) -> Option<usize> {
        self.nodes.get(index(location.0))?.sets
    }

    /// Whether a path selects the node.
    pub(crate) fn is_selected(&self, location: Location, path: usize) -> bool {
        let sets = self.sets_of(location).and_then(|from| self.here.get(from..));
        sets.is_some_and(|set| contains(set, path))
    }

    /// Whether one of these paths selects the node or something below it.
    pub(crate) fn leads_on(&self, location: Location, paths: &[u64]) -> bool {
        self.sets_of(location).is_some_and(|from| {
            let bits = |word| word_of(&self.here, from + word) | word_of(&self.below, from + word);
            paths.iter().enumerate().any(|(word, paths)| paths & bits(word) != 0)
        })
    }

    /// The location of a child, if it has a number already.
    fn known_child(&self, location: Location, position: usize) -> Option<Location> {
        let children = self.nodes.get(index(location.0))?.children?;
        match self.children.get(index(children) + position) {
            None | Some(0) => None,
            Some(number) => Some(Location(*number)),
        }
    }

    /// The position of the next child that one of these paths selects or has something below, `from` included.
    pub(crate) fn next_child(&self, location: Location, from: usize, paths: &[u64]) -> Option<usize> {
        let node = self.nodes.get(index(location.0))?;
        let first = index(node.children?);
        let children = self.children.get(first + from..first + index(node.width))?;
        let next =
            children.iter().position(|number| *number != 0 && self.leads_on(Location(*number), paths))?;
        Some(from + next)
    }

    /// The path of a node of `input`.
    pub(crate) fn path(&self, input: &Value, location: Location) -> NormalizedPath {
        let mut positions = Vec::new();
        let mut at = location;
        while at != Self::ROOT {
            let Some(node) = self.nodes.get(index(at.0)) else { break };
            positions.push(index(node.position));
            at = Location(node.parent);
        }
        let mut path = NormalizedPath::root();
        let mut value = input;
        for position in positions.into_iter().rev() {
            match value {
                Value::Object(object) => {
                    let Some((name, child)) = object.keys().get(position).zip(object.values().get(position))
                    else {
                        break;
                    };
                    path.push_name(name);
                    value = child;
                }
                other => {
                    path.push_index(position);
                    value = other.at(position).unwrap_or(&Value::Null);
                }
            }
        }
        path
    }
}

impl Track for Locations {
    type Place = Location;

    fn child(&mut self, location: Location, parent: &Value, position: usize) -> Location {
        if let Some(known) = self.known_child(location, position) {
            return known;
        }
        let position_number = u32::try_from(position).unwrap_or(u32::MAX);
        let number = self.add(location.0, position_number);
        if let Some(node) = self.nodes.get_mut(index(location.0)) {
            if node.children.is_none() {
                let members = match parent {
                    Value::Array(array) => array.len(),
                    Value::Object(object) => object.len(),
                    _ => 0,
                };
                node.children = u32::try_from(self.children.len()).ok();
                node.width = u32::try_from(members).unwrap_or(u32::MAX);
                self.children.resize(self.children.len() + members, 0);
            }
            let from = node.children.map(index);
            if let Some(child) = from.and_then(|from| self.children.get_mut(from + position)) {
                *child = number;
            }
        }
        Location(number)
    }
}

fn word_of(sets: &[u64], at: usize) -> u64 {
    sets.get(at).copied().unwrap_or(0)
}

/// Whether a path is in a set of bits.
fn contains(set: &[u64], path: usize) -> bool {
    set.get(path / 64).is_some_and(|word| word >> (path % 64) & 1 == 1)
}

/// A number as an index: `usize` has 32 bits or more wherever this runs.
fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
