//! RFC 8785: `{"text", "canonical"}` or `{"text", "error": true, "dataPath"}`.

use jaren_json::{Integers, Pointer, ReadOptions, Value, canonical, locate, read};

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

/// Reads as the reference does (the last of equal names wins, integers are rounded) and canonicalizes; an error is its
/// place.
fn canonical_of(text: &str) -> Result<String, Pointer> {
    let options = ReadOptions { integers: Integers::Nearest, ..ReadOptions::data() };
    // What no value can hold, a lone surrogate, is refused already here.
    let value = read(text.as_bytes(), &options).map_err(|error| error.pointer().clone())?;
    canonical(&value).map_err(|error| error.pointer().clone())
}

/// Whether the part at a place has a defect of its own. Where a text has several, the reader meets them in the text's
/// order and the reference in the order of the names.
fn stops_at(text: &str, place: &Pointer) -> bool {
    let part = locate(text.as_bytes(), place).and_then(|span| text.get(span.start.offset..span.end.offset));
    !place.is_root() && part.is_some_and(|part| canonical_of(part).is_err())
}
