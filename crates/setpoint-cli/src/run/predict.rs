use crate::args::PredictArgs;
use crate::failure::Failure;
pub fn predict(_: &PredictArgs, _: bool) -> Result<(), Failure> {
    Err(Failure::input("not yet"))
}
