//! The order of the items in each layer, so that few lines cross: barycentres, swept down and up.

/// Sweeps of a small graph, and of one so large that nobody will look at its crossings.
const SWEEPS: usize = 24;
const SWEEPS_LARGE: usize = 2;
const LARGE: usize = 20_000;

/// Reorders `layers` in place. `links` are pairs of items of neighbouring layers, the upper one first.
pub(super) fn order(layers: &mut Vec<Vec<usize>>, links: &[(usize, usize)], count: usize) {
    let mut up = vec![Vec::new(); count];
    let mut down = vec![Vec::new(); count];
    for (above, below) in links {
        if let (Some(up), Some(down)) = (up.get_mut(*below), down.get_mut(*above)) {
            up.push(*above);
            down.push(*below);
        }
    }
    let sweeps = if count > LARGE { SWEEPS_LARGE } else { SWEEPS };
    let mut positions = vec![0.0; count];
    note(layers, &mut positions);
    let mut best = (crossings(layers, &down, &positions), layers.clone());
    for sweep in 0..sweeps {
        if sweep.is_multiple_of(2) {
            for layer in layers.iter_mut() {
                sort(layer, &up, &mut positions);
            }
        } else {
            for layer in layers.iter_mut().rev() {
                sort(layer, &down, &mut positions);
            }
        }
        let crossed = crossings(layers, &down, &positions);
        if crossed < best.0 {
            best = (crossed, layers.clone());
        }
    }
    *layers = best.1;
}

#[expect(clippy::cast_precision_loss, reason = "a layer has fewer than 2^53 items")]
fn note(layers: &[Vec<usize>], positions: &mut [f64]) {
    for layer in layers {
        for (place, item) in layer.iter().enumerate() {
            if let Some(position) = positions.get_mut(*item) {
                *position = place as f64;
            }
        }
    }
}

/// Puts the items of a layer where their neighbours stand on the average; one without neighbours stays.
fn sort(layer: &mut Vec<usize>, neighbours: &[Vec<usize>], positions: &mut [f64]) {
    let at = |item: &usize| positions.get(*item).copied().unwrap_or_default();
    let mut wished: Vec<(f64, usize)> = layer
        .iter()
        .map(|item| {
            let near = neighbours.get(*item).map_or(&[][..], Vec::as_slice);
            (mean(near.iter().map(at)).unwrap_or_else(|| at(item)), *item)
        })
        .collect();
    wished.sort_by(|a, b| a.0.total_cmp(&b.0));
    *layer = wished.into_iter().map(|(_, item)| item).collect();
    note(std::slice::from_ref(layer), positions);
}

/// The mean of some numbers, if there are any.
pub(super) fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0.0), |(sum, count), number| (sum + number, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// How many lines cross between neighbouring layers.
fn crossings(layers: &[Vec<usize>], down: &[Vec<usize>], positions: &[f64]) -> usize {
    layers.iter().map(|layer| crossings_below(layer, down, positions)).sum()
}

/// Pairs of lines whose upper ends and lower ends stand in different orders: inversions, counted by merging.
fn crossings_below(layer: &[usize], down: &[Vec<usize>], positions: &[f64]) -> usize {
    let mut ends: Vec<f64> = Vec::new();
    for item in layer {
        let mut own: Vec<f64> = down
            .get(*item)
            .into_iter()
            .flatten()
            .map(|below| positions.get(*below).copied().unwrap_or_default())
            .collect();
        own.sort_by(f64::total_cmp);
        ends.extend(own);
    }
    let mut count = 0;
    let mut width = 1;
    while width < ends.len() {
        let mut merged = Vec::with_capacity(ends.len());
        for pair in ends.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                if b < a {
                    count += left.len();
                    merged.push(*b);
                    right = right.get(1..).unwrap_or_default();
                } else {
                    merged.push(*a);
                    left = left.get(1..).unwrap_or_default();
                }
            }
            merged.extend(left.iter().chain(right));
        }
        ends = merged;
        width *= 2;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossed_lines_are_uncrossed() {
        // 0 and 1 above, 2 and 3 below, each linked to the far one.
        let mut layers = vec![vec![0, 1], vec![2, 3]];
        let links = [(0, 3), (1, 2)];
        order(&mut layers, &links, 4);
        assert_eq!(layers, [vec![0, 1], vec![3, 2]]);
    }

    #[test]
    fn crossings_are_inversions() {
        let down = vec![vec![3, 5], vec![3, 4], vec![3]];
        let positions = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0];
        assert_eq!(crossings_below(&[0, 1, 2], &down, &positions), 4);
    }
}
