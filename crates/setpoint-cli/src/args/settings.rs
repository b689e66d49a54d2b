//! The settings of training as flags, from their definition.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use serde_json::{Map, Value};
use setpoint::message::number;
use setpoint::train::{Setting, SettingKind};

use super::in_flags;

/// What was given, by name.
#[derive(Clone, Debug, Default)]
pub struct SettingArgs {
    pub given: Map<String, Value>,
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        let sharpness = Arg::new("sharpness")
            .long("sharpness")
            .value_name("X")
            .value_parser(positive)
            .overrides_with("bandwidth")
            .help_heading("Training")
            .help("The same as a sharpness, 1 / width in scores (the paper's temperature)");
        Setting::all().iter().fold(command, |command, setting| match setting.name.as_str() {
            "epochs" => command.arg(flag(setting).conflicts_with("steps")),
            "bandwidth" => command.arg(flag(setting).overrides_with("sharpness")).arg(sharpness.clone()),
            _ => command.arg(flag(setting)),
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let flag = Arg::new(setting.name.as_str())
        .long(setting.name.as_str())
        .help_heading(setting.heading)
        .help(in_flags(&setting.help));
    match setting.kind {
        SettingKind::Flag => flag.action(ArgAction::SetTrue),
        SettingKind::Whole => flag.value_name("N"),
        SettingKind::Number | SettingKind::Text => flag.value_name("X"),
        SettingKind::Choice => {
            let choices = setting.choices.iter();
            let named = choices.map(|choice| PossibleValue::new(choice.name.as_str()).help(choice.help));
            flag.value_name("NAME").value_parser(named.collect::<Vec<_>>())
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| "expected a positive number".to_owned())
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Map::new();
        for Setting { name, kind, .. } in Setting::all() {
            let value = match kind {
                SettingKind::Flag => matches.get_flag(name).then_some(Value::Bool(true)),
                _ => matches.get_one(name).map(|text: &String| Value::from(text.as_str())),
            };
            given.extend(value.map(|value| (name.clone(), value)));
        }
        if let Some(sharpness) = matches.get_one::<f64>("sharpness") {
            given.insert("bandwidth".to_owned(), number(1.0 / sharpness).into());
        }
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
