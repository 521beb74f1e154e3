//! The work by hand on `serde_json::Value`, as a person would write it who knows what the documents look like.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

use serde_json::{Value, json};

use crate::{measure, measure_guard};

const BY: &str = "hand, serde_json";

pub fn guard(scope: &Value) {
    measure_guard(BY, 51, || {
        black_box(scope)["context"]["count"].as_f64() < scope["context"]["limit"].as_f64()
    });
}

pub fn queries(rows: &Value, tables: &Value) {
    let all = || rows.as_array().unwrap().iter();
    let large = || all().filter(|row| row["qty"].as_u64().unwrap() >= 500);
    let total = |row: &Value| row["qty"].as_f64().unwrap() * row["price"].as_f64().unwrap();
    let query = |work, run: &dyn Fn() -> Value| measure(work, BY, run, Value::clone);

    query("path", &|| all().map(|row| row["customer"]["name"].clone()).collect());
    query("path-filter", &|| large().map(|row| row["id"].clone()).collect());
    query("filter", &|| large().map(|row| json!({"id": row["id"], "total": total(row)})).collect());
    query("filter-plain", &|| large().map(|row| json!({"id": row["id"], "qty": row["qty"]})).collect());
    query("sum", &|| json!(all().map(|row| row["qty"].as_f64().unwrap()).sum::<f64>()));
    query("order", &|| {
        let mut sorted: Vec<&Value> = all().collect();
        let key = |row: &Value| (-row["qty"].as_i64().unwrap(), row["id"].as_u64().unwrap());
        sorted.sort_by(|a, b| key(a).cmp(&key(b)));
        sorted.iter().map(|row| row["id"].clone()).collect()
    });
    query("join", &|| {
        let right = tables["b"].as_array().unwrap().iter();
        let by_ref: HashMap<u64, &Value> = right.map(|row| (row["ref"].as_u64().unwrap(), row)).collect();
        let found = |row: &Value| Some(json!({"id": row["id"], "n": by_ref.get(&row["id"].as_u64()?)?["n"]}));
        tables["a"].as_array().unwrap().iter().filter_map(found).collect()
    });
    let group = || {
        let mut totals = BTreeMap::new();
        for row in all() {
            *totals.entry(row["region"].as_str().unwrap()).or_insert(0.0) += total(row);
        }
        totals
    };
    measure("group", BY, group, |totals| {
        totals.iter().map(|(region, total)| json!({"region": region, "total": total})).collect()
    });
}

/// What keeps parts of the document copies them: these values share nothing.
pub fn sheets(tree: &Value) {
    let rows = || tree["rows"].as_array().unwrap().iter();
    let sheet = |work, run: &dyn Fn() -> Value| measure(work, BY, run, Value::clone);
    let number = |value: &Value| value.as_f64().unwrap();

    sheet("sheet-prices", &|| {
        let mut tree = tree.clone();
        for row in tree["rows"].as_array_mut().unwrap() {
            row["price"] = json!(number(&row["price"]) * 1.5);
        }
        tree
    });
    sheet("sheet-price", &|| {
        let mut tree = tree.clone();
        tree["rows"][77]["price"] = json!(0);
        tree
    });
    sheet("sheet-rows", &|| {
        let made = rows().map(|row| {
            json!({"id": row["no"], "net": number(&row["price"]) * 2.0, "meta": [row["meta"]["owner"]]})
        });
        json!({"cur": tree["cur"], "rows": made.collect::<Value>()})
    });
    sheet("sheet-walk", &|| {
        json!([rows()
            .map(|row| json!({"no": row["no"], "price": number(&row["price"]) + 1.0}))
            .collect::<Value>()])
    });
    sheet("sheet-fresh", &|| {
        let mut tree = tree.clone();
        for row in tree["rows"].as_array_mut().unwrap() {
            row["meta"]["owner"] = json!("x");
        }
        tree
    });
}
