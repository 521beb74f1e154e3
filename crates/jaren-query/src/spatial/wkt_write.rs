//! Writing GeoJSON as Well-Known Text (ISO 19125), without heights.

use jaren_json::{Value, to_text};

use super::walk::{elements, features, geometry};
use super::{COLLECTIONS_MAX, Meter, Position, Refusal};

/// The text of a value; none where one of its geometries has no text.
///
/// A feature is its geometry, and a collection of features is a collection of those that have one.
pub(crate) fn write_wkt(value: &Value, meter: &Meter<'_>) -> Result<Option<String>, Refusal> {
    let mut writer = Writer { out: String::new(), meter };
    let written = if is_located(value) { writer.located(value, COLLECTIONS_MAX)? } else { None };
    Ok(written.map(|()| writer.out))
}

/// Whether a value is a position, a geometry, a feature that has one or a collection of features.
fn is_located(value: &Value) -> bool {
    Position::of(value).is_some() || features(value).is_some() || geometry(value).is_some()
}

struct Writer<'m> {
    out: String,
    meter: &'m Meter<'m>,
}

/// What was written; `None` where a part has no text, and then the whole has none.
type Written = Result<Option<()>, Refusal>;

impl Writer<'_> {
    fn located(&mut self, value: &Value, levels: usize) -> Written {
        self.meter.visit(1)?;
        if Position::of(value).is_some() {
            self.out.push_str("POINT ");
            return self.coordinates(value, 0, true);
        }
        match features(value) {
            Some(features) => {
                self.meter.visit(features.len())?;
                let located = features.iter().filter(|feature| is_located(feature));
                self.collection(located, levels, Self::located)
            }
            None => self.geometry(value, levels),
        }
    }

    fn geometry(&mut self, value: &Value, levels: usize) -> Written {
        self.meter.visit(1)?;
        let Some((kind, object)) = geometry(value) else { return Ok(None) };
        let (tag, nesting, wrapped) = match kind {
            "Point" => ("POINT", 0, true),
            "LineString" => ("LINESTRING", 1, false),
            "Polygon" => ("POLYGON", 2, false),
            "MultiPoint" => ("MULTIPOINT", 1, true),
            "MultiLineString" => ("MULTILINESTRING", 2, false),
            "MultiPolygon" => ("MULTIPOLYGON", 3, false),
            "GeometryCollection" => {
                let Some(Value::Array(geometries)) = object.get("geometries") else { return Ok(None) };
                return self.collection(geometries.iter(), levels, Self::geometry);
            }
            _ => return Ok(None),
        };
        self.meter.make(tag.len())?;
        self.out.push_str(tag);
        match object.get("coordinates") {
            Some(Value::Array(coordinates)) if coordinates.is_empty() => self.out.push_str(" EMPTY"),
            Some(coordinates) => {
                self.out.push(' ');
                return self.coordinates(coordinates, nesting, wrapped);
            }
            None => return Ok(None),
        }
        Ok(Some(()))
    }

    fn collection<'v>(
        &mut self,
        members: impl Iterator<Item = &'v Value>,
        levels: usize,
        write: fn(&mut Self, &Value, usize) -> Written,
    ) -> Written {
        let levels = levels.checked_sub(1).ok_or(Refusal::Deep)?;
        self.meter.make("GEOMETRYCOLLECTION ".len())?;
        self.out.push_str("GEOMETRYCOLLECTION ");
        let mut any = false;
        for member in members {
            self.out.push_str(if any { ", " } else { "(" });
            any = true;
            if write(self, member, levels)?.is_none() {
                return Ok(None);
            }
        }
        self.out.push_str(if any { ")" } else { "EMPTY" });
        Ok(Some(()))
    }

    /// Positions so many lists down, each in brackets of its own where `wrapped`.
    fn coordinates(&mut self, value: &Value, nesting: usize, wrapped: bool) -> Written {
        self.meter.visit(1)?;
        let Some(nesting) = nesting.checked_sub(1) else { return self.position(value, wrapped) };
        let elements = elements(Some(value));
        if elements.is_empty() {
            return Ok(None);
        }
        for (index, element) in elements.iter().enumerate() {
            self.out.push_str(if index == 0 { "(" } else { ", " });
            if self.coordinates(element, nesting, wrapped)?.is_none() {
                return Ok(None);
            }
        }
        self.out.push(')');
        Ok(Some(()))
    }

    fn position(&mut self, value: &Value, wrapped: bool) -> Written {
        let Some(Position { lon, lat }) = Position::of(value) else { return Ok(None) };
        // Numbers are written as in JSON, which has none for infinities and NaN.
        let (Ok(lon), Ok(lat)) = (to_text(&Value::Number(lon)), to_text(&Value::Number(lat))) else {
            return Ok(None);
        };
        self.meter.make(lon.len() + lat.len())?;
        let (open, close) = if wrapped { ("(", ")") } else { ("", "") };
        self.out.extend([open, &lon, " ", &lat, close]);
        Ok(Some(()))
    }
}
