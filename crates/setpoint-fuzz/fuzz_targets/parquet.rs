//! `setpoint_fuzz::parquet` under libFuzzer.
#![no_main]
// The reader makes errors of the Parquet library's panics; the hook of libFuzzer would end the process before it can.
libfuzzer_sys::fuzz_target!(
    init: {
        setpoint_fuzz::alone();
        std::panic::set_hook(Box::new(|_| {}));
    },
    |bytes: &[u8]| setpoint_fuzz::parquet(bytes)
);
