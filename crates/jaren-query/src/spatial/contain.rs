//! Whether a position lies in a surface, decided by signs that are never wrong.

use std::cmp::Ordering;

use jaren_json::Value;

use super::walk::{Shape, elements, shapes};
use super::{Meter, Position, Refusal};

/// Whether a surface of the value holds the position: in its outline and in none of its holes.
pub(crate) fn contains(value: &Value, at: Position, meter: &Meter<'_>) -> Result<bool, Refusal> {
    for shape in shapes(value, meter) {
        let Shape::Surface(rings) = shape? else { continue };
        let Some((outline, holes)) = rings.split_first() else { continue };
        if in_ring(outline, at, meter)? && !in_any_ring(holes, at, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn in_any_ring(rings: &[Value], at: Position, meter: &Meter<'_>) -> Result<bool, Refusal> {
    for ring in rings {
        if in_ring(ring, at, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a ring, taken as closed, holds a position, by how often a line to the east crosses it.
///
/// A slanted side belongs to the ring. Of a rectangle along the axes the western and southern sides do, and the eastern and
/// northern ones do not, so that each position lies in one cell of a grid.
fn in_ring(ring: &Value, at: Position, meter: &Meter<'_>) -> Result<bool, Refusal> {
    let ring = elements(Some(ring));
    meter.visit(ring.len())?;
    let Some(mut last) = ring.iter().rev().find_map(Position::of) else { return Ok(false) };
    let (mut corners, mut inside, mut on_side) = (0, false, false);
    for corner in ring.iter().filter_map(Position::of) {
        corners += 1;
        let crosses = (last.lat > at.lat) != (corner.lat > at.lat);
        let beside = between(last.lon, corner.lon, at.lon) && between(last.lat, corner.lat, at.lat);
        if crosses || beside {
            let side = turn(corner, last, at);
            on_side |= beside && side == Ordering::Equal;
            // A side that goes north has to its left what lies west of it, one that goes south to its right.
            let west = if last.lat > corner.lat { Ordering::Greater } else { Ordering::Less };
            inside ^= crosses && side == west;
        }
        last = corner;
    }
    Ok(corners > 2 && (on_side || inside))
}

/// Whether a number lies between two others, the lesser of them excluded.
fn between(a: f64, b: f64, number: f64) -> bool {
    a.min(b) < number && number <= a.max(b)
}

/// Where a point lies seen from `from` to `to`: `Greater` to the left, `Less` to the right, `Equal` exactly on the line.
///
/// Exact as long as no product of two coordinates leaves the range of the doubles.
fn turn(from: Position, to: Position, point: Position) -> Ordering {
    let left = (from.lon - point.lon) * (to.lat - point.lat);
    let right = (from.lat - point.lat) * (to.lon - point.lon);
    let determinant = left - right;
    // Each half is off by at most three roundings, and so is their difference; a little more for the bound's own.
    let doubt = 4.0 * f64::EPSILON * (left.abs() + right.abs());
    if determinant > doubt {
        Ordering::Greater
    } else if determinant < -doubt {
        Ordering::Less
    } else {
        exact_turn(from, to, point)
    }
}

/// The same from the six products of the expanded determinant, each kept with its rounding error, summed without any
/// (Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997).
fn exact_turn(from: Position, to: Position, point: Position) -> Ordering {
    let products = [
        (from.lon, to.lat),
        (-from.lon, point.lat),
        (-point.lon, to.lat),
        (-from.lat, to.lon),
        (from.lat, point.lon),
        (point.lat, to.lon),
    ];
    // Terms that do not overlap, the least first; their sum is the sum of all products so far.
    let mut terms = [0.0; 12];
    let mut count = 0;
    for (a, b) in products {
        let product = a * b;
        for mut carry in [a.mul_add(b, -product), product] {
            for term in terms.iter_mut().take(count) {
                (carry, *term) = two_sum(carry, *term);
            }
            if let Some(term) = terms.get_mut(count) {
                *term = carry;
            }
            count += 1;
        }
    }
    // The greatest term that is not zero outweighs all others.
    let sign = terms.iter().rev().find(|term| **term != 0.0);
    sign.and_then(|sign| sign.partial_cmp(&0.0)).unwrap_or(Ordering::Equal)
}

/// The rounded sum of two numbers, and what the rounding lost.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn on_grid(lon: i64, lat: i64) -> Position {
        // Integers below 2^53 scaled by a power of two are doubles exactly.
        let unit = 2f64.powi(-45);
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let [lon, lat] = [lon, lat].map(|coordinate| coordinate as f64 * unit);
        Position { lon, lat }
    }

    fn exact([from, to, point]: [(i64, i64); 3]) -> Ordering {
        let wide = |(lon, lat): (i64, i64)| (i128::from(lon), i128::from(lat));
        let ((ax, ay), (bx, by), (px, py)) = (wide(from), wide(to), wide(point));
        ((ax - px) * (by - py)).cmp(&((ay - py) * (bx - px)))
    }

    proptest! {
        /// Points on a line or a hair beside it are where signs of rounded determinants go wrong.
        #[test]
        fn turns_are_exact(
            ax in -(1i64 << 51)..1 << 51, ay in -(1i64 << 51)..1 << 51,
            dx in -(1i64 << 20)..1 << 20, dy in -(1i64 << 20)..1 << 20,
            to in 0i64..1 << 30, at in 0i64..1 << 30, lon_off in -1i64..=1, lat_off in -1i64..=1,
        ) {
            let line = |t: i64| (ax + dx * t, ay + dy * t);
            let near = line(at);
            let points = [line(0), line(to), (near.0 + lon_off, near.1 + lat_off)];
            let [from, to, point] = points.map(|(lon, lat)| on_grid(lon, lat));
            prop_assert_eq!(turn(from, to, point), exact(points));
        }
    }

    #[test]
    fn the_last_bit_of_a_coordinate_decides() {
        let position = |lon, lat| Position { lon, lat };
        let (from, to) = (position(0.1, 0.1), position(0.7, 0.7));
        assert_eq!(turn(from, to, position(0.3, 0.3)), Ordering::Equal);
        assert_eq!(turn(from, to, position(0.3, 0.3f64.next_up())), Ordering::Greater);
        assert_eq!(turn(from, to, position(0.3, 0.3f64.next_down())), Ordering::Less);
    }
}
