//! Measuring: boxes and centroids of positions, and lengths and areas on a sphere.

use jaren_json::Value;

use super::walk::{Shape, elements, positions, shapes};
use super::{Meter, Position, Refusal};

/// The mean radius of the Earth in metres, as the International Union of Geodesy and Geophysics defines it.
const EARTH_RADIUS: f64 = 6_371_008.8;

/// A box in degrees; one never crosses the antimeridian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(super) west: f64,
    pub(super) south: f64,
    pub(super) east: f64,
    pub(super) north: f64,
}

impl Bounds {
    /// Whether two boxes have a point in common, be it of their edges.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.west <= other.east
            && other.west <= self.east
            && self.south <= other.north
            && other.south <= self.north
    }

    /// As the member `bbox` of RFC 7946 is written.
    pub(crate) fn to_value(self) -> Value {
        [self.west, self.south, self.east, self.north].into_iter().map(Value::Number).collect()
    }

    /// As a polygon, counter-clockwise from the south-west.
    pub(crate) fn to_polygon(self) -> Value {
        let Self { west, south, east, north } = self;
        let corners = [(west, south), (east, south), (east, north), (west, north), (west, south)];
        let ring: Value = corners.into_iter().map(|(lon, lat)| Value::from(Position { lon, lat })).collect();
        jaren_json::value!({"type": "Polygon", "coordinates": [ring]})
    }
}

/// Whether no position of a value is infinite or NaN.
pub(crate) fn all_finite(value: &Value, meter: &Meter<'_>) -> Result<bool, Refusal> {
    let mut finite = true;
    positions(value, meter, |position| finite &= position.is_finite())?;
    Ok(finite)
}

/// The smallest box around all positions; none where there is none or one is not finite.
pub(crate) fn bounds(value: &Value, meter: &Meter<'_>) -> Result<Option<Bounds>, Refusal> {
    let mut bounds: Option<Bounds> = None;
    let mut finite = true;
    positions(value, meter, |position| {
        finite &= position.is_finite();
        let Position { lon, lat } = position;
        bounds = Some(match bounds {
            None => Bounds { west: lon, south: lat, east: lon, north: lat },
            Some(Bounds { west, south, east, north }) => Bounds {
                west: west.min(lon),
                south: south.min(lat),
                east: east.max(lon),
                north: north.max(lat),
            },
        });
    })?;
    Ok(bounds.filter(|_| finite))
}

/// The mean of all positions; none where there is none or the mean is not finite.
pub(crate) fn centroid(value: &Value, meter: &Meter<'_>) -> Result<Option<Position>, Refusal> {
    let (mut lon, mut lat, mut count) = (0.0, 0.0, 0.0);
    positions(value, meter, |position| {
        lon += position.lon;
        lat += position.lat;
        count += 1.0;
    })?;
    // Without any position this divides zero by zero.
    Ok(Some(Position { lon: lon / count, lat: lat / count }).filter(|mean| mean.is_finite()))
}

/// Where a value counts as being: a position is there itself, anything else at its centroid.
pub(crate) fn representative(value: &Value, meter: &Meter<'_>) -> Result<Option<Position>, Refusal> {
    match Position::of(value) {
        Some(position) => Ok(Some(position).filter(|position| position.is_finite())),
        None => centroid(value, meter),
    }
}

/// Metres along the great circle between two positions, by the haversine formula.
pub(crate) fn distance(from: Position, to: Position) -> f64 {
    let half_angle = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin();
    let (north, east) = (half_angle(from.lat, to.lat), half_angle(from.lon, to.lon));
    let haversine = north * north + from.lat.to_radians().cos() * to.lat.to_radians().cos() * east * east;
    // Rounding may take it a hair beyond 1.
    2.0 * EARTH_RADIUS * haversine.clamp(0.0, 1.0).sqrt().asin()
}

/// Metres of the lines and of the sides of the rings that are written; none where a position is not finite.
pub(crate) fn length(value: &Value, meter: &Meter<'_>) -> Result<Option<f64>, Refusal> {
    if !all_finite(value, meter)? {
        return Ok(None);
    }
    let mut total = 0.0;
    for shape in shapes(value, meter) {
        match shape? {
            Shape::Line(line) => total += line_length(line, meter)?,
            Shape::Surface(rings) => {
                for ring in rings {
                    total += line_length(elements(Some(ring)), meter)?;
                }
            }
        }
    }
    Ok(Some(total).filter(|total| total.is_finite()))
}

fn line_length(line: &[Value], meter: &Meter<'_>) -> Result<f64, Refusal> {
    meter.visit(line.len())?;
    let mut positions = line.iter().filter_map(Position::of);
    let Some(mut last) = positions.next() else { return Ok(0.0) };
    let mut total = 0.0;
    for position in positions {
        total += distance(last, position);
        last = position;
    }
    Ok(total)
}

/// Square metres of the surfaces, each its outline less its holes; none where a position is not finite.
pub(crate) fn area(value: &Value, meter: &Meter<'_>) -> Result<Option<f64>, Refusal> {
    if !all_finite(value, meter)? {
        return Ok(None);
    }
    let mut total = 0.0;
    for shape in shapes(value, meter) {
        let Shape::Surface(rings) = shape? else { continue };
        let mut surface = 0.0;
        for (index, ring) in rings.iter().enumerate() {
            let ring = ring_area(elements(Some(ring)), meter)?;
            surface += if index == 0 { ring } else { -ring };
        }
        total += surface.max(0.0);
    }
    Ok(Some(total).filter(|total| total.is_finite()))
}

/// The area of one ring, which is closed whether or not its last position is its first.
///
/// Each side contributes the area between itself and a pole, taken as if the sine of the latitude ran evenly along it
/// (Chamberlain and Duquette, "Some algorithms for polygons on a sphere", 2007).
fn ring_area(ring: &[Value], meter: &Meter<'_>) -> Result<f64, Refusal> {
    meter.visit(ring.len())?;
    let corner = |position: Position| (position.lon.to_radians(), position.lat.to_radians().sin());
    let Some(mut last) = ring.iter().rev().find_map(Position::of).map(corner) else { return Ok(0.0) };
    let mut total = 0.0;
    for next in ring.iter().filter_map(Position::of).map(corner) {
        total += (next.0 - last.0) * (2.0 + last.1 + next.1);
        last = next;
    }
    Ok((total * EARTH_RADIUS * EARTH_RADIUS / 2.0).abs())
}
