# Writes src/gen.rs: rings of 5, 50 and 500 states in statig and smlang, two guarded transitions for each state.
out = ["// Written by gen.py."]
for n in (5, 50, 500):
    out.append(f"pub mod statig{n} {{\n use statig::prelude::*;\n pub struct M {{ pub count: i64 }}\n pub enum Ev {{ Go {{ n: i64 }} }}\n #[state_machine(initial = \"State::s0()\")]\n impl M {{")
    for i in range(n):
        out.append(f"  #[state] fn s{i}(&mut self, event: &Ev) -> Outcome<State> {{ match event {{ Ev::Go {{ n }} => if *n < 0 {{ Transition(State::s0()) }} else if self.count >= 0 {{ Transition(State::s{(i+1)%n}()) }} else {{ Super }} }} }}")
    out.append(" }\n}")
    if n <= 50:
        out.append(f"pub mod smlang{n} {{\n use smlang::statemachine;\n statemachine! {{ name: M, transitions: {{")
        for i in range(n):
            out.append(f"   {'*' if i==0 else ''}S{i} + Go(i64) [neg] = S0, S{i} + Go(i64) [pos] = S{(i+1)%n},")
        out.append(" } }\n pub struct Ctx { pub count: i64 }\n impl MStateMachineContext for Ctx { fn neg(&self, n: &i64) -> Result<bool, ()> { Ok(*n < 0) } fn pos(&self, _: &i64) -> Result<bool, ()> { Ok(self.count >= 0) } }\n}")
open("src/gen.rs", "w").write("\n".join(out))
