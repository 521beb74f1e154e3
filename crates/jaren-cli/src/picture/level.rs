//! The inside of one scope: its children in layers, and each segment of an edge as a chain from layer to layer.

use std::collections::BTreeMap;

use super::order::{self, mean};
use super::place::{Wish, place};
use super::scope::Body;
use super::{Area, Point, Route};

/// Between two things in one layer.
const GAP_X: f64 = 18.0;
/// Between two layers.
const GAP_Y: f64 = 22.0;
/// How a line keeps clear of what stands beside it.
const CLEAR: f64 = 5.0;
/// Between a line and its label.
const LABEL_GAP: f64 = 6.0;
/// How often positions are improved.
const ROUNDS: usize = 49;
/// A straight line matters more than a box in the middle of its neighbours.
const LINE_WEIGHT: f64 = 8.0;

/// One end of a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// A child of the scope.
    Child(usize),
    /// A gate in the scope's upper border.
    Upper,
    /// A gate in its lower border.
    Lower,
}

/// The part of an edge that lies directly in a scope.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) edge: usize,
    /// Where it comes among the edge's segments.
    pub(super) order: i64,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) is_down: bool,
    /// The size of the label, where the segment has it.
    pub(super) label: Option<(f64, f64)>,
}

/// A scope that is laid out; its upper left corner is the origin.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) areas: Vec<(usize, Area)>,
    /// The edge, where the route comes among its segments, and the route.
    pub(super) routes: Vec<(usize, i64, Route)>,
    /// Where edges pass the border.
    pub(super) gates: BTreeMap<usize, f64>,
}

/// Something in a layer.
#[derive(Debug, Clone, Copy)]
struct Item {
    layer: usize,
    /// How far it reaches to the left and right of its axis.
    left: f64,
    right: f64,
    height: f64,
    axis: f64,
    is_line: bool,
}

/// A scope on the way.
struct Level<'a> {
    segments: &'a [Segment],
    items: Vec<Item>,
    /// The items of each segment, from its upper end to its lower one.
    chains: Vec<Vec<usize>>,
    /// The item of each segment that makes room for its label.
    labels: Vec<Option<usize>>,
    layers: Vec<Vec<usize>>,
    /// The upper and lower side of each layer.
    rows: Vec<(f64, f64)>,
}

/// What a scope is given: its children with their sizes and layers, and how far its borders are from its inside.
pub(super) struct Given<'a> {
    pub(super) children: &'a [usize],
    pub(super) bodies: &'a [Body],
    pub(super) layers: &'a [usize],
    pub(super) segments: &'a [Segment],
    pub(super) above: f64,
    pub(super) below: f64,
}

/// Lays a scope out. `gate` is where an edge passes the border of a child that is a group, from its left side.
pub(super) fn inside(given: &Given<'_>, gate: &dyn Fn(usize, usize) -> Option<f64>) -> Inside {
    let mut level = Level::new(given);
    level.sort();
    level.stack();
    level.spread();
    level.finish(given, gate)
}

impl<'a> Level<'a> {
    fn new(given: &Given<'a>) -> Self {
        let layer_of = |child: usize| 2 * given.layers.get(child).copied().unwrap_or(0) + 2;
        let mut items: Vec<Item> = given
            .children
            .iter()
            .zip(given.bodies)
            .map(|(child, body)| Item {
                layer: layer_of(*child),
                left: body.width / 2.0,
                right: body.width / 2.0 + body.loops,
                height: body.height,
                axis: 0.0,
                is_line: false,
            })
            .collect();
        let last = items.iter().map(|item| item.layer).max().unwrap_or(0) + 2;
        let mut level = Self {
            segments: given.segments,
            items: Vec::new(),
            chains: Vec::new(),
            labels: Vec::new(),
            layers: Vec::new(),
            rows: Vec::new(),
        };
        for segment in given.segments {
            let mut end = |end: End| match end {
                End::Child(child) => given.children.binary_search(&child).unwrap_or(0),
                End::Upper | End::Lower => {
                    let layer = if end == End::Upper { 0 } else { last };
                    items.push(line(layer));
                    items.len() - 1
                }
            };
            let (from, to) = (end(segment.from), end(segment.to));
            let (upper, lower) = if segment.is_down { (from, to) } else { (to, from) };
            let (label, chain) = chain(&mut items, upper, lower, segment.label);
            level.labels.push(label);
            level.chains.push(chain);
        }
        level.layers = vec![Vec::new(); last + 1];
        for (index, item) in items.iter().enumerate() {
            if let Some(layer) = level.layers.get_mut(item.layer) {
                layer.push(index);
            }
        }
        level.items = items;
        level
    }

    fn item(&self, index: usize) -> Item {
        self.items.get(index).copied().unwrap_or_else(|| line(0))
    }

    fn links(&self) -> Vec<(usize, usize)> {
        self.chains
            .iter()
            .flat_map(|chain| chain.iter().copied().zip(chain.iter().copied().skip(1)))
            .collect()
    }

    fn sort(&mut self) {
        let links = self.links();
        order::order(&mut self.layers, &links, self.items.len());
    }

    /// Gives every layer its place from top to bottom; one that holds nothing high takes no room.
    fn stack(&mut self) {
        let (mut y, mut is_first) = (0.0, true);
        let heights = self
            .layers
            .iter()
            .map(|layer| layer.iter().map(|item| self.item(*item).height).fold(0.0, f64::max));
        let rows: Vec<f64> = heights.collect();
        for (index, height) in rows.iter().enumerate() {
            let is_empty = self.layers.get(index).is_none_or(Vec::is_empty);
            if !is_empty && !std::mem::replace(&mut is_first, false) {
                y += GAP_Y;
            }
            self.rows.push((y, y + height));
            y += height;
        }
    }

    /// Gives every item its place from left to right.
    fn spread(&mut self) {
        let mut near = vec![(Vec::new(), Vec::new()); self.items.len()];
        for (above, below) in self.links() {
            if let Some((_, down)) = near.get_mut(above) {
                down.push(below);
            }
            if let Some((up, _)) = near.get_mut(below) {
                up.push(above);
            }
        }
        for round in 0..ROUNDS {
            let count = self.layers.len();
            for step in 0..count {
                let index = if round.is_multiple_of(2) { step } else { count - 1 - step };
                let Some(layer) = self.layers.get(index).cloned() else { continue };
                let wishes: Vec<Wish> =
                    layer.iter().map(|item| self.wish(*item, near.get(*item), round)).collect();
                for (item, axis) in layer.iter().zip(place(&wishes, GAP_X)) {
                    if let Some(item) = self.items.get_mut(*item) {
                        item.axis = axis;
                    }
                }
            }
        }
        self.gather(&near);
        let leftmost = self.items.iter().map(|item| item.axis - item.left).fold(f64::INFINITY, f64::min);
        self.items.iter_mut().for_each(|item| item.axis -= leftmost);
    }

    /// Moves what is connected as near to what stands at its left as there is room: nothing else draws together what no
    /// line connects, and while everything looks for its place it drifts apart.
    fn gather(&mut self, near: &[(Vec<usize>, Vec<usize>)]) {
        let (parts, mut of) = (self.parts(near), vec![0; self.items.len()]);
        for (part, items) in parts.iter().enumerate() {
            for item in items {
                if let Some(of) = of.get_mut(*item) {
                    *of = part;
                }
            }
        }
        let mut left_of: Vec<Option<usize>> = vec![None; self.items.len()];
        for layer in &self.layers {
            for (left, right) in layer.iter().zip(layer.iter().skip(1)) {
                if let Some(slot) = left_of.get_mut(*right) {
                    *slot = Some(*left);
                }
            }
        }
        for (part, items) in parts.iter().enumerate() {
            let stranger = |item: &usize| {
                let left = left_of.get(*item).copied().flatten()?;
                (of.get(left) != Some(&part)).then(|| (self.item(left), self.item(*item)))
            };
            let gaps = items.iter().filter_map(stranger);
            let room = gaps.map(|(left, item)| item.axis - item.left - left.axis - left.right - GAP_X);
            let room = room.fold(f64::INFINITY, f64::min);
            if room.is_finite() && room > 0.0 {
                for item in items {
                    if let Some(item) = self.items.get_mut(*item) {
                        item.axis -= room;
                    }
                }
            }
        }
    }

    /// The items that lines connect, from left to right.
    fn parts(&self, near: &[(Vec<usize>, Vec<usize>)]) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.items.len()];
        let mut parts: Vec<(f64, Vec<usize>)> = Vec::new();
        for first in 0..self.items.len() {
            let (mut part, mut waiting, mut leftmost) = (Vec::new(), vec![first], f64::INFINITY);
            while let Some(item) = waiting.pop() {
                if seen.get_mut(item).is_some_and(|seen| !std::mem::replace(seen, true)) {
                    leftmost = leftmost.min(self.item(item).axis - self.item(item).left);
                    part.push(item);
                    waiting.extend(near.get(item).into_iter().flat_map(|(up, down)| up.iter().chain(down)));
                }
            }
            if !part.is_empty() {
                parts.push((leftmost, part));
            }
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        parts.into_iter().map(|(_, part)| part).collect()
    }

    fn wish(&self, index: usize, near: Option<&(Vec<usize>, Vec<usize>)>, round: usize) -> Wish {
        let item = self.item(index);
        let mut wish = Wish { left: item.left, right: item.right, axis: item.axis, weight: 1.0 };
        let Some((up, down)) = near else { return wish };
        let sides: [&[usize]; 2] = match round {
            // At first everything looks to both sides. The last round looks up: what follows one thing stands below it.
            _ if 2 * round < ROUNDS => [up, down],
            _ if round.is_multiple_of(2) => [up, &[]],
            _ => [down, &[]],
        };
        let all = || sides.iter().flat_map(|side| side.iter());
        if let Some(axis) = mean(all().map(|other| self.item(*other).axis)) {
            wish.axis = axis;
            let straight = item.is_line && all().any(|other| self.item(*other).is_line);
            wish.weight = if straight { LINE_WEIGHT } else { 2.0 };
        }
        wish
    }

    fn row(&self, item: Item) -> (f64, f64) {
        self.rows.get(item.layer).copied().unwrap_or_default()
    }

    fn area(&self, index: usize, body: &Body) -> Area {
        let item = self.item(index);
        let (top, bottom) = self.row(item);
        let y = f64::midpoint(top, bottom) - body.height / 2.0;
        Area { x: item.axis - item.left, y, width: body.width, height: body.height }
    }

    fn finish(self, given: &Given<'_>, gate: &dyn Fn(usize, usize) -> Option<f64>) -> Inside {
        let height = self.rows.last().map_or(0.0, |(_, bottom)| *bottom);
        let width = self.items.iter().map(|item| item.axis + item.right).fold(0.0, f64::max);
        let areas: Vec<Area> =
            given.bodies.iter().enumerate().map(|(index, body)| self.area(index, body)).collect();
        let ports = self.ports(given, &areas, gate);
        let mut gates = BTreeMap::new();
        let mut routes = Vec::with_capacity(self.segments.len());
        for (index, segment) in self.segments.iter().enumerate() {
            let chain = self.chains.get(index).map_or(&[][..], Vec::as_slice);
            let mut points = Vec::with_capacity(2 * chain.len() + 2);
            for (place, item) in chain.iter().enumerate() {
                let own = self.item(*item);
                let (top, bottom) = self.row(own);
                let (is_first, is_last) = (place == 0, place + 1 == chain.len());
                let port = ports.get(&(index, is_first)).copied().filter(|_| is_first || is_last);
                let x = port.unwrap_or(own.axis);
                match areas.get(*item) {
                    // From the box to the side of its layer, so that a curve meets no neighbour.
                    Some(area) if is_first => points.extend([(x, area.y + area.height), (x, bottom)]),
                    Some(area) => points.extend([(x, top), (x, area.y)]),
                    None if is_first => points.extend([(x, -given.above), (x, bottom)]),
                    None if is_last => points.extend([(x, top), (x, height + given.below)]),
                    None => points.extend([(x, top), (x, bottom)]),
                }
                if areas.get(*item).is_none() && (is_first || is_last) {
                    gates.insert(segment.edge, x);
                }
            }
            if !segment.is_down {
                points.reverse();
            }
            let label =
                self.labels.get(index).copied().flatten().zip(segment.label).map(|(item, (width, _))| {
                    let own = self.item(item);
                    let (top, bottom) = self.row(own);
                    Point { x: own.axis + LABEL_GAP + width / 2.0, y: f64::midpoint(top, bottom) }
                });
            let points = points.into_iter().map(|(x, y)| Point { x, y }).collect();
            routes.push((segment.edge, segment.order, Route { points, label }));
        }
        let areas = given.children.iter().copied().zip(areas).collect();
        Inside { width, height, areas, routes, gates }
    }

    /// Where each segment touches its boxes, by segment and whether it is the upper end: side by side in the order in
    /// which the lines come, or where a gate is.
    fn ports(
        &self,
        given: &Given<'_>,
        areas: &[Area],
        gate: &dyn Fn(usize, usize) -> Option<f64>,
    ) -> BTreeMap<(usize, bool), f64> {
        let mut ports = BTreeMap::new();
        let mut sides: BTreeMap<(usize, bool), Vec<(f64, usize)>> = BTreeMap::new();
        for (index, (chain, segment)) in self.chains.iter().zip(self.segments).enumerate() {
            let ends = [(chain.first(), chain.get(1), true), (chain.last(), chain.iter().nth_back(1), false)];
            for (item, next, is_upper) in ends {
                let (Some(item), Some(next)) = (item, next) else { continue };
                let Some((area, child)) = areas.get(*item).zip(given.children.get(*item)) else { continue };
                match gate(*child, segment.edge) {
                    Some(x) => drop(ports.insert((index, is_upper), area.x + x)),
                    None => sides.entry((*item, is_upper)).or_default().push((self.item(*next).axis, index)),
                }
            }
        }
        for ((item, is_upper), mut lines) in sides {
            let Some(area) = areas.get(item) else { continue };
            lines.sort_by(|a, b| a.0.total_cmp(&b.0));
            #[expect(clippy::cast_precision_loss, reason = "a box has fewer than 2^53 lines")]
            let share = area.width / (lines.len() + 1) as f64;
            let mut x = area.x;
            for (_, segment) in lines {
                x += share;
                ports.insert((segment, is_upper), x);
            }
        }
        ports
    }
}

/// A place that a line passes.
fn line(layer: usize) -> Item {
    Item { layer, left: CLEAR, right: CLEAR, height: 0.0, axis: 0.0, is_line: true }
}

/// The items of a segment from its upper end to its lower one: a place in every layer between, the middle one with room
/// for the label.
fn chain(
    items: &mut Vec<Item>,
    upper: usize,
    lower: usize,
    label: Option<(f64, f64)>,
) -> (Option<usize>, Vec<usize>) {
    let layer = |items: &[Item], index: usize| items.get(index).map_or(0, |item| item.layer);
    let (top, bottom) = (layer(items, upper), layer(items, lower));
    // Children stand in even layers, so there is an odd one between any two ends.
    let middle = usize::midpoint(top, bottom) | 1;
    let mut chain = vec![upper];
    let mut place = None;
    for layer in top + 1..bottom {
        let mut item = line(layer);
        if let Some((width, height)) = label.filter(|_| layer == middle) {
            item.right = LABEL_GAP + width + CLEAR;
            item.height = height;
            place = Some(items.len());
        }
        chain.push(items.len());
        items.push(item);
    }
    chain.push(lower);
    (place, chain)
}
