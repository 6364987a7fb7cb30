//! The restricted form of a template. It is narrow on purpose: a drift check on one set of amounts then holds for all
//! amounts.

use crate::numscript::ast::{
    DestinationKind, Expr, ExprKind, Overdraft, Script, Segment, Sent, SourceKind, Statement,
};

/// Variables without origin, and sends of sums of variables, each from one account to one account.
pub(super) fn is_plain(script: &Script) -> bool {
    script.features.is_empty()
        && script.variables.iter().all(|variable| variable.origin.is_none())
        && script.statements.iter().all(is_plain_send)
}

fn is_plain_send(statement: &Statement<Expr>) -> bool {
    let Statement::Send { sent: Sent::Amount(amount), source, destination, .. } = statement else {
        return false;
    };
    let SourceKind::Account { account, color: None, overdraft } = &source.kind else {
        return false;
    };
    let DestinationKind::Account(receiver) = &destination.kind else { return false };
    let is_unbounded_or_none = matches!(overdraft, Overdraft::None | Overdraft::Unbounded);
    is_unbounded_or_none
        && is_sum_of_variables(amount)
        && is_account(account)
        && is_account(receiver)
}

fn is_sum_of_variables(amount: &Expr) -> bool {
    if let ExprKind::Sum(first, rest) = &amount.kind {
        return is_sum_of_variables(first)
            && rest.iter().all(|(_, term)| is_sum_of_variables(term));
    }
    matches!(&amount.kind, ExprKind::Variable(_))
}

/// A variable, or the outside world.
fn is_account(account: &Expr) -> bool {
    if let ExprKind::Account(segments) = &account.kind {
        return matches!(segments.as_slice(), [Segment::Text(text)] if &**text == "world");
    }
    matches!(&account.kind, ExprKind::Variable(_))
}
