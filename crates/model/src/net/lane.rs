// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue whose new entries come all at once, at the end of an epoch.

/// What one actor has sent to another and the other has not taken yet, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Lane<T> {
    items: Vec<T>,
    /// How many of them have been taken.
    taken: usize,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Lane { items: Vec::new(), taken: 0 }
    }
}

impl<T: Copy> Lane<T> {
    #[inline]
    pub fn waiting(&self) -> &[T] {
        &self.items[self.taken..]
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.items.get(self.taken)
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let item = self.front().copied()?;
        self.taken += 1;
        Some(item)
    }

    /// Takes over all that was sent and leaves `sent` empty. Storage changes hands, so that nothing is copied or allocated as a rule.
    pub fn receive(&mut self, sent: &mut Vec<T>) {
        if self.taken == self.items.len() {
            self.items.clear();
            std::mem::swap(&mut self.items, sent);
        } else {
            self.items.drain(..self.taken);
            self.items.append(sent);
        }
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_in_the_order_they_were_sent() {
        let mut lane = Lane::default();
        let mut sent = vec![1, 2, 3];
        lane.receive(&mut sent);
        assert!(sent.is_empty());
        assert_eq!(lane.pop(), Some(1));
        lane.receive(&mut vec![4]);
        assert_eq!(lane.waiting(), [2, 3, 4]);
        assert_eq!([lane.pop(), lane.pop(), lane.pop(), lane.pop()], [Some(2), Some(3), Some(4), None]);
        lane.receive(&mut vec![5]);
        assert_eq!((lane.front(), lane.waiting().len()), (Some(&5), 1));
    }
}
