//! Notes of results as lines.

/// The notes, in their order.
pub(crate) fn lines<N: ToString>(notes: &[N]) -> Vec<String> {
    notes.iter().map(N::to_string).collect()
}
