//! Ways through a GeoJSON value (RFC 7946): all its positions, or its lines and surfaces. Both are iterative, so a value may
//! be of any depth.

use std::slice::{Iter, from_ref};

use jaren_json::{Object, Value};

use super::{COLLECTIONS_MAX, Meter, Position, Refusal};

/// The elements of a value that should be a list; none where it is not.
pub(super) fn elements(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], |array| array)
}

/// Every position of a value in document order, whatever the kind of its geometries.
pub(super) fn positions(
    value: &Value,
    meter: &Meter<'_>,
    mut visit: impl FnMut(Position),
) -> Result<(), Refusal> {
    let mut level = from_ref(value).iter();
    let mut outer = Vec::new();
    loop {
        let Some(value) = level.next() else {
            match outer.pop() {
                Some(above) => level = above,
                None => return Ok(()),
            }
            continue;
        };
        meter.visit(1)?;
        if let Some(position) = Position::of(value) {
            visit(position);
        } else {
            let inside = inside(value);
            if !inside.is_empty() {
                outer.push(std::mem::replace(&mut level, inside.iter()));
            }
        }
    }
}

/// What a value that is no position holds its positions in.
fn inside(value: &Value) -> &[Value] {
    match value {
        Value::Array(array) => array,
        Value::Object(object) => match object.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => elements(object.get("features")),
            Some("GeometryCollection") => elements(object.get("geometries")),
            Some("Feature") => object.get("geometry").map_or(&[], from_ref),
            _ => object.get("coordinates").map_or(&[], from_ref),
        },
        _ => &[],
    }
}

/// A geometry that is no collection of features, with its type; that of a feature for a feature.
pub(super) fn geometry(value: &Value) -> Option<(&str, &Object)> {
    let mut object = value.as_object()?;
    for _ in 0..=COLLECTIONS_MAX {
        match object.get("type")?.as_str()? {
            "Feature" => object = object.get("geometry")?.as_object()?,
            "FeatureCollection" => return None,
            kind => return Some((kind, object)),
        }
    }
    None
}

/// The features of a collection of them.
pub(super) fn features(value: &Value) -> Option<&[Value]> {
    let object = value.as_object()?;
    let is_collection = object.get("type").and_then(Value::as_str) == Some("FeatureCollection");
    is_collection.then(|| elements(object.get("features")))
}

/// A part of a value that has a length.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'v> {
    /// The positions of a line.
    Line(&'v [Value]),
    /// The rings of a polygon: the outline, then the holes.
    Surface(&'v [Value]),
}

/// The lines and surfaces of a value in document order.
#[derive(Debug)]
pub(super) struct Shapes<'v> {
    meter: &'v Meter<'v>,
    level: Iter<'v, Value>,
    outer: Vec<Iter<'v, Value>>,
    /// What is left of a multiple geometry, and whether its members are surfaces.
    members: Iter<'v, Value>,
    surfaces: bool,
}

pub(super) fn shapes<'v>(value: &'v Value, meter: &'v Meter<'_>) -> Shapes<'v> {
    Shapes { meter, level: from_ref(value).iter(), outer: Vec::new(), members: [].iter(), surfaces: false }
}

impl<'v> Shapes<'v> {
    /// Goes into a geometry; the shape that it is, if it is a single one.
    fn enter(&mut self, value: &'v Value) -> Option<Shape<'v>> {
        if let Some(features) = features(value) {
            self.outer.push(std::mem::replace(&mut self.level, features.iter()));
            return None;
        }
        let (kind, object) = geometry(value)?;
        let coordinates = elements(object.get("coordinates"));
        match kind {
            "LineString" => return Some(Shape::Line(coordinates)),
            "Polygon" => return Some(Shape::Surface(coordinates)),
            "MultiLineString" | "MultiPolygon" => {
                self.members = coordinates.iter();
                self.surfaces = kind == "MultiPolygon";
            }
            "GeometryCollection" => {
                let geometries = elements(object.get("geometries"));
                self.outer.push(std::mem::replace(&mut self.level, geometries.iter()));
            }
            _ => {}
        }
        None
    }
}

impl<'v> Iterator for Shapes<'v> {
    type Item = Result<Shape<'v>, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(member) = self.members.next() {
                let parts = elements(Some(member));
                let shape = if self.surfaces { Shape::Surface(parts) } else { Shape::Line(parts) };
                return Some(self.meter.visit(1).map(|()| shape));
            }
            let Some(value) = self.level.next() else {
                self.level = self.outer.pop()?;
                continue;
            };
            if let Err(refusal) = self.meter.visit(1) {
                return Some(Err(refusal));
            }
            if let Some(shape) = self.enter(value) {
                return Some(Ok(shape));
            }
        }
    }
}
