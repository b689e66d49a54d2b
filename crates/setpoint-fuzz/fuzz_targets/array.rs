//! `setpoint_fuzz::array` under libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(init: setpoint_fuzz::alone(), |bytes: &[u8]| setpoint_fuzz::array(bytes));
