// SPDX-License-Identifier: MIT OR Apache-2.0
//! The known word that a misspelt one was probably meant to be.

/// The candidate with the fewest edits (insert, delete, replace, swap neighbours), if that is close enough to be useful.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    // Long names are not typing mistakes of short words; the bound also keeps this cheap on garbage.
    if word.len() > 40 {
        return None;
    }
    let length = word.chars().count();
    let limit = (length / 3).max(1);
    candidates
        .iter()
        // Each edit changes the length by one at most.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .map(|&candidate| (distance(word, candidate), candidate))
        .filter(|&(edits, _)| edits <= limit)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            row[j] = (last[j - 1] + usize::from(!same)).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("mul", "mul"), 0);
        assert_eq!(distance("mlu", "mul"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn only_close_words_are_offered() {
        assert_eq!(nearest("setq", &["setp", "selp"]), Some("setp"));
        assert_eq!(nearest("frobnicate", &["setp", "selp"]), None);
    }
}
