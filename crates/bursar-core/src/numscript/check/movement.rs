//! Sources and destinations: shares, caps, and money that can never flow.

use std::collections::BTreeSet;

use super::super::Mode;
use super::super::amount::Amount;
use super::super::ast::{
    Clauses, Destination, DestinationKind, Expr, ExprKind, Overdraft, Segment, Share, Source,
    SourceKind, Target,
};
use super::super::feature::Feature;
use super::super::portion::{self, AllotError, Portion, allot};
use super::super::span::Span;
use super::super::value::{Name, Type};
use super::Checker;
use super::expression::asset_of_monetary;

impl Checker {
    pub(super) fn source(&mut self, source: &Source<Expr>, asset: Option<&Name>, sends_all: bool) {
        match &source.kind {
            SourceKind::Account { account, color, overdraft } => {
                self.expect(account, Type::Account);
                if let Some(color) = color {
                    self.require(Feature::AssetColors, color.span);
                    self.expect(color, Type::String);
                }
                if let Overdraft::UpTo(limit) = overdraft {
                    self.cap(limit, asset);
                }
                if sends_all && is_unbounded(source) {
                    self.error(
                        "unbounded-in-send-all",
                        source.span,
                        "an unbounded account cannot send everything".to_owned(),
                        "limit it with `max … from`, or send a fixed amount".to_owned(),
                    );
                }
            }
            SourceKind::Scaling { account, through } => {
                self.require(Feature::AssetScaling, source.span);
                self.expect(account, Type::Account);
                self.expect(through, Type::Account);
            }
            SourceKind::List(sources) => {
                for source in sources {
                    self.source(source, asset, sends_all);
                }
                self.unreachable(sources);
            }
            SourceKind::OneOf(sources) => {
                self.require(Feature::OneOf, source.span);
                for source in sources {
                    self.source(source, asset, sends_all);
                }
            }
            SourceKind::Allotment(parts) => {
                if sends_all {
                    self.error(
                        "allotment-in-send-all",
                        source.span,
                        "a source divided into shares cannot send everything".to_owned(),
                        "name the accounts in order, or send a fixed amount".to_owned(),
                    );
                }
                self.shares(parts.iter().map(|(share, _)| share), source.span);
                for (_, source) in parts {
                    self.source(source, asset, false);
                }
            }
            SourceKind::Max { cap, source } => {
                self.cap(cap, asset);
                self.source(source, asset, false);
            }
        }
    }

    /// In a list, nothing is ever taken behind an unbounded source, or twice from the same account.
    fn unreachable(&mut self, sources: &[Source<Expr>]) {
        let mut is_closed = false;
        let mut emptied = BTreeSet::new();
        for source in sources {
            if is_closed {
                self.warn(
                    "unreachable-source",
                    source.span,
                    "nothing is ever taken from this source".to_owned(),
                    "an unbounded source stands before it: put that one last".to_owned(),
                );
                return;
            }
            is_closed = is_unbounded(source);
            if let Some(account) = drained_account(source)
                && !emptied.insert(account.clone())
            {
                self.warn(
                    "emptied-account",
                    source.span,
                    format!("the account `@{account}` was already emptied by this list"),
                    "remove it, or limit its first use with `max … from`".to_owned(),
                );
            }
        }
    }

    pub(super) fn destination(&mut self, destination: &Destination<Expr>, asset: Option<&Name>) {
        match &destination.kind {
            DestinationKind::Account(account) => self.expect(account, Type::Account),
            DestinationKind::Allotment(parts) => {
                self.shares(parts.iter().map(|(share, _)| share), destination.span);
                for (_, target) in parts {
                    self.target(target, asset);
                }
            }
            DestinationKind::InOrder(clauses) => self.clauses(clauses, asset),
            DestinationKind::OneOf(clauses) => {
                self.require(Feature::OneOf, destination.span);
                self.clauses(clauses, asset);
            }
        }
    }

    fn clauses(&mut self, clauses: &Clauses<Expr>, asset: Option<&Name>) {
        for (cap, target) in &clauses.capped {
            self.cap(cap, asset);
            self.target(target, asset);
        }
        self.target(&clauses.remaining, asset);
    }

    fn target(&mut self, target: &Target<Expr>, asset: Option<&Name>) {
        if let Target::To(destination) = target {
            self.destination(destination, asset);
        }
    }

    fn cap(&mut self, cap: &Expr, asset: Option<&Name>) {
        self.expect(cap, Type::Monetary);
        self.same_asset(asset, asset_of_monetary(cap), cap.span);
    }

    fn shares<'s>(&mut self, shares: impl Iterator<Item = &'s Share<Expr>>, span: Span) {
        let mut known = Vec::new();
        let mut is_complete = true;
        let mut remaining: Option<Span> = None;
        let mut is_misplaced = false;
        for share in shares {
            match share {
                Share::Portion(portion) => {
                    self.expect(portion, Type::Portion);
                    match portion_literal(portion) {
                        Some(portion) => known.push(portion::Share::Portion(portion)),
                        None => is_complete = false,
                    }
                    is_misplaced |= remaining.is_some();
                }
                Share::Remaining(place) => {
                    if remaining.replace(*place).is_some() {
                        self.fault(
                            "duplicate-remaining",
                            *place,
                            "there are two `remaining` in one allotment".to_owned(),
                            "keep one of them and give the other a share".to_owned(),
                        );
                        return;
                    }
                }
            }
        }
        if let Some(place) = remaining.filter(|_| is_misplaced) {
            self.warn(
                "misplaced-remaining",
                place,
                "`remaining` is not the last share".to_owned(),
                "put it last: leftover units go to the first shares".to_owned(),
            );
        }
        if is_complete {
            self.share_sum(known, remaining, span);
        }
    }

    fn share_sum(&mut self, mut shares: Vec<portion::Share>, remaining: Option<Span>, span: Span) {
        let has_remaining = remaining.is_some();
        let is_whole = allot(&Amount::ZERO, &shares, Mode::Safe).is_ok();
        if let Some(place) = remaining {
            if is_whole {
                self.warn(
                    "redundant-remaining",
                    place,
                    "`remaining` never gets anything: the other shares are the whole".to_owned(),
                    "remove it, or lower another share".to_owned(),
                );
            }
            shares.push(portion::Share::Remaining);
        }
        if let Err(AllotError::Sum(sum)) = allot(&Amount::ZERO, &shares, Mode::Safe) {
            let message = format!("the shares add up to {sum} instead of 1");
            if has_remaining {
                let hint = "lower a share: nothing is left for `remaining`".to_owned();
                self.fault("allotment-sum", span, message, hint);
            } else {
                let hint =
                    "make the shares add up to exactly 1, or give one `remaining`".to_owned();
                self.error("allotment-sum", span, message, hint);
            }
        }
    }
}

fn portion_literal(expression: &Expr) -> Option<Portion> {
    if let ExprKind::Portion(portion) = &expression.kind {
        return Some(portion.clone());
    }
    let ExprKind::Ratio(numerator, rest) = &expression.kind else { return None };
    let ([denominator], ExprKind::Number(numerator)) = (rest.as_slice(), &numerator.kind) else {
        return None;
    };
    let ExprKind::Number(denominator) = &denominator.kind else { return None };
    Portion::new(numerator.to_big(), denominator.to_big())
}

fn is_unbounded(source: &Source<Expr>) -> bool {
    match &source.kind {
        SourceKind::Account { overdraft: Overdraft::Unbounded, .. } => true,
        SourceKind::Account { account, .. } => address(account).as_deref() == Some("world"),
        SourceKind::List(sources) => sources.iter().any(is_unbounded),
        SourceKind::Scaling { .. }
        | SourceKind::OneOf(_)
        | SourceKind::Allotment(_)
        | SourceKind::Max { .. } => false,
    }
}

/// The account that an uncapped, uncoloured source without overdraft leaves empty.
fn drained_account(source: &Source<Expr>) -> Option<String> {
    let SourceKind::Account { account, color: None, overdraft: Overdraft::None } = &source.kind
    else {
        return None;
    };
    address(account)
}

fn address(account: &Expr) -> Option<String> {
    let ExprKind::Account(segments) = &account.kind else { return None };
    let texts: Option<Vec<&str>> = segments
        .iter()
        .map(|segment| match segment {
            Segment::Text(text) => Some(&**text),
            Segment::Variable(..) => None,
        })
        .collect();
    texts.map(|texts| texts.join(":"))
}
