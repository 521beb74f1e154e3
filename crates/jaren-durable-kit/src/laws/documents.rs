//! Laws of documents: revisions, retention, addresses, lifetimes, values.

use std::sync::Arc;

use jaren_durable::{
    Address, At, Batch, Body, BulkChange, DeltaChain, DocumentsQuery, Family, FamilyQuery, RefusalKind,
    Retention, Scope, Seq, Session, Singleton, Storage, StorageErrorKind, Write, limits,
};
use jaren_json::delta::{Op, Segment};
use jaren_json::{Value, value};

use crate::draw::Draw;
use crate::steps::{
    after, apply, base, base_of, commit, create, delta, delta_of, head, id, refusal, retire, stored, value,
    value_at, writing,
};

const LIST: Singleton = Singleton::new("kit.list", 1);
const NEWEST: Singleton = Singleton::new("kit.newest", 1).current();

/// A list of the numbers below `len`.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn list(len: usize) -> Value {
    value!({"items": Value::Array((0..len).map(|n| Value::Number(n as f64)).collect())})
}

async fn append(session: &mut Session, kind: &Singleton, len: usize) {
    let mut draft = session.draft();
    draft.put(kind, list(len));
    session.commit(draft).await.expect("a commit");
}

/// Whatever mixture of bases and deltas a handle writes, a fresh reader replays the value; the chain keeps to durable
/// decision 4: at most 32 deltas, and more over a large base, of fewer bytes than it.
pub async fn revisions_replay_to_the_value(storage: Arc<dyn Storage>) {
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    let mut bases = 0;
    for len in 0..300 {
        append(&mut session, &LIST, len).await;
        let stored = stored(&storage, "a", &LIST.address(), At::Current).await.expect("it lives");
        assert_eq!(stored.value, list(len));
        let DeltaChain { base_bytes, deltas, delta_bytes, .. } = stored.chain;
        assert!(deltas <= stored.chain.deltas_max() && delta_bytes <= base_bytes, "{:?}", stored.chain);
        bases += u32::from(deltas == 0);
    }
    assert!((10..150).contains(&bases), "{bases} bases in 300 revisions");
}

/// Where the next base lands is told by what is stored, not by what a handle remembers: one that is opened anew before
/// each commit writes the same forms (durable H23, H25).
pub async fn a_fresh_handle_writes_what_a_kept_one_does(storage: Arc<dyn Storage>) {
    let mut kept = Session::create(storage.clone(), id("kept"), "kit");
    for len in 0..100 {
        append(&mut kept, &LIST, len).await;
        let fresh = Session::open(storage.clone(), id("fresh")).await.expect("it is read");
        let mut fresh = fresh.unwrap_or_else(|| Session::create(storage.clone(), id("fresh"), "kit"));
        append(&mut fresh, &LIST, len).await;
    }
    let log = async |name| {
        let log = storage.changes(id(name), Seq::ZERO, 1000).await.expect("a log");
        log.into_iter().map(|commit| commit.changes).collect::<Vec<_>>()
    };
    assert_eq!(log("fresh").await, log("kept").await);
}

/// A delta that replaces the whole value is a delta: a long chain across one is exact at every point (durable A42, C.3
/// case 17).
pub async fn a_long_chain_across_a_replacement_is_exact(storage: Arc<dyn Storage>) {
    const HALF: usize = 24;
    let at = LIST.address();
    let value = |n: usize| if n <= HALF { list(512 + n) } else { value!({"other": list(n)}) };
    commit(&storage, writing(create("a"), [base(&at, &value(0))])).await;
    for n in 1..=2 * HALF + 1 {
        let mut write = delta(&at, &value(n - 1), &value(n));
        if let (Write::Delta { body, .. }, true) = (&mut write, n == HALF + 1) {
            *body = Body::delta(&[Op::Replace(value(n))]).expect("a storable delta");
        }
        commit(&storage, writing(after("a", n as u64), [write])).await;
    }
    for n in [0, 1, HALF, HALF + 1, HALF + 2, 2 * HALF + 1] {
        assert_eq!(value_at(&storage, "a", &at, n as u64 + 1).await, Some(value(n)), "after {n} deltas");
    }
    let stored = stored(&storage, "a", &at, At::Current).await.expect("it lives");
    assert_eq!(stored.chain.deltas as usize, 2 * HALF + 1, "a replacement is no base");
}

/// Every revision of a document of full retention can be read by its commit, and nothing before its creation (durable
/// H30, C.3 case 16).
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
/// error of its own kind for the past (durable H30, C.3 case 19).
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

/// Kinds and keys that differ in odd characters are different addresses (durable A32, H28, C.3 cases 4 and 23).
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
    let family = storage.family(FamilyQuery::new(id("a"), "kit.f")).await.unwrap();
    assert_eq!(family.items.len(), keys.len(), "the singleton of a kind is no member of the family");
}

/// Alive from the creating commit to the one before the retiring commit; a successor at the address is another
/// document (durable A33, H30, C.3 cases 16 and 21).
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

/// Numbers, texts and nesting survive the store; what has no stored form is refused before anything is written, and
/// the handle goes on (durable H14).
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
    let mut draft = session.draft();
    for (at, value) in values.iter().enumerate() {
        draft.put_member(&ODD, &at.to_string(), value.clone());
    }
    session.commit(draft).await.expect("all can be stored");
    for (at, expected) in values.iter().enumerate() {
        assert_eq!(value(&storage, "a", &ODD.address(&at.to_string())).await.as_ref(), Some(expected));
    }
    // As part of a change, too: the delta around it is deeper than it.
    let deepest = value!({"n": [nested(limits::DEPTH_MAX - 2)], "text": "x".repeat(10_000)});
    for value in [value!({"n": null, "text": "x".repeat(10_000)}), deepest.clone()] {
        let mut draft = session.draft();
        draft.put_member(&ODD, "deep", value);
        session.commit(draft).await.expect("it can be stored");
    }
    assert_eq!(value(&storage, "a", &ODD.address("deep")).await, Some(deepest));
    for bad in [Value::Number(f64::NAN), value!({"x": [f64::INFINITY]}), nested(limits::DEPTH_MAX + 1)] {
        let mut draft = session.draft();
        draft.put_member(&ODD, "good", value!({}));
        draft.put_member(&ODD, "bad", bad);
        session.commit(draft).await.expect_err("it has no stored form");
        assert_eq!(head(&storage, "a").await, Some(3));
    }
    let mut draft = session.draft();
    draft.put_member(&ODD, "good", value!({}));
    session.commit(draft).await.expect("the handle goes on");
}

/// The bytes of a small change do not depend on the size of the document.
pub async fn a_small_change_is_stored_small(storage: Arc<dyn Storage>) {
    let big = |n: u32| value!({"n": n, "text": "x".repeat(100_000)});
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    for n in 0..5 {
        let mut draft = session.draft();
        draft.put(&LIST, big(n));
        session.commit(draft).await.expect("a commit");
    }
    let log = storage.changes(id("a"), Seq::new(1), 10).await.unwrap();
    assert_eq!(log.len(), 4);
    assert!(log.iter().all(|commit| commit.body_bytes() < 50), "{log:?}");
}

/// A delta is taken as it is. One that does not apply makes its document unreadable from there on, and nothing else: not
/// its past, not other documents, and not the next base (durable H46).
pub async fn a_delta_that_does_not_apply_harms_one_document_only(storage: Arc<dyn Storage>) {
    let (at, other) = (LIST.address(), NEWEST.address());
    let good = value!({"a": 1});
    commit(&storage, writing(create("a"), [base(&at, &good), base_of(&other, &good, Retention::Current, 1)]))
        .await;
    let path = |member: &str| vec![Segment::Key(member.into())];
    let ops =
        [Op::Set { path: path("a"), value: value!(2) }, Op::Append { path: path("none"), text: "x".into() }];
    let body = Body::delta(&ops).expect("a storable delta");
    let bad = Write::Delta { address: at.clone(), version: 1, body };
    commit(&storage, writing(after("a", 1), [bad])).await;
    let error = storage.document(id("a"), at.clone(), At::Current).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    assert_eq!(value_at(&storage, "a", &at, 1).await, Some(good.clone()));
    assert_eq!(value(&storage, "a", &other).await, Some(good.clone()));
    assert_eq!(storage.changes(id("a"), Seq::ZERO, 9).await.unwrap().len(), 2);
    commit(&storage, writing(after("a", 2), [base(&at, &good)])).await;
    assert_eq!(value(&storage, "a", &at).await, Some(good));
}

/// What [`Write::update`] makes of a document as it is and any other value applies, whoever writes it, and of an equal
/// value it makes nothing.
pub async fn an_update_brings_a_document_to_the_value(storage: Arc<dyn Storage>) {
    let at = LIST.address();
    let mut draw = Draw::new(7);
    let mut next = draw.value();
    commit(&storage, writing(create("a"), [base(&at, &next)])).await;
    let (mut head, mut deltas) = (1, 0);
    for _ in 0..200 {
        let now = stored(&storage, "a", &at, At::Current).await.expect("it lives");
        assert_eq!(Write::update(&now, &next).expect("a storable value").map(drop), None);
        next = if draw.once_in(20) { draw.value() } else { draw.changed(&next) };
        let Some(write) = Write::update(&now, &next).expect("a storable value") else { continue };
        deltas += u32::from(matches!(write, Write::Delta { .. }));
        commit(&storage, writing(after("a", head), [write])).await;
        head += 1;
        assert_eq!(value(&storage, "a", &at).await.as_ref(), Some(&next), "commit {head}");
    }
    assert!(deltas > 0, "some are small");
}

/// A value of another schema version is written whole and never goes back, and the deltas after it carry that version
/// (durable A44, H27, C.3 case 19).
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
    let older = writing(after("a", 3), [base_of(&at, &one, Retention::Full, 1)]);
    let refused = refusal(apply(&storage, older).await).kind;
    assert_eq!(refused, RefusalKind::Downgrade { stored: 2, found: 1 });
    for (seq, version, expected) in [(1, 1, &one), (2, 2, &two), (3, 2, &three)] {
        let stored = stored(&storage, "a", &at, At::Seq(Seq::new(seq))).await.expect("it lives");
        assert_eq!((stored.version, &stored.value, stored.created), (version, expected, Seq::new(1)));
    }
}

/// A document of bulk retention is stored whole and newest only: the change log counts it, its past is refused also
/// after it ended, and a delta over it is a mistake.
pub async fn bulk_is_stored_newest_and_counted(storage: Arc<dyn Storage>) {
    let at = |key: &str| Address::member("kit.fact", key).within(Scope::Task(7));
    let bulk = |key: &str, n: u32| base_of(&at(key), &value!({"n": n}), Retention::Bulk, n);
    let state = Address::singleton("kit.state");
    commit(&storage, writing(create("a"), [bulk("x", 1), base(&state, &value!({})), bulk("y", 1)])).await;
    commit(&storage, writing(after("a", 1), [bulk("x", 2), retire(&at("y"))])).await;
    let over = delta_of(&at("x"), &value!({"n": 2}), &value!({"n": 3}), 2);
    assert_eq!(refusal(apply(&storage, writing(after("a", 2), [over])).await).kind, RefusalKind::Bulk);
    commit(&storage, writing(after("a", 2), [base_of(&state, &value!({"n": 1}), Retention::Full, 1)])).await;

    for point in [At::Current, At::Seq(Seq::new(2)), At::Seq(Seq::new(9))] {
        let x = stored(&storage, "a", &at("x"), point).await.expect("it lives");
        assert_eq!((x.value, x.version, x.retention), (value!({"n": 2}), 2, Retention::Bulk));
        assert_eq!((x.created, x.seq), (Seq::new(1), Seq::new(2)));
        assert_eq!(stored(&storage, "a", &at("y"), point).await, None);
    }
    assert_eq!(value_at(&storage, "a", &at("x"), 0).await, None);
    for key in ["x", "y"] {
        let past = storage.document(id("a"), at(key), At::Seq(Seq::new(1))).await;
        assert_eq!(past.expect_err("it is not kept").kind(), StorageErrorKind::NotRetained);
    }
    let counts = |written, retired| [BulkChange::new(Scope::Task(7), "kit.fact".into(), written, retired)];
    let log = storage.changes(id("a"), Seq::ZERO, 10).await.unwrap();
    assert_eq!(log[0].bulk, counts(2, 0));
    assert_eq!(log[0].changes.iter().map(|change| &change.address).collect::<Vec<_>>(), [&state]);
    assert_eq!((log[1].bulk.as_slice(), log[1].changes.len()), (&counts(1, 1)[..], 0));
    assert!(log[2].bulk.is_empty());
    let mut query = FamilyQuery::new(id("a"), "kit.fact");
    query.scope = Scope::Task(7);
    let page = storage.family(query).await.unwrap();
    assert_eq!(page.items.iter().map(|stored| stored.value.clone()).collect::<Vec<_>>(), [value!({"n": 2})]);

    commit(&storage, writing(after("a", 3), [bulk("y", 5)])).await;
    assert_eq!(value(&storage, "a", &at("y")).await, Some(value!({"n": 5})), "another life");
}

/// The same kind in another scope is another document; a scope is listed exactly, in address order, at every point
/// (durable C.3 case 20).
pub async fn scopes_are_told_apart(storage: Arc<dyn Storage>) {
    let scopes = [
        Scope::Session,
        Scope::Conversation(1),
        Scope::Conversation(12),
        Scope::Task(1),
        Scope::Task(12),
        Scope::Task(u64::MAX),
    ];
    let kinds = ["kit.a", "kit.a.b", "kit.b", "\u{10FFFF}\u{10FFFF}", "é"];
    let plain: Vec<Address> = kinds
        .iter()
        .flat_map(|kind| {
            [Address::singleton(*kind), Address::member(*kind, ""), Address::member(*kind, "__proto__")]
        })
        .collect();
    let mut part = create("a");
    for scope in scopes {
        let name = scope.to_string();
        for address in &plain {
            part.writes.push(base(&address.clone().within(scope), &value!({"in": name.as_str()})));
        }
    }
    commit(&storage, Batch::one(part)).await;
    let (gone, late) =
        (plain[4].clone().within(Scope::Task(12)), Address::singleton("a.first").within(Scope::Task(12)));
    commit(&storage, writing(after("a", 1), [retire(&gone), base(&late, &value!({}))])).await;

    let list = async |scope: Scope, at: At, limit: usize| {
        let mut query = DocumentsQuery::new(id("a"), scope);
        (query.at, query.limit) = (at, limit);
        let mut addresses = Vec::new();
        loop {
            let page = storage.documents(query.clone()).await.expect("a page");
            assert!(page.items.len() <= limit && (!page.more || page.items.len() == limit));
            query.after = page.items.last().map(|record| record.address.clone());
            addresses.extend(page.items.into_iter().map(|record| record.address));
            if !page.more {
                return addresses;
            }
        }
    };
    for scope in scopes {
        let mut expected: Vec<Address> = plain.iter().map(|address| address.clone().within(scope)).collect();
        expected.sort();
        for limit in [1, 4, 100] {
            assert_eq!(list(scope, At::Seq(Seq::new(1)), limit).await, expected, "{scope} then");
        }
        if scope == Scope::Task(12) {
            expected.retain(|address| *address != gone);
            expected.insert(0, late.clone());
        }
        for limit in [1, 4, 100] {
            assert_eq!(list(scope, At::Current, limit).await, expected, "{scope} now");
        }
        let one = value(&storage, "a", &plain[0].clone().within(scope)).await;
        assert_eq!(one, Some(value!({"in": scope.to_string()})));
    }
    assert!(list(Scope::Task(2), At::Current, 10).await.is_empty());
}
