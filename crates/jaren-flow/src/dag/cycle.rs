//! Finding the cyclic core of a graph.

/// For each node, whether it lies on a cycle or between two. Taking away what nothing depends on, forwards and
/// backwards, leaves exactly that: no innocent node before or behind a cycle is named.
pub(super) fn core(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let forward = leftover(nodes, edges.iter().copied());
    if !forward.contains(&true) {
        return forward;
    }
    let backward = leftover(nodes, edges.iter().map(|(from, to)| (*to, *from)));
    forward.iter().zip(&backward).map(|(forward, backward)| *forward && *backward).collect()
}

/// The nodes that never become ready when each waits for those with an edge to it.
fn leftover(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
    let mut waits = vec![0_usize; nodes];
    let mut consumers: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (from, to) in edges {
        if let (Some(waits), Some(consumers)) = (waits.get_mut(to), consumers.get_mut(from)) {
            *waits += 1;
            consumers.push(to);
        }
    }
    let mut ready: Vec<usize> =
        waits.iter().enumerate().filter(|(_, waits)| **waits == 0).map(|(node, _)| node).collect();
    while let Some(node) = ready.pop() {
        for next in consumers.get_mut(node).map(std::mem::take).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(next) {
                *waits -= 1;
                if *waits == 0 {
                    ready.push(next);
                }
            }
        }
    }
    waits.into_iter().map(|waits| waits > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::core;

    #[test]
    fn names_the_cycle_and_nothing_before_or_behind_it() {
        // 0 -> 1 <-> 2 -> 3
        assert_eq!(core(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]), [false, true, true, false]);
        assert_eq!(core(2, &[(0, 0), (0, 1)]), [true, false]);
        assert_eq!(core(3, &[(0, 1), (1, 2), (0, 2)]), [false; 3]);
        assert_eq!(core(0, &[]), [] as [bool; 0]);
    }
}
