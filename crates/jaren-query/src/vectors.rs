//! Vectors (section 8.15): lists of numbers, compared by the cosine of the angle between them.

use jaren_json::Value;

/// The components of a list that has only numbers, however many.
pub(crate) fn components(components: &[Value]) -> Option<&[Value]> {
    components.iter().all(|component| component.as_f64().is_some()).then_some(components)
}

/// The cosine of the angle between two vectors, from -1 to 1; 0 where one of them has no direction.
///
/// None where they cannot be compared: of different width, empty, or with a component that is not finite.
pub(crate) fn similarity(left: &[Value], right: &[Value]) -> Option<f64> {
    if left.len() != right.len() || left.is_empty() {
        return None;
    }
    let (mut product, mut left_square, mut right_square) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (left.as_f64()?, right.as_f64()?);
        if !left.is_finite() || !right.is_finite() {
            return None;
        }
        product += left * right;
        left_square += left * left;
        right_square += right * right;
    }
    // One root each: the product of the squares may overflow where the product of the roots does not.
    let lengths = f64::sqrt(left_square) * f64::sqrt(right_square);
    let comparable = lengths > 0.0 && lengths.is_finite() && product.is_finite();
    Some(if comparable { (product / lengths).clamp(-1.0, 1.0) } else { 0.0 })
}
