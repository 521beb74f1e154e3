//! Laws of documents: revisions, retention, addresses, lifetimes, values.

use std::sync::Arc;

use jaren_durable::{
    Address, At, Body, Family, Retention, Seq, Session, Singleton, Storage, StorageErrorKind, Tail, Write,
    limits,
};
use jaren_json::{Value, value};

use crate::steps::{
    after, base, base_of, commit, create, delta, head, id, retire, stored, value, value_at, writing,
};

const LIST: Singleton = Singleton::new("kit.list", 1);
const NEWEST: Singleton = Singleton::new("kit.newest", 1).current();

/// A list of the numbers below `len`.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn list(len: usize) -> Value {
    value!({"items": Value::Array((0..len).map(|n| Value::Number(n as f64)).collect())})
}

async fn append(session: &mut Session, kind: &Singleton, len: usize) {
    let mut change = session.change();
    change.put(kind, list(len));
    session.commit(change).await.expect("a commit");
}

/// Whatever mixture of bases and deltas a handle writes, a fresh reader replays the value; the tail keeps to durable
/// decision 4: at most 32 deltas, of fewer bytes than their base.
pub async fn revisions_replay_to_the_value(storage: Arc<dyn Storage>) {
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    let mut bases = 0;
    for len in 0..300 {
        append(&mut session, &LIST, len).await;
        let stored = stored(&storage, "a", &LIST.address(), At::Current).await.expect("it lives");
        assert_eq!(stored.value, list(len));
        let Tail { base_bytes, deltas, delta_bytes } = stored.tail;
        assert!(deltas <= limits::DELTAS_MAX && delta_bytes <= base_bytes, "{:?}", stored.tail);
        bases += u32::from(deltas == 0);
    }
    assert!((10..150).contains(&bases), "{bases} bases in 300 revisions");
}

/// Every revision of a document of full retention can be read by its commit, and nothing before its creation.
pub async fn full_retention_keeps_every_point(storage: Arc<dyn Storage>) {
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    for len in 0..100 {
        append(&mut session, &LIST, len).await;
    }
    assert_eq!(value_at(&storage, "a", &LIST.address(), 0).await, None);
    for len in 0..100 {
        assert_eq!(value_at(&storage, "a", &LIST.address(), len as u64 + 1).await, Some(list(len)));
    }
    let beyond = value_at(&storage, "a", &LIST.address(), u64::MAX).await;
    assert_eq!(beyond, Some(list(99)), "beyond the head is the head");
}

/// A document of current retention answers its newest revision, also as of later commits that left it alone, and an
/// error of its own kind for the past.
pub async fn current_retention_refuses_the_past(storage: Arc<dyn Storage>) {
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    append(&mut session, &NEWEST, 1).await;
    append(&mut session, &NEWEST, 2).await;
    append(&mut session, &LIST, 1).await;
    append(&mut session, &LIST, 2).await;
    for seq in [2, 3, 4] {
        assert_eq!(value_at(&storage, "a", &NEWEST.address(), seq).await, Some(list(2)));
    }
    let past = storage.document(id("a"), NEWEST.address(), At::Seq(Seq::new(1))).await;
    assert_eq!(past.expect_err("the past is not kept").kind(), StorageErrorKind::NotRetained);
    assert_eq!(value_at(&storage, "a", &NEWEST.address(), 0).await, None, "before its creation it is absent");
}

/// Kinds and keys that differ in odd characters are different addresses (durable A32, C.3 case 23).
pub async fn addresses_are_lossless(storage: Arc<dyn Storage>) {
    let keys =
        ["", "a", "A", "a\0b", "a\0c", "__proto__", "constructor", "é", "e\u{301}", " ", "%", "\"", "\n"];
    let mut addresses =
        vec![Address::singleton("kit.f"), Address::singleton("kit.F"), Address::member("kit.g", "a")];
    addresses.extend(keys.map(|key| Address::member("kit.f", key)));
    let text = |address: &Address| value!({"at": Value::from(format!("{address:?}"))});
    commit(&storage, writing(create("a"), addresses.iter().map(|address| base(address, &text(address)))))
        .await;
    for address in &addresses {
        let stored = stored(&storage, "a", address, At::Current).await.expect("it lives");
        assert_eq!((&stored.address, stored.value), (address, text(address)));
    }
    let family = storage.family(jaren_durable::FamilyQuery::new(id("a"), "kit.f")).await.unwrap();
    assert_eq!(family.items.len(), keys.len(), "the singleton of a kind is no member of the family");
}

/// Alive from the creating commit to the one before the retiring commit; a successor at the address is another
/// document (durable A33).
pub async fn lifetimes_are_half_open(storage: Arc<dyn Storage>) {
    let at = Address::member("kit.f", "x");
    let (old, new) = (value!({"life": 1}), value!({"life": 2}));
    commit(&storage, writing(create("a"), [])).await;
    commit(&storage, writing(after("a", 1), [base(&at, &old)])).await;
    commit(&storage, writing(after("a", 2), [])).await;
    commit(&storage, writing(after("a", 3), [retire(&at)])).await;
    assert_eq!(value(&storage, "a", &at).await, None);
    commit(&storage, writing(after("a", 4), [base_of(&at, &new, Retention::Current, 3)])).await;
    commit(&storage, writing(after("a", 5), [retire(&at)])).await;
    commit(&storage, writing(after("a", 6), [base(&at, &old)])).await;
    let lives = [None, None, Some(&old), Some(&old), None, Some(&new), None, Some(&old)];
    for (seq, expected) in lives.into_iter().enumerate() {
        assert_eq!(value_at(&storage, "a", &at, seq as u64).await.as_ref(), expected, "at {seq}");
    }
    let successor = stored(&storage, "a", &at, At::Seq(Seq::new(5))).await.expect("it lived");
    assert_eq!((successor.created, successor.version), (Seq::new(5), 3));
}

/// Numbers, texts and nesting survive the store; what has no stored form is refused before anything is written.
pub async fn values_come_back_exactly(storage: Arc<dyn Storage>) {
    const ODD: Family = Family::new("kit.odd", 1);
    let nested =
        |depth: u32| (1..depth).fold(value!([]), |inner, _| Value::Array([inner].into_iter().collect()));
    let values = [
        value!({"numbers": [0, -1, 0.1, 1e-7, 5e-324, f64::MAX, 9_007_199_254_740_992.0, 1e21, 123_456_789.125]}),
        value!({"texts": ["", "\0", "\u{7f}\u{2028}", "\u{1F600}", "\\\"/\u{8}\u{c}\n\r\t", "__proto__"]}),
        value!({"__proto__": {"constructor": 1}, "": null, "a": [[], {}, [[]], true, false]}),
        Value::Null,
        value!("a text"),
        nested(limits::DEPTH_MAX),
    ];
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    let mut change = session.change();
    for (at, value) in values.iter().enumerate() {
        change.put_member(&ODD, &at.to_string(), value.clone());
    }
    session.commit(change).await.expect("all can be stored");
    for (at, expected) in values.iter().enumerate() {
        assert_eq!(value(&storage, "a", &ODD.address(&at.to_string())).await.as_ref(), Some(expected));
    }
    // As part of a change, too: the delta around it is deeper than it.
    let deepest = value!({"n": [nested(limits::DEPTH_MAX - 2)], "text": "x".repeat(10_000)});
    for value in [value!({"n": null, "text": "x".repeat(10_000)}), deepest.clone()] {
        let mut change = session.change();
        change.put_member(&ODD, "deep", value);
        session.commit(change).await.expect("it can be stored");
    }
    assert_eq!(value(&storage, "a", &ODD.address("deep")).await, Some(deepest));
    for bad in [Value::Number(f64::NAN), value!({"x": [f64::INFINITY]}), nested(limits::DEPTH_MAX + 1)] {
        let mut change = session.change();
        change.put_member(&ODD, "good", value!({}));
        change.put_member(&ODD, "bad", bad);
        session.commit(change).await.expect_err("it has no stored form");
        assert_eq!(head(&storage, "a").await, Some(3));
    }
}

/// The bytes of a small change do not depend on the size of the document.
pub async fn a_small_change_is_stored_small(storage: Arc<dyn Storage>) {
    let big = |n: u32| value!({"n": n, "text": "x".repeat(100_000)});
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    for n in 0..5 {
        let mut change = session.change();
        change.put(&LIST, big(n));
        session.commit(change).await.expect("a commit");
    }
    let log = storage.changes(id("a"), Seq::new(1), 10).await.unwrap();
    assert_eq!(log.len(), 4);
    assert!(log.iter().all(|commit| commit.body_bytes() < 50), "{log:?}");
}

/// A value of another schema version is written whole, and the deltas after it carry that version (durable A44).
pub async fn a_version_change_is_a_base(storage: Arc<dyn Storage>) {
    let at = LIST.address();
    let (one, two, three) = (value!({"v": 1}), value!({"v": 2}), value!({"v": 3}));
    commit(&storage, writing(create("a"), [base(&at, &one)])).await;
    commit(&storage, writing(after("a", 1), [base_of(&at, &two, Retention::Full, 2)])).await;
    let body = match delta(&at, &two, &three) {
        Write::Delta { body, .. } => Body::stored(body.as_str()),
        other => panic!("expected a delta, found {other:?}"),
    };
    commit(&storage, writing(after("a", 2), [Write::Delta { address: at.clone(), version: 2, body }])).await;
    for (seq, version, expected) in [(1, 1, &one), (2, 2, &two), (3, 2, &three)] {
        let stored = stored(&storage, "a", &at, At::Seq(Seq::new(seq))).await.expect("it lives");
        assert_eq!((stored.version, &stored.value, stored.created), (version, expected, Seq::new(1)));
    }
}
