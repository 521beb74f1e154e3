//! Layers: which node of a scope stands above which.

/// The layer of each of `count` nodes, given edges between them: an edge leads at least one layer down, unless it closes
/// a cycle, which leads up.
pub(super) fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut next = vec![Vec::new(); count];
    for (from, to) in edges {
        if let Some(list) = next.get_mut(*from)
            && from != to
        {
            list.push(*to);
        }
    }
    let order = topological(&next);
    let mut position = vec![0; count];
    for (place, node) in order.iter().enumerate() {
        if let Some(slot) = position.get_mut(*node) {
            *slot = place;
        }
    }
    let mut layers = vec![0; count];
    for node in order {
        let own = layers.get(node).copied().unwrap_or(0);
        for to in next.get(node).into_iter().flatten() {
            // In this order, what closes a cycle leads back.
            if position.get(*to) > position.get(node)
                && let Some(layer) = layers.get_mut(*to)
            {
                *layer = (*layer).max(own + 1);
            }
        }
    }
    layers
}

/// The nodes so that edges lead on, save those that close a cycle: the reverse of the order in which a walk in depth leaves
/// them, and it begins where the document begins.
fn topological(next: &[Vec<usize>]) -> Vec<usize> {
    let mut is_seen = vec![false; next.len()];
    let mut left = Vec::with_capacity(next.len());
    for start in 0..next.len() {
        let mut open = vec![(start, 0)];
        while let Some((node, child)) = open.pop() {
            if child == 0 && std::mem::replace(is_seen.get_mut(node).unwrap_or(&mut true), true) {
                continue;
            }
            match next.get(node).and_then(|children| children.get(child)) {
                Some(to) => {
                    open.push((node, child + 1));
                    open.push((*to, 0));
                }
                None => left.push(node),
            }
        }
    }
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lead_down_and_cycles_up() {
        assert_eq!(layers(4, &[(0, 1), (1, 2), (2, 0), (0, 2), (3, 3)]), [0, 1, 2, 0]);
        assert_eq!(layers(0, &[]), [] as [usize; 0]);
        assert_eq!(layers(3, &[(1, 0), (2, 1)]), [2, 1, 0]);
    }
}
