//! Geography and vectors (sections 8.14 and 8.15): operands and their errors; the arithmetic is in modules of its own.

use jaren_json::Value;

use super::item::{Got, Item};
use super::{Run, Sink, Stop};
use crate::budget::Spent;
use crate::error::{EvalError, GUARD, LIMIT, TYPE};
use crate::place::Place;
use crate::plan::{Expr, Measure, Spatial, SpatialMap, SpatialTest};
use crate::spatial::{self, Meter, PRECISION_DEFAULT, PRECISION_MAX, Refusal};
use crate::vectors;

/// Positions and containers of geometries that are visited for one step of the limit; fewer are free.
const VISITS_PER_STEP: u64 = 1024;
/// As many are visited for one unit of work.
const VISITS_PER_UNIT: u64 = 16;
/// What a part of a geometry that is read takes, in units of work: a value, and its share of the list around it.
const PART_MADE: usize = 8;
/// The components of a vector that are looked at for one unit of work.
const COMPONENTS_PER_UNIT: usize = 16;
/// What a letter of a cell takes: to be read, and to be written for nine cells.
const LETTER: usize = 4;

impl<'a> Run<'a> {
    pub(super) fn spatial(&mut self, spatial: &'a Spatial) -> Result<Option<Value>, EvalError> {
        match spatial {
            Spatial::Map(map, operand) => self.spatial_map(*map, operand),
            Spatial::Geohash(operand, precision) => self.geohash(operand, precision.as_deref()),
            Spatial::Simplify(pair) => self.simplify(pair),
        }
    }

    fn spatial_map(&mut self, map: SpatialMap, operand: &'a Expr) -> Result<Option<Value>, EvalError> {
        let got = self.one(operand)?;
        if matches!(got, Got::None) {
            return Ok(None);
        }
        let place = operand.place;
        match map {
            SpatialMap::Bounds => {
                let value = self.geography(&got, place)?;
                let bounds = self.metered(place, |meter| spatial::bounds(value, meter))?;
                Ok(bounds.map(spatial::Bounds::to_value))
            }
            SpatialMap::Centroid => {
                let value = self.geography(&got, place)?;
                let centroid = self.metered(place, |meter| spatial::centroid(value, meter))?;
                Ok(centroid.map(Value::from))
            }
            SpatialMap::ToText => {
                let value = self.geography(&got, place)?;
                let text = self.metered(place, |meter| spatial::write_wkt(value, meter))?;
                Ok(text.map(Value::from))
            }
            SpatialMap::Parse => {
                let text = self.spatial_text(&got, place)?;
                self.spend(text.len() / 4, place)?;
                let geometry = spatial::read_wkt(text);
                let parts = geometry.as_ref().map_or(0, |geometry| geometry.size() as usize);
                self.spend(parts.saturating_mul(PART_MADE), place)?;
                Ok(geometry)
            }
            SpatialMap::CellBounds => {
                let name = self.spatial_text(&got, place)?;
                self.spend(name.len().saturating_mul(LETTER), place)?;
                Ok(spatial::cell_bounds(name).map(spatial::Bounds::to_polygon))
            }
        }
    }

    /// `$area` or `$length`.
    pub(super) fn measure(&mut self, measure: Measure, operand: &'a Expr) -> Result<Option<f64>, EvalError> {
        let got = self.one(operand)?;
        if matches!(got, Got::None) {
            return Ok(None);
        }
        let value = self.geography(&got, operand.place)?;
        self.metered(operand.place, |meter| match measure {
            Measure::Area => spatial::area(value, meter),
            Measure::Length => spatial::length(value, meter),
        })
    }

    /// `$distance`; none where it is not finite, which only coordinates beyond any measure lead to.
    pub(super) fn distance(&mut self, pair: &'a [Expr; 2]) -> Result<Option<f64>, EvalError> {
        let Some([left, right]) = self.both(pair)? else { return Ok(None) };
        let [left, right] = self.geographies(&left, &right, pair)?;
        let ends = self.metered(pair[0].place, |meter| {
            Ok(spatial::representative(left, meter)?.zip(spatial::representative(right, meter)?))
        })?;
        Ok(ends.map(|(from, to)| spatial::distance(from, to)).filter(|metres| metres.is_finite()))
    }

    pub(super) fn spatial_test(&mut self, test: SpatialTest, pair: &'a [Expr; 2]) -> Result<bool, EvalError> {
        let Some([left, right]) = self.both(pair)? else { return Ok(false) };
        let [left, right] = self.geographies(&left, &right, pair)?;
        self.metered(pair[0].place, |meter| match test {
            SpatialTest::Within => match spatial::representative(left, meter)? {
                Some(at) if spatial::all_finite(right, meter)? => spatial::contains(right, at, meter),
                _ => Ok(false),
            },
            SpatialTest::BoundsMeet => {
                let bounds = (spatial::bounds(left, meter)?, spatial::bounds(right, meter)?);
                Ok(matches!(bounds, (Some(left), Some(right)) if left.meets(&right)))
            }
        })
    }

    fn geohash(
        &mut self,
        operand: &'a Expr,
        precision: Option<&'a Expr>,
    ) -> Result<Option<Value>, EvalError> {
        let got = self.one(operand)?;
        if matches!(got, Got::None) {
            return Ok(None);
        }
        let value = self.geography(&got, operand.place)?;
        let at = self.metered(operand.place, |meter| spatial::representative(value, meter))?;
        let Some(at) = at else { return Ok(None) };
        let precision = match precision {
            Some(precision) => self.precision(precision)?,
            None => PRECISION_DEFAULT,
        };
        Ok(Some(Value::from(spatial::encode(at, precision))))
    }

    fn precision(&mut self, operand: &'a Expr) -> Result<usize, EvalError> {
        let got = self.one(operand)?;
        let precision = match &got {
            Got::One(item) => item.value().as_u64().and_then(|precision| usize::try_from(precision).ok()),
            Got::None | Got::Several => None,
        };
        precision.filter(|precision| (1..=PRECISION_MAX).contains(precision)).ok_or_else(|| {
            let message = format!(
                "expected an integer from 1 to {PRECISION_MAX} as the precision of a cell, found {}",
                match got {
                    Got::One(item) if item.value().as_f64().is_some() => "another number",
                    got => got.describe(),
                }
            );
            self.fail(TYPE, operand.place, message)
        })
    }

    fn simplify(&mut self, pair: &'a [Expr; 2]) -> Result<Option<Value>, EvalError> {
        let Some([value, tolerance]) = self.both(pair)? else { return Ok(None) };
        let [value_place, tolerance_place] = [pair[0].place, pair[1].place];
        let tolerance = match &tolerance {
            Got::One(item) => item.value().as_f64().filter(|degrees| degrees.is_finite() && *degrees >= 0.0),
            Got::None | Got::Several => None,
        };
        let Some(tolerance) = tolerance else {
            let message = "expected a finite number of degrees that is not negative as the tolerance";
            return Err(self.fail(TYPE, tolerance_place, message));
        };
        let value = self.geography(&value, value_place)?;
        self.metered(value_place, |meter| spatial::simplify(value, tolerance, meter)).map(Some)
    }

    /// `$geohash-neighbours`.
    pub(super) fn cells_around(&mut self, operand: &'a Expr, sink: Sink<'_, 'a>) -> Result<(), Stop> {
        let got = self.one(operand)?;
        if matches!(got, Got::None) {
            return Ok(());
        }
        let name = self.spatial_text(&got, operand.place)?;
        self.spend(name.len().saturating_mul(LETTER), operand.place)?;
        let cells = spatial::neighbours(name);
        cells.into_iter().try_for_each(|cell| sink(self, Item::Own(Value::from(cell))))
    }

    /// `$similarity`.
    pub(super) fn similarity(&mut self, pair: &'a [Expr; 2]) -> Result<Option<f64>, EvalError> {
        let Some([left, right]) = self.both(pair)? else { return Ok(None) };
        let left = self.vector(&left, pair[0].place)?;
        let right = self.vector(&right, pair[1].place)?;
        Ok(vectors::similarity(left, right))
    }

    /// Both operands; none where one of them is empty.
    fn both(&mut self, pair: &'a [Expr; 2]) -> Result<Option<[Got<'a>; 2]>, EvalError> {
        let [left, right] = pair;
        let got = [self.one(left)?, self.one(right)?];
        Ok(if got.iter().any(|got| matches!(got, Got::None)) { None } else { Some(got) })
    }

    /// An operand that may be GeoJSON: any object or list.
    fn geography<'g>(&self, got: &'g Got<'a>, place: Place) -> Result<&'g Value, EvalError> {
        match got {
            Got::One(item) if matches!(item.value(), Value::Array(_) | Value::Object(_)) => Ok(item.value()),
            got => Err(self.misfit("a GeoJSON value or a position", got, place)),
        }
    }

    fn geographies<'g>(
        &self,
        left: &'g Got<'a>,
        right: &'g Got<'a>,
        pair: &'a [Expr; 2],
    ) -> Result<[&'g Value; 2], EvalError> {
        Ok([self.geography(left, pair[0].place)?, self.geography(right, pair[1].place)?])
    }

    fn spatial_text<'g>(&self, got: &'g Got<'a>, place: Place) -> Result<&'g str, EvalError> {
        match got {
            Got::One(item) => item.value().as_str(),
            Got::None | Got::Several => None,
        }
        .ok_or_else(|| self.misfit("a text", got, place))
    }

    /// A vector, which is looked at as a whole.
    fn vector<'g>(&self, got: &'g Got<'a>, place: Place) -> Result<&'g [Value], EvalError> {
        let list = match got {
            Got::One(item) => item.value().as_array(),
            Got::None | Got::Several => None,
        };
        self.spend(list.map_or(0, |list| list.len() / COMPONENTS_PER_UNIT), place)?;
        list.and_then(|list| vectors::components(list))
            .ok_or_else(|| self.misfit("a list of numbers as a vector", got, place))
    }

    #[cold]
    fn misfit(&self, expected: &str, got: &Got<'a>, place: Place) -> EvalError {
        self.fail(TYPE, place, format!("expected {expected}, found {}", got.describe()))
    }

    /// Work on geometries, charged to the limits of steps and work where it is much; its refusal is reported at `place`.
    fn metered<T>(
        &mut self,
        place: Place,
        work: impl FnOnce(&Meter<'_>) -> Result<T, Refusal>,
    ) -> Result<T, EvalError> {
        let affordable = |left: u64, each: u64| left.saturating_mul(each).saturating_add(each - 1);
        let visits = affordable(self.steps_left, VISITS_PER_STEP);
        let visits = visits.min(affordable(self.work.left(), VISITS_PER_UNIT));
        let meter = Meter::new(visits, &self.work);
        let answer = work(&meter);
        let visited = visits - meter.left();
        self.steps_left = self.steps_left.saturating_sub(visited / VISITS_PER_STEP);
        let paid = self.work.spend_u64(visited / VISITS_PER_UNIT).map_err(|Spent| Refusal::Large);
        answer.and_then(|answer| paid.map(|()| answer)).map_err(|refusal| {
            let code = match refusal {
                Refusal::Large => LIMIT,
                Refusal::Deep => GUARD,
            };
            self.fail(code, place, refusal.message())
        })
    }
}
