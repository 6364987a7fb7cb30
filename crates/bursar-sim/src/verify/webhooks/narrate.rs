//! Counterexamples in sentences.

use bursar_core::webhooks::delivery::{Delivery, Step};

use super::{Around, Attempt, Happening, Said, Stage, World};

/// What happens, and how the machine reacts.
pub(super) fn narrate(around: &Around, world: &World, happening: Happening) -> String {
    let happens = happens(world, happening);
    let Some(event) = Around::event(world, happening) else { return happens };
    match around.step(world, &event) {
        Step::Stays => happens,
        Step::Blocked { .. } => format!("{happens} Bursar waits for the breaker of the endpoint."),
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
        Happening::TimePasses => "It becomes due.".to_owned(),
        Happening::Due => "It is claimed.".to_owned(),
        Happening::Arrives(attempt, said) => match said {
            Said::Nothing => format!("No receiver answers attempt {attempt}."),
            Said::Unsendable => format!("Attempt {attempt} cannot be signed."),
            Said::Took | Said::Redirects | Said::Fails | Said::Gone => {
                format!("The receiver gets attempt {attempt} and answers {}.", code(said))
            }
        },
        Happening::TakenUnheard(attempt) => {
            format!("The receiver gets attempt {attempt} and answers 204, and the answer is lost.")
        }
        Happening::Dies { attempt, is_taken: false } => {
            format!("The process of attempt {attempt} crashes.")
        }
        Happening::Dies { attempt, is_taken: true } => format!(
            "The receiver gets attempt {attempt} and answers 204, and the process that sent it has crashed."
        ),
        Happening::Reported(attempt) => {
            let Attempt::Back(said) = world.attempt(attempt) else { return String::new() };
            let is_late = attempt != world.attempts || world.stage != Stage::Delivering;
            let how = if is_late { "It is reported late" } else { "It is reported" };
            format!("{how}: attempt {attempt} {}.", came_to(said))
        }
        Happening::SwitchedOff => "An admin disables the endpoint.".to_owned(),
        Happening::SwitchedOn => "An admin enables the endpoint.".to_owned(),
        Happening::CancelAsked => "Waiting deliveries of the endpoint are cancelled.".to_owned(),
        Happening::ReplayAsked => "An operator replays it.".to_owned(),
        Happening::OthersFail => {
            "Other deliveries fail, and the breaker of the endpoint opens.".to_owned()
        }
        Happening::OthersAreTaken => "The endpoint accepts another delivery.".to_owned(),
        Happening::PauseEnds => "The pause of the breaker ends.".to_owned(),
    }
}

const fn code(said: Said) -> &'static str {
    match said {
        Said::Took => "204",
        Said::Redirects => "302",
        Said::Fails => "500 with a Retry-After of a year",
        Said::Gone => "410",
        Said::Nothing | Said::Unsendable => "nothing",
    }
}

const fn came_to(said: Said) -> &'static str {
    match said {
        Said::Took => "was accepted",
        Said::Redirects => "was redirected",
        Said::Fails => "was rejected",
        Said::Gone => "was answered with 410",
        Said::Nothing => "has no answer",
        Said::Unsendable => "cannot be sent",
    }
}
