//! Positions along one layer: as near to where each item would like to be as their order and sizes allow.

/// How far an item reaches to either side of its axis, where its axis would like to be, and how much that counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) axis: f64,
    pub(super) weight: f64,
}

/// Items of which the axes keep their distances, at their best common place.
struct Block {
    /// The weighted mean of the wishes, less the offsets.
    at: f64,
    weight: f64,
    count: usize,
}

/// The axes: the sum of the weighted squares of the distances from the wishes is the smallest that there is (pool adjacent
/// violators).
pub(super) fn place(wishes: &[Wish], gap: f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut reach = 0.0;
    for (index, wish) in wishes.iter().enumerate() {
        if index > 0 {
            reach += gap + wish.left;
        }
        offsets.push(reach);
        reach += wish.right;
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (wish, offset) in wishes.iter().zip(&offsets) {
        let mut block = Block { at: wish.axis - offset, weight: wish.weight, count: 1 };
        while let Some(before) = blocks.pop_if(|before| before.at > block.at) {
            let weight = before.weight + block.weight;
            block = Block {
                at: (before.at * before.weight + block.at * block.weight) / weight,
                weight,
                count: before.count + block.count,
            };
        }
        blocks.push(block);
    }
    let starts = blocks.iter().flat_map(|block| std::iter::repeat_n(block.at, block.count));
    starts.zip(&offsets).map(|(start, offset)| start + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(axes: &[f64]) -> Vec<f64> {
        let wish = |axis: &f64| Wish { left: 5.0, right: 5.0, axis: *axis, weight: 1.0 };
        place(&axes.iter().map(wish).collect::<Vec<_>>(), 2.0)
    }

    #[test]
    fn what_has_room_gets_its_wish_and_the_rest_shares_the_loss() {
        assert_eq!(placed(&[0.0, 50.0]), [0.0, 50.0]);
        assert_eq!(placed(&[0.0, 0.0]), [-6.0, 6.0]);
        assert_eq!(placed(&[10.0, 0.0, 5.0]), [-7.0, 5.0, 17.0]);
        assert_eq!(placed(&[]), [] as [f64; 0]);
    }
}
