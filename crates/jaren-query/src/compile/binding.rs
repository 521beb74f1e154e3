//! `$for` bindings: the plain form, and the extended one with positions, outer joins and windows (sections 6.2 and 6.10).

use jaren_json::{Object, Value, in_quotes};

use super::phrase::Bound;
use super::{Compiler, NESTING_MAX, is_name};
use crate::error::SHAPE;
use crate::place::Place;
use crate::plan::{Binding, Expr, Kind, Window};

/// The members of an extended `$for` binding (sections 6.2 and 6.10).
const EXTENDED: [&str; 6] = ["$in", "$at", "$allowing-empty", "$window", "$size", "$step"];

impl<'d> Compiler<'d> {
    pub(super) fn bindings(
        &mut self,
        object: &'d Object,
        place: Place,
        depth: usize,
        bound: &mut Bound<'d>,
    ) -> Vec<Binding> {
        let Some((names, clause)) = self.binding_object(object, "$for", place) else { return Vec::new() };
        let extra_levels = self.extra_levels;
        let mut bindings = Vec::with_capacity(names.len());
        for (name, value) in names {
            let place = self.places.member(clause, name);
            self.claim(name, place, bound);
            self.extra_levels = extra_levels + bindings.len();
            if self.too_many_levels(value, place, depth) {
                break;
            }
            bindings.push(self.binding(name, value, place, depth, bound));
        }
        self.extra_levels = extra_levels;
        bindings
    }

    /// Whether what a binding adds to the levels around its source is too much, which is then reported.
    pub(super) fn too_many_levels(&mut self, source: &'d Value, place: Place, depth: usize) -> bool {
        let too_many = self.extra_levels + depth > NESTING_MAX;
        if too_many {
            self.expr(source, place, depth + 1);
        }
        too_many
    }

    fn binding(
        &mut self,
        name: &'d str,
        value: &'d Value,
        place: Place,
        depth: usize,
        bound: &mut Bound<'d>,
    ) -> Binding {
        let extended = value.as_object().filter(|object| is_extended(object));
        let mut at = None;
        let reads = self.scope.reads.len();
        let (mut allowing_empty, mut window) = (false, None);
        let source = match extended {
            None => self.expr(value, place, depth + 1),
            Some(object) => {
                self.extended_names(object, place);
                at = self.position_name(object, place);
                allowing_empty = self.allowing_empty(object, place);
                window = self.window(object, place);
                let source = self.clause(object, "$in", place, depth);
                source.unwrap_or(Expr { place, kind: Kind::Literal(Value::Null) })
            }
        };
        let mut read = self.scope.reads.iter().skip(reads);
        let correlated = read.any(|slot| bound.tuple.iter().any(|(_, earlier)| earlier == slot));
        let slot = self.scope.slot();
        self.scope.bind(name, slot);
        bound.tuple.push((name, slot));
        let at = at.map(|name| {
            let place = self.places.member(place, "$at");
            self.claim(name, place, bound);
            let slot = self.scope.slot();
            self.scope.bind(name, slot);
            bound.tuple.push((name, slot));
            slot
        });
        Binding { slot, at, allowing_empty, window, source, correlated }
    }

    fn extended_names(&mut self, object: &Object, place: Place) {
        if let Some((name, _)) = object.iter().find(|(name, _)| !EXTENDED.contains(name)) {
            let near = self.near(name, EXTENDED);
            let (name, all) = (in_quotes(name), EXTENDED.join(", "));
            let message = format!("{name} is no member of an extended binding; it has {all}{near}");
            self.defect(SHAPE, place, message);
        } else if object.get("$in").is_none() {
            self.defect(SHAPE, place, "expected '$in' in an extended binding");
        }
    }

    fn position_name(&mut self, object: &'d Object, place: Place) -> Option<&'d str> {
        let value = object.get("$at")?;
        let name = value.as_str().filter(|name| is_name(name));
        if name.is_none() {
            let place = self.places.member(place, "$at");
            self.defect(SHAPE, place, "expected a variable name as a text, without '$'");
        }
        name
    }

    fn allowing_empty(&mut self, object: &Object, place: Place) -> bool {
        let Some(value) = object.get("$allowing-empty") else { return false };
        value.as_bool().unwrap_or_else(|| {
            let place = self.places.member(place, "$allowing-empty");
            self.defect(SHAPE, place, format!("expected a boolean, found {}", value.kind()));
            false
        })
    }

    fn window(&mut self, object: &Object, place: Place) -> Option<Window> {
        let Some(kind) = object.get("$window") else {
            if object.get("$size").is_some() || object.get("$step").is_some() {
                self.defect(SHAPE, place, "'$size' and '$step' need '$window'");
            }
            return None;
        };
        let sliding = match kind.as_str() {
            Some("sliding") => true,
            Some("tumbling") => false,
            _ => {
                let place = self.places.member(place, "$window");
                self.defect(SHAPE, place, "expected 'tumbling' or 'sliding'");
                return None;
            }
        };
        if object.get("$size").is_none() {
            self.defect(SHAPE, place, "'$window' needs '$size'");
        }
        let size = self.width(object, "$size", place)?;
        let step = match object.get("$step") {
            Some(_) => self.width(object, "$step", place)?,
            None => window_step(sliding, size, 1),
        };
        Some(Window { sliding, size, step })
    }

    /// A positive integer; one beyond the address space is the same as the largest within it.
    fn width(&mut self, object: &Object, name: &'static str, place: Place) -> Option<usize> {
        let value = object.get(name)?;
        let whole = value.as_f64().filter(|n| *n >= 1.0 && n.is_finite() && n.fract() == 0.0);
        if whole.is_none() {
            let place = self.places.member(place, name);
            self.defect(SHAPE, place, "expected a positive integer");
            return None;
        }
        Some(value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX))
    }
}

/// The step of a window that names none: one of a sliding window, its size of a tumbling one.
pub(crate) fn window_step<T>(sliding: bool, size: T, one: T) -> T {
    if sliding { one } else { size }
}

/// Whether a source has the extended form; any of its names says so.
pub(crate) fn is_extended(object: &Object) -> bool {
    object.iter().any(|(name, _)| EXTENDED.contains(&name))
}
