//! A slow reading of the statechart format: sets of states, every rule as its page says it, nothing shared with the
//! crate but `Value`. Section numbers are those of STATECHART-FORMAT.

use std::collections::{BTreeMap, BTreeSet};

use jaren_json::{Object, Value, value};

/// A law that a reading gets wrong on purpose, to prove that the comparison sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Broken {
    /// Ancestors are searched before the leaf.
    OuterFirst,
    /// The last matching transition of a source fires.
    LastInDocument,
    /// Guards that several leaves share are evaluated for each of them.
    GuardsAgain,
    /// A conflict is won by whoever was selected first, inner or not.
    FirstWins,
    /// A parallel state is a domain too.
    ParallelDomain,
    /// Exit effects run from the outside in.
    ExitOrder,
    /// Shallow history restores what deep history would.
    DeepHistory,
    /// Delays start at the time of the call.
    LateDelays,
    /// A parallel state is completed with its first region.
    AnyRegion,
}

/// What the format calls a snapshot, with every active state.
#[derive(Clone, Debug)]
pub(crate) struct Now {
    active: BTreeSet<usize>,
    history: BTreeMap<usize, BTreeSet<usize>>,
    timers: Vec<Timer>,
    serial: u32,
    time: f64,
}

#[derive(Clone, Debug)]
struct Timer {
    at: f64,
    transition: usize,
    token: u32,
}

/// What a caller gives to one call.
pub(crate) struct Given<'a> {
    pub(crate) event: Value,
    pub(crate) payload: &'a Value,
    pub(crate) context: &'a Value,
}

/// What a call has done so far.
#[derive(Default)]
pub(crate) struct Done {
    effects: Vec<Value>,
    errors: Vec<Value>,
    entered: Vec<usize>,
    exited: Vec<usize>,
    fired: Vec<usize>,
    count: usize,
}

impl Done {
    /// How many transitions have fired.
    pub(crate) fn fired(&self) -> usize {
        self.fired.len()
    }
}

/// Why a call has no answer to compare.
#[derive(Debug, PartialEq)]
pub(crate) enum Refused {
    /// JF2012.
    Endless,
    /// Two children of a compound state are active: "A trap of the format" in `docs/formats/statecharts.md`.
    Illegal,
}

/// What makes transitions fire.
#[derive(Clone, Copy)]
enum Cause {
    Event,
    Timer(usize),
    Automatic,
}

struct State {
    id: String,
    /// Its place in the document.
    declared: usize,
    document: Value,
    kind: &'static str,
    parent: Option<usize>,
}

/// A document, read.
pub(crate) struct Reading {
    /// In tree order.
    states: Vec<State>,
    transitions: Vec<Value>,
    document: Value,
    bound: usize,
    broken: Option<Broken>,
}

fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value.get(member).and_then(Value::as_str)
}

// Section 1: document and state tree.

fn kind(state: &Value, declared: &[Value]) -> &'static str {
    let is_ordinary =
        |child: &&Value| text(child, "parent") == text(state, "id") && child.get("history").is_none();
    match text(state, "type") {
        Some("parallel") => "parallel",
        _ if state.get("history").is_some() => "history",
        _ if state.get("final") == Some(&Value::Bool(true)) => "final",
        _ if declared.iter().filter(is_ordinary).count() > 0 => "compound",
        _ => "atomic",
    }
}

fn tree_order(declared: &[Value], parent: Option<&str>, states: &mut Vec<State>) {
    for (place, document) in declared.iter().enumerate() {
        if text(document, "parent") == parent {
            let id = text(document, "id").unwrap().to_owned();
            let parent = states.iter().position(|state| Some(&*state.id) == parent);
            let kind = kind(document, declared);
            states.push(State { id: id.clone(), declared: place, document: document.clone(), kind, parent });
            tree_order(declared, Some(&id), states);
        }
    }
}

impl Reading {
    pub(crate) fn new(document: &Value, bound: usize, broken: Option<Broken>) -> Self {
        let list = |member| document.get(member).unwrap().as_array().unwrap().to_vec();
        let mut states = Vec::new();
        tree_order(&list("states"), None, &mut states);
        Self { states, transitions: list("transitions"), document: document.clone(), bound, broken }
    }

    fn is_broken(&self, law: Broken) -> bool {
        self.broken == Some(law)
    }

    fn find(&self, id: &str) -> usize {
        self.states.iter().position(|state| state.id == id).unwrap()
    }

    fn end(&self, transition: usize, member: &str) -> usize {
        self.find(text(&self.transitions[transition], member).unwrap())
    }

    /// Nearest first.
    fn ancestors(&self, state: usize) -> Vec<usize> {
        match self.states[state].parent {
            None => Vec::new(),
            Some(parent) => [vec![parent], self.ancestors(parent)].concat(),
        }
    }

    fn is_below(&self, state: usize, ancestor: Option<usize>) -> bool {
        ancestor.is_none_or(|ancestor| self.ancestors(state).contains(&ancestor))
    }

    fn children(&self, parent: Option<usize>) -> Vec<usize> {
        let is_child =
            |state: &usize| self.states[*state].parent == parent && self.states[*state].kind != "history";
        (0..self.states.len()).filter(is_child).collect()
    }

    fn leaves(&self, active: &BTreeSet<usize>) -> BTreeSet<usize> {
        active
            .iter()
            .copied()
            .filter(|state| matches!(self.states[*state].kind, "atomic" | "final"))
            .collect()
    }

    /// The configuration that holds the wanted states, and defaults wherever they say nothing.
    fn complete(&self, wanted: &BTreeSet<usize>) -> Result<BTreeSet<usize>, Refused> {
        let mut active = BTreeSet::new();
        self.enter_one(None, None, wanted, &mut active)?;
        Ok(active)
    }

    /// Enters the one child of a compound state, or of the virtual root, that is wanted or else the initial one.
    fn enter_one(
        &self,
        parent: Option<usize>,
        initial: Option<&str>,
        wanted: &BTreeSet<usize>,
        active: &mut BTreeSet<usize>,
    ) -> Result<(), Refused> {
        let leads =
            |child: &usize| wanted.iter().any(|state| state == child || self.is_below(*state, Some(*child)));
        match *self.children(parent).into_iter().filter(leads).collect::<Vec<_>>() {
            [] => self.enter(self.find(initial.unwrap()), wanted, active),
            [child] => self.enter(child, wanted, active),
            _ => Err(Refused::Illegal),
        }
    }

    fn enter(
        &self,
        state: usize,
        wanted: &BTreeSet<usize>,
        active: &mut BTreeSet<usize>,
    ) -> Result<(), Refused> {
        active.insert(state);
        match self.states[state].kind {
            "compound" => {
                self.enter_one(Some(state), text(&self.states[state].document, "initial"), wanted, active)
            }
            "parallel" => self
                .children(Some(state))
                .into_iter()
                .try_for_each(|region| self.enter(region, wanted, active)),
            _ => Ok(()),
        }
    }

    fn is_completed(&self, state: usize, active: &BTreeSet<usize>) -> bool {
        let children = self.children(Some(state));
        match self.states[state].kind {
            "final" => true,
            "compound" => {
                children.iter().any(|child| active.contains(child) && self.states[*child].kind == "final")
            }
            "parallel" if self.is_broken(Broken::AnyRegion) => {
                children.iter().any(|c| self.is_completed(*c, active))
            }
            "parallel" => children.iter().all(|region| self.is_completed(*region, active)),
            _ => false,
        }
    }

    // Section 2: selection, effects and completion.

    fn scope(&self, now: &Now, given: &Given<'_>) -> Value {
        let ids: Value =
            self.leaves(&now.active).iter().map(|leaf| Value::from(&self.states[*leaf].id)).collect();
        value!({
            "state": ids,
            "event": (given.event.clone()),
            "payload": (given.payload.clone()),
            "context": (given.context.clone()),
        })
    }

    fn holds(&self, transition: usize, scope: &Value, done: &mut Done) -> bool {
        let Some(guard) = self.transitions[transition].get("guard") else { return true };
        let Ok(found) = answer(guard, scope) else {
            let place = format!("/transitions/{transition}/guard");
            done.errors.push(value!({ "code": "JF2003", "docPath": place }));
            return false;
        };
        let is_false = |found: &Value| {
            matches!(found, Value::Null | Value::Bool(false)) || *found == value!(0) || *found == value!("")
        };
        found.is_some_and(|found| !is_false(&found))
    }

    fn matches(&self, transition: usize, cause: Cause, now: &Now, given: &Given<'_>) -> bool {
        let document = &self.transitions[transition];
        let (always, done) = (document.get("always").is_some(), document.get("done").is_some());
        let is_external = !always && !done && document.get("after").is_none();
        match cause {
            Cause::Timer(timer) => transition == timer,
            Cause::Automatic => {
                always || (done && self.is_completed(self.end(transition, "from"), &now.active))
            }
            Cause::Event => {
                is_external
                    && document.get("event").is_none_or(|event| event.is_null() || *event == given.event)
            }
        }
    }

    /// For each leaf the nearest source that has an enabled transition, its first one in the document.
    fn enabled(&self, cause: Cause, now: &Now, given: &Given<'_>, done: &mut Done) -> Vec<usize> {
        let scope = self.scope(now, given);
        let mut known: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        let mut enabled = Vec::new();
        for leaf in self.leaves(&now.active) {
            let mut sources = [vec![leaf], self.ancestors(leaf)].concat();
            if self.is_broken(Broken::OuterFirst) {
                sources.reverse();
            }
            for source in sources {
                if self.is_broken(Broken::GuardsAgain) {
                    known.remove(&source);
                }
                let first = *known.entry(source).or_insert_with(|| {
                    let mut own: Vec<usize> =
                        (0..self.transitions.len()).filter(|t| self.end(*t, "from") == source).collect();
                    if self.is_broken(Broken::LastInDocument) {
                        own.reverse();
                    }
                    own.into_iter()
                        .find(|t| self.matches(*t, cause, now, given) && self.holds(*t, &scope, done))
                });
                if let Some(first) = first {
                    if !enabled.contains(&first) {
                        enabled.push(first);
                    }
                    break;
                }
            }
        }
        enabled
    }

    /// The state below which a transition exits everything; `None` is the virtual root.
    fn domain(&self, transition: usize) -> Option<usize> {
        let [from, to] = ["from", "to"].map(|member| self.end(transition, member));
        if text(&self.transitions[transition], "type") == Some("internal") {
            return Some(from);
        }
        self.ancestors(from).into_iter().find(|ancestor| {
            self.is_below(to, Some(*ancestor))
                && (self.states[*ancestor].kind == "compound" || self.is_broken(Broken::ParallelDomain))
        })
    }

    fn exits(&self, transition: usize, now: &Now) -> BTreeSet<usize> {
        let domain = self.domain(transition);
        now.active.iter().copied().filter(|state| self.is_below(*state, domain)).collect()
    }

    fn without_conflicts(&self, enabled: Vec<usize>, now: &Now) -> Vec<usize> {
        let source = |transition: usize| self.end(transition, "from");
        let is_inner = |one: usize, other: usize| self.is_below(source(one), Some(source(other)));
        let mut kept: Vec<usize> = Vec::new();
        for one in enabled {
            let conflicts: Vec<usize> = kept
                .iter()
                .copied()
                .filter(|other| {
                    is_inner(one, *other)
                        || is_inner(*other, one)
                        || !self.exits(one, now).is_disjoint(&self.exits(*other, now))
                })
                .collect();
            let wins = conflicts.iter().all(|other| is_inner(one, *other));
            if conflicts.is_empty() || (wins && !self.is_broken(Broken::FirstWins)) {
                kept.retain(|other| !conflicts.contains(other));
                kept.push(one);
            }
        }
        kept.sort_unstable();
        kept
    }

    fn state_effects(&self, state: usize, member: &str, scope: &Value, done: &mut Done) {
        let State { declared, document, .. } = &self.states[state];
        effects(document.get(member), &format!("/states/{declared}/{member}"), scope, done);
    }

    /// Whether anything fired.
    fn microstep(
        &self,
        cause: Cause,
        now: &mut Now,
        given: &Given<'_>,
        arrival: f64,
        done: &mut Done,
    ) -> Result<bool, Refused> {
        let enabled = self.enabled(cause, now, given, done);
        let fired = self.without_conflicts(enabled, now);
        if fired.is_empty() {
            return Ok(false);
        }
        if matches!(cause, Cause::Automatic) {
            self.count(done)?;
        }
        let before = now.clone();
        let scope = self.scope(&before, given);
        let exited: BTreeSet<usize> = fired.iter().flat_map(|one| self.exits(*one, &before)).collect();
        let mut wanted: BTreeSet<usize> = before.active.difference(&exited).copied().collect();
        self.remember(&exited, &before, now);
        wanted.extend(fired.iter().flat_map(|one| self.target(self.end(*one, "to"), now)));
        done.fired.extend(&fired);
        now.active = self.complete(&wanted)?;
        let stayed: BTreeSet<usize> = before.active.difference(&exited).copied().collect();
        let entered: Vec<usize> = now.active.difference(&stayed).copied().collect();
        let mut exited: Vec<usize> = exited.into_iter().collect();
        if !self.is_broken(Broken::ExitOrder) {
            exited.reverse();
        }
        for state in &exited {
            self.state_effects(*state, "exit", &scope, done);
        }
        for one in &fired {
            let list = self.transitions[*one].get("effects");
            effects(list, &format!("/transitions/{one}/effects"), &scope, done);
        }
        for state in &entered {
            self.state_effects(*state, "entry", &scope, done);
        }
        now.timers.retain(|timer| !exited.contains(&self.end(timer.transition, "from")));
        self.delay(&entered, now, arrival);
        done.entered.extend(entered);
        done.exited.extend(exited);
        Ok(true)
    }

    fn count(&self, done: &mut Done) -> Result<(), Refused> {
        done.count += 1;
        if done.count > self.bound { Err(Refused::Endless) } else { Ok(()) }
    }

    fn settle(&self, now: &mut Now, given: &Given<'_>, arrival: f64, done: &mut Done) -> Result<(), Refused> {
        while self.microstep(Cause::Automatic, now, given, arrival, done)? {}
        Ok(())
    }

    // Section 3: history.

    fn remember(&self, exited: &BTreeSet<usize>, before: &Now, now: &mut Now) {
        for (history, state) in self.states.iter().enumerate() {
            if state.kind != "history" || !state.parent.is_some_and(|parent| exited.contains(&parent)) {
                continue;
            }
            let is_deep =
                text(&state.document, "history") == Some("deep") || self.is_broken(Broken::DeepHistory);
            let record = if is_deep {
                self.leaves(&before.active)
                    .into_iter()
                    .filter(|leaf| self.is_below(*leaf, state.parent))
                    .collect()
            } else {
                self.children(state.parent)
                    .into_iter()
                    .filter(|child| before.active.contains(child))
                    .collect()
            };
            now.history.insert(history, record);
        }
    }

    fn target(&self, to: usize, now: &Now) -> BTreeSet<usize> {
        if self.states[to].kind != "history" {
            return BTreeSet::from([to]);
        }
        now.history.get(&to).cloned().unwrap_or_else(|| self.states[to].parent.into_iter().collect())
    }

    // Section 4: time is input.

    fn delay(&self, entered: &[usize], now: &mut Now, arrival: f64) {
        let start = if self.is_broken(Broken::LateDelays) { arrival } else { now.time };
        for state in entered {
            for (transition, document) in self.transitions.iter().enumerate() {
                let Some(after) = document.get("after").and_then(Value::as_f64) else { continue };
                if self.end(transition, "from") == *state {
                    now.serial += 1;
                    now.timers.push(Timer { at: start + after, transition, token: now.serial });
                }
            }
        }
        now.timers.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.transition.cmp(&b.transition)));
    }

    pub(crate) fn start(&self, time: f64, given: &Given<'_>, done: &mut Done) -> Result<Now, Refused> {
        let initial = self.find(text(&self.document, "initial").unwrap());
        let active = self.complete(&BTreeSet::from([initial]))?;
        let mut now = Now { active, history: BTreeMap::new(), timers: Vec::new(), serial: 0, time };
        let scope = self.scope(&now, given);
        let entered: Vec<usize> = now.active.iter().copied().collect();
        for state in &entered {
            self.state_effects(*state, "entry", &scope, done);
        }
        self.delay(&entered, &mut now, time);
        done.entered.extend(entered);
        self.settle(&mut now, given, time, done)?;
        Ok(now)
    }

    pub(crate) fn step(
        &self,
        now: &Now,
        time: f64,
        given: &Given<'_>,
        done: &mut Done,
    ) -> Result<Now, Refused> {
        let mut now = Now { time, ..now.clone() };
        done.count = 1;
        self.microstep(Cause::Event, &mut now, given, time, done)?;
        self.settle(&mut now, given, time, done)?;
        Ok(now)
    }

    pub(crate) fn advance(
        &self,
        now: &Now,
        until: f64,
        one: bool,
        given: &Given<'_>,
        done: &mut Done,
    ) -> Result<Now, Refused> {
        let mut now = now.clone();
        let mut consumed = 0;
        while now.timers.first().is_some_and(|timer| timer.at <= until) && !(one && consumed == 1) {
            let timer = now.timers.remove(0);
            consumed += 1;
            self.count(done)?;
            now.time = now.time.max(timer.at);
            self.microstep(Cause::Timer(timer.transition), &mut now, given, until, done)?;
            self.settle(&mut now, given, until, done)?;
        }
        if !(one && consumed == 1) {
            now.time = until;
        }
        Ok(now)
    }

    // Section 5: the result.

    pub(crate) fn result(&self, now: &Now, done: &Done) -> Value {
        let ids = |states: &mut dyn Iterator<Item = &usize>| -> Value {
            states.map(|state| Value::from(&self.states[*state].id)).collect()
        };
        let counter = |number: usize| Value::from(u32::try_from(number).unwrap());
        let timers: Value = now
            .timers
            .iter()
            .map(|timer| value!({ "transition": (counter(timer.transition)), "at": (timer.at), "token": (timer.token) }))
            .collect();
        let history: Object = now
            .history
            .iter()
            .map(|(state, record)| (self.states[*state].id.clone(), ids(&mut record.iter())))
            .collect();
        let state = value!({
            "active": (ids(&mut self.leaves(&now.active).iter())),
            "history": history,
            "timers": timers,
            "serial": (now.serial),
            "time": (now.time),
        });
        let root = now.active.iter().find(|state| self.states[**state].parent.is_none()).unwrap();
        value!({
            "changed": (!done.fired.is_empty()),
            "state": state,
            "final": (self.is_completed(*root, &now.active)),
            "effects": (done.effects.clone()),
            "errors": (done.errors.clone()),
            "entered": (ids(&mut done.entered.iter())),
            "exited": (ids(&mut done.exited.iter())),
            "transitions": (done.fired.iter().map(|one| counter(*one)).collect::<Value>()),
        })
    }
}

fn effects(list: Option<&Value>, place: &str, scope: &Value, done: &mut Done) {
    for (index, effect) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let resolved = Object::default().with("run", effect.get("run").unwrap().clone());
        match effect.get("with").map_or(Ok(None), |with| answer(with, scope)) {
            Ok(None) => done.effects.push(resolved.into()),
            Ok(Some(with)) => done.effects.push(resolved.with("with", with).into()),
            Err(Fails) => {
                let place = format!("{place}/{index}/with");
                done.errors.push(value!({ "code": "JF2004", "docPath": place }));
            }
        }
    }
}

/// A query that cannot be evaluated.
struct Fails;

/// The few queries that the generated charts have.
fn answer(query: &Value, scope: &Value) -> Result<Option<Value>, Fails> {
    let pair =
        |operator: &str| query.get(operator).and_then(Value::as_array).map(|pair| (&pair[0], &pair[1]));
    if let Some(path) = query.as_str().and_then(|text| text.strip_prefix("$.")) {
        return Ok(path.split('.').try_fold(scope, |value, step| value.get(step)).cloned());
    }
    if let Some(elements) = query.as_array() {
        return Ok(Some(Value::from(
            elements
                .iter()
                .map(|one| answer(one, scope))
                .filter_map(Result::transpose)
                .collect::<Result<Vec<_>, _>>()?,
        )));
    }
    if let Some((left, right)) = pair("$eq") {
        return Ok(Some(Value::Bool(answer(left, scope)? == answer(right, scope)?)));
    }
    if let Some((left, right)) = pair("$gt") {
        let number = |side| answer(side, scope).map(|found| found.and_then(|found| found.as_f64()));
        return Ok(Some(Value::Bool(number(left)? > number(right)?)));
    }
    if query.get("$count").is_some() {
        let leaves = scope.get("state").unwrap().as_array().unwrap().len();
        return Ok(Some(Value::from(u32::try_from(leaves).unwrap())));
    }
    if query.get("$mod").is_some() {
        return Err(Fails);
    }
    Ok(Some(query.clone()))
}
