//! People who ask for what cannot be, one of each kind: whatever the answer, nothing may come of it.

use bursar_core::request::{Answer, Body};

use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, Scene};

#[derive(Debug)]
pub(crate) struct Blunders {
    me: usize,
    dice: Dice,
    bodies: Vec<Body>,
}

impl Blunders {
    pub(crate) fn new(seed: u64) -> Self {
        Self { me: 0, dice: Dice::new(seed, "blunders"), bodies: Vec::new() }
    }
}

impl Actor for Blunders {
    fn begin(&mut self, me: usize, _: &mut Scene) {
        self.me = me;
        self.bodies.clear();
        self.dice.below(2);
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        let body = usize::try_from(what).ok().and_then(|what| self.bodies.get(what));
        if let Some(body) = body {
            scene.ask(self.me, what, body.clone());
        }
    }

    fn answered(&mut self, _: u64, _: &Answer, _: &mut Scene) {}
}
