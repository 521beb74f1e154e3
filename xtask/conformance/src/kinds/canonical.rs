//! RFC 8785: `{"text", "canonical"}` or `{"text", "error": true, "dataPath"}`.

use jaren_json::{Integers, ReadOptions, Value, canonical, read};

use crate::answer::short;
use crate::case::Case;
use crate::kind::Outcome;

pub(crate) fn run(case: &Case) -> Outcome {
    let text = case.need("text")?.as_str().ok_or("the case's text is no string")?;
    // As the reference reads: the last of equal names wins, integers are rounded.
    let options = ReadOptions { integers: Integers::Nearest, ..ReadOptions::data() };
    let (found, place) = match read(text.as_bytes(), &options) {
        Ok(value) => match canonical(&value) {
            Ok(found) => (Some(found), String::new()),
            Err(error) => (None, error.pointer().to_string()),
        },
        // What no value can hold (a lone surrogate) is refused already here.
        Err(error) => (None, error.pointer().to_string()),
    };
    let shown = |text: Option<&str>| text.map_or_else(|| format!("an error at `{place}`"), ToOwned::to_owned);
    if case.is("error") {
        let expected = case.need("dataPath")?.as_str().unwrap_or_default();
        if found.is_none() && place == expected {
            return Ok(());
        }
        return Err(format!("expected an error at `{expected}`, found {}", shown(found.as_deref())));
    }
    let expected = case.need("canonical")?;
    if found.as_deref() == expected.as_str() {
        return Ok(());
    }
    Err(format!("expected {}, found {}", short(expected), short(&Value::from(shown(found.as_deref()).as_str()))))
}
