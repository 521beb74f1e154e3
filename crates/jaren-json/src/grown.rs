//! Large objects that are changed member by member: a persistent tree, so that a change copies one way down and not the
//! object, and so that what two versions share is known without a look at it.
//!
//! The tree is ordered by names. It keeps for each member its place in the object, and makes the plain form, with names
//! and values in order, when somebody asks for it.

use std::cmp::Ordering;
use std::fmt;
use std::sync::OnceLock;

use triomphe::Arc;

use crate::deep::{self, Extent};
use crate::{Object, Str, Value};

/// An object of so many members becomes a tree when it is changed.
pub(crate) const GROWN_MIN: usize = 64;

/// Members or branches of a node.
const WIDTH: usize = 16;
/// How full nodes are when a tree is made at once: a change rarely splits one.
const FILL: usize = 12;

/// The members of a large object.
pub(crate) struct Grown {
    root: Node,
    len: u32,
    /// Of the object.
    extent: Extent,
    /// The same as a plain object.
    plain: OnceLock<Object>,
}

#[derive(Clone)]
enum Node {
    Leaf(Arc<Box<[Member]>>),
    Inner(Arc<Inner>),
}

struct Inner {
    /// How far the leaves are.
    height: u32,
    branches: Box<[Branch]>,
}

#[derive(Clone)]
struct Branch {
    /// The smallest name below.
    first: Str,
    /// Of all values below.
    extent: Extent,
    node: Node,
}

#[derive(Clone)]
struct Member {
    name: Str,
    /// Its place in the object.
    place: u32,
    value: Value,
}

/// A node that was changed, and the one that was split off at its end.
struct Changed {
    node: Node,
    split: Option<Node>,
    is_new: bool,
}

impl Member {
    /// Of the value, with its name.
    fn extent(&self) -> Extent {
        self.value.extent().beside(deep::text_size(&self.name))
    }
}

impl Grown {
    fn new(root: Node, len: u32) -> Self {
        Self { extent: Extent::OPEN.join(root.extent()).around(), root, len, plain: OnceLock::new() }
    }

    /// The tree of a plain object, which has members.
    pub(crate) fn of(object: &Object) -> Self {
        let places = (0..).zip(object.keys().iter().zip(object.values()));
        let mut members: Vec<Member> = places
            .map(|(place, (name, value))| Member { name: name.clone(), place, value: value.clone() })
            .collect();
        members.sort_unstable_by(|a, b| a.name.as_str().cmp(&b.name));
        let len = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let mut nodes: Vec<Node> = members.chunks(FILL).map(|members| Node::leaf(members.to_vec())).collect();
        while nodes.len() > 1 {
            nodes = nodes
                .chunks(FILL)
                .map(|nodes| Node::inner(nodes.iter().cloned().map(Branch::of).collect()))
                .collect();
        }
        let root = nodes.pop().unwrap_or_else(|| Node::leaf(Vec::new()));
        Self::new(root, len)
    }

    /// The same with that member set: in its place where it exists, else as the last one.
    pub(crate) fn with(&self, name: Str, value: Value) -> Self {
        let Changed { node, split, is_new } = self.root.with(Member { name, place: self.len, value });
        let root = match split {
            None => node,
            Some(split) => Node::inner(vec![Branch::of(node), Branch::of(split)]),
        };
        Self::new(root, self.len.saturating_add(u32::from(is_new)))
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Of the object.
    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(members) => {
                    let found = members.binary_search_by(|member| member.name.as_str().cmp(name)).ok()?;
                    return members.get(found).map(|member| &member.value);
                }
                Node::Inner(inner) => node = &inner.branches.get(inner.way(name))?.node,
            }
        }
    }

    /// The plain form, made once.
    #[cold]
    pub(crate) fn plain(&self) -> &Object {
        self.plain.get_or_init(|| {
            let mut members: Vec<Option<&Member>> = vec![None; self.len()];
            let mut open = vec![&self.root];
            while let Some(node) = open.pop() {
                match node {
                    Node::Inner(inner) => open.extend(inner.branches.iter().map(|branch| &branch.node)),
                    Node::Leaf(leaf) => {
                        for member in leaf.iter() {
                            if let Some(place) = members.get_mut(member.place as usize) {
                                *place = Some(member);
                            }
                        }
                    }
                }
            }
            let members = members.into_iter().flatten();
            let (names, values) = members.map(|member| (member.name.clone(), member.value.clone())).unzip();
            Object::from_distinct(names, values)
        })
    }

    /// What is another allocation, or another scalar, in the tree of a later version; what both share is not looked
    /// at. Answers false, after less than all, as soon as `found` does.
    pub(crate) fn differences<'a>(
        &'a self,
        later: &'a Self,
        mut found: impl FnMut(Difference<'a>) -> bool,
    ) -> bool {
        let (mut old, mut new) = (vec![Rest::Node(&self.root)], vec![Rest::Node(&later.root)]);
        loop {
            let goes_on = match (old.last().copied(), new.last().copied()) {
                (None, None) => return true,
                (Some(Rest::Node(a)), Some(Rest::Node(b))) => {
                    let (above, below) = (a.height(), b.height());
                    if a.ptr_eq(b) {
                        old.pop();
                        new.pop();
                        true
                    } else {
                        (above < below || open(&mut old)) && (above > below || open(&mut new))
                    }
                }
                (Some(Rest::Node(_)), _) => open(&mut old),
                (_, Some(Rest::Node(_))) => open(&mut new),
                (Some(Rest::Member(a)), Some(Rest::Member(b))) => match a.name.as_str().cmp(&b.name) {
                    Ordering::Less => {
                        old.pop();
                        found(Difference::Gone(&a.name))
                    }
                    Ordering::Greater => {
                        new.pop();
                        found(Difference::New(b.place, &b.name, &b.value))
                    }
                    Ordering::Equal => {
                        old.pop();
                        new.pop();
                        a.value.ptr_eq(&b.value) || found(Difference::Other(&b.name, &a.value, &b.value))
                    }
                },
                (Some(Rest::Member(a)), None) => {
                    old.pop();
                    found(Difference::Gone(&a.name))
                }
                (None, Some(Rest::Member(b))) => {
                    new.pop();
                    found(Difference::New(b.place, &b.name, &b.value))
                }
            };
            if !goes_on {
                return false;
            }
        }
    }
}

/// How a member differs between two versions.
#[derive(Clone, Copy)]
pub(crate) enum Difference<'a> {
    Gone(&'a Str),
    /// With its place in the later version.
    New(u32, &'a Str, &'a Value),
    /// The values before and after, which may be equal all the same.
    Other(&'a Str, &'a Value, &'a Value),
}

/// What remains of a tree that is walked.
#[derive(Clone, Copy)]
enum Rest<'a> {
    Node(&'a Node),
    Member(&'a Member),
}

/// Puts the parts of the first node in its place.
fn open(rest: &mut Vec<Rest<'_>>) -> bool {
    match rest.pop() {
        Some(Rest::Node(Node::Inner(inner))) => {
            rest.extend(inner.branches.iter().rev().map(|branch| Rest::Node(&branch.node)));
        }
        Some(Rest::Node(Node::Leaf(members))) => rest.extend(members.iter().rev().map(Rest::Member)),
        other => rest.extend(other),
    }
    true
}

impl Node {
    fn leaf(members: Vec<Member>) -> Self {
        Self::Leaf(Arc::new(members.into_boxed_slice()))
    }

    fn inner(branches: Vec<Branch>) -> Self {
        let height = branches.first().map_or(0, |branch| branch.node.height()) + 1;
        Self::Inner(Arc::new(Inner { height, branches: branches.into_boxed_slice() }))
    }

    fn height(&self) -> u32 {
        match self {
            Self::Leaf(_) => 0,
            Self::Inner(inner) => inner.height,
        }
    }

    fn ptr_eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Leaf(a), Self::Leaf(b)) => Arc::ptr_eq(a, b),
            (Self::Inner(a), Self::Inner(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn first(&self) -> Option<&Str> {
        match self {
            Self::Leaf(members) => members.first().map(|member| &member.name),
            Self::Inner(inner) => inner.branches.first().map(|branch| &branch.first),
        }
    }

    /// Of all values below.
    fn extent(&self) -> Extent {
        let known = match self {
            Self::Leaf(members) => members.iter().map(Member::extent).reduce(Extent::join),
            Self::Inner(inner) => inner.branches.iter().map(|branch| branch.extent).reduce(Extent::join),
        };
        // No node is without members.
        known.unwrap_or(Extent::OPEN)
    }

    /// The recursion is as deep as the tree is high, which grows by one only when a root of sixteen parts is split.
    fn with(&self, member: Member) -> Changed {
        match self {
            Self::Leaf(members) => {
                let found = members.binary_search_by(|known| known.name.as_str().cmp(&member.name));
                match found.map(|at| (at, members.get(at))) {
                    Ok((at, known)) => {
                        let place = known.map_or(member.place, |known| known.place);
                        changed(replaced(members, at, [Member { place, ..member }]), Self::leaf, false)
                    }
                    Err(at) => changed(inserted(members, at, member), Self::leaf, true),
                }
            }
            Self::Inner(inner) => {
                let way = inner.way(&member.name);
                let Some(branch) = inner.branches.get(way) else {
                    // No inner node is without branches.
                    return Changed { node: self.clone(), split: None, is_new: false };
                };
                let Changed { node, split, is_new } = branch.node.with(member);
                let nodes = std::iter::once(node).chain(split);
                changed(replaced(&inner.branches, way, nodes.map(Branch::of)), Self::inner, is_new)
            }
        }
    }
}

impl Inner {
    /// The branch that a name is below, if it is anywhere.
    fn way(&self, name: &str) -> usize {
        self.branches.partition_point(|branch| branch.first.as_str() <= name).saturating_sub(1)
    }
}

impl Branch {
    fn of(node: Node) -> Self {
        Self { first: node.first().cloned().unwrap_or_default(), extent: node.extent(), node }
    }
}

/// The items with others in the place of one.
fn replaced<T: Clone>(items: &[T], at: usize, by: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut copy = Vec::with_capacity(items.len() + 1);
    copy.extend_from_slice(items.get(..at).unwrap_or_default());
    copy.extend(by);
    copy.extend_from_slice(items.get(at + 1..).unwrap_or_default());
    copy
}

fn inserted<T: Clone>(items: &[T], at: usize, item: T) -> Vec<T> {
    let mut copy = Vec::with_capacity(items.len() + 1);
    copy.extend_from_slice(items.get(..at).unwrap_or_default());
    copy.push(item);
    copy.extend_from_slice(items.get(at..).unwrap_or_default());
    copy
}

/// A node of these parts, or two where they are too many.
fn changed<T>(mut parts: Vec<T>, node: impl Fn(Vec<T>) -> Node, is_new: bool) -> Changed {
    let rest = (parts.len() > WIDTH).then(|| parts.split_off(WIDTH / 2));
    Changed { node: node(parts), split: rest.map(node), is_new }
}

/// May an object of this depth, with that member, be a tree? Deeper ones are let go of with a work list, which knows
/// plain objects only.
pub(crate) fn is_shallow(depth: u32, member: &Value) -> bool {
    depth.max(member.depth().saturating_add(1)) <= deep::DEPTH_DIRECT
}

impl fmt::Debug for Grown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grown").field("len", &self.len).finish_non_exhaustive()
    }
}
