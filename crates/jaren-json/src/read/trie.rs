//! Finds the shape of an object while its names are read, so that like objects of one text share one.

use crate::{Shape, Str};

/// The names of objects read so far, as a tree: a node is a sequence of names.
///
/// It is bounded. What does not fit (maps keyed by ids, very wide objects) gets shapes of its own.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
}

/// A node's number; zero is the empty sequence.
pub(super) type NodeId = u32;

#[derive(Debug)]
struct Node {
    /// The last name of the sequence.
    name: Str,
    parent: NodeId,
    /// How many names there are.
    length: usize,
    children: Vec<NodeId>,
    /// The child taken last.
    recent: NodeId,
    /// Made when an object ends here.
    shape: Option<Shape>,
}

impl Trie {
    const NODES_MAX: u32 = 4096;
    const CHILDREN_MAX: usize = 8;
    const LENGTH_MAX: usize = 64;
    /// Bytes of a name.
    const NAME_MAX: usize = 256;

    /// Forgets everything where no further name would be remembered. Nodes lose their meaning by that.
    pub(super) fn make_room(&mut self) {
        if self.nodes.len() >= Self::NODES_MAX as usize {
            *self = Self::default();
        }
    }

    /// The node after one more name, if it exists.
    #[inline]
    pub(super) fn find(&mut self, node: NodeId, name: &str) -> Option<NodeId> {
        let current = self.node(node)?;
        let recent = current.recent;
        if recent != 0 && self.node(recent).is_some_and(|child| child.name.as_str() == name) {
            return Some(recent);
        }
        let mut children = current.children.iter().copied();
        let found =
            children.find(|child| self.node(*child).is_some_and(|child| child.name.as_str() == name))?;
        if let Some(current) = self.nodes.get_mut(node as usize) {
            current.recent = found;
        }
        Some(found)
    }

    /// A new node after one more name, if there is room.
    pub(super) fn grow(&mut self, node: NodeId, name: &str) -> Option<NodeId> {
        let id = u32::try_from(self.nodes.len()).ok().filter(|id| *id < Self::NODES_MAX)?;
        let current = self.nodes.get_mut(node as usize)?;
        let full = current.children.len() >= Self::CHILDREN_MAX || current.length >= Self::LENGTH_MAX;
        if full || name.len() > Self::NAME_MAX {
            return None;
        }
        current.children.push(id);
        current.recent = id;
        let length = current.length.saturating_add(1);
        self.nodes.push(Node::new(Str::from(name), node, length));
        Some(id)
    }

    /// The place of a name in a node's sequence.
    pub(super) fn position(&self, node: NodeId, name: &str) -> Option<usize> {
        let found = self.up(node).find(|node| node.name.as_str() == name)?;
        found.length.checked_sub(1)
    }

    /// A node's sequence of names.
    pub(super) fn names(&self, node: NodeId) -> Vec<Str> {
        let mut names: Vec<Str> = self.up(node).map(|node| node.name.clone()).collect();
        names.reverse();
        names
    }

    /// How many names a node's sequence has.
    pub(super) fn length(&self, node: NodeId) -> usize {
        self.node(node).map_or(0, |node| node.length)
    }

    /// The shape of a node's sequence.
    #[inline]
    pub(super) fn shape(&mut self, node: NodeId) -> Shape {
        if let Some(shape) = self.node(node).and_then(|node| node.shape.as_ref()) {
            return shape.clone();
        }
        let shape = Shape::from_distinct(self.names(node));
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.shape = Some(shape.clone());
        }
        shape
    }

    #[inline]
    fn node(&self, node: NodeId) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// The nodes from this one up, without the root.
    fn up(&self, node: NodeId) -> impl Iterator<Item = &Node> {
        std::iter::successors(self.node(node), |node| self.node(node.parent))
            .take_while(|node| node.length > 0)
    }
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::new(Str::default(), 0, 0)] }
    }
}

impl Node {
    fn new(name: Str, parent: NodeId, length: usize) -> Self {
        Self { name, parent, length, children: Vec::new(), recent: 0, shape: None }
    }
}
