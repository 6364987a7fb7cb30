//! Happenings in plain sentences.

use bursar_core::delivery::{Delivery, Step};

use super::{Around, Attempt, Happening, Said, Stage, World};

/// What happens, and what is done about it.
pub(super) fn tell(around: &Around, world: &World, happening: Happening) -> String {
    let happens = happens(world, happening);
    let Some(event) = Around::event(world, happening) else { return happens };
    match around.step(world, &event) {
        Step::Stays => happens,
        Step::Blocked { .. } => format!("{happens} Bursar leaves the endpoint alone."),
        Step::Sends(Delivery { attempts, .. }) => {
            format!("{happens} Bursar saves that attempt {attempts} is sent.")
        }
        Step::Moves { delivery, .. } => {
            format!("{happens} Bursar makes it {}.", delivery.state.status())
        }
    }
}

fn happens(world: &World, happening: Happening) -> String {
    match happening {
        Happening::TimePasses if world.stage == Stage::Delivering => {
            "The lease of the attempt ends.".to_owned()
        }
        Happening::TimePasses => "Its time comes.".to_owned(),
        Happening::Due => "It is woken.".to_owned(),
        Happening::Arrives(attempt, said) => match said {
            Said::Nothing => format!("Nobody is there to take attempt {attempt}."),
            Said::Unsendable => format!("Attempt {attempt} cannot be signed."),
            Said::Took | Said::Redirects | Said::Fails | Said::Gone => {
                format!("The receiver gets attempt {attempt} and says {}.", code(said))
            }
        },
        Happening::TakenUnheard(attempt) => {
            format!("The receiver gets attempt {attempt} and says 204, and that is lost.")
        }
        Happening::Dies { attempt, is_taken: false } => {
            format!("The process of attempt {attempt} dies.")
        }
        Happening::Dies { attempt, is_taken: true } => format!(
            "The receiver gets attempt {attempt} and says 204, and the process that sent it is dead."
        ),
        Happening::Reported(attempt) => {
            let Attempt::Back(said) = world.attempt(attempt) else { return String::new() };
            let is_late = attempt != world.attempts || world.stage != Stage::Delivering;
            let how = if is_late { "It is reported late" } else { "It is reported" };
            format!("{how}: attempt {attempt} {}.", came_to(said))
        }
        Happening::SwitchedOff => "Somebody switches the endpoint off.".to_owned(),
        Happening::SwitchedOn => "Somebody switches the endpoint on.".to_owned(),
        Happening::CancelAsked => "What waits for the endpoint is looked through.".to_owned(),
        Happening::ReplayAsked => "Somebody wants it sent again.".to_owned(),
        Happening::OthersFail => {
            "Others fail at the endpoint, and it is left alone for a while.".to_owned()
        }
        Happening::OthersAreTaken => "The endpoint takes another one.".to_owned(),
        Happening::PauseEnds => "The endpoint was left alone long enough.".to_owned(),
    }
}

const fn code(said: Said) -> &'static str {
    match said {
        Said::Took => "204",
        Said::Redirects => "302",
        Said::Fails => "500, and not before a year has passed",
        Said::Gone => "410",
        Said::Nothing | Said::Unsendable => "nothing",
    }
}

const fn came_to(said: Said) -> &'static str {
    match said {
        Said::Took => "was taken",
        Said::Redirects => "was sent elsewhere",
        Said::Fails => "was not taken",
        Said::Gone => "was the last that it wants",
        Said::Nothing => "has no answer",
        Said::Unsendable => "cannot be sent",
    }
}
