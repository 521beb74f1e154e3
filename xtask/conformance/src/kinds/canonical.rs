//! RFC 8785: `{"text", "canonical"}` or `{"text", "error": true, "dataPath"}`.

use jaren_json::{Integers, Pointer, ReadOptions, Value, canonical, read};

use crate::answer::short;
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let text = case.need("text")?.as_str().ok_or("the case's text is no string")?;
    let found = canonical_of(text);
    if case.is("error") {
        let place = Pointer::parse(case.need("dataPath")?.as_str().unwrap_or_default())
            .map_err(|error| format!("the case's dataPath: {error}"))?;
        return match found {
            Err(at) if at == place || stops_at(text, &place) => Ok(()),
            Err(at) => Err(format!("expected an error at `{place}`, found one at `{at}`")),
            Ok(found) => Err(format!("expected an error at `{place}`, found {found}")),
        };
    }
    let expected = case.need("canonical")?;
    match found {
        Ok(found) if Some(&*found) == expected.as_str() => Ok(()),
        Ok(found) => Err(format!("expected {}, found {}", short(expected), short(&Value::from(found)))),
        Err(at) => Err(format!("expected {}, found an error at `{at}`", short(expected))),
    }
}

/// As the reference reads: the last of equal names wins, integers are rounded.
fn options() -> ReadOptions {
    ReadOptions { integers: Integers::Nearest, ..ReadOptions::data() }
}

/// Reads and canonicalizes; an error is its place.
fn canonical_of(text: &str) -> Result<String, Pointer> {
    // What no value can hold, a lone surrogate, is refused already here.
    let value = read(text.as_bytes(), &options()).map_err(|error| error.pointer().clone())?;
    canonical(&value).map_err(|error| error.pointer().clone())
}

/// Whether a text stops the canonical form at a place too, once the lone surrogates before it are mended: where a text
/// has several defects, the reader meets them in the text's order and the reference in the order of the names.
fn stops_at(text: &str, place: &Pointer) -> bool {
    const ESCAPE: &str = "\\u0000";
    let mut text = text.to_owned();
    while let Err(error) = read(text.as_bytes(), &options()) {
        let at = error.position().offset;
        let escape = at..at.saturating_add(ESCAPE.len());
        if text.get(escape.clone()).is_none_or(|found| !found.starts_with("\\u") || found == ESCAPE) {
            return false;
        }
        text.replace_range(escape, ESCAPE);
    }
    canonical_of(&text).is_err_and(|at| at == *place)
}
