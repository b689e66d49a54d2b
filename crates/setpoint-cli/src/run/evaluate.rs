use crate::args::EvaluateArgs;
use crate::failure::Failure;
pub fn evaluate(_: &EvaluateArgs, _: bool) -> Result<(), Failure> {
    Err(Failure::input("not yet"))
}
