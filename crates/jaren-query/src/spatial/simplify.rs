//! Dropping positions that hardly matter (Douglas and Peucker, "Algorithms for the reduction of the number of points
//! required to represent a digitized line", 1973).

use jaren_json::{Array, Object, Value};

use super::{COLLECTIONS_MAX, Meter, Position, Refusal};

/// The fewest positions of a ring that encloses something.
const RING_MIN: usize = 4;

/// The value with fewer positions: what is dropped lies within `tolerance` degrees of what stays.
///
/// A line keeps its ends, so a ring stays closed, and a ring that would be left without an inside is left as it is. So is
/// everything else, other members of the same objects included. A tolerance of zero drops nothing.
pub(crate) fn simplify(value: &Value, tolerance: f64, meter: &Meter<'_>) -> Result<Value, Refusal> {
    if tolerance == 0.0 {
        return Ok(value.clone());
    }
    Reduction { tolerance, meter }.value(value, COLLECTIONS_MAX)
}

struct Reduction<'m> {
    tolerance: f64,
    meter: &'m Meter<'m>,
}

impl Reduction<'_> {
    /// A geometry, a feature or a collection that may hold so many levels of others.
    fn value(&self, value: &Value, levels: usize) -> Result<Value, Refusal> {
        self.meter.visit(1)?;
        let Some(object) = value.as_object() else { return Ok(value.clone()) };
        let (name, changed) = match object.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => ("features", self.values(object.get("features"), levels)?),
            Some("GeometryCollection") => ("geometries", self.values(object.get("geometries"), levels)?),
            Some("Feature") => {
                let levels = levels.checked_sub(1).ok_or(Refusal::Deep)?;
                let geometry = object.get("geometry").map(|geometry| self.value(geometry, levels));
                ("geometry", geometry.transpose()?)
            }
            Some("LineString") => ("coordinates", self.lines(object, 0, 2)?),
            Some("MultiLineString") => ("coordinates", self.lines(object, 1, 2)?),
            Some("Polygon") => ("coordinates", self.lines(object, 1, RING_MIN)?),
            Some("MultiPolygon") => ("coordinates", self.lines(object, 2, RING_MIN)?),
            _ => return Ok(value.clone()),
        };
        Ok(match changed {
            Some(changed) => Value::Object(object.with(name, changed)),
            None => value.clone(),
        })
    }

    fn values(&self, values: Option<&Value>, levels: usize) -> Result<Option<Value>, Refusal> {
        let Some(Value::Array(values)) = values else { return Ok(None) };
        let levels = levels.checked_sub(1).ok_or(Refusal::Deep)?;
        self.meter.make(size_of_val(&values[..]))?;
        let values: Result<Value, _> = values.iter().map(|value| self.value(value, levels)).collect();
        values.map(Some)
    }

    fn lines(&self, object: &Object, nesting: usize, min: usize) -> Result<Option<Value>, Refusal> {
        object.get("coordinates").map(|coordinates| self.nest(coordinates, nesting, min)).transpose()
    }

    /// The lines of at least `min` positions that lie so many lists down.
    fn nest(&self, value: &Value, nesting: usize, min: usize) -> Result<Value, Refusal> {
        self.meter.visit(1)?;
        match (value, nesting.checked_sub(1)) {
            (Value::Array(line), None) => self.line(line, min),
            (Value::Array(lines), Some(nesting)) => {
                self.meter.make(size_of_val(&lines[..]))?;
                lines.iter().map(|line| self.nest(line, nesting, min)).collect()
            }
            _ => Ok(value.clone()),
        }
    }

    fn line(&self, line: &Array, min: usize) -> Result<Value, Refusal> {
        self.meter.visit(line.len())?;
        let finite = |value| Position::of(value).filter(|position| position.is_finite());
        // What has anything else among its positions is no line that could be judged.
        let positions: Option<Vec<Position>> = line.iter().map(finite).collect();
        let unchanged = Ok(Value::Array(line.clone()));
        let Some(positions) = positions.filter(|positions| positions.len() > min) else { return unchanged };
        let kept = self.kept(&positions)?;
        let count = kept.iter().filter(|kept| **kept).count();
        if count < min || count == line.len() {
            return unchanged;
        }
        self.meter.make(count * size_of::<Value>())?;
        Ok(line.iter().zip(kept).filter(|(_, kept)| *kept).map(|(value, _)| value.clone()).collect())
    }

    /// Which positions stay: the ends, and between two that stay the furthest one, if it is further than the tolerance.
    ///
    /// Takes up to the square of the number of positions, for a line of which every position is such a furthest one; the
    /// meter counts all of it.
    fn kept(&self, positions: &[Position]) -> Result<Vec<bool>, Refusal> {
        let ends = [0, positions.len().saturating_sub(1)];
        let mut kept = vec![false; positions.len()];
        let mut keep = |index: usize| kept.get_mut(index).into_iter().for_each(|kept| *kept = true);
        ends.into_iter().for_each(&mut keep);
        let mut spans = vec![ends];
        while let Some([first, last]) = spans.pop() {
            let Some([from, between @ .., to]) = positions.get(first..=last) else { continue };
            self.meter.visit(between.len())?;
            let mut furthest = None;
            let mut distance = self.tolerance * self.tolerance;
            for (index, position) in between.iter().enumerate() {
                let found = squared_distance(*position, *from, *to);
                if found > distance {
                    (furthest, distance) = (Some(first + 1 + index), found);
                }
            }
            if let Some(furthest) = furthest {
                keep(furthest);
                spans.extend([[first, furthest], [furthest, last]]);
            }
        }
        Ok(kept)
    }
}

/// The square of the distance in degrees between a position and the nearest point of a side.
fn squared_distance(position: Position, from: Position, to: Position) -> f64 {
    let (lon, lat) = (to.lon - from.lon, to.lat - from.lat);
    // How far along the side that point is; a side without a length is the point itself.
    let along = ((position.lon - from.lon) * lon + (position.lat - from.lat) * lat) / (lon * lon + lat * lat);
    let nearest = if along > 1.0 {
        to
    } else if along > 0.0 {
        Position { lon: from.lon + lon * along, lat: from.lat + lat * along }
    } else {
        from
    };
    (position.lon - nearest.lon).powi(2) + (position.lat - nearest.lat).powi(2)
}
