//! Ctrl-C, kill, and going on from a checkpoint.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::data::shop;
use crate::{command, directory, read, setpoint, write};

const CHECKPOINT: &str = "kept/setpoint-checkpoint.safetensors";

/// Some seconds of work.
fn long(steps: &str) -> Vec<&str> {
    vec![
        "train",
        "shop.csv",
        "--label",
        "bought",
        "--goal",
        "recall @ fpr<=10%",
        "--method",
        "ico",
        "--optimizer",
        "adam",
        "--thresholds",
        "track",
        "--steps",
        steps,
        "-o",
        "m",
    ]
}

fn start(home: &Path, arguments: &[&str]) -> Child {
    command(home, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

/// Waits until a file is there; the child must be running still.
fn wait_for(home: &Path, name: &str, child: &mut Child) {
    let start = Instant::now();
    while !home.join(name).exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended before {name} was there");
        assert!(start.elapsed() < Duration::from_secs(60), "no {name} after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_ends_a_run_with_130_and_leaves_the_old_file() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(4000, 41));
    write(home.path(), "m", "the old model");
    let mut arguments = long("1000000");
    arguments.extend(["--checkpoint", "kept"]);
    let mut child = start(home.path(), &arguments);
    wait_for(home.path(), CHECKPOINT, &mut child);
    signal(&child, "-INT");
    let run: crate::Run = child.wait_with_output().unwrap().into();
    assert_eq!((run.code, run.stdout.as_str()), (Some(130), ""), "{run:?}");
    assert_eq!(run.stderr.lines().last(), Some("error: stopped; go on with --checkpoint kept --resume"));
    assert_eq!(read(home.path(), "m"), b"the old model");
    // A checkpoint is not overwritten unasked, nor taken for that of another run.
    let again = setpoint(home.path(), &arguments);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("add --resume to go on with it"), "{}", again.stderr);
    arguments.extend(["--resume", "--seed", "1"]);
    let other = setpoint(home.path(), &arguments);
    assert_eq!(other.code, Some(2));
    assert!(
        other.stderr.contains("is the checkpoint of another run: its seed is 0, now 1"),
        "{}",
        other.stderr
    );
}

/// Runs to the end with a kill after each of the given times (milliseconds of run).
fn killed(home: &Path, arguments: &[&str], moments: &[u64]) -> (Vec<u8>, usize) {
    let mut arguments = arguments.to_vec();
    arguments.extend(["--checkpoint", "kept", "--resume", "-q"]);
    let mut kills = 0;
    for moment in moments {
        let mut child = start(home, &arguments);
        std::thread::sleep(Duration::from_millis(*moment));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    // A kill may come between the model's writing and the checkpoint's end.
    if !home.join("m").exists() || home.join(CHECKPOINT).exists() {
        setpoint(home, &arguments).ok();
    }
    assert!(!home.join(CHECKPOINT).exists(), "a finished run leaves no checkpoint");
    (read(home, "m"), kills)
}

#[test]
fn a_run_killed_again_and_again_ends_in_the_same_bytes() {
    let batches = ["--batch-size", "500", "--thresholds", "smooth", "--pool", "4"];
    let auto = ["--method", "auto", "--optimizer", "lbfgs", "--thresholds", "smooth"];
    let network = ["--model", "mlp", "--hidden", "16", "--method", "auto", "--thresholds", "smooth"];
    for (more, steps) in [(&[][..], "3000"), (&batches[..], "3000"), (&auto[..], "60"), (&network[..], "400")]
    {
        let whole = directory();
        write(whole.path(), "shop.csv", &shop(4000, 42));
        let mut arguments = long(steps);
        arguments.extend(more);
        let begin = Instant::now();
        setpoint(whole.path(), &[&arguments[..], &["-q"]].concat()).ok();
        let took = begin.elapsed().as_millis() as u64;
        let home = directory();
        write(home.path(), "shop.csv", &shop(4000, 42));
        // At several moments: while reading, in early stages, in late ones.
        let moments: Vec<u64> = [1, 2, 3, 5, 8].iter().map(|part| took * part / 20).collect();
        let (bytes, kills) = killed(home.path(), &arguments, &moments);
        assert!(kills >= 2, "{more:?}: killed {kills} times in {took} ms");
        assert_eq!(bytes, read(whole.path(), "m"), "{more:?}");
    }
}
