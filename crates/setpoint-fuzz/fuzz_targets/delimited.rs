//! `setpoint_fuzz::delimited` under libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(init: setpoint_fuzz::alone(), |bytes: &[u8]| setpoint_fuzz::delimited(bytes));
