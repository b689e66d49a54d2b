//! What goes wrong under the program: full disks, failing reads, no handles, no rights, kill at any moment.
//!
//! After each fault the file to write is the old one or the whole new one, the program has said why and did not panic, and the
//! same command without the fault ends in the same bytes and leaves no scratch file. A few of each for a linear model in the tests; with
//! `SETPOINT_FAULTS=all` every kind of model, every call, and 200 kills of each command, or as many as it says, with a
//! table on stdout (`./task faults`).
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::data::{Random, shop, sparse, visits};
use crate::{Run, command, directory, read, setpoint, write};

/// Whether to try everything.
fn all() -> bool {
    std::env::var_os("SETPOINT_FAULTS").is_some()
}

/// A kind of model: its name, and how it is trained.
type Kind = (&'static str, Vec<&'static str>);

fn kinds() -> Vec<Kind> {
    let shop =
        |more: &[&'static str]| [&["train", "shop.csv", "--label", "bought", "-o", "m"][..], more].concat();
    let goal = ["--goal", "recall @ fpr<=20%"];
    let mut kinds = vec![("linear", shop(&goal))];
    if !all() {
        return kinds;
    }
    kinds.push(("mlp", shop(&[&goal[..], &["--model", "mlp", "--hidden", "4", "--epochs", "3"]].concat())));
    if std::env::var_os("SETPOINT_LIGHTGBM").is_some() {
        kinds.push((
            "trees",
            shop(&[&goal[..], &["--model", "trees", "--rounds", "20", "--search", "2"]].concat()),
        ));
    }
    kinds.push(("groups", shop(&["--goal", "recall @ fpr(sex)<=30%"])));
    kinds.push(("band", shop(&["--goal", "coverage @ precision>=0.5, npv>=0.8"])));
    kinds.push(("classes", vec!["train", "shop.csv", "--label", "town", "-o", "m", "--goal", "macro-f1"]));
    let labels = ["--label", "bought,sex", "--goal", "recall @ fpr<=20%"];
    kinds.push(("labels", [&["train", "labels.csv", "-o", "m"][..], &labels].concat()));
    let ranking = ["--label", "y", "--query", "who", "--goal", "ndcg @ k=5 per query"];
    kinds.push(("queries", [&["train", "visits.csv", "-o", "m"][..], &ranking].concat()));
    let images =
        ["--record", "right:8x8x1", "--label", "right", "--model", "cnn", "--cnn", "small", "--epochs", "1"];
    kinds.push(("cnn", [&["train", "images.bin", "-o", "m"][..], &images, &goal].concat()));
    kinds
}

/// Grey images of 8 x 8, of which the left or the right half is brighter, each behind its label.
fn images() -> Vec<u8> {
    let mut random = Random::new(8);
    let mut bytes = Vec::new();
    for _ in 0..400 {
        let right = random.next() < 0.4;
        bytes.push(u8::from(right));
        bytes.extend(
            (0..64).map(|at| 100 + 40 * u8::from((at % 8 > 3) == right) + (random.next() * 80.0) as u8),
        );
    }
    bytes
}

/// A command that writes one file, and what that file may hold.
struct Case {
    name: String,
    home: tempfile::TempDir,
    arguments: Vec<&'static str>,
    output: &'static str,
    old: Vec<u8>,
    new: Vec<u8>,
    took: Duration,
}

impl Case {
    /// Runs the command once to know the new file, and puts the old one back.
    fn new(kind: &str, home: tempfile::TempDir, arguments: Vec<&'static str>, output: &'static str) -> Self {
        let path = home.path().join(output);
        // A watch goes on from its state; other files are replaced, whatever they were.
        let old = if output.ends_with(".json") { fs::read(&path).unwrap() } else { b"the old file".to_vec() };
        fs::write(&path, &old).unwrap();
        let begin = Instant::now();
        setpoint(home.path(), &arguments).trained();
        let took = begin.elapsed();
        let new = read(home.path(), output);
        let case = Self { name: format!("{} {kind}", arguments[0]), home, arguments, output, old, new, took };
        case.restore();
        case
    }

    fn restore(&self) {
        fs::write(self.home.path().join(self.output), &self.old).unwrap();
        let _ = fs::remove_dir_all(self.home.path().join("kept"));
    }

    /// What must hold after a fault, and once more without it. Says which file is there.
    fn check(&self, run: &Run, what: &str) -> &'static str {
        let found = read(self.home.path(), self.output);
        assert!(!run.stderr.contains("panicked"), "{}, {what}: {}", self.name, run.stderr);
        assert!(
            found == self.old || found == self.new,
            "{}, {what}: the file is neither the old nor the new one",
            self.name
        );
        let kept = if found == self.new { "new" } else { "old" };
        if run.code == Some(0) {
            assert_eq!(kept, "new", "{}, {what}", self.name);
        }
        // A watch that was fed goes on from there: it would be fed twice.
        if self.arguments[0] == "monitor" {
            self.restore();
        }
        setpoint(self.home.path(), &self.arguments).trained();
        assert_eq!(
            read(self.home.path(), self.output),
            self.new,
            "{}, {what}: another file without the fault",
            self.name
        );
        let left = scratch(self.home.path());
        assert!(left.is_empty(), "{}, {what}: {left:?}", self.name);
        self.restore();
        kept
    }
}

/// Scratch files in a folder and those in it.
fn scratch(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(scratch(&entry.path()));
        } else if entry.file_name().to_string_lossy().starts_with(".setpoint-") {
            found.push(entry.path());
        }
    }
    found
}

/// The commands of every kind: train with checkpoints, predict, monitor, recertify.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, train) in kinds() {
        let prepare = || {
            let home = directory();
            let rows = shop(if all() { 600 } else { 1500 }, 7);
            write(home.path(), "shop.csv", &rows);
            write(home.path(), "labels.csv", &rows.replace(",f,", ",yes,").replace(",m,", ",no,"));
            if kind == "queries" {
                write(home.path(), "visits.csv", &visits(60, 10, 7));
            }
            fs::write(home.path().join("images.bin"), images()).unwrap();
            home
        };
        let data = train[1];
        let model = prepare();
        setpoint(model.path(), &train).trained();
        let bytes = read(model.path(), "m");
        let with_model = || {
            let home = prepare();
            fs::write(home.path().join("model"), &bytes).unwrap();
            home
        };
        let own: &[&'static str] = match kind {
            "queries" => &["--query", "who"],
            "cnn" => &["--record", "right:8x8x1"],
            "labels" => &["--label", "bought"],
            _ => &[],
        };
        let predicted = if kind == "labels" { &[][..] } else { own };
        cases.push(Case::new(
            kind,
            prepare(),
            [&train[..], &["--checkpoint", "kept", "--resume"]].concat(),
            "m",
        ));
        if kind == "linear" {
            let on_disk = [&train[..], &["--memory", "80kB"]].concat();
            cases.push(Case::new("linear on disk", prepare(), on_disk, "m"));
            let home = prepare();
            write(home.path(), "rows.svm", &sparse(1500, false));
            let rows = ["train", "rows.svm", "-o", "m", "--goal", "recall @ fpr<=20%", "--memory", "60kB"];
            cases.push(Case::new("sparse on disk", home, rows.to_vec(), "m"));
        }
        let others = [
            ([&["predict", "model", data, "-o", "p.csv"][..], predicted].concat(), "p.csv"),
            ([&["recertify", "model", data, "-o", "r"][..], own].concat(), "r"),
            ([&["monitor", "model", data, "--state", "s.json"][..], own].concat(), "s.json"),
        ];
        for (arguments, output) in others {
            let home = with_model();
            // Not every kind has conditions to certify or to watch.
            if setpoint(home.path(), &arguments).code == Some(0) {
                cases.push(Case::new(kind, home, arguments, output));
            }
        }
    }
    cases
}

/// The library of faults, where there is a compiler for it.
fn library(folder: &Path) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fault.c");
    let library = folder.join("fault.so");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no C compiler for the library that fails calls");
        return None;
    }
    Some(library)
}

/// Counts of what happened, for the table.
#[derive(Default)]
struct Table(BTreeMap<(String, String), [usize; 3]>);

impl Table {
    fn add(&mut self, fault: &str, case: &str, run: &Run, kept: &str) {
        let counts = self.0.entry((fault.to_owned(), case.to_owned())).or_default();
        counts[0] += 1;
        counts[1] += usize::from(run.code == Some(0));
        counts[2] += usize::from(kept == "old");
    }

    /// Prints what was added since: long runs show how far they are.
    fn print(&mut self) {
        for ((fault, case), [times, passed, old]) in std::mem::take(&mut self.0) {
            println!(
                "| {fault} | {case} | {times} times | {passed} went on all the same | {old} kept the old file |"
            );
        }
    }
}

#[test]
fn whatever_call_fails_the_file_is_the_old_one_or_the_whole_new_one() {
    let place = directory();
    let Some(library) = library(place.path()) else { return };
    let mut table = Table::default();
    for case in cases() {
        let faults = [
            ("read", "read error"),
            ("write", "full disk"),
            ("fsync", "sync error"),
            ("rename", "rename refused"),
            ("open", "no more handles"),
        ];
        for (call, fault) in faults {
            // A read in the midst, the first of the others; or all that there are.
            let calls = match (all(), call) {
                (true, _) => 1..=usize::MAX,
                (false, "read") => 2..=2,
                (false, _) => 1..=1,
            };
            for which in calls {
                let mut run = command(case.home.path(), &case.arguments);
                run.env("LD_PRELOAD", &library).env("SETPOINT_FAULT", format!("{call} {which}"));
                run.env("SETPOINT_FAULT_BELOW", case.home.path());
                let run = Run::from(run.output().unwrap());
                if !run.stderr.contains("a fault was injected") {
                    case.restore();
                    break;
                }
                assert!(run.code.is_some_and(|code| code <= 2), "{}, {fault} {which}: {run:?}", case.name);
                let kept = case.check(&run, &format!("{fault} {which}"));
                table.add(fault, &case.name, &run, kept);
            }
        }
        table.print();
    }
}

#[test]
fn killed_at_any_moment_the_file_is_the_old_one_or_the_whole_new_one() {
    let mut table = Table::default();
    let mut random = Random::new(25);
    let cases = cases();
    let asked = std::env::var("SETPOINT_FAULTS").ok().and_then(|kills| kills.parse().ok());
    let kills = if all() { asked.unwrap_or(200) } else { 2 };
    for case in &cases {
        for _ in 0..kills {
            let mut child = crate::command(case.home.path(), &case.arguments);
            let mut child = child
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            std::thread::sleep(case.took.mul_f64(random.next()));
            let _ = child.kill();
            let run = Run::from(child.wait_with_output().unwrap());
            let kept = case.check(&run, "killed");
            table.add("SIGKILL", &case.name, &run, kept);
        }
        table.print();
    }
}

/// Runs a line of the shell in a folder, with the program as `$0`.
fn shell(home: &Path, line: &str) -> Run {
    let run =
        Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_setpoint")]).current_dir(home).output();
    run.expect("a shell").into()
}

#[test]
fn a_disk_that_is_full_few_handles_and_no_rights_are_said() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1500, 7));
    setpoint(home.path(), &kinds()[0].1).trained();
    // A disk of 16 kB, where one can be made; the predictions are larger.
    fs::create_dir(home.path().join("disk")).unwrap();
    if shell(home.path(), "mount -t tmpfs -o size=16k tmpfs disk 2>/dev/null").code == Some(0) {
        write(home.path(), "disk/p.csv", "old");
        let run = setpoint(home.path(), &["predict", "m", "shop.csv", "-o", "disk/p.csv"]);
        let (kept, left) = (read(home.path(), "disk/p.csv"), scratch(&home.path().join("disk")));
        shell(home.path(), "umount disk").ok();
        assert_eq!((run.code, kept.as_slice(), left.len()), (Some(2), &b"old"[..], 0), "{run:?}");
        assert!(run.stderr.contains("disk/p.csv: ") && run.stderr.contains("nothing was changed"), "{run:?}");
    } else {
        eprintln!("skipped: no disk of 16 kB can be mounted");
    }
    let full = "ulimit -f 30; exec \"$0\" train shop.csv --label bought --goal \"recall @ fpr<=20%\" --model linear -o f \
                --memory 80kB";
    let run = shell(home.path(), &format!("trap '' XFSZ; {full}"));
    assert_eq!((run.code, home.path().join("f").exists()), (Some(2), false), "{run:?}");
    assert!(run.stderr.contains("the scratch file in ") && run.stderr.contains("--scratch"), "{run:?}");
    write(home.path(), "rows.svm", &sparse(1500, false));
    let sparse = full.replace("shop.csv --label bought", "rows.svm");
    let run = shell(home.path(), &format!("trap '' XFSZ; {sparse}"));
    assert_eq!((run.code, home.path().join("f").exists()), (Some(2), false), "{run:?}");
    assert!(run.stderr.contains("the scratch file in ") && run.stderr.contains("--scratch"), "{run:?}");
    assert!(scratch(home.path()).is_empty());
    for handles in 3..12 {
        let run =
            shell(home.path(), &format!("ulimit -n {handles}; exec \"$0\" predict m shop.csv -o p.csv"));
        assert!(!run.stderr.contains("panicked"), "{handles}: {run:?}");
        assert_eq!(run.code == Some(0), home.path().join("p.csv").exists(), "{handles}: {run:?}");
    }
    let nobody = "chmod 755 . && setpriv --reuid 65534 --clear-groups --inh-caps=-all \"$0\" predict m shop.csv -o q.csv";
    let run = shell(home.path(), nobody);
    if run.stderr.contains("setpriv") || run.code == Some(127) {
        eprintln!("skipped: nobody else to be");
    } else {
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("q.csv: ") && run.stderr.contains("denied"), "{run:?}");
    }
    // A helper that dies: python3 is asked where LightGBM is.
    fs::create_dir(home.path().join("bin")).unwrap();
    write(home.path(), "bin/python3", "#!/bin/sh\nkill -9 $$\n");
    let trees = "chmod 755 bin/python3; unset SETPOINT_LIGHTGBM; HOME=$PWD PATH=$PWD/bin:$PATH \"$0\" train shop.csv --label bought \
                 --goal f1 --model trees -o t";
    let run = shell(home.path(), trees);
    assert!(run.code == Some(0) || run.stderr.contains("pip install lightgbm"), "{run:?}");
}
