//! Places: where each expression stands in the query document.

use jaren_json::{Pointer, Str};

/// A place in the query document; `Places` turns it into a pointer when something is wrong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

/// All places of one document: a tree in which each knows its parent.
/// Pointers are long and seldom needed, so they are not kept.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<(Place, Token)>);

#[derive(Debug)]
enum Token {
    Name(Str),
    Index(usize),
}

impl Places {
    /// The place of the whole document.
    pub(crate) const ROOT: Place = Place(0);

    /// The member `name` of what stands at `parent`.
    pub(crate) fn member(&mut self, parent: Place, name: impl Into<Str>) -> Place {
        self.push(parent, Token::Name(name.into()))
    }

    /// The element `index` of what stands at `parent`.
    pub(crate) fn element(&mut self, parent: Place, index: usize) -> Place {
        self.push(parent, Token::Index(index))
    }

    fn push(&mut self, parent: Place, token: Token) -> Place {
        // A document of 2^32 expressions does not fit into memory; were there one, its last places would be shared.
        self.0.push((parent, token));
        Place(u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }

    /// The pointer to a place.
    pub(crate) fn pointer(&self, mut place: Place) -> Pointer {
        let mut tokens = Vec::new();
        // Place n is entry n - 1, and the root, place 0, has none.
        while let Some((parent, token)) =
            usize::try_from(place.0).ok().and_then(|n| n.checked_sub(1)).and_then(|n| self.0.get(n))
        {
            tokens.push(token);
            place = *parent;
        }
        let mut pointer = Pointer::default();
        for token in tokens.into_iter().rev() {
            match token {
                Token::Name(name) => pointer.push(name),
                Token::Index(index) => pointer.push_index(*index),
            }
        }
        pointer
    }
}
